/*
 * That reductions are queued while the backward pass goes on, in one order on
 * all ranks, and that their failures name the bucket: the backend's queue is
 * watched, no time is measured.
 */
#include "dtrain_dp.h"

#include <stdlib.h>

#include "core/error.h"
#include "dp_world.h"
#include "tap.h"

#define PARAMETERS 6
#define COUNT 64 /* elements; two of them fill a bucket */
#define TRACE_MAX 256

/* What happened on this thread's rank: r ready, R a reduction, A a gather, u an update. */
static _Thread_local char trace[TRACE_MAX];
static _Thread_local int fail_at;    /* the reduction from now on that cannot be queued; 0: none */
static _Thread_local bool is_broken; /* streams tell of a failure */

static void note(char what)
{
    size_t length = strlen(trace);

    if (length + 1 < TRACE_MAX)
        trace[length] = what;
}

static int watched_enqueue(void *comm, const struct dt_operation *operation, void *stream,
                           struct dtrain_error *err)
{
    bool is_reduction = operation->type == DTRAIN_FLOAT32 &&
                        (operation->kind == DT_ALL_REDUCE || operation->kind == DT_REDUCE_SCATTER);

    if (is_reduction && fail_at > 0 && --fail_at == 0)
        return dt_error_set(err, "rank 7 on n9 died");
    if (is_reduction)
        note('R');
    if (operation->kind == DT_ALL_GATHER && operation->type == DTRAIN_FLOAT32)
        note('A');
    return dt_backend_host.enqueue(comm, operation, stream, err);
}

static int watched_math(const struct dt_math *math, void *stream, struct dtrain_error *err)
{
    if (math->kind == DT_MATH_ADAMW)
        note('u');
    return dt_backend_host.enqueue_math(math, stream, err);
}

/* Waits, so that which bucket is under way is no matter of time. */
static int watched_query(void *stream, bool *done, struct dtrain_error *err)
{
    if (fail_at > 0)
        dt_backend_host.stream_synchronize(stream, NULL);
    return is_broken ? dt_error_set(err, "rank 8 on n9 died")
                     : dt_backend_host.stream_query(stream, done, err);
}

static struct dt_backend watched;

/* ---- Steps -------------------------------------------------------------------------- */

struct row {
    const char *name;
    int zero_stage;
    const char *orders[2]; /* of readiness, by rank */
    const char *first[2];  /* what happens in the first step */
    const char *later[2];  /* and in the ones after it */
    const char *update;    /* in an update of the optimizer */
};

static const struct row rows[] = {
    {"a bucket is reduced as soon as it is complete", 0, {"543210", "543210"}, {"rrRrrRrrR", "rrRrrRrrR"},
     {"rrRrrRrrR", "rrRrrRrrR"}, "uuuuuu"},
    {"within a bucket the order does not matter", 0, {"452301", "543210"}, {"rrRrrRrrR", "rrRrrRrrR"},
     {"rrRrrRrrR", "rrRrrRrrR"}, "uuuuuu"},
    {"the second step follows the first one's order", 0, {"012345", "012345"}, {"rrrrrrRRR", "rrrrrrRRR"},
     {"rrRrrRrrR", "rrRrrRrrR"}, "uuuuuu"},
    {"which is rank 0's", 0, {"012345", "543210"}, {"rrrrrrRRR", "rrRrrRrrR"}, {"rrRrrRrrR", "rrrrrrRRR"},
     "uuuuuu"},
    {"parameters change their buckets", 0, {"024135", "024135"}, {"rrrrrrRRR", "rrrrrrRRR"},
     {"rrRrrRrrR", "rrRrrRrrR"}, "uuuuuu"},
    {"shards: buckets follow the order, gathers go beside updates", 1, {"012345", "543210"},
     {"rrrrrrRRR", "rrRrrRrrR"}, {"rrRrrRrrR", "rrrrrrRRR"}, "uAuAuA"},
    {"the same in stage 2", 2, {"543210", "543210"}, {"rrRrrRrrR", "rrRrrRrrR"}, {"rrRrrRrrR", "rrRrrRrrR"},
     "uAuAuA"},
};

struct model {
    struct dtrain_dp *dp;
    struct dtrain_zero *zero;
    struct dtrain_parameter parameters[PARAMETERS];
    float memory[2 * PARAMETERS][COUNT];
};

static const char *const names[PARAMETERS] = {"w0", "w1", "w2", "w3", "w4", "w5"};

static bool model_create(struct model *model, struct dp_rank *r, int zero_stage)
{
    struct dtrain_dp_options options = {.first_bucket_bytes = 2 * COUNT * 4,
                                        .bucket_bytes = 2 * COUNT * 4,
                                        .zero_stage = zero_stage,
                                        .holds_storage = zero_stage > 0};

    *model = (struct model){0};
    for (int i = 0; i < PARAMETERS; i++)
        model->parameters[i] = (struct dtrain_parameter){
            .name = names[i],
            .count = COUNT,
            .value = zero_stage > 0 ? NULL : model->memory[2 * i],
            .gradient = zero_stage > 0 ? NULL : model->memory[2 * i + 1],
        };
    return dtrain_dp_create(&model->dp, r->world, model->parameters, PARAMETERS, &options, &r->err) == 0 &&
           dtrain_zero_create(&model->zero, model->dp, &r->err) == 0;
}

