/* The norm of a gradient that is spread over all axes equals that of one process; clipping brings it down. */
#include "dtrain_dp.h"

#include <math.h>
#include <stdlib.h>

#include "dp_world.h"
#include "tap.h"

#define COUNT 150

struct row {
    const char *name;
    struct dp_layout layout;
    int zero_stage;
    bool has_experts;
};

static const struct row rows[] = {
    {"one rank", {.nodes = 1, .tasks = 1}, 0, false},
    {"dp 4", {.nodes = 1, .tasks = 4}, 0, false},
    {"tp 2", {.nodes = 1, .tasks = 2, .tp = 2}, 0, false},
    {"tp 2 and dp 2", {.nodes = 2, .tasks = 2, .tp = 2}, 0, false},
    {"pp 2 and dp 2", {.nodes = 2, .tasks = 2, .pp = 2}, 0, false},
    {"tp 2, pp 2 and dp 2", {.nodes = 1, .tasks = 8, .tp = 2, .pp = 2}, 0, false},
    {"cp 2 and tp 2", {.nodes = 1, .tasks = 4, .tp = 2, .cp = 2}, 0, false},
    {"ep 2 and edp 2", {.nodes = 1, .tasks = 4, .ep = 2}, 0, true},
    {"tp 2, ep 2, etp 1", {.nodes = 1, .tasks = 4, .tp = 2, .ep = 2, .etp = 1}, 0, true},
    {"tp 2, ep 2, etp 2", {.nodes = 1, .tasks = 4, .tp = 2, .ep = 2, .etp = 2}, 0, true},
    {"ep 2 and pp 2 in stage 1", {.nodes = 1, .tasks = 8, .pp = 2, .ep = 2}, 1, true},
    {"dp 3 in stage 1", {.nodes = 1, .tasks = 3}, 1, false},
    {"dp 3 in stage 2", {.nodes = 1, .tasks = 3}, 2, false},
    {"tp 2, pp 2 and dp 2 in stage 1", {.nodes = 1, .tasks = 8, .tp = 2, .pp = 2}, 1, false},
    {"tp 2, pp 2 and dp 2 in stage 2", {.nodes = 1, .tasks = 8, .tp = 2, .pp = 2}, 2, false},
};

static const unsigned flags[] = {
    DTRAIN_PARAMETER_TP_SHARD,
    0,
    DTRAIN_PARAMETER_UNCOUNTED,
    DTRAIN_PARAMETER_EXPERT | DTRAIN_PARAMETER_TP_SHARD,
    DTRAIN_PARAMETER_EXPERT,
};
#define PARAMETERS (sizeof(flags) / sizeof(flags[0]))

/* A tensor's piece: what is the same on all ranks that hold copies of it. */
static double gradient_of(int stage, size_t i, int shard, int expert, size_t k)
{
    return dp_random((uint64_t)stage, i, (uint64_t)(shard * 16 + expert), k);
}

static int size_of(const struct dp_rank *r, unsigned axes)
{
    struct dtrain_group group;

    return dtrain_group_get(r->world, axes, &group, NULL) == 0 ? group.size : 1;
}

/* Squares of all pieces of a parameter; an expert's gradient is a sum over edp by the dense ranks. */
static double squares_of(const struct dp_rank *r, size_t i)
{
    bool is_expert = (flags[i] & DTRAIN_PARAMETER_EXPERT) != 0;
    bool is_shard = (flags[i] & DTRAIN_PARAMETER_TP_SHARD) != 0;
    int shards = is_shard ? size_of(r, is_expert ? DTRAIN_EXPERT | DTRAIN_TP : DTRAIN_TP) : 1;
    int experts = is_expert ? size_of(r, DTRAIN_EXPERT | DTRAIN_EP) : 1;
    double factor =
        is_expert ? (double)size_of(r, DTRAIN_EXPERT | DTRAIN_DP) / size_of(r, DTRAIN_DP | DTRAIN_CP) : 1;
    double sum = 0;

    for (int stage = 0; stage < size_of(r, DTRAIN_PP); stage++)
        for (int shard = 0; shard < shards; shard++)
            for (int expert = 0; expert < experts; expert++)
                for (size_t k = 0; k < COUNT; k++)
                    sum += pow(factor * gradient_of(stage, i, shard, expert, k), 2);
    return sum;
}

