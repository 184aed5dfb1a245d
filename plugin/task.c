#include "task.h"

#include <stdlib.h>
#include <string.h>

#include "core/env.h"
#include "core/parse.h"
#include "topo/visible.h"

/* ---- Who it is ---- */

/* A variable of Slurm's that is missing is no fact: true. */
static bool agrees_u32(spank_t spank, const char *variable, uint32_t planned, struct dtrain_error *err)
{
    char text[DT_TASK_VALUE_MAX] = "";
    uint32_t value;

    if (spank_getenv(spank, variable, text, sizeof(text)) == ESPANK_ENV_NOEXIST)
        return true;
    if (dt_parse_u32(&value, text, 0, UINT32_MAX, variable, err))
        return false;
    if (value != planned)
        dt_error_set(err, "%s is %u, the plan says %u: a step of one component started by srun is expected",
                     variable, value, planned);
    return value == planned;
}

static int check_node_name(const struct dt_task *task, spank_t spank, struct dtrain_error *err)
{
    const char *planned = dt_plan_node_name(task->plan, task->node);
    char name[DT_TASK_VALUE_MAX];

    if (spank_getenv(spank, "SLURMD_NODENAME", name, sizeof(name)) != ESPANK_SUCCESS ||
        strcmp(name, planned) == 0)
        return 0;
    return dt_error_set(
        err, "rank %u runs on %.64s, the plan says %.64s: the plan is not this step's, leave it to srun",
        task->rank, name, planned);
}

int dt_task_identify(struct dt_task *task, const struct dt_plan *plan, spank_t spank,
                     struct dtrain_error *err)
{
    uint32_t procid;
    int local;

    if (spank_get_item(spank, S_TASK_ID, &local) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_TASK_GLOBAL_ID, &procid) != ESPANK_SUCCESS)
        return dt_error_set(err, "Slurm does not say this task's local and global id");
    if (procid >= dt_plan_world(plan))
        return dt_error_set(err, "task id %u is not in the plan of %u tasks", procid, dt_plan_world(plan));
    task->plan = plan;
    task->rank = dt_plan_procid_rank(plan, procid);
    task->node = dt_plan_rank_node(plan, task->rank);
    task->local = dt_plan_rank_local(plan, task->rank);
    task->is_speaker = task->local == 0;
    if (local < 0 || (uint32_t)local != task->local)
        return dt_error_set(err, "task %u has local id %d, the plan says %u", procid, local, task->local);
    if (!agrees_u32(spank, "SLURM_PROCID", procid, err) ||
        !agrees_u32(spank, "SLURM_STEP_NUM_TASKS", dt_plan_world(plan), err))
        return -1;
    return check_node_name(task, spank, err);
}

/* ---- Devices ---- */

/* What is wrong with one list is so with the others: said once a node, and the lists are left alone. */
enum verdict { VERDICT_FAIL = -1, VERDICT_GO_ON, VERDICT_LEAVE };

static enum verdict leave(const struct dt_task *task, const struct dtrain_error *err)
{
    if (task->is_speaker)
        slurm_error("dtrain: %s: the devices stay as Slurm set them", err->text);
    return VERDICT_LEAVE;
}

/* GPUs that the step has on this node; 0 when Slurm gave it none. */
static uint32_t devices_on_node(spank_t spank)
{
    char text[DT_TASK_VALUE_MAX];
    uint32_t count;

    if (spank_getenv(spank, "SLURM_GPUS_ON_NODE", text, sizeof(text)) != ESPANK_SUCCESS ||
        dt_parse_u32(&count, text, 0, UINT32_MAX, "SLURM_GPUS_ON_NODE", NULL))
        return 0;
    return count;
}

static int describe_isolation(const char *variable, uint32_t own, uint32_t on_node, struct dtrain_error *err)
{
    return dt_error_set(
        err,
        "each task has %u of the %u GPUs of its node in %s: with --gpus-per-task or --gpu-bind tasks do not "
        "see each other's GPUs, and NVLink between them is lost; use --gpus-per-node=%u or --gres=gpu:%u",
        own, on_node, variable, on_node, on_node);
}

