/* AdamW in shards equals one process's AdamW on the mean gradient, and holds as many bytes as it should. */
#include "dtrain_dp.h"

#include <math.h>
#include <stdlib.h>

#include "dp_world.h"
#include "runtime/math_value.h"
#include "tap.h"

#define STEPS 20
#define PARAMETERS_MAX 10
#define GROUPS 2

static const struct dtrain_adamw groups[GROUPS] = {
    {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = 0.1},
    {.lr = 0.02, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-6, .decay = 0},
};

struct row {
    const char *name;
    struct dp_layout layout;
    int zero_stage;
    enum dtrain_type types[2], gradient_types[2]; /* of even and odd parameters */
    size_t n, counts[PARAMETERS_MAX];
    double clip, tolerance;
    int passes;
    int reload_at;  /* step before which everything is saved, destroyed and loaded; 0: never */
    unsigned flags; /* of odd parameters */
};

#define F32 {DTRAIN_FLOAT32, DTRAIN_FLOAT32}
#define F64 {DTRAIN_FLOAT64, DTRAIN_FLOAT64}
#define BF16 {DTRAIN_BFLOAT16, DTRAIN_BFLOAT16}
#define UNEVEN 8, {1000, 1, 37, 0, 513, 2, 999, 64}
#define FEW 3, {1, 2, 3}
#define RANKS(n) {.nodes = 1, .tasks = (n)}

static const struct row rows[] = {
    {"stage 0, one rank", RANKS(1), 0, F64, F64, UNEVEN, 0, 1e-12, 1, 0, 0},
    {"stage 0, 3 ranks", RANKS(3), 0, F64, F64, UNEVEN, 0, 1e-12, 1, 0, 0},
    {"stage 1, one rank", RANKS(1), 1, F64, F64, UNEVEN, 0, 1e-12, 1, 0, 0},
    {"stage 1, 2 ranks", RANKS(2), 1, F64, F64, UNEVEN, 0, 1e-12, 1, 0, 0},
    {"stage 1, 3 ranks, clipped", RANKS(3), 1, F64, F64, UNEVEN, 0.5, 1e-12, 1, 0, 0},
    {"stage 1, 8 ranks, fewer elements than ranks", RANKS(8), 1, F64, F64, FEW, 0, 1e-12, 1, 0, 0},
    {"stage 1, 5 ranks, float32, clipped", RANKS(5), 1, F32, F32, UNEVEN, 0.5, 2e-5, 1, 0, 0},
    {"stage 1, 2 ranks on 2 nodes, bfloat16 with float32 gradients", {.nodes = 2, .tasks = 1}, 1, BF16, F32,
     UNEVEN, 1, 2e-5, 1, 0, 0},
    {"stage 1, 4 ranks, mixed types", RANKS(4), 1, {DTRAIN_BFLOAT16, DTRAIN_FLOAT32}, F32,
     UNEVEN, 1, 2e-5, 1, 0, 0},
    {"stage 1, 3 ranks, two passes", RANKS(3), 1, F64, F64, UNEVEN, 0, 1e-12, 2, 0, 0},
    {"stage 1, 3 ranks, saved and loaded", RANKS(3), 1, F64, F64, UNEVEN, 0.5, 1e-12, 1, 7, 0},
    {"stage 1, 2 ranks, bfloat16, saved and loaded", RANKS(2), 1, BF16, F32, UNEVEN, 0, 2e-5, 1, 5, 0},
    {"stage 1, ep 2 and edp 2", {.nodes = 1, .tasks = 4, .ep = 2}, 1, F64, F64,
     UNEVEN, 0, 1e-12, 1, 0, DTRAIN_PARAMETER_EXPERT},
    {"stage 2, one rank", RANKS(1), 2, F64, F64, UNEVEN, 0, 1e-12, 1, 0, 0},
    {"stage 2, 2 ranks", RANKS(2), 2, F64, F64, UNEVEN, 0, 1e-12, 1, 0, 0},
    {"stage 2, 3 ranks, three passes, clipped", RANKS(3), 2, F64, F64, UNEVEN, 0.5, 1e-12, 3, 0, 0},
    {"stage 2, 7 ranks, fewer elements than ranks", RANKS(7), 2, F64, F64, FEW, 0, 1e-12, 1, 0, 0},
    {"stage 2, 4 ranks, bfloat16 with float32 gradients", {.nodes = 2, .tasks = 2}, 2, BF16, F32,
     UNEVEN, 1, 2e-5, 1, 0, 0},
    {"stage 2, 3 ranks, saved and loaded", RANKS(3), 2, F64, F64, UNEVEN, 0, 1e-12, 1, 11, 0},
    {"stage 2, ep 2 and edp 2, two passes", {.nodes = 1, .tasks = 4, .ep = 2}, 2, F64, F64,
     UNEVEN, 0, 1e-12, 2, 0, DTRAIN_PARAMETER_EXPERT},
};

