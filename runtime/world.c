#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"
#include "core/plan_wire.h"
#include "thread.h"

const char *dtrain_version(void)
{
    return DTRAIN_VERSION;
}

/* ---- Log ---------------------------------------------------------------------------- */

/* One write a line: lines of several tasks do not mix. */
static void write_line(void *context, enum dt_log_level level, const char *line)
{
    const struct dtrain_world *world = context;
    char text[DT_LOG_LINE_MAX + 64];
    int n;

    (void)level;
    if (world->log.level == DT_LOG_DEBUG && world->is_placed)
        n = snprintf(text, sizeof(text), "dtrain: rank %u: %s\n", world->rank, line);
    else
        n = snprintf(text, sizeof(text), "dtrain: %s\n", line);
    if (write(STDERR_FILENO, text, (size_t)n) < 0)
        return;
}

/* ---- Start ---------------------------------------------------------------------------- */

/* With a thread still in the backend nothing that it uses may go: the process is to end. */
void dt_world_destroy(struct dtrain_world *world)
{
    if (dt_world_comms_are_stuck(&world->comms))
        return;
    dt_world_comms_destroy(world);
    if (world->backend != NULL && world->backend_state != NULL)
        world->backend->close(world->backend_state);
    dt_control_destroy(world->control);
    dt_plan_destroy(world->plan);
    dt_settings_free(&world->settings);
    free(world);
}

static void *bring_up(void *argument)
{
    struct dtrain_world *world = argument;
    int rc = dt_bringup(world, &world->error);

    atomic_store(&world->state, rc == 0 ? DT_WORLD_READY : DT_WORLD_FAILED);
    return NULL;
}

struct dtrain_world *dt_world_create(const struct dt_world_start *start, struct dtrain_error *err)
{
    struct dtrain_world *world = calloc(1, sizeof(*world));

    if (world == NULL) {
        struct dt_settings settings = start->settings;

        dt_settings_free(&settings);
        dt_plan_destroy(start->plan);
        dt_error_memory(err, sizeof(*world), "a world");
        return NULL;
    }
    world->settings = start->settings;
    world->plan = start->plan;
    world->plan_hash = start->plan_hash;
    world->boot = start->boot;
    world->boot_state = start->boot_state;
    world->backend = start->backend;
    world->device = start->device;
    world->has_device = start->has_device;
    world->log = (struct dt_log){start->settings.log_level, write_line, world};
    world->deadline = dt_deadline_after_ms(start->settings.init_timeout_ms);
    world->phases = start->phases;
    dt_world_comms_init(&world->comms);
    return world;
}

void dt_world_place(struct dtrain_world *world, uint32_t task)
{
    world->rank = dt_plan_procid_rank(world->plan, task);
    world->node = dt_plan_rank_node(world->plan, world->rank);
    world->is_placed = true;
    if (world->rank != 0 && world->log.level == DT_LOG_INFO)
        world->log.level = DT_LOG_WARN;
}

int dt_world_start(struct dtrain_world **made, const struct dt_world_start *start, struct dtrain_error *err)
{
    struct dtrain_world *world = dt_world_create(start, err);

    *made = NULL;
    if (world == NULL)
        return -1;
    if (dt_thread_start(&world->thread, bring_up, world, "the thread that brings the world up", err) <
        0) {
        dt_world_destroy(world);
        return -1;
    }
    *made = world;
    return 0;
}

static int plan_alone(struct dt_plan **plan, struct dtrain_error *err)
{
    char host[DT_BOOT_HOST_MAX] = "localhost";
    const char *name = host;
    struct dt_plan_inputs inputs = {.node_count = 1, .nodes = &name, .tasks = &(uint32_t){1}};

    if (gethostname(host, sizeof(host) - 1) < 0)
        return dt_error_set(err, "gethostname: %s", strerror(errno));
    return dt_plan_create(plan, &inputs, err);
}

/* The plan of this step, or of a world of one. */
static int read_plan(struct dt_world_start *start, struct dtrain_error *err)
{
    const char *text = getenv(DT_PLAN_WIRE_NAME);

    if (text != NULL) {
        start->plan_hash = dt_plan_wire_hash(text);
        return dt_plan_wire_decode(&start->plan, text, err);
    }
    if (start->settings.step_tasks > 1)
        return dt_error_set(
            err,
            "this step of %u tasks was started without a --dtrain option: add --dtrain-tp=... (or "
            "another of them) to srun",
            start->settings.step_tasks);
    return plan_alone(&start->plan, err);
}

static int choose_boot(struct dt_world_start *start, struct dtrain_error *err)
{
    uint32_t tasks = dt_plan_world(start->plan);

    if (start->settings.step_tasks > tasks)
        tasks = start->settings.step_tasks;
    start->boot = dt_boot_choose(tasks, err);
    return start->boot != NULL ? 0 : -1;
}

