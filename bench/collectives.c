/*
 * collectives.c - the time of an all-reduce by size, over all ranks of a step:
 *
 *     srun --dtrain-tp=2 bench/collectives [AXIS]
 *
 * AXIS is tp (the default), cp, ep, dp, pp or world. Each size is reduced in
 * rounds; a round's time is the slowest rank's. Rank 0 of the world prints the
 * median and the best round of its group.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dtrain.h"

#define ROUNDS 11
#define ROUND_NS 20000000.0 /* aimed at */
#define CALLS_MAX 2000

static const size_t sizes[] = {8, 1024, 16384, 65536, 1048576, 16777216, 67108864};

static const struct {
    const char *name;
    unsigned axes;
} axes[] = {
    {"tp", DTRAIN_TP}, {"cp", DTRAIN_CP}, {"ep", DTRAIN_EXPERT | DTRAIN_EP},
    {"dp", DTRAIN_DP}, {"pp", DTRAIN_PP}, {"world", DTRAIN_WORLD},
};

struct bench {
    struct dtrain_world *world;
    struct dtrain_comm *comm;
    struct dtrain_stream *stream;
    float *values;
    struct dtrain_error err;
};

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int reduce(struct bench *bench, size_t count, int calls)
{
    for (int i = 0; i < calls; i++) {
        if (dtrain_all_reduce(bench->comm, bench->values, bench->values, count, DTRAIN_FLOAT32,
                              DTRAIN_MAX, bench->stream, &bench->err) != 0 ||
            dtrain_stream_synchronize(bench->stream, &bench->err) != 0)
            return -1;
    }
    return 0;
}

/* *ns: of one call, on the slowest rank. */
static int time_round(struct bench *bench, size_t count, int calls, double *ns)
{
    double start;

    if (dtrain_barrier(bench->comm, bench->stream, &bench->err) != 0 ||
        dtrain_stream_synchronize(bench->stream, &bench->err) != 0)
        return -1;
    start = now_ns();
    if (reduce(bench, count, calls) != 0)
        return -1;
    *ns = (now_ns() - start) / calls;
    if (dtrain_all_reduce(bench->comm, ns, ns, 1, DTRAIN_FLOAT64, DTRAIN_MAX, bench->stream,
                          &bench->err) != 0)
        return -1;
    return dtrain_stream_synchronize(bench->stream, &bench->err);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int time_size(struct bench *bench, size_t bytes)
{
    size_t count = bytes / sizeof(float);
    double ns[ROUNDS];
    int calls;

    if (time_round(bench, count, 1, &ns[0]) != 0 || time_round(bench, count, 3, &ns[0]) != 0)
        return -1;
    calls = ns[0] * CALLS_MAX < ROUND_NS ? CALLS_MAX : 1 + (int)(ROUND_NS / ns[0]);
    for (int i = 0; i < ROUNDS; i++) {
        if (time_round(bench, count, calls, &ns[i]) != 0)
            return -1;
    }
    qsort(ns, ROUNDS, sizeof(ns[0]), compare);
    if (dtrain_rank(bench->world) == 0)
        printf("%10zu %12.1f %12.1f %10.3f\n", bytes, ns[ROUNDS / 2] / 1e3, ns[0] / 1e3,
               (double)bytes / ns[ROUNDS / 2]);
    return 0;
}

static int run(struct bench *bench, const char *name, unsigned set)
{
    if (dtrain_init(&bench->world, NULL, &bench->err) != 0 ||
        dtrain_comm_get(bench->world, set, &bench->comm, &bench->err) != 0 ||
        dtrain_stream_create(bench->world, &bench->stream, &bench->err) != 0)
        return -1;
    if (dtrain_comm_size(bench->comm) == 1) {
        snprintf(bench->err.text, sizeof(bench->err.text),
                 "a group of one has nothing to reduce: give the step --dtrain-%s=N", name);
        return -1;
    }
    if (dtrain_rank(bench->world) == 0)
        printf("# all_reduce of float32 on %s, %d of %d ranks, %d nodes\n%10s %12s %12s %10s\n", name,
               dtrain_comm_size(bench->comm), dtrain_size(bench->world),
               dtrain_node_count(bench->world), "bytes", "median us", "best us", "GB/s");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (time_size(bench, sizes[i]) != 0)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "tp";
    struct bench bench = {.values = calloc(1, sizes[sizeof(sizes) / sizeof(sizes[0]) - 1])};
    unsigned set = 0;
    int rc = -1;

    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        if (strcmp(name, axes[i].name) == 0)
            set = axes[i].axes;
    }
    if (set == 0 || bench.values == NULL) {
        fprintf(stderr, "usage: collectives [tp|cp|ep|dp|pp|world] (got '%.32s')\n", name);
        goto out;
    }
    rc = run(&bench, name, set);
    if (rc != 0)
        fprintf(stderr, "collectives: %s\n", bench.err.text);
out:
    dtrain_stream_destroy(bench.stream, NULL);
    if (dtrain_finalize(bench.world, &bench.err) != 0 && rc == 0)
        fprintf(stderr, "collectives: %s\n", bench.err.text);
    free(bench.values);
    return rc == 0 ? 0 : 1;
}