/* ---- One process ------------------------------------------------------------------------- */

/* All the parameters' elements one behind the other. */
struct reference {
    double *w, *m, *v, *g;
    size_t total;
};

static double start_of(size_t i, size_t k)
{
    return dp_random(99, i, k, 0);
}

static double gradient_of(int rank, int step, int pass, size_t i, size_t k)
{
    return dp_random((uint64_t)(rank * 1000 + step * 10 + pass), i, k, 7);
}

static void reference_start(struct reference *reference, const struct row *row)
{
    size_t at = 0;

    for (size_t i = 0; i < row->n; i++)
        reference->total += row->counts[i];
    reference->w = calloc(4 * reference->total + 1, sizeof(double));
    reference->m = reference->w + reference->total;
    reference->v = reference->m + reference->total;
    reference->g = reference->v + reference->total;
    for (size_t i = 0; i < row->n; i++)
        for (size_t k = 0; k < row->counts[i]; k++, at++) {
            char typed[sizeof(double)] __attribute__((aligned(8)));

            dt_math_store(typed, row->types[i % 2], 0, start_of(i, k));
            reference->w[at] = dt_math_load(typed, row->types[i % 2], 0);
        }
}

static double mean_of(struct dp_rank *r, const struct row *row, int step, size_t i, size_t k)
{
    bool is_expert = i % 2 == 1 && (row->flags & DTRAIN_PARAMETER_EXPERT) != 0;
    struct dtrain_group dense, group;
    double sum = 0;

    dtrain_group_get(r->world, DTRAIN_DP | DTRAIN_CP, &dense, NULL);
    dtrain_group_get(r->world, is_expert ? DTRAIN_EXPERT | DTRAIN_DP : DTRAIN_DP | DTRAIN_CP, &group, NULL);
    for (int m = 0; m < group.size; m++)
        for (int pass = 0; pass < row->passes; pass++)
            sum += gradient_of(dtrain_group_member(r->world, &group, m), step, pass, i, k);
    return sum / dense.size;
}

static double clip_factor(const struct reference *reference, double clip)
{
    double squares = 0;

    for (size_t i = 0; i < reference->total; i++)
        squares += reference->g[i] * reference->g[i];
    return clip > 0 && sqrt(squares) > clip ? clip / sqrt(squares) : 1;
}

static void reference_step(struct reference *reference, struct dp_rank *r, const struct row *row, int step)
{
    double factor;
    size_t at = 0;

    for (size_t i = 0; i < row->n; i++)
        for (size_t k = 0; k < row->counts[i]; k++)
            reference->g[at++] = mean_of(r, row, step, i, k);
    factor = clip_factor(reference, row->clip);
    at = 0;
    for (size_t i = 0; i < row->n; i++)
        for (size_t k = 0; k < row->counts[i]; k++, at++) {
            const struct dtrain_adamw *a = &groups[i % GROUPS];
            double g = factor * reference->g[at], *w = &reference->w[at];

            reference->m[at] = a->beta1 * reference->m[at] + (1 - a->beta1) * g;
            reference->v[at] = a->beta2 * reference->v[at] + (1 - a->beta2) * g * g;
            *w -= a->lr * (reference->m[at] / (1 - pow(a->beta1, step)) /
                               (sqrt(reference->v[at] / (1 - pow(a->beta2, step))) + a->epsilon) +
                           a->decay * *w);
        }
}

