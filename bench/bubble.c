/*
 * bubble.c - the bubble of pipeline schedules as it is, beside the formula's:
 *
 *     srun --dtrain-pp=4 bench/bubble [MS]
 *
 * Stages sleep MS (20) for a forward, the gradient of the input and that of the
 * weights each, an activation is 64 KiB. The bubble is the share of the step, from
 * the first stage's begin to the last one's end, in which a stage is not in a
 * callback, the mean of all stages. They are on one machine, whose clock they share.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dtrain_pp.h"

#define ELEMENTS 16384
#define STEPS 3   /* the median is shown; one more warms up */
#define CLOSE 5.0 /* percent */

static const struct {
    enum dtrain_pp_kind kind;
    int chunks;
    int microbatches_a_stage;
} rows[] = {
    {DTRAIN_PP_1F1B, 1, 1},        {DTRAIN_PP_1F1B, 1, 2},        {DTRAIN_PP_1F1B, 1, 4},
    {DTRAIN_PP_GPIPE, 1, 2},       {DTRAIN_PP_GPIPE, 1, 4},       {DTRAIN_PP_INTERLEAVED, 2, 1},
    {DTRAIN_PP_INTERLEAVED, 2, 2}, {DTRAIN_PP_INTERLEAVED, 4, 2}, {DTRAIN_PP_ZB_H1, 1, 1},
    {DTRAIN_PP_ZB_H1, 1, 2},       {DTRAIN_PP_ZB_H1, 1, 4},
};

struct bench {
    struct dtrain_world *world;
    struct dtrain_comm *comm;
    struct dtrain_stream *stream;
    long ms;
    struct dtrain_error err;
};

static void rest(long ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static int rest_once(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    (void)err;
    rest(*(const long *)work->context);
    return 0;
}

static int rest_twice(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    (void)err;
    rest(2 * *(const long *)work->context);
    return 0;
}

/* Idle over the whole, of times 1, 1, 1. */
static double formula(enum dtrain_pp_kind kind, int stages, int microbatches, int chunks)
{
    double computing = 3.0 * microbatches * chunks,
           idle = (stages - 1) * (kind == DTRAIN_PP_ZB_H1 ? 1.0 : 3.0);

    return idle / (computing + idle);
}

struct step {
    double ms;     /* from the first begin of all stages to the last end */
    double bubble; /* percent */
};

static int read_step(struct bench *bench, const struct dtrain_pp *pp, struct step *step)
{
    size_t count;
    const struct dtrain_pp_event *events = dtrain_pp_trace(pp, &count);
    int64_t ends[2] = {INT64_MAX, INT64_MAX}; /* the begin, and the end with its sign turned */
    int64_t busy = 0;

    for (size_t i = 0; i < count; i++) {
        if (events[i].action.kind >= DTRAIN_PP_STASH)
            continue;
        ends[0] = events[i].begin_ns < ends[0] ? events[i].begin_ns : ends[0];
        ends[1] = -events[i].end_ns < ends[1] ? -events[i].end_ns : ends[1];
        busy += events[i].end_ns - events[i].begin_ns;
    }
    if (dtrain_all_reduce(bench->comm, ends, ends, 2, DTRAIN_INT64, DTRAIN_MIN, bench->stream, &bench->err) !=
            0 ||
        dtrain_all_reduce(bench->comm, &busy, &busy, 1, DTRAIN_INT64, DTRAIN_SUM, bench->stream,
                          &bench->err) != 0 ||
        dtrain_stream_synchronize(bench->stream, &bench->err) != 0)
        return -1;
    step->ms = (double)(-ends[1] - ends[0]) / 1e6;
    step->bubble = 100 * (1 - (double)busy / 1e6 / dtrain_comm_size(bench->comm) / step->ms);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    return (x->bubble > y->bubble) - (x->bubble < y->bubble);
}

static int measure(struct bench *bench, struct dtrain_pp *pp, struct step *step)
{
    struct step all[STEPS];

    if (dtrain_pp_run(pp, &bench->err) != 0)
        return -1;
    for (int i = 0; i < STEPS; i++) {
        if (dtrain_barrier(bench->comm, bench->stream, &bench->err) != 0 ||
            dtrain_stream_synchronize(bench->stream, &bench->err) != 0 ||
            dtrain_pp_run(pp, &bench->err) != 0 || read_step(bench, pp, &all[i]) != 0)
            return -1;
    }
    qsort(all, STEPS, sizeof(all[0]), compare);
    *step = all[STEPS / 2];
    return 0;
}

static int run_row(struct bench *bench, size_t i)
{
    int stages = dtrain_comm_size(bench->comm), microbatches = rows[i].microbatches_a_stage * stages;
    bool is_split = rows[i].kind == DTRAIN_PP_ZB_H1;
    const struct dtrain_pp_options options = {
        .kind = rows[i].kind,
        .microbatches = microbatches,
        .chunks = rows[i].chunks,
        .type = DTRAIN_FLOAT32,
        .shape = {1, {ELEMENTS}},
        .forward = rest_once,
        .backward = is_split ? rest_once : rest_twice,
        .backward_weight = is_split ? rest_once : NULL,
        .context = &bench->ms,
    };
    double wanted = 100 * formula(rows[i].kind, stages, microbatches, rows[i].chunks), error;
    struct dtrain_pp *pp;
    struct step step;
    int rc;

    if (dtrain_pp_create(bench->world, &options, &pp, &bench->err) != 0)
        return -1;
    rc = measure(bench, pp, &step);
    dtrain_pp_destroy(pp);
    if (rc != 0 || dtrain_rank(bench->world) != 0)
        return rc;
    error = 100 * (step.bubble - wanted) / wanted;
    printf("%-12s %6d %12d %9.1f %10.2f %10.2f %8.1f %s\n", dtrain_pp_kind_name(rows[i].kind), rows[i].chunks,
           microbatches, step.ms, wanted, step.bubble, error, error <= CLOSE ? "yes" : "no");
    return 0;
}

static int run(struct bench *bench)
{
    if (dtrain_init(&bench->world, NULL, &bench->err) != 0 ||
        dtrain_comm_get(bench->world, DTRAIN_PP, &bench->comm, &bench->err) != 0 ||
        dtrain_stream_create(bench->world, &bench->stream, &bench->err) != 0)
        return -1;
    if (dtrain_comm_size(bench->comm) == 1) {
        snprintf(bench->err.text, sizeof(bench->err.text),
                 "one stage has no bubble: give the step --dtrain-pp=N");
        return -1;
    }
    if (dtrain_rank(bench->world) == 0)
        printf("# %d stages, %ld ms for a forward and for each half of a backward\n%-12s %6s %12s %9s %10s "
               "%10s %8s "
               "%s\n",
               dtrain_comm_size(bench->comm), bench->ms, "schedule", "chunks", "microbatches", "step ms",
               "formula %", "measured %", "error %", "within 5 %");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (run_row(bench, i) != 0)
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {.ms = argc > 1 ? strtol(argv[1], NULL, 10) : 20};
    int rc;

    if (bench.ms < 1 || bench.ms > 1000) {
        fprintf(stderr, "usage: bubble [MS] (1 to 1000, got '%.32s')\n", argv[1]);
        return 1;
    }
    rc = run(&bench);
    if (rc != 0)
        fprintf(stderr, "bubble: %s\n", bench.err.text);
    dtrain_stream_destroy(bench.stream, NULL);
    if (dtrain_finalize(bench.world, &bench.err) != 0 && rc == 0)
        fprintf(stderr, "bubble: %s\n", bench.err.text);
    return rc == 0 ? 0 : 1;
}
