#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "boot_local.h"
#include "core/plan_wire.h"
#include "thread.h"
#include "world.h"

/* ---- What is asked for ----------------------------------------------------------- */

static int find_backend(const char *name, enum dt_backend_choice *choice, struct dtrain_error *err)
{
    if (name == NULL)
        return 0;
    for (int i = 0; i < 3; i++) {
        if (strcasecmp(name, dt_backend_words[i]) == 0) {
            *choice = (enum dt_backend_choice)i;
            return 0;
        }
    }
    return dt_error_set(err, "backend '%.32s' is not known: expected auto, nccl or host", name);
}

static int device_of(const struct dtrain_local_options *options, int i)
{
    return options->devices != NULL ? options->devices[i] : i;
}

static int check_devices(const struct dtrain_local_options *options, struct dtrain_error *err)
{
    if (options->n < 1 || options->n > DTRAIN_LOCAL_MAX)
        return dt_error_set(err, "n is %d: one process has 1 to %d ranks", options->n, DTRAIN_LOCAL_MAX);
    for (int i = 0; i < options->n; i++) {
        if (device_of(options, i) < 0)
            return dt_error_set(err, "devices[%d] is %d: devices are numbered from 0", i, device_of(options, i));
        for (int j = 0; j < i; j++)
            if (device_of(options, i) == device_of(options, j))
                return dt_error_set(err, "devices[%d] and devices[%d] are both %d: each rank needs its own", j, i,
                                    device_of(options, i));
    }
    return 0;
}

static int check_sizes(const struct dtrain_local_options *options, struct dtrain_error *err)
{
    const struct {
        const char *name;
        int size;
    } sizes[] = {{"tp", options->tp}, {"cp", options->cp}, {"ep", options->ep},
                 {"dp", options->dp}, {"pp", options->pp}, {"etp", options->etp}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].size < 0)
            return dt_error_set(err, "%s is %d: expected 0 (not given) or more", sizes[i].name, sizes[i].size);
    return 0;
}

static int make_plan(struct dt_plan **plan, const struct dtrain_local_options *options, struct dtrain_error *err)
{
    char host[DT_BOOT_HOST_MAX] = "localhost";
    const char *name = host;
    struct dt_plan_inputs inputs = {
        .request = {.tp = (uint32_t)options->tp, .cp = (uint32_t)options->cp, .ep = (uint32_t)options->ep,
                    .dp = (uint32_t)options->dp, .pp = (uint32_t)options->pp, .etp = (uint32_t)options->etp,
                    .order = options->order},
        .node_count = 1,
        .nodes = &name,
        .tasks = &(uint32_t){(uint32_t)options->n},
    };

    if (find_backend(options->backend, &inputs.backend, err) < 0)
        return -1;
    if (gethostname(host, sizeof(host) - 1) < 0)
        snprintf(host, sizeof(host), "localhost");
    return dt_plan_create(plan, &inputs, err);
}

/* ---- One rank ----------------------------------------------------------------------- */

/* The step's own variables, if there is a step, say nothing of these ranks. */
static int read_settings(struct dt_settings *settings, const struct dtrain_local_options *options,
                         struct dtrain_error *err)
{
    struct dtrain_options timeouts = {options->init_timeout_ms, options->timeout_ms};

    if (dt_settings_read(settings, &timeouts, getenv, err) < 0)
        return -1;
    memset(settings->rank_variables, 0, sizeof(settings->rank_variables));
    free(settings->mapping);
    settings->mapping = NULL;
    return 0;
}

static int hash_plan(uint64_t *hash, const struct dt_plan *plan, struct dtrain_error *err)
{
    char *text = NULL;

    if (dt_plan_wire_encode(&text, plan, err) < 0)
        return -1;
    *hash = dt_plan_wire_hash(text);
    free(text);
    return 0;
}

static int start_rank(struct dtrain_world **world, const struct dtrain_local_options *options, int i,
                      struct dt_local_table *table, struct dtrain_error *err)
{
    struct dt_world_start start = {
        .boot = &dt_boot_local,
        .boot_state = dt_local_table_seat(table, (uint32_t)i),
        .device = device_of(options, i),
        .has_device = true,
    };

    dt_phases_start(&start.phases);
    if (read_settings(&start.settings, options, err) < 0 || make_plan(&start.plan, options, err) < 0 ||
        hash_plan(&start.plan_hash, start.plan, err) < 0) {
        dt_plan_destroy(start.plan);
        dt_settings_free(&start.settings);
        return -1;
    }
    dt_phases_end(&start.phases, "plan");
    return dt_world_start(world, &start, err);
}

/* ---- In threads of their own ----------------------------------------------------------- */

/* What is collective and blocks, called for each rank of the process at once. */
struct call {
    struct dtrain_world *world;
    unsigned axes;
    struct dtrain_comm **comm;
    int (*run)(struct call *call);
    pthread_t thread;
    bool has_thread;
    int rc;
    struct dtrain_error err;
};

