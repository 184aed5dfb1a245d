#include "step.h"

#include <stdlib.h>
#include <string.h>

#include "core/hostlist.h"
#include "gpus.h"

static int item_u32(uint32_t *value, spank_t spank, spank_item_t item, const char *what,
                    struct dtrain_error *err)
{
    spank_err_t rc = spank_get_item(spank, item, value);

    if (rc != ESPANK_SUCCESS)
        return dt_error_set(err, "Slurm does not say the step's %s: %s", what, spank_strerror(rc));
    return 0;
}

static int copy_nodes(struct dt_step *step, const slurm_step_layout_t *layout, struct dtrain_error *err)
{
    uint64_t task_count = 0;

    if (layout->node_cnt < 1 || layout->node_cnt > DT_PLAN_NODES_MAX || layout->tasks == NULL ||
        layout->tids == NULL || layout->node_list == NULL)
        return dt_error_set(
            err, "the controller's layout of the step has %u nodes: expected 1 to %u, each with its tasks",
            layout->node_cnt, DT_PLAN_NODES_MAX);
    if (dt_hostlist_parse(&step->hosts, layout->node_list, err))
        return -1;
    if (dt_hostlist_count(step->hosts) != layout->node_cnt)
        return dt_error_set(err, "the step's node list %.128s names %u nodes, its layout has %u",
                            layout->node_list, dt_hostlist_count(step->hosts), layout->node_cnt);
    step->node_count = layout->node_cnt;
    step->nodes = calloc(step->node_count, sizeof(*step->nodes));
    step->tasks = calloc(step->node_count, sizeof(*step->tasks));
    if (step->nodes == NULL || step->tasks == NULL)
        return dt_error_memory(err, step->node_count * sizeof(*step->nodes), "the step's nodes");
    for (uint32_t i = 0; i < step->node_count; i++) {
        step->nodes[i] = dt_hostlist_name(step->hosts, i);
        step->tasks[i] = layout->tasks[i];
        task_count += layout->tasks[i];
    }
    if (task_count < 1 || task_count > DT_WORLD_MAX)
        return dt_error_set(err, "a step of %llu tasks is not possible: expected 1 to %u",
                            (unsigned long long)task_count, DT_WORLD_MAX);
    step->task_count = (uint32_t)task_count;
    return 0;
}

static int copy_procids(struct dt_step *step, const slurm_step_layout_t *layout, struct dtrain_error *err)
{
    uint32_t rank = 0;

    step->procids = calloc(step->task_count, sizeof(*step->procids));
    if (step->procids == NULL)
        return dt_error_memory(err, step->task_count * sizeof(*step->procids), "the step's task ids");
    for (uint32_t node = 0; node < step->node_count; node++)
        for (uint32_t i = 0; i < step->tasks[node]; i++)
            step->procids[rank++] = layout->tids[node][i];
    return 0;
}

static int load_layout(struct dt_step *step, struct dtrain_error *err)
{
    slurm_step_id_t id = {.job_id = step->job_id, .step_het_comp = NO_VAL, .step_id = step->step_id};
    slurm_step_layout_t *layout = slurm_job_step_layout_get(&id);
    int rc = -1;

    if (layout == NULL)
        return dt_error_set(err, "the controller does not say the layout of step %u.%u: see slurmctld's log",
                            step->job_id, step->step_id);
    if (copy_nodes(step, layout, err) == 0 && copy_procids(step, layout, err) == 0)
        rc = 0;
    slurm_job_step_layout_free(layout);
    return rc;
}

/* A request that the controller does not tell is one that shows nothing: no reason to refuse. */
static void load_gpus(struct dt_step *step)
{
    job_step_info_response_msg_t *answer = NULL;

    if (slurm_get_job_steps(0, step->job_id, step->step_id, &answer, SHOW_ALL) != 0 || answer == NULL)
        return;
    for (uint32_t i = 0; i < answer->job_step_count; i++) {
        const job_step_info_t *info = &answer->job_steps[i];

        if (info->step_id.job_id == step->job_id && info->step_id.step_id == step->step_id)
            step->gpus_per_node =
                dt_gpus_per_node(info->tres_per_node, info->tres_per_step, step->node_count);
    }
    slurm_free_job_step_info_response_msg(answer);
}

static void load_restart_count(struct dt_step *step)
{
    job_info_msg_t *answer = NULL;

    if (slurm_load_job(&answer, step->job_id, SHOW_ALL) != 0 || answer == NULL)
        return;
    for (uint32_t i = 0; i < answer->record_count; i++)
        if (answer->job_array[i].job_id == step->job_id)
            step->restart_count = answer->job_array[i].restart_cnt;
    slurm_free_job_info_msg(answer);
}

int dt_step_load(struct dt_step *step, spank_t spank, struct dtrain_error *err)
{
    memset(step, 0, sizeof(*step));
    if (item_u32(&step->job_id, spank, S_JOB_ID, "job id", err) ||
        item_u32(&step->step_id, spank, S_JOB_STEPID, "step id", err))
        return -1;
    if (load_layout(step, err))
        return -1;
    load_gpus(step);
    load_restart_count(step);
    return 0;
}

void dt_step_free(struct dt_step *step)
{
    dt_hostlist_destroy(step->hosts);
    free(step->nodes);
    free(step->tasks);
    free(step->procids);
    memset(step, 0, sizeof(*step));
}

char *dt_step_node_address(const char *node)
{
    node_info_msg_t *answer = NULL;
    char *address = NULL;

    if (slurm_load_node_single(&answer, (char *)node, SHOW_ALL) != 0 || answer == NULL)
        return NULL;
    for (uint32_t i = 0; i < answer->record_count && address == NULL; i++) {
        const node_info_t *info = &answer->node_array[i];

        if (info->name != NULL && strcmp(info->name, node) == 0 && info->node_addr != NULL)
            address = strdup(info->node_addr);
    }
    slurm_free_node_info_msg(answer);
    return address;
}
