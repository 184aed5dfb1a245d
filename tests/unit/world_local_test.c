/* All ranks in one process: driven by one thread, or by one each. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dtrain.h"
#include "tap.h"

#define RANKS_MAX 16
#define COUNT 1000

static const unsigned sets[] = {DTRAIN_TP, DTRAIN_PP, DTRAIN_DP, DTRAIN_TP | DTRAIN_DP, DTRAIN_WORLD};

#define SETS (sizeof(sets) / sizeof(sets[0]))

struct local {
    struct dtrain_local_options options;
    struct dtrain_world *worlds[RANKS_MAX];
    struct dtrain_stream *streams[RANKS_MAX];
    struct dtrain_comm *comms[RANKS_MAX];
    int values[RANKS_MAX][COUNT];
    struct dtrain_error err;
};

static bool begin(struct local *local)
{
    if (dtrain_init_local(local->worlds, &local->options, &local->err) < 0)
        return false;
    for (int i = 0; i < local->options.n; i++)
        if (dtrain_stream_create(local->worlds[i], &local->streams[i], &local->err) < 0)
            return false;
    return true;
}

static bool end(struct local *local)
{
    for (int i = 0; i < local->options.n; i++)
        dtrain_stream_destroy(local->streams[i], NULL);
    return dtrain_finalize_local(local->worlds, local->options.n, &local->err) == 0;
}

static int expected_sum(const struct dtrain_comm *comm, int round)
{
    int sum = 0;

    for (int i = 0; i < dtrain_comm_size(comm); i++)
        sum += dtrain_comm_member(comm, i) + round;
    return sum;
}

/* ---- One thread --------------------------------------------------------------- */

static bool queue_all(struct local *local, int round)
{
    bool ok = dtrain_batch_begin(local->worlds[0], &local->err) == 0;

    for (int i = 0; ok && i < local->options.n; i++) {
        for (int j = 0; j < COUNT; j++)
            local->values[i][j] = i + round;
        ok = dtrain_all_reduce(local->comms[i], local->values[i], local->values[i], COUNT, DTRAIN_INT32,
                               DTRAIN_SUM, local->streams[i], &local->err) == 0;
    }
    return dtrain_batch_end(local->worlds[0], ok ? &local->err : NULL) == 0 && ok;
}

static bool check_all(struct local *local, int round)
{
    for (int i = 0; i < local->options.n; i++) {
        if (dtrain_stream_synchronize(local->streams[i], &local->err) < 0)
            return false;
        for (int j = 0; j < COUNT; j++)
            if (local->values[i][j] != expected_sum(local->comms[i], round))
                return false;
    }
    return true;
}

static bool sum_by_one_thread(struct local *local)
{
    bool ok = true;

    for (size_t set = 0; set < SETS && ok; set++) {
        ok = dtrain_comm_get_local(local->worlds, local->options.n, sets[set], local->comms, &local->err) == 0;
        for (int round = 0; round < 20 && ok; round++)
            ok = queue_all(local, round) && check_all(local, round);
    }
    return ok;
}

/* Stage after stage, as a debugger would step through a pipeline. */
static bool pass_by_one_thread(struct local *local)
{
    int n = local->options.n;
    bool ok = dtrain_comm_get_local(local->worlds, n, DTRAIN_WORLD, local->comms, &local->err) == 0;

    local->values[0][0] = 7;
    for (int i = 0; ok && i < n; i++) {
        if (i > 0)
            ok = dtrain_recv(local->comms[i], local->values[i], COUNT, DTRAIN_INT32, i - 1, local->streams[i],
                             &local->err) == 0;
        if (ok && i + 1 < n)
            ok = dtrain_send(local->comms[i], local->values[i], COUNT, DTRAIN_INT32, i + 1, local->streams[i],
                             &local->err) == 0;
    }
    for (int i = 0; ok && i < n; i++)
        ok = dtrain_stream_synchronize(local->streams[i], &local->err) == 0;
    return ok && local->values[n - 1][0] == 7;
}

/* ---- A thread each ------------------------------------------------------------- */

struct seat {
    struct local *local;
    int rank;
    bool ok;
};

static void *sum_in_thread(void *argument)
{
    struct seat *seat = argument;
    struct local *local = seat->local;
    struct dtrain_world *world = local->worlds[seat->rank];

    seat->ok = dtrain_rank(world) == seat->rank && dtrain_size(world) == local->options.n &&
               dtrain_local_size(world) == local->options.n && dtrain_node_count(world) == 1;
    for (size_t set = 0; set < SETS && seat->ok; set++) {
        struct dtrain_comm *comm;
        int sum = seat->rank;

        seat->ok = dtrain_comm_get(world, sets[set], &comm, NULL) == 0 &&
                   dtrain_all_reduce(comm, &sum, &sum, 1, DTRAIN_INT32, DTRAIN_SUM, local->streams[seat->rank],
                                     NULL) == 0 &&
                   dtrain_stream_synchronize(local->streams[seat->rank], NULL) == 0 &&
                   sum == expected_sum(comm, 0);
    }
    return NULL;
}

