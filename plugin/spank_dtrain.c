/*
 * The hooks that Slurm calls, each a list of steps. What goes wrong in
 * slurmstepd before a task exists is kept and fails the tasks: a hook that fails
 * there would drain the node.
 */
#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "binder.h"
#include "core/plan.h"
#include "launch.h"
#include "node.h"
#include "options.h"
#include "outer.h"
#include "task.h"

SPANK_PLUGIN(dtrain, 1)

static struct dt_launch launch; /* srun */

static struct {
    bool is_active; /* this step asks for dtrain */
    bool is_failed;
    struct dtrain_error failure;
    struct dt_plan *plan;
    struct dt_binder binder;
} node; /* slurmstepd */

static int say(const struct dtrain_error *err)
{
    slurm_error("dtrain: %s", err->text);
    return -1;
}

/* The option decides: a SLURM_DTRAIN_PLAN without one is nobody's. */
static bool is_dtrain_step(spank_t spank)
{
    return dt_request_is_active(dt_options_request()) && dt_node_runs_step(spank);
}

/* A failure is said and no more: steps that do not ask for dtrain must not feel it. */
int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    spank_context_t context = spank_context();
    struct dtrain_error err;

    if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE)
        return 0;
    if (dt_options_register(spank, &err))
        say(&err);
    if (context != S_CTX_REMOTE)
        dt_outer_clear();
    if (context == S_CTX_LOCAL)
        dt_launch_prepare(&launch, argc, argv);
    return 0;
}

int slurm_spank_local_user_init(spank_t spank, int argc, char **argv)
{
    struct dtrain_error err;

    (void)argc;
    (void)argv;
    if (is_dtrain_step(spank) && dt_launch_step(&launch, spank, dt_options_request(), &err))
        return say(&err);
    return 0;
}

static void load_node(spank_t spank, int argc, char **argv)
{
    const struct dtrain_error *refusal = dt_options_refusal();

    node.is_active = true;
    node.is_failed = true;
    if (refusal != NULL)
        node.failure = *refusal;
    else if (dt_node_load_plan(&node.plan, spank, dt_options_request(), &node.failure) == 0)
        node.is_failed = false;
    if (!node.is_failed)
        dt_binder_load(&node.binder, spank, argc, argv);
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
    if (spank_remote(spank) == 1 && is_dtrain_step(spank))
        load_node(spank, argc, argv);
    return 0;
}

static int start_task(spank_t spank, struct dtrain_error *err)
{
    struct dt_task task;

    if (dt_task_identify(&task, node.plan, spank, err))
        return -1;
    if (dt_binder_start_task(&node.binder, &task, spank, err))
        return -1;
    return dt_task_set_environment(&task, spank, err);
}

/* Whether this task says what is wrong with all of its node. */
static bool is_first_task(spank_t spank)
{
    int local;

    return spank_get_item(spank, S_TASK_ID, &local) != ESPANK_SUCCESS || local == 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    struct dtrain_error err;

    (void)argc;
    (void)argv;
    if (!node.is_active)
        return 0;
    if (node.is_failed)
        return is_first_task(spank) ? say(&node.failure) : -1;
    return start_task(spank, &err) ? say(&err) : 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv)
{
    (void)spank;
    (void)argc;
    (void)argv;
    dt_plan_destroy(node.plan);
    node.plan = NULL;
    dt_binder_free(&node.binder);
    node.is_active = false;
    return 0;
}
