/* Gradients averaged in buckets equal the plain mean, for every layout, type and order of readiness. */
#include "dtrain_dp.h"

#include <math.h>
#include <stdlib.h>

#include "dp_world.h"
#include "runtime/type.h"
#include "tap.h"

#define STEPS 4

enum order { BACKWARD, FORWARD, SHUFFLED };

struct row {
    const char *name;
    struct dp_layout layout;
    enum order order;
    size_t n, count; /* parameters, and about how many elements each has */
    struct dtrain_dp_options options;
    enum dtrain_type types[3]; /* of the gradients, in turn */
    bool is_exact;             /* the numbers add up without rounding */
    int passes;                /* of a step; only the last one reduces */
    size_t unused;             /* parameter that some ranks leave out in odd steps; 0: none */
    unsigned flags;            /* of every second parameter */
};

#define FLOATS {DTRAIN_FLOAT32, DTRAIN_FLOAT32, DTRAIN_FLOAT32}
#define MIXED {DTRAIN_FLOAT32, DTRAIN_FLOAT64, DTRAIN_FLOAT32}
#define HALVES {DTRAIN_BFLOAT16, DTRAIN_FLOAT16, DTRAIN_BFLOAT16}
#define SMALL .first_bucket_bytes = 256, .bucket_bytes = 2048

static const struct row rows[] = {
    {"one rank", {.nodes = 1, .tasks = 1}, BACKWARD, 5, 100, {SMALL}, FLOATS, true, 1, 0, 0},
    {"2 ranks, exactly", {.nodes = 1, .tasks = 2}, BACKWARD, 9, 100, {SMALL}, FLOATS, true, 1, 0, 0},
    {"2 ranks on 2 nodes, random order", {.nodes = 2, .tasks = 1}, SHUFFLED, 9, 100,
     {SMALL}, MIXED, false, 1, 0, 0},
    {"3 ranks in forward order", {.nodes = 1, .tasks = 3}, FORWARD, 12, 300, {SMALL}, MIXED, false, 1, 0, 0},
    {"4 ranks, exactly, in random order", {.nodes = 2, .tasks = 2}, SHUFFLED, 15, 211,
     {SMALL}, MIXED, true, 1, 0, 0},
    {"5 ranks", {.nodes = 1, .tasks = 5}, SHUFFLED, 7, 1000, {SMALL}, FLOATS, false, 1, 0, 0},
    {"6 ranks, buckets of the default size", {.nodes = 1, .tasks = 6}, BACKWARD, 5, 3000,
     {0}, FLOATS, false, 1, 0, 0},
    {"7 ranks, one bucket of all", {.nodes = 1, .tasks = 7}, SHUFFLED, 6, 10, {0}, MIXED, false, 1, 0, 0},
    {"8 ranks", {.nodes = 4, .tasks = 2}, SHUFFLED, 20, 80, {SMALL}, MIXED, false, 1, 0, 0},
    {"4 ranks, parameters of one element and none", {.nodes = 1, .tasks = 4}, SHUFFLED, 20, 1,
     {SMALL}, FLOATS, true, 1, 0, 0},
    {"4 ranks, sums", {.nodes = 1, .tasks = 4}, SHUFFLED, 9, 100, {SMALL, .sum = true}, MIXED, true, 1, 0, 0},
    {"4 ranks, halves", {.nodes = 1, .tasks = 4}, SHUFFLED, 9, 100, {SMALL}, HALVES, true, 1, 0, 0},
    {"3 ranks, halves in float32", {.nodes = 1, .tasks = 3}, SHUFFLED, 9, 100,
     {SMALL, .reduce_in_float32 = true}, HALVES, false, 1, 0, 0},
    {"4 ranks, gradients in buckets", {.nodes = 1, .tasks = 4}, SHUFFLED, 9, 100,
     {SMALL, .holds_storage = true}, MIXED, true, 1, 0, 0},
    {"3 ranks, sums in buckets", {.nodes = 1, .tasks = 3}, FORWARD, 9, 100,
     {SMALL, .holds_storage = true, .sum = true}, MIXED, false, 1, 0, 0},
    {"4 ranks, three passes a step", {.nodes = 1, .tasks = 4}, SHUFFLED, 9, 100,
     {SMALL}, MIXED, true, 3, 0, 0},
    {"2 ranks, two passes in buckets", {.nodes = 1, .tasks = 2}, SHUFFLED, 9, 100,
     {SMALL, .holds_storage = true}, FLOATS, true, 2, 0, 0},
    {"4 ranks, a parameter left out", {.nodes = 1, .tasks = 4}, SHUFFLED, 9, 100,
     {SMALL, .find_unused = true}, MIXED, true, 1, 4, 0},
    {"4 ranks, one left out in buckets", {.nodes = 1, .tasks = 4}, SHUFFLED, 9, 100,
     {SMALL, .find_unused = true, .holds_storage = true}, MIXED, true, 1, 4, 0},
    {"2 ranks, one left out of the last of two passes", {.nodes = 1, .tasks = 2}, SHUFFLED, 9, 100,
     {SMALL, .find_unused = true}, MIXED, true, 2, 4, 0},
    {"tp 2 and dp 2", {.nodes = 2, .tasks = 2, .tp = 2}, SHUFFLED, 9, 100,
     {SMALL}, FLOATS, true, 1, 0, DTRAIN_PARAMETER_TP_SHARD},
    {"cp 2 and dp 2 average together", {.nodes = 1, .tasks = 4, .cp = 2}, SHUFFLED, 9, 100,
     {SMALL}, FLOATS, true, 1, 0, 0},
    {"pp 2 and dp 2", {.nodes = 2, .tasks = 2, .pp = 2}, SHUFFLED, 9, 100, {SMALL}, FLOATS, true, 1, 0, 0},
    {"ep 2 and edp 2", {.nodes = 1, .tasks = 4, .ep = 2}, SHUFFLED, 9, 100,
     {SMALL}, FLOATS, true, 1, 0, DTRAIN_PARAMETER_EXPERT},
    {"ep 4 and edp 1", {.nodes = 1, .tasks = 4, .ep = 4}, SHUFFLED, 9, 100,
     {SMALL}, FLOATS, true, 1, 0, DTRAIN_PARAMETER_EXPERT},
    {"ep 2 and edp 2, sums", {.nodes = 1, .tasks = 4, .ep = 2}, SHUFFLED, 9, 100,
     {SMALL, .sum = true}, FLOATS, true, 1, 0, DTRAIN_PARAMETER_EXPERT},
};