/* ---- The ranks --------------------------------------------------------------------------------- */

struct model {
    const struct row *row;
    struct dtrain_dp *dp;
    struct dtrain_zero *zero;
    char names[PARAMETERS_MAX][8];
};

static bool model_create(struct model *model, struct dp_rank *r, const struct row *row)
{
    struct dtrain_dp_options options = {.holds_storage = true,
                                        .zero_stage = row->zero_stage,
                                        .first_bucket_bytes = 500,
                                        .bucket_bytes = 5000};
    struct dtrain_parameter parameters[PARAMETERS_MAX];

    *model = (struct model){.row = row};
    for (size_t i = 0; i < row->n; i++) {
        snprintf(model->names[i], sizeof(model->names[i]), "w%zu", i);
        parameters[i] = (struct dtrain_parameter){.name = model->names[i],
                                                  .count = row->counts[i],
                                                  .type = row->types[i % 2],
                                                  .gradient_type = row->gradient_types[i % 2],
                                                  .flags = i % 2 == 1 ? row->flags : 0,
                                                  .group = (int)(i % GROUPS)};
    }
    return dtrain_dp_create(&model->dp, r->world, parameters, row->n, &options, &r->err) == 0;
}

static void model_destroy(struct model *model)
{
    dtrain_zero_destroy(model->zero);
    dtrain_dp_destroy(model->dp);
    model->zero = NULL;
    model->dp = NULL;
}

static bool model_start(struct model *model, struct dp_rank *r)
{
    const struct row *row = model->row;

    for (size_t i = 0; i < row->n; i++) {
        double values[1000];

        for (size_t k = 0; k < row->counts[i]; k++)
            values[k] = start_of(i, k);
        if (!dp_put(r, dtrain_dp_value(model->dp, i), row->types[i % 2], row->counts[i], values))
            return false;
    }
    return dtrain_zero_create(&model->zero, model->dp, &r->err) == 0;
}

static bool add_gradient(struct dp_rank *r, const struct model *model, int step, int pass, size_t i)
{
    const struct row *row = model->row;
    enum dtrain_type type = row->gradient_types[i % 2];
    double values[1000];
    void *gradient;
    bool ok = dtrain_dp_gradient(model->dp, i, r->stream, &gradient, &r->err) == 0 &&
              dp_take(r, values, gradient, type, row->counts[i]);

    for (size_t k = 0; k < row->counts[i] && ok; k++)
        values[k] += gradient_of(r->rank, step, pass, i, k);
    return ok && dp_put(r, gradient, type, row->counts[i], values) &&
           dtrain_dp_ready(model->dp, i, r->stream, &r->err) == 0;
}

static bool train(struct dp_rank *r, struct model *model, int step)
{
    const struct row *row = model->row;

    if (dtrain_dp_zero(model->dp, r->stream, &r->err) < 0)
        return false;
    for (int pass = 0; pass < row->passes; pass++) {
        if (dtrain_dp_begin(model->dp, pass == row->passes - 1, &r->err) < 0)
            return false;
        for (size_t k = 0; k < row->n; k++) /* another order than that of the buckets */
            if (!add_gradient(r, model, step, pass, (row->n - 1 - k + (size_t)r->rank) % row->n))
                return false;
        if (dtrain_dp_finish(model->dp, r->stream, &r->err) < 0)
            return false;
    }
    return dtrain_zero_step(model->zero, groups, GROUPS, row->clip, r->stream, &r->err) == 0;
}