static void model_destroy(struct model *model)
{
    dtrain_zero_destroy(model->zero);
    dtrain_dp_destroy(model->dp);
}

static int backward(struct dp_rank *r, struct model *model, const char *order)
{
    memset(trace, 0, sizeof(trace));
    if (dtrain_dp_zero(model->dp, r->stream, &r->err) < 0 || dtrain_dp_begin(model->dp, true, &r->err) < 0)
        return -1;
    for (const char *i = order; *i != '\0'; i++) {
        note('r');
        if (dtrain_dp_ready(model->dp, (size_t)(*i - '0'), r->stream, &r->err) < 0)
            return -1;
    }
    return dtrain_dp_finish(model->dp, r->stream, &r->err);
}

static bool saw(const char *what, const char *want, const struct dp_rank *r)
{
    if (strcmp(trace, want) == 0)
        return true;
    printf("# rank %d, %s: %s, expected %s\n", r->rank, what, trace, want);
    return false;
}

/* A shard of two aligned parameters is one of them: each rank updates one a bucket. */
static bool update(struct dp_rank *r, struct model *model, const char *want)
{
    struct dtrain_adamw adamw = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};

    memset(trace, 0, sizeof(trace));
    return dtrain_zero_step(model->zero, &adamw, 1, 0, r->stream, &r->err) == 0 && saw("update", want, r) &&
           dtrain_zero_wait_all(model->zero, r->stream, &r->err) == 0 &&
           dtrain_stream_synchronize(r->stream, &r->err) == 0;
}

static bool run_steps(struct dp_rank *r, struct model *model, const struct row *row)
{
    for (int step = 0; step < 3; step++) {
        if (backward(r, model, row->orders[r->rank]) < 0)
            return false;
        if (!saw(step == 0 ? "first" : "later", step == 0 ? row->first[r->rank] : row->later[r->rank], r) ||
            !update(r, model, row->update))
            return false;
    }
    return true;
}

static bool run_row(struct dp_rank *r)
{
    struct model *model = malloc(sizeof(*model));
    bool ok = model_create(model, r, ((const struct row *)r->argument)->zero_stage) &&
              run_steps(r, model, r->argument);

    model_destroy(model);
    free(model);
    return ok;
}

/* ---- Failures ------------------------------------------------------------------------- */

struct failure {
    const char *name;
    int fail_at;       /* the reduction that cannot be queued */
    int broken_after;  /* ready parameters after which streams tell of a failure */
    const char *words; /* of that call and of all later ones */
};

static const struct failure failures[] = {
    {"the first bucket cannot be queued", 1, 0, "bucket 0 (w5 ... w4): rank 7 on n9 died"},
    {"the third", 3, 0, "bucket 2 (w1 ... w0): rank 7 on n9 died"},
    {"a reduction failed on its way", 0, 3, "bucket 0 (w5 ... w4): rank 8 on n9 died"},
};

static bool holds(const struct dp_rank *r, const char *words)
{
    bool ok = strstr(r->err.text, words) != NULL;

    if (!ok)
        printf("# expected \"%s\" in: %s\n", words, r->err.text);
    return ok;
}

static int fail_backward(struct dp_rank *r, struct model *model, const struct failure *failure)
{
    fail_at = failure->fail_at;
    if (dtrain_dp_begin(model->dp, true, &r->err) < 0)
        return -1;
    for (int i = PARAMETERS - 1; i >= 0; i--) {
        is_broken = failure->broken_after > 0 && PARAMETERS - i > failure->broken_after;
        if (dtrain_dp_ready(model->dp, (size_t)i, r->stream, &r->err) < 0)
            return -1;
    }
    return dtrain_dp_finish(model->dp, r->stream, &r->err);
}

static bool run_failure(struct dp_rank *r)
{
    const struct failure *failure = r->argument;
    struct model *model = malloc(sizeof(*model));
    struct dtrain_adamw adamw = {.lr = 0.1};
    void *gradient;
    bool ok = model_create(model, r, 0) && fail_backward(r, model, failure) < 0 && holds(r, failure->words);

    is_broken = false;
    fail_at = 0;
    ok = ok && dtrain_dp_finish(model->dp, r->stream, &r->err) < 0 && holds(r, failure->words) &&
         dtrain_dp_begin(model->dp, true, &r->err) < 0 && holds(r, failure->words) &&
         dtrain_dp_gradient(model->dp, 0, r->stream, &gradient, &r->err) < 0 && holds(r, failure->words) &&
         dtrain_zero_step(model->zero, &adamw, 1, 0, r->stream, &r->err) < 0 && holds(r, failure->words);
    model_destroy(model);
    free(model);
    return ok;
}

int main(void)
{
    const struct dp_layout layout = {.nodes = 1, .tasks = 2};

    watched = dt_backend_host;
    watched.enqueue = watched_enqueue;
    watched.enqueue_math = watched_math;
    watched.stream_query = watched_query;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(dp_run(&layout, &watched, run_row, (void *)&rows[i]) == 0, "%s", rows[i].name);
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        tap_ok(dp_run(&layout, &watched, run_failure, (void *)&failures[i]) == 0, "%s", failures[i].name);
    return tap_done();
}
