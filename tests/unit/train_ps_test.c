/*
 * examples/train with parameter servers, in worlds of threads: in step it has the losses and the weights of
 * one process, however many servers and workers there are; steps apart it learns; and what it refuses.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dp_world.h"
#include "tap.h"
#include "train_bench.h"

enum { STEPS = 20, BATCH = 16, MICROBATCHES = 4, MODEL_MAX = 1 << 15 /* weights */ };

/* What one process gets; weights of all tensors one after another. */
struct truth {
    double losses[STEPS];
    double weights[MODEL_MAX];
};

struct row {
    struct dp_layout layout;
    int servers, staleness, microbatches;
    enum dtrain_type type;
    const char *words; /* of the refusal */
};

struct trial {
    const struct row *row;
    const struct truth *truth;
};

static struct options row_options(const struct row *row)
{
    struct options options = bench_options(BATCH, row->microbatches);

    options.type = row->type;
    options.ps = row->servers;
    options.staleness = row->staleness;
    return options;
}

/* ---- One process --------------------------------------------------------------------- */

/* Element k of all weights; value: of the type. */
static double value_at(const struct bench *bench, const void *x, size_t k)
{
    return bench->options.type == DTRAIN_FLOAT64 ? ((const double *)x)[k] : (double)((const float *)x)[k];
}

/* In device memory of the host, which a worker's model has whole. */
static size_t take_weights(const struct bench *bench, double *weights)
{
    size_t n = 0;

    for (size_t i = 0; i < bench->model.count; i++) {
        for (size_t k = 0; k < bench->model.tensors[i].count && n < MODEL_MAX; k++)
            weights[n++] = value_at(bench, model_weight(&bench->model, i), k);
    }
    return n;
}

static bool find_truth(struct truth *truth, struct dtrain_world *world, enum dtrain_type type)
{
    struct options options = bench_options(BATCH, MICROBATCHES);
    struct dtrain_error err = {""};
    struct bench bench;
    bool ok;

    options.type = type;
    ok = bench_open(&bench, world, &options, &err) == 0 &&
         bench_train(&bench, STEPS, truth->losses, &err) == 0 &&
         take_weights(&bench, truth->weights) < MODEL_MAX;
    bench_close(&bench);
    return tap_ok(ok, "one process %s", err.text);
}

/* ---- Servers and workers ------------------------------------------------------------------ */

/* Each worker has a share of its own, and the lowest one speaks. */
static bool has_place(struct dp_rank *r, const struct trial *trial, const struct bench *bench)
{
    const struct grid *grid = &bench->grid;
    int workers = r->size - trial->row->servers;

    if (grid->layout.dp.size == workers && (grid->speaker == r->rank) == (grid->layout.dp.rank == 0))
        return true;
    snprintf(r->err.text, sizeof(r->err.text), "worker %d of %d, rank %d speaks; expected %d workers",
             grid->layout.dp.rank, grid->layout.dp.size, grid->speaker, workers);
    return false;
}

/* float64 to 1e-9, float32 to 1e-4; weights of float64 only. */
static bool matches(struct dp_rank *r, const struct trial *trial, const struct bench *bench,
                    const double *losses)
{
    bool is_double = trial->row->type == DTRAIN_FLOAT64;
    double limit = is_double ? 1e-9 : 1e-4;
    double *weights = calloc(MODEL_MAX, sizeof(*weights));
    size_t n = take_weights(bench, weights);
    bool ok = true;

    for (int i = 0; i < STEPS && ok; i++) {
        double alone = trial->truth->losses[i];

        ok = fabs(losses[i] - alone) <= limit * alone;
        if (!ok)
            snprintf(r->err.text, sizeof(r->err.text), "step %d: loss %.15g, alone %.15g", i + 1, losses[i],
                     alone);
    }
    for (size_t k = 0; k < n && ok && is_double; k++) {
        ok = fabs(weights[k] - trial->truth->weights[k]) <= limit;
        if (!ok)
            snprintf(r->err.text, sizeof(r->err.text), "weight %zu: %.15g, alone %.15g", k, weights[k],
                     trial->truth->weights[k]);
    }
    free(weights);
    return ok;
}