int dt_world_start_read(struct dt_world_start *start, const struct dtrain_options *options,
                        struct dtrain_error *err)
{
    if (dt_settings_read(&start->settings, options, getenv, err) == 0 && read_plan(start, err) == 0)
        return 0;
    dt_settings_free(&start->settings);
    return -1;
}

int dtrain_init_start(struct dtrain_world **world, const struct dtrain_options *options,
                      struct dtrain_error *err)
{
    struct dt_world_start start = {.plan = NULL};

    *world = NULL;
    dt_phases_start(&start.phases);
    if (dt_world_start_read(&start, options, err) < 0)
        return -1;
    if (choose_boot(&start, err) < 0) {
        dt_plan_destroy(start.plan);
        dt_settings_free(&start.settings);
        return -1;
    }
    dt_phases_end(&start.phases, "plan");
    return dt_world_start(world, &start, err);
}

/* ---- Waiting for it ---------------------------------------------------------------------- */

static void join_thread(struct dtrain_world *world)
{
    if (!world->is_joined)
        pthread_join(world->thread, NULL);
    world->is_joined = true;
}

int dtrain_init_poll(struct dtrain_world *world, bool *done, struct dtrain_error *err)
{
    int state = atomic_load(&world->state);

    *done = state == DT_WORLD_READY;
    if (state == DT_WORLD_FAILED)
        return dt_error_set(err, "%s", world->error.text);
    return 0;
}

int dt_world_await(struct dtrain_world *world, bool *done, struct dtrain_error *err)
{
    join_thread(world);
    return dtrain_init_poll(world, done, err);
}

int dtrain_init(struct dtrain_world **made, const struct dtrain_options *options, struct dtrain_error *err)
{
    struct dtrain_world *world;
    bool done;

    *made = NULL;
    if (dtrain_init_start(&world, options, err) < 0)
        return -1;
    if (dt_world_await(world, &done, err) < 0) {
        dtrain_finalize(world, NULL);
        return -1;
    }
    *made = world;
    return 0;
}

int dtrain_finalize(struct dtrain_world *world, struct dtrain_error *err)
{
    struct dt_deadline deadline;
    int rc;

    if (world == NULL)
        return 0;
    join_thread(world);
    deadline = dt_deadline_after_ms(world->settings.timeout_ms);
    if (atomic_load(&world->state) == DT_WORLD_FAILED)
        rc = dt_error_set(err, "%s", world->error.text);
    else if (world->control == NULL) /* ranks and groups only */
        rc = 0;
    else
        rc = dt_control_leave(world->control, &deadline, err);
    dt_world_destroy(world);
    return rc;
}

/* ---- Getters -------------------------------------------------------------------------------- */

int dtrain_rank(const struct dtrain_world *world)
{
    return (int)world->rank;
}

int dtrain_size(const struct dtrain_world *world)
{
    return (int)dt_plan_world(world->plan);
}

int dtrain_local_rank(const struct dtrain_world *world)
{
    return (int)dt_plan_rank_local(world->plan, world->rank);
}

int dtrain_local_size(const struct dtrain_world *world)
{
    return (int)dt_plan_node_tasks(world->plan, world->node);
}

int dtrain_node(const struct dtrain_world *world)
{
    return (int)world->node;
}

int dtrain_node_count(const struct dtrain_world *world)
{
    return (int)dt_plan_node_count(world->plan);
}

const char *dtrain_node_name(const struct dtrain_world *world, int rank)
{
    if (rank < 0 || rank >= dtrain_size(world))
        return NULL;
    return dt_plan_node_name(world->plan, dt_plan_rank_node(world->plan, (uint32_t)rank));
}

const char *dtrain_backend(const struct dtrain_world *world)
{
    return world->backend->name;
}

int dtrain_stream_create(struct dtrain_world *world, struct dtrain_stream **stream, struct dtrain_error *err)
{
    return dt_stream_create(stream, world->backend, world->backend_state, err);
}

/* ---- Memory ------------------------------------------------------------------------------------ */

int dtrain_memory_alloc(struct dtrain_world *world, size_t bytes, void **memory, struct dtrain_error *err)
{
    *memory = NULL;
    if (bytes == 0)
        return 0;
    if (bytes > PTRDIFF_MAX)
        return dt_error_set(err, "dtrain_memory_alloc: bytes is %zu: more than memory can hold", bytes);
    return world->backend->memory_alloc(world->backend_state, bytes, memory, err);
}

void dtrain_memory_free(struct dtrain_world *world, void *memory)
{
    world->backend->memory_free(world->backend_state, memory);
}
