#include "task.h"

#include <string.h>

#include "core/env.h"
#include "core/parse.h"

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
