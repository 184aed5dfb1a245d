#include "node.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan_wire.h"

bool dt_node_runs_step(spank_t spank)
{
    uint32_t step_id;

    return spank_get_item(spank, S_JOB_STEPID, &step_id) == ESPANK_SUCCESS &&
           step_id < SLURM_MAX_NORMAL_STEP_ID;
}

static int load_u32(uint32_t *value, spank_t spank, spank_item_t item, const char *what,
                    struct dtrain_error *err)
{
    spank_err_t rc = spank_get_item(spank, item, value);

    if (rc != ESPANK_SUCCESS)
        return dt_error_set(err, "Slurm does not say %s here: %s", what, spank_strerror(rc));
    return 0;
}

static int load_procids(struct dt_node_facts *facts, spank_t spank, struct dtrain_error *err)
{
    if (facts->local_tasks < 1 || facts->local_tasks > DT_PLAN_TASKS_PER_NODE_MAX)
        return dt_error_set(err, "Slurm says that this node has %u tasks: expected 1 to %u",
                            facts->local_tasks, DT_PLAN_TASKS_PER_NODE_MAX);
    facts->procids = calloc(facts->local_tasks, sizeof(*facts->procids));
    if (facts->procids == NULL)
        return dt_error_memory(err, facts->local_tasks * sizeof(*facts->procids), "this node's task ids");
    for (uint32_t i = 0; i < facts->local_tasks; i++) {
        spank_err_t rc = spank_get_item(spank, S_JOB_LOCAL_TO_GLOBAL_ID, i, &facts->procids[i]);

        if (rc != ESPANK_SUCCESS)
            return dt_error_set(err, "Slurm does not say the global id of local task %u: %s", i,
                                spank_strerror(rc));
    }
    return 0;
}

int dt_node_facts_load(struct dt_node_facts *facts, spank_t spank, struct dtrain_error *err)
{
    memset(facts, 0, sizeof(*facts));
    if (load_u32(&facts->id, spank, S_JOB_NODEID, "this node's place in the step", err) ||
        load_u32(&facts->count, spank, S_JOB_NNODES, "the step's number of nodes", err) ||
        load_u32(&facts->local_tasks, spank, S_JOB_LOCAL_TASK_COUNT, "this node's number of tasks", err) ||
        load_u32(&facts->all_tasks, spank, S_JOB_TOTAL_TASK_COUNT, "the step's number of tasks", err))
        return -1;
    return load_procids(facts, spank, err);
}

void dt_node_facts_free(struct dt_node_facts *facts)
{
    free(facts->procids);
    memset(facts, 0, sizeof(*facts));
}

static int disagree(struct dtrain_error *err, const char *what, uint32_t planned, uint32_t fact)
{
    return dt_error_set(
        err, "the plan says %s %u, Slurm says %u: " DT_PLAN_WIRE_NAME " is not this step's, leave it to srun",
        what, planned, fact);
}

int dt_node_find(uint32_t *node, const struct dt_plan *plan, const struct dt_node_facts *facts,
                 struct dtrain_error *err)
{
    if (facts->procids[0] >= dt_plan_world(plan))
        return disagree(err, "highest task id", dt_plan_world(plan) - 1, facts->procids[0]);
    *node = dt_plan_rank_node(plan, dt_plan_procid_rank(plan, facts->procids[0]));
    return 0;
}

int dt_node_check_facts(const struct dt_plan *plan, const struct dt_node_facts *facts,
                        struct dtrain_error *err)
{
    uint32_t node, first;

    if (dt_plan_node_count(plan) != facts->count)
        return disagree(err, "number of nodes", dt_plan_node_count(plan), facts->count);
    if (dt_plan_world(plan) != facts->all_tasks)
        return disagree(err, "number of tasks", dt_plan_world(plan), facts->all_tasks);
    if (facts->id >= facts->count)
        return disagree(err, "highest place of a node", facts->count - 1, facts->id);
    if (dt_node_find(&node, plan, facts, err) != 0)
        return -1;
    if (dt_plan_node_tasks(plan, node) != facts->local_tasks)
        return disagree(err, "number of tasks on this node", dt_plan_node_tasks(plan, node),
                        facts->local_tasks);
    first = dt_plan_node_first(plan, node);
    for (uint32_t i = 0; i < facts->local_tasks; i++)
        if (dt_plan_rank_procid(plan, first + i) != facts->procids[i])
            return disagree(err, "task id", dt_plan_rank_procid(plan, first + i), facts->procids[i]);
    return 0;
}

