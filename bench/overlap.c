/*
 * overlap.c - how much of the gradients' way is hidden behind the backward pass:
 *
 *     srun -N2 --ntasks-per-node=1 --dtrain-tp=1 bench/overlap [BUCKET-MIB] [LAYER-MS]
 *
 * The backward pass of 48 layers of 2 MiB of float32 gradients each sleeps for
 * LAYER-MS (20) a layer, so that it costs no CPU, as a GPU's. Three ways of a
 * step: the pass alone; all gradients ready at its end; each one ready at its
 * time. Rank 0 prints the median of the slowest rank's times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dtrain_dp.h"

#define LAYERS 48
#define LAYER_FLOATS ((size_t)1 << 19)
#define STEPS 5

enum way { PASS_ALONE, AT_THE_END, AT_ITS_TIME, WAYS };

struct bench {
    struct dtrain_world *world;
    struct dtrain_comm *comm;
    struct dtrain_stream *stream;
    struct dtrain_dp *dp;
    double *slowest; /* in the backend's memory */
    int layer_ms;
    struct dtrain_error err;
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int ready_all(struct bench *bench)
{
    for (size_t i = LAYERS; i-- > 0;)
        if (dtrain_dp_ready(bench->dp, i, NULL, &bench->err) != 0)
            return -1;
    return 0;
}

static int backward(struct bench *bench, enum way way)
{
    struct timespec layer = {.tv_sec = bench->layer_ms / 1000, .tv_nsec = bench->layer_ms % 1000 * 1000000L};

    for (size_t i = LAYERS; i-- > 0;) {
        nanosleep(&layer, NULL);
        if (way == AT_ITS_TIME && dtrain_dp_ready(bench->dp, i, NULL, &bench->err) != 0)
            return -1;
    }
    return way == AT_THE_END ? ready_all(bench) : 0;
}

/* Also with the pass alone: all ranks leave the step before together. */
static int step(struct bench *bench, enum way way, double *ms)
{
    double start;

    if (dtrain_barrier(bench->comm, bench->stream, &bench->err) != 0 ||
        dtrain_stream_synchronize(bench->stream, &bench->err) != 0)
        return -1;
    start = now_ms();
    if (way == PASS_ALONE) {
        *ms = backward(bench, way) == 0 ? now_ms() - start : 0;
        return 0;
    }
    if (dtrain_dp_begin(bench->dp, true, &bench->err) != 0 || backward(bench, way) != 0 ||
        dtrain_dp_finish(bench->dp, NULL, &bench->err) != 0)
        return -1;
    *ms = now_ms() - start;
    return 0;
}

static int take_slowest(struct bench *bench, double *ms)
{
    if (dtrain_copy(bench->slowest, ms, sizeof(*ms), bench->stream, &bench->err) != 0 ||
        dtrain_all_reduce(bench->comm, bench->slowest, bench->slowest, 1, DTRAIN_FLOAT64, DTRAIN_MAX,
                          bench->stream, &bench->err) != 0 ||
        dtrain_copy(ms, bench->slowest, sizeof(*ms), bench->stream, &bench->err) != 0)
        return -1;
    return dtrain_stream_synchronize(bench->stream, &bench->err);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The first step learns the order and is not counted. */
static int time_way(struct bench *bench, enum way way, double *median)
{
    double ms[STEPS + 1];

    for (int i = 0; i <= STEPS; i++)
        if (step(bench, way, &ms[i]) != 0 || take_slowest(bench, &ms[i]) != 0)
            return -1;
    qsort(ms + 1, STEPS, sizeof(ms[0]), compare);
    *median = ms[1 + STEPS / 2];
    return 0;
}

static void print_table(const struct bench *bench, size_t bucket_mib, const double ms[WAYS])
{
    double communication = ms[AT_THE_END] - ms[PASS_ALONE];

    printf("# %d ranks on %d nodes, %d layers of %zu MiB, buckets of %zu MiB\n", dtrain_size(bench->world),
           dtrain_node_count(bench->world), LAYERS, LAYER_FLOATS * sizeof(float) >> 20, bucket_mib);
    printf("%12s %14s %14s %14s %10s\n", "pass ms", "at the end ms", "overlapped ms", "reductions ms",
           "hidden %");
    printf("%12.0f %14.0f %14.0f %14.0f %10.0f\n", ms[PASS_ALONE], ms[AT_THE_END], ms[AT_ITS_TIME],
           communication, 100 * (ms[AT_THE_END] - ms[AT_ITS_TIME]) / communication);
}

static int create(struct bench *bench, size_t bucket_mib)
{
    struct dtrain_dp_options options = {.holds_storage = true, .bucket_bytes = bucket_mib << 20};
    struct dtrain_parameter parameters[LAYERS];
    void *memory;

    for (size_t i = 0; i < LAYERS; i++)
        parameters[i] = (struct dtrain_parameter){.name = "layer", .count = LAYER_FLOATS};
    if (dtrain_init(&bench->world, NULL, &bench->err) != 0 ||
        dtrain_comm_get(bench->world, DTRAIN_DP, &bench->comm, &bench->err) != 0 ||
        dtrain_stream_create(bench->world, &bench->stream, &bench->err) != 0 ||
        dtrain_memory_alloc(bench->world, sizeof(double), &memory, &bench->err) != 0)
        return -1;
    bench->slowest = memory;
    return dtrain_dp_create(&bench->dp, bench->world, parameters, LAYERS, &options, &bench->err);
}

static int run(struct bench *bench, size_t bucket_mib)
{
    double ms[WAYS];

    if (create(bench, bucket_mib) != 0)
        return -1;
    for (enum way way = PASS_ALONE; way < WAYS; way++)
        if (time_way(bench, way, &ms[way]) != 0)
            return -1;
    if (dtrain_rank(bench->world) == 0)
        print_table(bench, bucket_mib, ms);
    return 0;
}

int main(int argc, char **argv)
{
    long bucket_mib = argc > 1 ? strtol(argv[1], NULL, 10) : 25;
    long layer_ms = argc > 2 ? strtol(argv[2], NULL, 10) : 20;
    struct bench bench = {.layer_ms = (int)layer_ms};
    int rc;

    if (bucket_mib < 1 || bucket_mib > 1024 || layer_ms < 0 || layer_ms > 10000) {
        fprintf(stderr, "usage: overlap [BUCKET-MIB (1 to 1024)] [LAYER-MS (0 to 10000)]\n");
        return 2;
    }
    rc = run(&bench, (size_t)bucket_mib);
    if (rc != 0)
        fprintf(stderr, "overlap: %s\n", bench.err.text);
    dtrain_dp_destroy(bench.dp);
    dtrain_stream_destroy(bench.stream, NULL);
    if (bench.world != NULL)
        dtrain_memory_free(bench.world, bench.slowest);
    if (dtrain_finalize(bench.world, &bench.err) != 0 && rc == 0)
        fprintf(stderr, "overlap: %s\n", bench.err.text);
    return rc == 0 ? 0 : 1;
}