static bool learns(struct dp_rank *r, const double *losses)
{
    if (losses[STEPS - 1] < losses[0] - 0.5)
        return true;
    snprintf(r->err.text, sizeof(r->err.text), "loss %.6f to %.6f", losses[0], losses[STEPS - 1]);
    return false;
}

static bool work(struct dp_rank *r, const struct trial *trial, struct bench *bench)
{
    double losses[STEPS];

    if (!has_place(r, trial, bench) || bench_train(bench, STEPS, losses, &r->err) != 0)
        return false;
    if (trial->row->staleness == 0 ? !matches(r, trial, bench, losses) : !learns(r, losses))
        return false;
    return servers_leave(&bench->servers, &r->err) == 0;
}

static bool train(struct dp_rank *r)
{
    const struct trial *trial = r->argument;
    struct options options = row_options(trial->row);
    struct bench *bench = calloc(1, sizeof(*bench));
    bool ok = bench_open(bench, r->world, &options, &r->err) == 0;

    if (ok)
        ok = servers_is_server(&bench->servers) ? servers_serve(&bench->servers, &r->err) == 0
                                                : work(r, trial, bench);
    bench_close(bench);
    free(bench);
    return ok;
}

static const struct row rows[] = {
    {{.nodes = 1, .tasks = 2}, 1, 0, 4, DTRAIN_FLOAT64, NULL},
    {{.nodes = 1, .tasks = 3}, 1, 0, 4, DTRAIN_FLOAT64, NULL},
    {{.nodes = 1, .tasks = 5}, 1, 0, 2, DTRAIN_FLOAT64, NULL},
    {{.nodes = 1, .tasks = 4}, 2, 0, 8, DTRAIN_FLOAT64, NULL},
    {{.nodes = 2, .tasks = 2}, 3, 0, 4, DTRAIN_FLOAT64, NULL},
    {{.nodes = 2, .tasks = 3}, 2, 0, 1, DTRAIN_FLOAT64, NULL},
    {{.nodes = 4, .tasks = 3}, 4, 0, 2, DTRAIN_FLOAT64, NULL},
    {{.nodes = 1, .tasks = 3}, 1, 0, 4, DTRAIN_FLOAT32, NULL},
    {{.nodes = 2, .tasks = 3}, 2, 0, 4, DTRAIN_FLOAT32, NULL},
    {{.nodes = 1, .tasks = 3}, 1, 1, 4, DTRAIN_FLOAT32, NULL},
    {{.nodes = 2, .tasks = 3}, 2, 2, 4, DTRAIN_FLOAT32, NULL},
    {{.nodes = 2, .tasks = 3}, 2, 2, 4, DTRAIN_FLOAT64, NULL},
};

static void check_training(struct dtrain_world *world, enum dtrain_type type)
{
    static struct truth truth;

    if (!find_truth(&truth, world, type))
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct trial trial = {row, &truth};
        int ranks = (int)(row->layout.nodes * row->layout.tasks);

        if (row->type == type)
            tap_ok(dp_run(&row->layout, NULL, train, &trial) == 0,
                   "%s, %u nodes, %d servers, %d workers, staleness %d: %s", options_type_name(type),
                   row->layout.nodes, row->servers, ranks - row->servers, row->staleness,
                   row->staleness == 0 ? "as one process" : "learns");
    }
}

/* ---- Refusals ------------------------------------------------------------------------------ */