static void *run_call(void *argument)
{
    struct call *call = argument;

    call->rc = call->run(call);
    return NULL;
}

/* The last one runs in this thread. -1 with the first failure. */
static int run_calls(struct call *calls, int n, struct dtrain_error *err)
{
    const struct call *failed = NULL;

    for (int i = 0; i < n; i++) {
        struct call *call = &calls[i];

        call->has_thread = i + 1 < n && dt_thread_start(&call->thread, run_call, call, "a rank's thread",
                                                        &call->err) == 0;
        if (!call->has_thread && i + 1 < n)
            call->rc = -1;
        else if (!call->has_thread)
            run_call(call);
    }
    for (int i = 0; i < n; i++) {
        if (calls[i].has_thread)
            pthread_join(calls[i].thread, NULL);
        if (calls[i].rc < 0 && failed == NULL)
            failed = &calls[i];
    }
    return failed == NULL ? 0 : dt_error_set(err, "%s", failed->err.text);
}

static struct call *make_calls(struct dtrain_world *const *worlds, int n, int (*run)(struct call *call),
                               struct dtrain_error *err)
{
    struct call *calls = calloc((size_t)n + 1, sizeof(*calls));

    if (calls == NULL)
        dt_error_memory(err, (size_t)n * sizeof(*calls), "the ranks' calls");
    for (int i = 0; calls != NULL && i < n; i++)
        calls[i] = (struct call){.world = worlds[i], .run = run};
    return calls;
}

static int run_finalize(struct call *call)
{
    return dtrain_finalize(call->world, &call->err);
}

static int run_comm_get(struct call *call)
{
    return dtrain_comm_get(call->world, call->axes, call->comm, &call->err);
}

/* ---- As dtrain.h says --------------------------------------------------------------- */

/* All are joined, so that the first failure is the one that the others were told of. */
static int await_all(struct dtrain_world **worlds, int n, struct dtrain_error *err)
{
    int rc = 0;

    for (int i = 0; i < n; i++) {
        struct dtrain_error failure;
        bool done;

        if (dt_world_await(worlds[i], &done, &failure) < 0 && rc == 0)
            rc = dt_error_set(err, "%s", failure.text);
    }
    return rc;
}

static int start_all(struct dtrain_world **worlds, const struct dtrain_local_options *options,
                     struct dtrain_error *err)
{
    struct dt_local_table *table;
    int started = 0, rc;

    if (dt_local_table_create(&table, (uint32_t)options->n, err) < 0)
        return -1;
    while (started < options->n && start_rank(&worlds[started], options, started, table, err) == 0)
        started++;
    if (started < options->n)
        dt_local_table_fail(table);
    rc = await_all(worlds, started, started < options->n ? NULL : err);
    dt_local_table_destroy(table);
    return started < options->n ? -1 : rc;
}

int dtrain_init_local(struct dtrain_world **worlds, const struct dtrain_local_options *options,
                      struct dtrain_error *err)
{
    if (worlds == NULL || options == NULL)
        return dt_error_set(err, "dtrain_init_local: %s is NULL", worlds == NULL ? "worlds" : "options");
    if (check_devices(options, err) < 0 || check_sizes(options, err) < 0)
        return dt_error_prefix(err, "dtrain_init_local");
    memset(worlds, 0, (size_t)options->n * sizeof(*worlds));
    if (start_all(worlds, options, err) == 0)
        return 0;
    (void)dtrain_finalize_local(worlds, options->n, NULL);
    memset(worlds, 0, (size_t)options->n * sizeof(*worlds));
    return dt_error_prefix(err, "dtrain_init_local");
}

int dtrain_finalize_local(struct dtrain_world **worlds, int n, struct dtrain_error *err)
{
    struct call *calls = make_calls(worlds, n, run_finalize, err);
    int rc;

    if (calls == NULL)
        return -1;
    rc = run_calls(calls, n, err);
    free(calls);
    return rc;
}

int dtrain_comm_get_local(struct dtrain_world **worlds, int n, unsigned axes, struct dtrain_comm **comms,
                          struct dtrain_error *err)
{
    struct call *calls = make_calls(worlds, n, run_comm_get, err);
    int rc;

    if (calls == NULL)
        return -1;
    for (int i = 0; i < n; i++) {
        calls[i].axes = axes;
        calls[i].comm = &comms[i];
    }
    rc = run_calls(calls, n, err);
    free(calls);
    return rc;
}

/* ---- Batches ------------------------------------------------------------------------- */

int dtrain_batch_begin(struct dtrain_world *world, struct dtrain_error *err)
{
    if (world == NULL)
        return dt_error_set(err, "dtrain_batch_begin: world is NULL");
    return world->backend->batch_begin != NULL ? world->backend->batch_begin(world->backend_state, err) : 0;
}

int dtrain_batch_end(struct dtrain_world *world, struct dtrain_error *err)
{
    if (world == NULL)
        return dt_error_set(err, "dtrain_batch_end: world is NULL");
    return world->backend->batch_end != NULL ? world->backend->batch_end(world->backend_state, err) : 0;
}
