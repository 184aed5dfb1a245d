/* A world of ranks and groups only: all that moves data refuses. */
#include "facts.h"
#include "world.h"

static int refuse(struct dtrain_error *err)
{
    return dt_error_set(err, "this world has ranks and groups only, from dtrain_init_layout(): use "
                             "dtrain_init() to communicate");
}

static int refuse_stream(void *state, void **stream, struct dtrain_error *err)
{
    (void)state;
    *stream = NULL;
    return refuse(err);
}

static int refuse_memory(void *state, size_t bytes, void **memory, struct dtrain_error *err)
{
    (void)state;
    (void)bytes;
    *memory = NULL;
    return refuse(err);
}

static int refuse_comms(void *state, const struct dt_comm_request *requests, size_t n, void **comms,
                        const struct dt_deadline *deadline, struct dtrain_error *err)
{
    (void)state;
    (void)requests;
    (void)n;
    (void)comms;
    (void)deadline;
    return refuse(err);
}

static void free_nothing(void *state, void *memory)
{
    (void)state;
    (void)memory;
}

static const struct dt_backend backend_none = {
    .name = "none",
    .comms_create = refuse_comms,
    .stream_create = refuse_stream,
    .memory_alloc = refuse_memory,
    .memory_free = free_nothing,
};

static int check_task(const struct dtrain_world *world, struct dtrain_error *err)
{
    const struct dt_settings *settings = &world->settings;
    uint32_t ranks = dt_plan_world(world->plan);

    if (settings->step_tasks == ranks && settings->step_task < ranks)
        return 0;
    return dt_error_set(err,
                        "the plan has %u ranks, Slurm's variables say that this is task %u of %u: "
                        "SLURM_DTRAIN_PLAN is not this step's",
                        ranks, settings->step_task, settings->step_tasks);
}

static int check_rank(const struct dtrain_world *world, struct dtrain_error *err)
{
    const struct dt_settings *settings = &world->settings;

    if (dt_facts_check_variables(settings, world->plan, world->rank, err) < 0)
        return -1;
    return settings->mapping == NULL
               ? 0
               : dt_facts_check_mapping(settings->mapping, world->plan, world->rank, err);
}

int dtrain_init_layout(struct dtrain_world **made, struct dtrain_error *err)
{
    struct dt_world_start start = {.plan = NULL};
    struct dtrain_world *world;

    *made = NULL;
    if (dt_world_start_read(&start, NULL, err) < 0)
        return -1;
    world = dt_world_create(&start, err);
    if (world == NULL)
        return -1;
    world->backend = &backend_none;
    world->is_joined = true;
    if (check_task(world, err) == 0) {
        dt_world_place(world, world->settings.step_task);
        if (check_rank(world, err) == 0) {
            atomic_store(&world->state, DT_WORLD_READY);
            *made = world;
            return 0;
        }
    }
    dt_world_destroy(world);
    return -1;
}