/* All values on all ranks; those that were rounded are that far off. */
static bool check_values(struct dp_rank *r, struct model *model, const struct reference *reference, int step)
{
    const struct row *row = model->row;
    size_t at = 0;

    for (size_t i = 0; i < row->n; i++) {
        double values[1000], tolerance = row->types[i % 2] == DTRAIN_BFLOAT16 ? 0x1p-8 : row->tolerance;

        if (dtrain_zero_wait(model->zero, i, r->stream, &r->err) < 0 ||
            !dp_take(r, values, dtrain_dp_value(model->dp, i), row->types[i % 2], row->counts[i]))
            return false;
        for (size_t k = 0; k < row->counts[i]; k++, at++)
            if (!(fabs(values[k] - reference->w[at]) <= tolerance * (1 + fabs(reference->w[at])))) {
                printf("# rank %d step %d w%zu[%zu] is %.15g, expected %.15g\n", r->rank, step, i, k,
                       values[k], reference->w[at]);
                return false;
            }
    }
    return true;
}

/* ---- Saved and loaded ---------------------------------------------------------------------------- */

static enum dtrain_type state_type(const struct row *row, size_t i)
{
    return row->types[i % 2] == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

static double *saved_place(double *saved, size_t i, int part)
{
    return saved + (i * 3 + (size_t)part) * 1000;
}

static bool move_state(struct dp_rank *r, struct model *model, double *saved, bool is_export)
{
    const struct row *row = model->row;
    void *full;
    bool ok = dtrain_memory_alloc(r->world, 1000 * sizeof(double), &full, &r->err) == 0;

    for (size_t i = 0; i < row->n && ok; i++)
        for (int part = 0; part < 3 && ok; part++) {
            enum dtrain_type type = state_type(row, i);
            double *place = saved_place(saved, i, part);
            enum dtrain_zero_part which = (enum dtrain_zero_part)part;

            if (is_export)
                ok = dtrain_zero_export(model->zero, i, which, full, r->stream, &r->err) == 0 &&
                     dp_take(r, place, full, type, row->counts[i]);
            else
                ok = dp_put(r, full, type, row->counts[i], place) &&
                     dtrain_zero_import(model->zero, i, which, full, r->stream, &r->err) == 0 &&
                     dtrain_stream_synchronize(r->stream, &r->err) == 0;
        }
    dtrain_memory_free(r->world, full);
    return ok;
}

static bool weights_are(const struct row *row, double *saved, const struct reference *reference)
{
    size_t at = 0;

    for (size_t i = 0; i < row->n; i++)
        for (size_t k = 0; k < row->counts[i]; k++, at++) {
            const double want[] = {reference->w[at], reference->m[at], reference->v[at]};

            for (int part = 0; part < 3; part++)
                if (fabs(saved_place(saved, i, part)[k] - want[part]) >
                    row->tolerance * (1 + fabs(want[part])))
                    return false;
        }
    return true;
}

/* The new optimizer starts from nothing but what was saved. */
static bool reload(struct dp_rank *r, struct model *model, const struct reference *reference)
{
    const struct row *row = model->row;
    double *saved = calloc(3 * 1000 * row->n, sizeof(*saved));
    uint64_t steps = dtrain_zero_steps(model->zero);
    bool ok = move_state(r, model, saved, true) && weights_are(row, saved, reference);

    model_destroy(model);
    ok = ok && model_create(model, r, row) && dtrain_zero_create(&model->zero, model->dp, &r->err) == 0;
    if (ok)
        dtrain_zero_set_steps(model->zero, steps);
    ok = ok && move_state(r, model, saved, false);
    free(saved);
    return ok;
}

/* Which elements the ranks of a group hold: each one once, in the ranks' order. */
static bool ranges_cover(struct dp_rank *r, struct model *model)
{
    for (size_t i = 0; i < model->row->n; i++) {
        size_t count = model->row->counts[i];
        struct dtrain_zero_range range;

        if (dtrain_zero_range_get(model->zero, i, &range, &r->err) < 0 || range.first + range.count > count ||
            (range.count > 0) != (range.parts[DTRAIN_ZERO_FIRST_MOMENT] != NULL) ||
            (model->row->zero_stage == 0 && range.count != count) ||
            range.state_type != state_type(model->row, i))
            return false;
    }
    return true;
}

static bool run_steps(struct dp_rank *r, struct model *model, struct reference *reference)
{
    for (int step = 1; step <= STEPS; step++) {
        if (step == model->row->reload_at &&
            (!reload(r, model, reference) || !check_values(r, model, reference, step)))
            return false;
        if (!train(r, model, step))
            return false;
        reference_step(reference, r, model->row, step);
        if (!check_values(r, model, reference, step))
            return false;
    }
    return dtrain_zero_steps(model->zero) == STEPS && ranges_cover(r, model);
}

static bool run_row(struct dp_rank *r)
{
    struct reference reference = {0};
    struct model model;
    bool ok;

    reference_start(&reference, r->argument);
    ok = model_create(&model, r, r->argument) && model_start(&model, r) && run_steps(r, &model, &reference);
    model_destroy(&model);
    free(reference.w);
    return ok;
}

/* ---- Bytes ------------------------------------------------------------------------------------------ */

static _Thread_local size_t allocated; /* by this thread's rank */

static int counted_alloc(void *state, size_t bytes, void **memory, struct dtrain_error *err)
{
    allocated += bytes;
    return dt_backend_host.memory_alloc(state, bytes, memory, err);
}

struct bytes_row {
    int zero_stage;
    uint32_t ranks;
    enum dtrain_type type, gradient_type;
    double want; /* of each parameter */
};

static const struct bytes_row bytes_rows[] = {
    {0, 1, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, 18},
    {0, 4, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, 18},
    {1, 1, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, 18},
    {1, 2, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, 6 + 12 / 2.0},
    {1, 4, DTRAIN_FLOAT16, DTRAIN_FLOAT32, 6 + 12 / 4.0},
    {1, 3, DTRAIN_BFLOAT16, DTRAIN_BFLOAT16, 4 + 12 / 3.0},
    {2, 4, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, 2 + 16 / 4.0},
    {1, 4, DTRAIN_FLOAT32, DTRAIN_FLOAT32, 8 + 8 / 4.0},
    {2, 2, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 8 + 24 / 2.0},
};

#define BIG 50000

static bool run_bytes(struct dp_rank *r)
{
    const struct bytes_row *row = r->argument;
    struct dtrain_dp_options options = {.holds_storage = true,
                                        .zero_stage = row->zero_stage,
                                        .first_bucket_bytes = 100000,
                                        .bucket_bytes = 300000};
    struct dtrain_parameter parameters[4];
    struct dtrain_dp *dp;
    struct dtrain_zero *zero = NULL;
    size_t exchanged, before = allocated;
    double each = 0;
    bool ok;

    for (int i = 0; i < 4; i++)
        parameters[i] = (struct dtrain_parameter){
            .name = "w", .count = BIG + (size_t)i, .type = row->type, .gradient_type = row->gradient_type};
    ok = dtrain_dp_create(&dp, r->world, parameters, 4, &options, &r->err) == 0 &&
         dtrain_zero_create(&zero, dp, &r->err) == 0;
    if (ok) {
        exchanged = 3 * sizeof(int64_t) * (row->ranks + 1); /* while the ranks agreed */
        each = (double)(dtrain_dp_memory(dp) + dtrain_zero_memory(zero)) / (4 * BIG + 6);
        ok = allocated - before - exchanged == dtrain_dp_memory(dp) + dtrain_zero_memory(zero) &&
             fabs(each - row->want) < 0.01 * row->want;
    }
    if (!ok)
        printf("# %.4g bytes, expected %.4g; %zu allocated\n", each, row->want, allocated - before);
    dtrain_zero_destroy(zero);
    dtrain_dp_destroy(dp);
    return ok;
}

static void test_bytes(const struct bytes_row *row)
{
    struct dt_backend counted = dt_backend_host;
    double formula = dtrain_zero_bytes(row->zero_stage, (int)row->ranks, row->type, row->gradient_type);

    counted.memory_alloc = counted_alloc;
    tap_ok(formula == row->want, "stage %d on %u ranks: %.4g bytes by the formula", row->zero_stage,
           row->ranks, formula);
    tap_ok(dp_run(&(struct dp_layout){.nodes = 1, .tasks = row->ranks}, &counted, run_bytes, (void *)row) ==
               0,
           "and as many were allocated");
}

/* ---- Stage 2's buckets under way ------------------------------------------------------------------ */

#define MANY 16
#define LENT_MAX 4 /* buckets: one is open, and a few are reduced or free */

static bool pass_once(struct dp_rank *r, struct dtrain_dp *dp)
{
    if (dtrain_dp_zero(dp, r->stream, &r->err) < 0 || dtrain_dp_begin(dp, true, &r->err) < 0)
        return false;
    for (size_t i = MANY; i-- > 0;) {
        void *gradient;

        if (dtrain_dp_gradient(dp, i, r->stream, &gradient, &r->err) < 0 ||
            dtrain_dp_ready(dp, i, r->stream, &r->err) < 0)
            return false;
    }
    return dtrain_dp_finish(dp, r->stream, &r->err) == 0;
}

/* Each parameter is a bucket. */
static bool run_lending(struct dp_rank *r)
{
    const size_t bucket = 4096 * sizeof(float);
    struct dtrain_dp_options options = {
        .holds_storage = true, .zero_stage = 2, .first_bucket_bytes = bucket, .bucket_bytes = bucket};
    struct dtrain_parameter parameters[MANY];
    struct dtrain_dp *dp;
    size_t before, after = 0;
    bool ok;

    for (int i = 0; i < MANY; i++)
        parameters[i] = (struct dtrain_parameter){.name = "w", .count = 4096};
    ok = dtrain_dp_create(&dp, r->world, parameters, MANY, &options, &r->err) == 0;
    before = ok ? dtrain_dp_memory(dp) : 0;
    for (int step = 0; step < 5 && ok; step++) {
        ok = pass_once(r, dp) && dtrain_dp_bucket_count(dp) == MANY &&
             (step < 1 || dtrain_dp_memory(dp) == after);
        after = ok ? dtrain_dp_memory(dp) : 0;
    }
    if (ok && (after == before || after - before > LENT_MAX * bucket)) {
        printf("# %zu bytes were lent\n", after - before);
        ok = false;
    }
    dtrain_dp_destroy(dp);
    return ok;
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(dp_run(&rows[i].layout, NULL, run_row, (void *)&rows[i]) == 0, "%s", rows[i].name);
    for (size_t i = 0; i < sizeof(bytes_rows) / sizeof(bytes_rows[0]); i++)
        test_bytes(&bytes_rows[i]);
    tap_ok(dp_run(&(struct dp_layout){.nodes = 1, .tasks = 2}, NULL, run_lending, NULL) == 0,
           "stage 2 holds as many buckets as are under way");
    tap_ok(dtrain_zero_bytes(3, 1, DTRAIN_FLOAT32, DTRAIN_FLOAT32) == 0 &&
               dtrain_zero_bytes(1, 0, DTRAIN_FLOAT32, DTRAIN_FLOAT32) == 0 &&
               dtrain_zero_bytes(1, 1, DTRAIN_INT32, DTRAIN_FLOAT32) == 0,
           "no bytes of what there is not");
    return tap_done();
}