static bool sum_by_threads(struct local *local)
{
    struct seat seats[RANKS_MAX];
    pthread_t threads[RANKS_MAX];
    bool ok = true;

    for (int i = 0; i < local->options.n; i++) {
        seats[i] = (struct seat){local, i, false};
        if (pthread_create(&threads[i], NULL, sum_in_thread, &seats[i]) != 0)
            return false;
    }
    for (int i = 0; i < local->options.n; i++) {
        pthread_join(threads[i], NULL);
        ok = ok && seats[i].ok;
    }
    return ok;
}

/* One rank's thread revokes, the one thread of all sees it on all. */
static bool revoke_one(struct local *local)
{
    struct dtrain_error err = {""};
    bool ok = dtrain_comm_get_local(local->worlds, local->options.n, DTRAIN_WORLD, local->comms, &local->err) == 0 &&
              dtrain_comms_revoke(local->worlds[1], "the loss is not a number", &local->err) == 0;

    for (int i = 0; ok && i < local->options.n; i++)
        ok = (dtrain_barrier(local->comms[i], local->streams[i], &err) < 0 ||
              dtrain_stream_synchronize(local->streams[i], &err) < 0) &&
             strstr(err.text, "revoked by rank 1 on ") != NULL;
    if (!ok)
        local->err = err;
    return ok;
}

/* ---- Good rows ----------------------------------------------------------------- */

static const int four_devices[] = {3, 1, 0, 2};

static const struct {
    const char *name;
    struct dtrain_local_options options;
    bool (*run)(struct local *local);
} rows[] = {
    {"1 rank", {.n = 1, .backend = "host"}, sum_by_one_thread},
    {"2 ranks, data parallel", {.n = 2, .backend = "host"}, sum_by_one_thread},
    {"8 ranks, tp 2 pp 2 dp 2", {.n = 8, .tp = 2, .pp = 2, .backend = "host"}, sum_by_one_thread},
    {"16 ranks", {.n = 16, .tp = 4, .pp = 2, .order = "tp-pp-dp", .backend = "host"}, sum_by_one_thread},
    {"4 ranks on chosen devices", {.n = 4, .devices = four_devices, .dp = 4, .backend = "HOST"}, sum_by_one_thread},
    {"a pipeline of 4", {.n = 4, .pp = 4, .backend = "host"}, pass_by_one_thread},
    {"8 ranks, a thread each", {.n = 8, .tp = 2, .pp = 2, .backend = "host"}, sum_by_threads},
    {"4 ranks, one revokes", {.n = 4, .backend = "host"}, revoke_one},
};

/* ---- Bad rows ------------------------------------------------------------------- */

static const int twice[] = {0, 1, 1};
static const int negative[] = {0, -1};

static const struct {
    struct dtrain_local_options options;
    const char *words;
} bad[] = {
    {{.n = 0}, "dtrain_init_local: n is 0: one process has 1 to 256 ranks"},
    {{.n = 257}, "n is 257"},
    {{.n = 3, .devices = twice}, "devices[1] and devices[2] are both 1: each rank needs its own"},
    {{.n = 2, .devices = negative}, "devices[1] is -1: devices are numbered from 0"},
    {{.n = 4, .tp = 3, .backend = "host"}, "3"},
    {{.n = 4, .tp = 2, .dp = 4, .backend = "host"}, "dp"},
    {{.n = 4, .tp = -2}, "tp is -2: expected 0 (not given) or more"},
    {{.n = 4, .order = "tp-tp", .backend = "host"}, "tp"},
    {{.n = 2, .backend = "rccl"}, "backend 'rccl' is not known: expected auto, nccl or host"},
};

static void test_refusals(void)
{
    struct dtrain_world *worlds[DTRAIN_LOCAL_MAX];
    struct dtrain_error err = {""};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (!tap_ok(dtrain_init_local(worlds, &bad[i].options, &err) < 0 && strstr(err.text, bad[i].words) != NULL &&
                        strstr(err.text, "dtrain_init_local: ") == err.text,
                    "refused: %s", bad[i].words))
            printf("# %s\n", err.text);
    tap_ok(dtrain_init_local(NULL, &bad[0].options, &err) < 0 && strstr(err.text, "worlds is NULL") != NULL,
           "no place for the worlds");
    tap_ok(dtrain_init_local(worlds, NULL, &err) < 0 && strstr(err.text, "options is NULL") != NULL, "no options");
    tap_ok(dtrain_batch_begin(NULL, &err) < 0 && dtrain_batch_end(NULL, &err) < 0, "a batch of no world");
}

/* The variables of a step that the process is in are not these ranks'. */
static void test_inside_a_step(void)
{
    struct local *local = calloc(1, sizeof(*local));

    setenv("RANK", "5", 1);
    setenv("WORLD_SIZE", "64", 1);
    setenv("SLURM_STEP_NUM_TASKS", "64", 1);
    local->options = (struct dtrain_local_options){.n = 2, .backend = "host"};
    if (!tap_ok(begin(local) && end(local), "inside a step of its own"))
        printf("# %s\n", local->err.text);
    free(local);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct local *local = calloc(1, sizeof(*local));
        bool ok;

        local->options = rows[i].options;
        ok = begin(local) && rows[i].run(local);
        if (!tap_ok(ok, "%s", rows[i].name))
            printf("# %s\n", local->err.text);
        tap_ok(end(local), "%s: the end", rows[i].name);
        free(local);
    }
    test_refusals();
    test_inside_a_step();
    return tap_done();
}