/* One rank's parameters. */
struct model {
    const struct row *row;
    struct dtrain_parameter parameters[32];
    char names[32][16];
    struct dtrain_dp *dp;
};

static size_t count_of(const struct row *row, size_t i)
{
    return row->count == 1
               ? i % 2
               : row->count / 2 + (size_t)((dp_random(row->count, i, 0, 0) + 1) * (double)row->count / 2);
}

static bool model_create(struct model *model, struct dp_rank *r, const struct row *row)
{
    *model = (struct model){.row = row};
    for (size_t i = 0; i < row->n; i++) {
        struct dtrain_parameter *p = &model->parameters[i];

        snprintf(model->names[i], sizeof(model->names[i]), "layer.%zu", i);
        *p = (struct dtrain_parameter){.name = model->names[i],
                                       .count = count_of(row, i),
                                       .type = DTRAIN_FLOAT32,
                                       .gradient_type = row->types[i % 3],
                                       .flags = i % 2 == 0 ? 0 : row->flags};
        if (row->options.holds_storage)
            continue;
        if (dtrain_memory_alloc(r->world, p->count * 4, &p->value, &r->err) < 0 ||
            dtrain_memory_alloc(r->world, p->count * dtrain_type_size(p->gradient_type), &p->gradient,
                                &r->err) < 0)
            return false;
    }
    return dtrain_dp_create(&model->dp, r->world, model->parameters, row->n, &row->options, &r->err) == 0;
}

static void model_destroy(struct model *model, struct dp_rank *r)
{
    dtrain_dp_destroy(model->dp);
    for (size_t i = 0; i < model->row->n; i++) {
        dtrain_memory_free(r->world, model->parameters[i].value);
        dtrain_memory_free(r->world, model->parameters[i].gradient);
    }
}