static bool fill_gradient(struct dp_rank *r, struct dtrain_dp *dp, size_t i)
{
    bool is_expert = (flags[i] & DTRAIN_PARAMETER_EXPERT) != 0;
    unsigned tp = is_expert ? DTRAIN_EXPERT | DTRAIN_TP : DTRAIN_TP;
    int shard = (flags[i] & DTRAIN_PARAMETER_TP_SHARD) != 0 ? dtrain_coord(r->world, tp) : 0;
    int expert = is_expert ? dtrain_coord(r->world, DTRAIN_EXPERT | DTRAIN_EP) : 0;
    double values[COUNT];
    void *gradient;

    for (size_t k = 0; k < COUNT; k++)
        values[k] = gradient_of(dtrain_coord(r->world, DTRAIN_PP), i, shard, expert, k);
    return dtrain_dp_gradient(dp, i, r->stream, &gradient, &r->err) == 0 &&
           dp_put(r, gradient, DTRAIN_FLOAT32, COUNT, values) &&
           dtrain_dp_ready(dp, i, r->stream, &r->err) == 0;
}

static bool backward(struct dp_rank *r, struct dtrain_dp *dp, size_t n)
{
    if (dtrain_dp_zero(dp, r->stream, &r->err) < 0 || dtrain_dp_begin(dp, true, &r->err) < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!fill_gradient(r, dp, i))
            return false;
    return dtrain_dp_finish(dp, r->stream, &r->err) == 0;
}

static bool is_near(double got, double want)
{
    bool ok = fabs(got - want) <= 1e-6 * want;

    if (!ok)
        printf("# a norm of %.9g, expected %.9g\n", got, want);
    return ok;
}

static bool check_norms(struct dp_rank *r, struct dtrain_dp *dp, size_t n)
{
    double want = 0, norm;

    for (size_t i = 0; i < n; i++)
        want += (flags[i] & DTRAIN_PARAMETER_UNCOUNTED) != 0 ? 0 : squares_of(r, i);
    want = sqrt(want);
    return dtrain_dp_norm(dp, r->stream, &norm, &r->err) == 0 && is_near(norm, want) &&
           dtrain_dp_clip(dp, 2 * want, r->stream, &norm, &r->err) == 0 && is_near(norm, want) &&
           dtrain_dp_clip(dp, 0.25 * want, r->stream, &norm, &r->err) == 0 && is_near(norm, want) &&
           dtrain_dp_norm(dp, r->stream, &norm, &r->err) == 0 && is_near(norm, 0.25 * want);
}

static bool run_row(struct dp_rank *r)
{
    const struct row *row = r->argument;
    struct dtrain_dp_options options = {.holds_storage = true,
                                        .zero_stage = row->zero_stage,
                                        .first_bucket_bytes = 1000,
                                        .bucket_bytes = 1000};
    struct dtrain_parameter parameters[PARAMETERS];
    size_t n = row->has_experts ? PARAMETERS : PARAMETERS - 2;
    struct dtrain_dp *dp;
    bool ok;

    for (size_t i = 0; i < n; i++)
        parameters[i] = (struct dtrain_parameter){.name = "w", .count = COUNT, .flags = flags[i]};
    ok = dtrain_dp_create(&dp, r->world, parameters, n, &options, &r->err) == 0 && backward(r, dp, n) &&
         check_norms(r, dp, n) && backward(r, dp, n) && check_norms(r, dp, n);
    dtrain_dp_destroy(dp);
    return ok;
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(dp_run(&rows[i].layout, NULL, run_row, (void *)&rows[i]) == 0, "%s", rows[i].name);
    return tap_done();
}
