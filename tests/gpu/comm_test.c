/* NCCL itself: a communicator of one made by the backend, then worlds on as many GPUs as there are. */
#include <stdlib.h>
#include <time.h>

#include "gpu.h"
#include "tests/unit/tap.h"

/* ---- One GPU ---------------------------------------------------------------------- */

struct alone {
    void *state, *stream, *comm, *memory;
    float x[4];
};

static int sum_alone(struct alone *a, struct dtrain_error *err)
{
    struct dt_operation sum = {.kind = DT_ALL_REDUCE, .count = 4, .type = DTRAIN_FLOAT32, .op = DTRAIN_SUM};

    if (gpu_backend.memory_alloc(a->state, sizeof(a->x), &a->memory, err) != 0 ||
        gpu_backend.enqueue_copy(a->memory, a->x, sizeof(a->x), a->stream, err) != 0)
        return -1;
    sum.send = sum.recv = a->memory;
    if (gpu_backend.enqueue(a->comm, &sum, a->stream, err) != 0 ||
        gpu_backend.enqueue_copy(a->x, a->memory, sizeof(a->x), a->stream, err) != 0)
        return -1;
    return gpu_backend.stream_synchronize(a->stream, err);
}

/* The library makes none of one rank; the backend can. */
static int make_alone(struct alone *a, const struct dt_log *log, struct dtrain_error *err)
{
    static const uint32_t members[] = {0};
    unsigned char ids[1][DT_BACKEND_ID_MAX] = {{0}};
    struct dt_backend_env env = {.log = log, .timeout_ms = 60000};
    struct dt_comm_request request = {
        .name = "dtrain/alone/0", .channel = 1, .size = 1, .members = members, .id_count = 1, .ids = ids};
    struct dt_deadline deadline = dt_deadline_after_ms(60000);

    if (gpu_backend.open(&a->state, &env, err) != 0 ||
        gpu_backend.stream_create(a->state, &a->stream, err) != 0 || gpu_backend.id_create(ids[0], err) != 0)
        return -1;
    return gpu_backend.comms_create(a->state, &request, 1, &a->comm, &deadline, err);
}

static void end_alone(struct alone *a)
{
    gpu_backend.comm_destroy(a->comm);
    if (a->state != NULL)
        gpu_backend.memory_free(a->state, a->memory);
    if (a->stream != NULL)
        gpu_backend.stream_destroy(a->stream);
    gpu_backend.close(a->state);
}

static void body_alone(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct alone a = {.x = {1, -2, 3.5f, 4}};
    struct dt_log log = {.level = DT_LOG_ERROR};
    struct dtrain_error err = {""};
    int rc = make_alone(&a, &log, &err);

    (void)step;
    (void)rank;
    if (rc == 0)
        rc = sum_alone(&a, &err);
    printf("# NCCL %s\n", gpu_backend.version());
    if (rc != 0)
        snprintf(said, FORK_TEXT_MAX, "%s", err.text);
    else
        snprintf(said, FORK_TEXT_MAX, "%s",
                 a.x[0] == 1 && a.x[1] == -2 && a.x[3] == 4 ? "well" : "wrong sum");
    end_alone(&a);
}

/* ---- Several ------------------------------------------------------------------------ */

enum { COUNT = 1 << 24, ROUNDS = 20 };

static const struct {
    unsigned axes;
    const char *name;
} groups[] = {{DTRAIN_TP, "tp"}, {DTRAIN_PP, "pp"}, {DTRAIN_DP, "dp"}, {DTRAIN_WORLD, "world"}};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct run {
    struct dtrain_world *world;
    struct dtrain_stream *stream;
    float *host;
    void *device;
};

static int reduce(struct run *run, struct dtrain_comm *comm, struct dtrain_error *err)
{
    return dtrain_all_reduce(comm, run->device, run->device, COUNT, DTRAIN_FLOAT32, DTRAIN_SUM, run->stream,
                             err);
}