static bool is_refused(struct dp_rank *r)
{
    const struct row *row = r->argument;
    struct options options = row_options(row);
    struct bench *bench = calloc(1, sizeof(*bench));
    struct dtrain_error err = {""};
    bool ok = bench_open(bench, r->world, &options, &err) != 0 && strstr(err.text, row->words) != NULL;

    if (!ok)
        snprintf(r->err.text, sizeof(r->err.text), "expected \"%s\" in: %.900s", row->words, err.text);
    bench_close(bench);
    free(bench);
    return ok;
}

static void check_refusals(void)
{
    static const struct row refused[] = {
        {{.nodes = 1, .tasks = 4, .tp = 2}, 1, 0, 4, DTRAIN_FLOAT32,
         "--ps=1: each worker has the whole model, but this step splits it: tp=2 x pp=1 x cp=1: use 1"},
        {{.nodes = 1, .tasks = 4, .pp = 4}, 1, 0, 4, DTRAIN_FLOAT32, "tp=1 x pp=4 x cp=1: use 1 of each"},
        {{.nodes = 1, .tasks = 2, .cp = 2}, 1, 0, 4, DTRAIN_FLOAT32, "tp=1 x pp=1 x cp=2: use 1 of each"},
        {{.nodes = 1, .tasks = 4}, 4, 0, 4, DTRAIN_FLOAT32,
         "--ps=4: no worker is left of 4 ranks: use fewer servers, or more tasks"},
        {{.nodes = 2, .tasks = 2}, 9, 0, 4, DTRAIN_FLOAT32, "--ps=9: no worker is left of 4 ranks"},
        {{.nodes = 1, .tasks = 4}, 1, 0, 4, DTRAIN_FLOAT32,
         "--batch 16 cannot be split over workers=3 and --microbatches 4: use a multiple of 12"},
        {{.nodes = 1, .tasks = 3}, 1, 0, 16, DTRAIN_FLOAT32,
         "--batch 16 cannot be split over workers=2 and --microbatches 16: use a multiple of 32"},
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        tap_ok(dp_run(&refused[i].layout, NULL, is_refused, (void *)&refused[i]) == 0, "refused: %s",
               refused[i].words);
}

/* ---- A worker that fails ---------------------------------------------------------------------- */

/* Rank 1's device breaks before the first step: nobody waits for ever, and the others reach the end. */
static bool loses_one(struct dp_rank *r)
{
    const struct row *row = r->argument;
    struct options options = row_options(row);
    struct bench *bench = calloc(1, sizeof(*bench));
    double losses[STEPS];
    bool ok = bench_open(bench, r->world, &options, &r->err) == 0;

    if (ok && r->rank == 1) {
        struct dtrain_error err = {""};

        compute_fail(bench->grid.compute, "the device broke");
        ok = bench_train(bench, STEPS, losses, &err) != 0 && strstr(err.text, "the device broke") != NULL;
    } else if (ok && servers_is_server(&bench->servers)) {
        ok = servers_serve(&bench->servers, &r->err) == 0;
    } else if (ok) {
        ok = bench_train(bench, STEPS, losses, &r->err) == 0 && learns(r, losses) &&
             servers_leave(&bench->servers, &r->err) == 0;
    }
    bench_close(bench);
    free(bench);
    return ok;
}

static void check_loss(void)
{
    static const struct row row = {{.nodes = 1, .tasks = 5}, 1, 0, 4, DTRAIN_FLOAT32, NULL};

    tap_ok(dp_run(&row.layout, NULL, loses_one, (void *)&row) == 0,
           "a worker that fails does not stop the others");
}

int main(void)
{
    struct dtrain_error err = {""};
    struct dtrain_world *world = NULL;

    if (!tap_ok(dtrain_init(&world, NULL, &err) == 0, "a world of one %s", err.text))
        return tap_done();
    check_training(world, DTRAIN_FLOAT64);
    check_training(world, DTRAIN_FLOAT32);
    check_refusals();
    check_loss();
    tap_ok(dtrain_finalize(world, &err) == 0, "the world ends %s", err.text);
    return tap_done();
}