static double gradient_of(const struct row *row, int rank, int step, int pass, size_t i, size_t k)
{
    double x = dp_random((uint64_t)(rank * 100 + step * 10 + pass), i, k, row->n);

    return row->is_exact ? round(x * 8) : x;
}

static bool is_left_out(const struct row *row, int rank, int step, int pass, size_t i)
{
    return row->unused != 0 && row->unused == i && step % 2 == 1 && pass == row->passes - 1 && rank % 3 != 1;
}

static size_t pick(const struct row *row, int rank, int step, size_t k)
{
    size_t n = row->n;

    if (row->order == BACKWARD)
        return n - 1 - k;
    /* Multiplying by a number that has no factor in common with n visits all. */
    for (size_t stride = (size_t)(rank * 3 + step) % n + 1;; stride++) {
        size_t a = stride, b = n;

        while (b != 0) {
            size_t rest = a % b;

            a = b;
            b = rest;
        }
        if (a == 1)
            return row->order == FORWARD ? k : (k * stride + (size_t)rank) % n;
    }
}

/* What the pass adds to gradient i, as a backward pass does. */
static bool add_gradient(struct dp_rank *r, const struct model *model, size_t i, int step, int pass)
{
    const struct dtrain_parameter *p = &model->parameters[i];
    double *values = calloc(p->count + 1, sizeof(*values));
    void *gradient;
    bool ok = dtrain_dp_gradient(model->dp, i, r->stream, &gradient, &r->err) == 0 &&
              dp_take(r, values, gradient, p->gradient_type, p->count);

    for (size_t k = 0; k < p->count; k++)
        values[k] += gradient_of(model->row, r->rank, step, pass, i, k);
    ok = ok && dp_put(r, gradient, p->gradient_type, p->count, values);
    free(values);
    return ok;
}

/* What lies in the gradient of a parameter that is not used in the whole step must not be summed. */
static bool leave_out(struct dp_rank *r, const struct model *model, size_t i)
{
    double *values = calloc(model->parameters[i].count + 1, sizeof(*values));
    void *gradient;
    bool ok = dtrain_dp_gradient(model->dp, i, r->stream, &gradient, &r->err) == 0;

    for (size_t k = 0; k < model->parameters[i].count; k++)
        values[k] = 77;
    ok = ok && (model->row->passes > 1 || dp_put(r, gradient, model->parameters[i].gradient_type,
                                                 model->parameters[i].count, values));
    free(values);
    return ok;
}

static bool backward(struct dp_rank *r, const struct model *model, int step, int pass)
{
    const struct row *row = model->row;

    if (dtrain_dp_begin(model->dp, pass == row->passes - 1, &r->err) < 0)
        return false;
    for (size_t k = 0; k < row->n; k++) {
        size_t i = pick(row, r->rank, step, k);

        if (is_left_out(row, r->rank, step, pass, i)) {
            if (!leave_out(r, model, i))
                return false;
            continue;
        }
        if (!add_gradient(r, model, i, step, pass) || dtrain_dp_ready(model->dp, i, r->stream, &r->err) < 0)
            return false;
    }
    return dtrain_dp_finish(model->dp, r->stream, &r->err) == 0;
}

/* The plain way: the ranks that reduce it, one after the other. */
static double mean_of(struct dp_rank *r, const struct model *model, size_t i, size_t k, int step)
{
    const struct row *row = model->row;
    bool is_expert = (model->parameters[i].flags & DTRAIN_PARAMETER_EXPERT) != 0;
    struct dtrain_group group, dense;
    double sum = 0;

    dtrain_group_get(r->world, DTRAIN_DP | DTRAIN_CP, &dense, NULL);
    dtrain_group_get(r->world, is_expert ? DTRAIN_EXPERT | DTRAIN_DP : DTRAIN_DP | DTRAIN_CP, &group, NULL);
    for (int m = 0; m < group.size; m++) {
        int rank = dtrain_group_member(r->world, &group, m);

        for (int pass = 0; pass < row->passes; pass++)
            sum += is_left_out(row, rank, step, pass, i) ? 0 : gradient_of(row, rank, step, pass, i, k);
    }
    return row->options.sum ? sum : sum / dense.size;
}