/* The sum over the group of world ranks. */
static int check_sum(struct run *run, unsigned axes, struct dtrain_comm *comm, struct dtrain_error *err)
{
    struct dtrain_group group;
    float expected = 0;

    if (dtrain_group_get(run->world, axes, &group, err) != 0)
        return -1;
    for (int i = 0; i < group.size; i++)
        expected += (float)dtrain_group_member(run->world, &group, i);
    for (size_t i = 0; i < COUNT; i++)
        run->host[i] = (float)dtrain_rank(run->world);
    if (dtrain_copy(run->device, run->host, COUNT * sizeof(float), run->stream, err) != 0 ||
        reduce(run, comm, err) != 0 ||
        dtrain_copy(run->host, run->device, COUNT * sizeof(float), run->stream, err) != 0 ||
        dtrain_stream_synchronize(run->stream, err) != 0)
        return -1;
    for (size_t i = 0; i < COUNT; i++) {
        if (run->host[i] != expected) {
            snprintf(err->text, sizeof(err->text), "element %zu is %g, expected %g", i, (double)run->host[i],
                     (double)expected);
            return -1;
        }
    }
    return 0;
}

/* Bus bandwidth as nccl-tests count it: 2 (n - 1) / n of the bytes. */
static int measure(struct run *run, struct dtrain_comm *comm, const char *name, struct dtrain_error *err)
{
    double n = dtrain_comm_size(comm), start, seconds;

    if (reduce(run, comm, err) != 0 || dtrain_stream_synchronize(run->stream, err) != 0)
        return -1;
    start = now_s();
    for (int i = 0; i < ROUNDS; i++) {
        if (reduce(run, comm, err) != 0)
            return -1;
    }
    if (dtrain_stream_synchronize(run->stream, err) != 0)
        return -1;
    seconds = (now_s() - start) / ROUNDS;
    if (dtrain_rank(run->world) == 0)
        printf("# all_reduce of %zu MiB over %s of %.0f GPUs: %.1f GB/s on the bus\n",
               COUNT * sizeof(float) >> 20, name, n, 2 * (n - 1) / n * COUNT * sizeof(float) / seconds / 1e9);
    return 0;
}

static int try_groups(struct run *run, struct dtrain_error *err)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        struct dtrain_comm *comm;

        if (dtrain_comm_get(run->world, groups[i].axes, &comm, err) != 0)
            return -1;
        if (dtrain_comm_size(comm) > 1 &&
            (check_sum(run, groups[i].axes, comm, err) != 0 || measure(run, comm, groups[i].name, err) != 0))
            return -1;
    }
    return 0;
}

static void body_groups(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct run run = {.host = malloc(COUNT * sizeof(float))};
    struct dtrain_error err = {""};
    int rc = fork_init(&run.world, step, rank, NULL, NULL, &err);

    if (rc == 0)
        rc = dtrain_stream_create(run.world, &run.stream, &err);
    if (rc == 0)
        rc = dtrain_memory_alloc(run.world, COUNT * sizeof(float), &run.device, &err);
    if (rc == 0)
        rc = try_groups(&run, &err);
    snprintf(said, FORK_TEXT_MAX, "%s", rc == 0 ? "well" : err.text);
    if (run.device != NULL)
        dtrain_memory_free(run.world, run.device);
    if (run.stream != NULL)
        dtrain_stream_destroy(run.stream, NULL);
    dtrain_finalize(run.world, NULL);
    free(run.host);
}

static const struct {
    const char *name;
    struct fork_layout layout;
} worlds[] = {
    {"tp 2", {1, 2, 2, 1, 1}},       {"pp 2", {1, 2, 1, 2, 1}},
    {"tp 2, dp 2", {1, 4, 2, 1, 1}}, {"tp 2, pp 2, dp 2", {1, 8, 2, 2, 1}},
    {"tp 8", {1, 8, 8, 1, 1}},
};

int main(void)
{
    char why[256];
    int count = gpu_count(why, sizeof(why));

    if (count == 0)
        return gpu_skip(why);
    tap_ok(gpu_run("alone", (struct fork_layout){1, 1, 1, 1, 1}, body_alone), "a communicator of one");
    for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
        snprintf(why, sizeof(why), "it needs %u GPUs, here are %d", worlds[i].layout.tasks, count);
        if ((int)worlds[i].layout.tasks > count)
            tap_skip(worlds[i].name, why);
        else
            tap_ok(gpu_run(worlds[i].name, worlds[i].layout, body_groups), "%s: all groups sum",
                   worlds[i].name);
    }
    return tap_done();
}