static int refuse_sharing(const struct dt_task *task, uint32_t count, struct dtrain_error *err)
{
    uint32_t tasks = dt_plan_node_tasks(task->plan, task->node);

    return dt_error_set(err,
                        "%u tasks on %.64s have %u GPUs: use --gpus-per-node=%u, --ntasks-per-node=%u, or "
                        "--dtrain-backend=host",
                        tasks, dt_plan_node_name(task->plan, task->node), count, tasks, count);
}

static enum verdict judge_list(const struct dt_task *task, const struct dt_visible *visible,
                               const char *variable, uint32_t on_node, struct dtrain_error *err)
{
    uint32_t tasks = dt_plan_node_tasks(task->plan, task->node);

    if (tasks > 1 && visible->count < on_node) {
        describe_isolation(variable, visible->count, on_node, err);
        return leave(task, err);
    }
    if (tasks > visible->count && dt_plan_backend(task->plan) != DT_BACKEND_HOST) {
        refuse_sharing(task, visible->count, err);
        return VERDICT_FAIL;
    }
    return VERDICT_GO_ON;
}

/* The texts are too large for the stack of a process that others forked. */
struct list {
    struct dt_visible visible;
    char given[DT_VISIBLE_TEXT_MAX], chosen[DT_VISIBLE_TEXT_MAX];
};

static enum verdict set_list(const struct dt_task *task, spank_t spank, struct list *list,
                             const char *variable, uint32_t on_node, struct dtrain_error *err)
{
    spank_err_t rc = spank_getenv(spank, variable, list->given, sizeof(list->given));
    enum verdict verdict;

    if (rc == ESPANK_ENV_NOEXIST)
        return VERDICT_GO_ON;
    if (rc != ESPANK_SUCCESS) {
        dt_error_set(err, "%s cannot be read: %s", variable, spank_strerror(rc));
        return leave(task, err);
    }
    if (dt_visible_parse(&list->visible, list->given, variable, err))
        return leave(task, err);
    if (list->visible.count == 0)
        return VERDICT_GO_ON;
    verdict = judge_list(task, &list->visible, variable, on_node, err);
    if (verdict != VERDICT_GO_ON)
        return verdict;
    if (dt_visible_format(list->chosen, &list->visible, NULL, 0, err))
        return leave(task, err);
    if (strcmp(list->chosen, list->given) == 0)
        return VERDICT_GO_ON;
    rc = spank_setenv(spank, variable, list->chosen, 1);
    if (rc != ESPANK_SUCCESS) {
        dt_error_set(err, "%s cannot be set: %s", variable, spank_strerror(rc));
        return leave(task, err);
    }
    return VERDICT_GO_ON;
}

int dt_task_set_devices(const struct dt_task *task, spank_t spank, struct dtrain_error *err)
{
    static const char *const variables[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                            "ZE_AFFINITY_MASK"};
    uint32_t on_node = devices_on_node(spank);
    enum verdict verdict = VERDICT_GO_ON;
    struct list *list;

    if (on_node == 0)
        return 0;
    list = malloc(sizeof(*list));
    if (list == NULL)
        return dt_error_memory(err, sizeof(*list), "the list of devices");
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && verdict == VERDICT_GO_ON; i++)
        verdict = set_list(task, spank, list, variables[i], on_node, err);
    free(list);
    return verdict == VERDICT_FAIL ? -1 : 0;
}

/* ---- Environment ---- */

int dt_task_set_environment(const struct dt_task *task, spank_t spank, struct dtrain_error *err)
{
    size_t count;
    const struct dt_env_var *vars = dt_env_vars(&count);
    char value[DT_ENV_VALUE_MAX];

    for (size_t i = 0; i < count; i++) {
        spank_err_t rc;

        if (!vars[i].value(value, task->plan, task->rank))
            continue;
        rc = spank_setenv(spank, vars[i].name, value, !vars[i].keep_user);
        if (rc != ESPANK_SUCCESS && !(vars[i].keep_user && rc == ESPANK_ENV_EXISTS))
            return dt_error_set(err, "%s cannot be set to %s: %s", vars[i].name, value, spank_strerror(rc));
    }
    return 0;
}