static int check_size(const struct dt_plan *plan, enum dt_grid grid, enum dt_axis axis, uint32_t asked,
                      const char *option, struct dtrain_error *err)
{
    uint32_t planned = dt_plan_layout(plan)->size[grid][axis];

    if (asked == 0 || asked == planned)
        return 0;
    return dt_error_set(err,
                        "the plan says %u, the option says --%s=%u: " DT_PLAN_WIRE_NAME
                        " is not this step's, leave it to srun",
                        planned, option, asked);
}

int dt_node_check_request(const struct dt_plan *plan, const struct dt_request *request,
                          struct dtrain_error *err)
{
    const struct dt_layout_request *asked = &request->layout;

    if (check_size(plan, DT_DENSE, DT_TP, asked->tp, "dtrain-tp", err) ||
        check_size(plan, DT_DENSE, DT_CP, asked->cp, "dtrain-cp", err) ||
        check_size(plan, DT_DENSE, DT_DP, asked->dp, "dtrain-dp", err) ||
        check_size(plan, DT_DENSE, DT_PP, asked->pp, "dtrain-pp", err) ||
        check_size(plan, DT_EXPERT, DT_EP, asked->ep, "dtrain-ep", err) ||
        check_size(plan, DT_EXPERT, DT_TP, asked->etp, "dtrain-etp", err))
        return -1;
    return 0;
}

/* *text is malloc'd, the caller frees. */
static int load_text(char **text, spank_t spank, struct dtrain_error *err)
{
    spank_err_t rc;

    *text = malloc(DT_PLAN_WIRE_MAX + 1);
    if (*text == NULL)
        return dt_error_memory(err, DT_PLAN_WIRE_MAX + 1, DT_PLAN_WIRE_NAME);
    rc = spank_getenv(spank, DT_PLAN_WIRE_NAME, *text, (int)DT_PLAN_WIRE_MAX + 1);
    if (rc == ESPANK_ENV_NOEXIST)
        return dt_error_set(err, DT_PLAN_WIRE_NAME
                            " did not arrive with the step: is the plugin in srun's plugstack.conf, "
                            "and does nothing between srun and the node remove the variable?");
    if (rc == ESPANK_NOSPACE)
        return dt_error_set(err, DT_PLAN_WIRE_NAME " is longer than %u bytes: leave it to srun",
                            DT_PLAN_WIRE_MAX);
    if (rc != ESPANK_SUCCESS)
        return dt_error_set(err, DT_PLAN_WIRE_NAME " cannot be read: %s", spank_strerror(rc));
    return 0;
}

static int check_plan(const struct dt_plan *plan, spank_t spank, const struct dt_request *request,
                      struct dtrain_error *err)
{
    struct dt_node_facts facts;
    int rc = -1;

    if (dt_node_facts_load(&facts, spank, err) == 0 && dt_node_check_facts(plan, &facts, err) == 0 &&
        dt_node_check_request(plan, request, err) == 0)
        rc = 0;
    dt_node_facts_free(&facts);
    return rc;
}

int dt_node_load_plan(struct dt_plan **plan, spank_t spank, const struct dt_request *request,
                      struct dtrain_error *err)
{
    char *text = NULL;
    int rc = -1;

    *plan = NULL;
    if (load_text(&text, spank, err))
        goto out;
    if (dt_plan_wire_decode(plan, text, err))
        goto out;
    rc = check_plan(*plan, spank, request, err);
out:
    if (rc != 0) {
        dt_plan_destroy(*plan);
        *plan = NULL;
    }
    free(text);
    return rc;
}