static double tolerance_of(const struct row *row, enum dtrain_type type)
{
    if (dtrain_type_size(type) == 2)
        return type == DTRAIN_BFLOAT16 ? 0x1p-6 : 0x1p-9;
    return row->is_exact ? 0 : 1e-6;
}

static bool check_gradient(struct dp_rank *r, const struct model *model, size_t i, int step)
{
    const struct dtrain_parameter *p = &model->parameters[i];
    double *values = calloc(p->count + 1, sizeof(*values));
    void *gradient;
    bool ok = dtrain_dp_gradient(model->dp, i, r->stream, &gradient, &r->err) == 0 &&
              dp_take(r, values, gradient, p->gradient_type, p->count);

    for (size_t k = 0; k < p->count && ok; k++) {
        double want = mean_of(r, model, i, k, step);

        ok = fabs(values[k] - want) <= tolerance_of(model->row, p->gradient_type) * (1 + fabs(want));
        if (!ok)
            printf("# rank %d step %d parameter %zu[%zu]: %.9g, expected %.9g\n", r->rank, step, i, k,
                   values[k], want);
    }
    free(values);
    return ok;
}

static bool run_steps(struct dp_rank *r, struct model *model)
{
    for (int step = 0; step < STEPS; step++) {
        if (dtrain_dp_zero(model->dp, r->stream, &r->err) < 0)
            return false;
        for (int pass = 0; pass < model->row->passes; pass++)
            if (!backward(r, model, step, pass))
                return false;
        for (size_t i = 0; i < model->row->n; i++)
            if (!check_gradient(r, model, i, step))
                return false;
    }
    return true;
}

static bool run_row(struct dp_rank *r)
{
    struct model model;
    bool ok = model_create(&model, r, r->argument) && run_steps(r, &model);

    model_destroy(&model, r);
    return ok;
}

/* ---- float32 sums of bfloat16 ------------------------------------------------------ */

/* 256 and seven ones: in bfloat16 256 + 1 is 256, and the mean 32; the right one is 32.875, rounded to 33. */
static bool run_accumulation(struct dp_rank *r)
{
    bool in_float32 = *(const bool *)r->argument;
    struct dtrain_dp_options options = {.reduce_in_float32 = in_float32};
    struct dtrain_parameter p = {
        .name = "w", .count = 1, .type = DTRAIN_BFLOAT16, .gradient_type = DTRAIN_BFLOAT16};
    double value = r->rank == 0 ? 256 : 1;
    struct dtrain_dp *dp = NULL;
    bool ok = dtrain_memory_alloc(r->world, 2, &p.value, &r->err) == 0 &&
              dtrain_memory_alloc(r->world, 2, &p.gradient, &r->err) == 0 &&
              dp_put(r, p.gradient, p.gradient_type, 1, &value) &&
              dtrain_dp_create(&dp, r->world, &p, 1, &options, &r->err) == 0 &&
              dtrain_dp_begin(dp, true, &r->err) == 0 && dtrain_dp_ready(dp, 0, NULL, &r->err) == 0 &&
              dtrain_dp_finish(dp, NULL, &r->err) == 0 && dp_take(r, &value, p.gradient, p.gradient_type, 1);

    dtrain_dp_destroy(dp);
    dtrain_memory_free(r->world, p.value);
    dtrain_memory_free(r->world, p.gradient);
    return ok && (value == 33) == in_float32;
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(dp_run(&rows[i].layout, NULL, run_row, (void *)&rows[i]) == 0, "%s", rows[i].name);
    for (int i = 0; i < 2; i++) {
        bool in_float32 = i == 1;

        tap_ok(dp_run(&(struct dp_layout){.nodes = 1, .tasks = 8}, NULL, run_accumulation, &in_float32) == 0,
               "bfloat16 %s", in_float32 ? "is summed in float32" : "loses small numbers without");
    }
    return tap_done();
}
