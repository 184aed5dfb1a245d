#include "dp_world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fork_world.h"
#include "runtime/math_value.h"

#define GUARD_S 300 /* a test that hangs ends */
#define TIMEOUT_MS 20000

struct job {
    struct fork_step *step;
    const struct dp_layout *layout;
    struct dp_rank rank;
    dp_body *body;
    bool ok;
};

static struct dt_plan *make_plan(const struct dp_layout *layout)
{
    static const char *const names[FORK_RANKS_MAX] = {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"};
    uint32_t tasks[FORK_RANKS_MAX];
    struct dt_plan_inputs inputs = {
        .request =
            {.tp = layout->tp, .cp = layout->cp, .pp = layout->pp, .ep = layout->ep, .etp = layout->etp},
        .backend = DT_BACKEND_HOST,
        .node_count = layout->nodes,
        .nodes = names,
        .tasks = tasks,
        .master_addr = "127.0.0.1",
    };
    struct dt_plan *plan = NULL;
    struct dtrain_error err;

    for (uint32_t i = 0; i < layout->nodes; i++)
        tasks[i] = layout->tasks;
    if (dt_plan_create(&plan, &inputs, &err) < 0) {
        fprintf(stderr, "# plan: %s\n", err.text);
        exit(2);
    }
    return plan;
}

static void *run_rank(void *argument)
{
    struct job *job = argument;
    struct dp_rank *r = &job->rank;

    if (fork_init(&r->world, job->step, (uint32_t)r->rank, make_plan(job->layout), NULL, &r->err) == 0 &&
        dtrain_stream_create(r->world, &r->stream, &r->err) == 0)
        job->ok = job->body(r);
    if (!job->ok)
        printf("# rank %d of %d: %s\n", r->rank, r->size, r->err.text);
    dtrain_stream_destroy(r->stream, NULL);
    dtrain_finalize(r->world, NULL);
    return NULL;
}

static void step_init(struct fork_step *step, const struct fork_row *row)
{
    pthread_condattr_t cond;

    step->row = row;
    step->count = row->layout.nodes * row->layout.tasks;
    pthread_mutex_init(&step->lock, NULL);
    pthread_condattr_init(&cond);
    pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
    pthread_cond_init(&step->changed, &cond);
    pthread_condattr_destroy(&cond);
}

int dp_run(const struct dp_layout *layout, const struct dt_backend *backend, dp_body *body, void *argument)
{
    struct fork_row row = {.layout = {.nodes = layout->nodes, .tasks = layout->tasks},
                           .timeout_ms = TIMEOUT_MS,
                           .backend = backend != NULL ? backend : &dt_backend_host};
    struct fork_step *step = calloc(1, sizeof(*step));
    struct job jobs[FORK_RANKS_MAX];
    pthread_t threads[FORK_RANKS_MAX];
    int failed = 0;

    alarm(GUARD_S);
    if (step == NULL)
        exit(2);
    step_init(step, &row);
    for (uint32_t i = 0; i < step->count; i++) {
        jobs[i] = (struct job){
            step, layout, {.rank = (int)i, .size = (int)step->count, .argument = argument}, body, false};
        if (pthread_create(&threads[i], NULL, run_rank, &jobs[i]) != 0)
            exit(2);
    }
    for (uint32_t i = 0; i < step->count; i++) {
        pthread_join(threads[i], NULL);
        failed += !jobs[i].ok;
    }
    pthread_cond_destroy(&step->changed);
    pthread_mutex_destroy(&step->lock);
    free(step);
    return failed;
}

/* SplitMix64's mixing of the numbers one after the other. */
double dp_random(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t numbers[] = {a, b, c, d};
    uint64_t x = 1;

    for (int i = 0; i < 4; i++) {
        x = (x ^ numbers[i]) + UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
    }
    return (double)(x >> 11) * 0x1p-52 - 1;
}

bool dp_put(struct dp_rank *r, void *memory, enum dtrain_type type, size_t n, const double *values)
{
    void *typed = calloc(n + 1, sizeof(double));
    bool ok;

    for (size_t i = 0; i < n; i++)
        dt_math_store(typed, type, i, values[i]);
    ok = dtrain_copy(memory, typed, n * dtrain_type_size(type), r->stream, &r->err) == 0 &&
         dtrain_stream_synchronize(r->stream, &r->err) == 0;
    free(typed);
    return ok;
}

bool dp_take(struct dp_rank *r, double *values, const void *memory, enum dtrain_type type, size_t n)
{
    void *typed = calloc(n + 1, sizeof(double));
    bool ok = dtrain_copy(typed, memory, n * dtrain_type_size(type), r->stream, &r->err) == 0 &&
              dtrain_stream_synchronize(r->stream, &r->err) == 0;

    for (size_t i = 0; i < n && ok; i++)
        values[i] = dt_math_load(typed, type, i);
    free(typed);
    return ok;
}
