/*
 * The ways in which examples/train splits a model, in worlds of threads: each one on layouts of 1 to 16 ranks
 * has the losses of one process, and in float64 its weights. PipeDream is compared with its definition, run
 * by one process, one microbatch after the other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dp_world.h"
#include "tap.h"
#include "train_bench.h"

enum { STEPS = 4, MICROBATCHES = 4, VALUES_MAX = 256 * 16 /* of the largest tensor */ };

/* What one process gets; weights of all tensors one after another. */
struct truth {
    enum dtrain_type type;
    double losses[STEPS];
    double *weights;
    size_t *starts; /* of each tensor in them */
};

struct way {
    const char *name;
    enum dtrain_pp_kind schedule;
    int chunks, zero;
    bool sequence_parallel;
    double clip;
};

struct place {
    uint32_t nodes, tasks, tp, pp, cp;
};

struct trial {
    const struct way *way;
    const struct truth *truth;
    struct options options;
    double loss_limit, weight_limit; /* the second 0: not compared */
};

/* Eight layers, so that four stages have two chunks each; three stages have an uneven share. */
static struct options model_options(enum dtrain_type type)
{
    struct options options = bench_options(16, MICROBATCHES);

    options.layers = 8;
    options.heads = 4;
    options.type = type;
    return options;
}

/* ---- One process -------------------------------------------------------------------- */

static double value_at(enum dtrain_type type, const void *x, size_t i)
{
    return type == DTRAIN_FLOAT64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* The weights of a world of one, as they are now. */
static int note_weights(struct truth *truth, const struct bench *bench)
{
    static double host[VALUES_MAX];
    size_t total = parameter_total(bench->model.parameters, bench->model.count), n = 0;

    truth->weights = calloc(total, sizeof(*truth->weights));
    truth->starts = calloc(bench->model.count, sizeof(*truth->starts));
    for (size_t i = 0; i < bench->model.count; i++) {
        if (model_export(&bench->model, i, DTRAIN_ZERO_WEIGHT, host, NULL) != 0)
            return -1;
        truth->starts[i] = n;
        for (size_t k = 0; k < bench->model.tensors[i].count; k++)
            truth->weights[n++] = value_at(bench->grid.compute->main, host, k);
    }
    return 0;
}

static int find_truth(struct truth *truth, struct dtrain_world *world, const struct options *options,
                      struct dtrain_error *err)
{
    struct bench bench;
    int rc = bench_open(&bench, world, options, err);

    truth->type = options->type;
    if (rc == 0)
        rc = bench_train(&bench, STEPS, truth->losses, err);
    if (rc == 0)
        rc = note_weights(truth, &bench);
    bench_close(&bench);
    return rc;
}

/* The weights. */
static void forget(struct truth *truth)
{
    free(truth->weights);
    free(truth->starts);
    truth->weights = NULL;
    truth->starts = NULL;
}

/* ---- PipeDream by its definition ----------------------------------------------------- */

/*
 * The gradient of microbatch k is computed, forward and backward, with weights of stage s that k - (p - s -
 * 1) microbatches of the step have updated (none if that is below 0), and updates the newest ones.
 */
struct history {
    double *versions[MICROBATCHES + 1]; /* all weights after so many updates */
    const struct truth *layout;         /* where tensors start */
    int stages, replicas;               /* pp, and dp, of which each has a part of a microbatch */
    struct parameter *parameters;       /* say which stage has which tensor */
    double *sum;                        /* of replicas' gradients */
};

static void put_version(struct bench *bench, const struct history *history, int newest, bool is_stale)
{
    for (size_t i = 0; i < bench->model.count; i++) {
        int lag = history->stages - history->parameters[i].stage - 1;
        int version = !is_stale ? newest : newest > lag ? newest - lag : 0;

        memcpy(bench->model.own[i], history->versions[version] + history->layout->starts[i],
               bench->model.tensors[i].count * sizeof(double));
    }
}

static void take_version(const struct bench *bench, struct history *history, int version)
{
    for (size_t i = 0; i < bench->model.count; i++)
        memcpy(history->versions[version] + history->layout->starts[i], bench->model.own[i],
               bench->model.tensors[i].count * sizeof(double));
}

/* Adds the gradients of the last run to the sum of replicas; or puts their mean in their place. */
static void add_gradients(struct bench *bench, struct history *history)
{
    void *gradient = NULL;

    for (size_t i = 0; i < bench->model.count; i++) {
        model_gradient(&bench->model, i, &gradient, NULL);
        for (size_t k = 0; k < bench->model.tensors[i].count; k++)
            history->sum[history->layout->starts[i] + k] += ((double *)gradient)[k];
    }
}

static void put_mean(struct bench *bench, struct history *history)
{
    void *gradient = NULL;

    for (size_t i = 0; i < bench->model.count; i++) {
        model_gradient(&bench->model, i, &gradient, NULL);
        for (size_t k = 0; k < bench->model.tensors[i].count; k++) {
            double *sum = &history->sum[history->layout->starts[i] + k];

            ((double *)gradient)[k] = *sum / history->replicas;
            *sum = 0;
        }
    }
}

/* Each replica's part is drawn as if by a rank of a larger group that has one microbatch. */
static double loss_of_microbatch(struct bench *bench, struct history *history, int k,
                                 struct dtrain_error *err)
{
    struct batch batch = {&bench->data, 5, 1};
    double sum = 0;

    for (int i = 0; i < history->replicas; i++) {
        double loss = NAN;

        bench->shape.layout.dp = (struct axis){MICROBATCHES * history->replicas, i * MICROBATCHES + k};
        if (pipeline_run(&bench->pipeline, &bench->stage, &batch, &loss, err) != 0)
            return NAN;
        add_gradients(bench, history);
        sum += loss / history->replicas;
    }
    put_mean(bench, history);
    return sum;
}

static double emulate_step(struct bench *bench, struct history *history, struct dtrain_error *err)
{
    double sum = 0;

    take_version(bench, history, 0);
    for (int k = 0; k < MICROBATCHES; k++) {
        put_version(bench, history, k, true);
        sum += loss_of_microbatch(bench, history, k, err);
        put_version(bench, history, k, false);
        if (optimizer_step(&bench->model, &bench->options, err) != 0)
            return NAN;
        take_version(bench, history, k + 1);
    }
    return sum / MICROBATCHES;
}

static int prepare_history(struct history *history, const struct options *options, const struct truth *truth,
                           size_t total)
{
    struct layout layout = {{1, 0}, {history->stages, 0}, {1, 0}, {1, 0}, {1, 0}};
    struct shape split;

    if (shape_make(&split, options, &layout, NULL) != 0)
        return -1;
    history->layout = truth;
    history->parameters = calloc(parameter_count(&split), sizeof(*history->parameters));
    parameter_list(history->parameters, &split);
    history->sum = calloc(total, sizeof(double));
    for (int i = 0; i <= MICROBATCHES; i++)
        history->versions[i] = calloc(total, sizeof(double));
    return 0;
}

static void clear_history(struct history *history)
{
    free(history->parameters);
    free(history->sum);
    for (int i = 0; i <= MICROBATCHES; i++)
        free(history->versions[i]);
}

/* In float64, with a batch of one replica's microbatch. */
static int emulate_pipedream(struct truth *truth, struct dtrain_world *world, int stages, int replicas,
                             struct dtrain_error *err)
{
    struct options options = model_options(DTRAIN_FLOAT64);
    struct history history = {.stages = stages, .replicas = replicas};
    struct bench bench;
    int rc;

    options.batch /= MICROBATCHES * replicas;
    options.microbatches = 1;
    truth->type = options.type;
    rc = bench_open(&bench, world, &options, err);
    if (rc == 0)
        rc = note_weights(truth, &bench);
    if (rc == 0)
        rc = prepare_history(&history, &options, truth,
                             parameter_total(bench.model.parameters, bench.model.count));
    for (int i = 0; rc == 0 && i < STEPS; i++)
        truth->losses[i] = emulate_step(&bench, &history, err);
    clear_history(&history);
    forget(truth);
    if (rc == 0)
        rc = note_weights(truth, &bench);
    bench_close(&bench);
    return rc;
}

/* ---- Many ranks ------------------------------------------------------------------------ */

static bool losses_match(struct dp_rank *r, const struct trial *trial, const double *losses)
{
    for (int i = 0; i < STEPS; i++) {
        double expected = trial->truth->losses[i];

        if (!(fabs(losses[i] - expected) <= trial->loss_limit * expected)) {
            snprintf(r->err.text, sizeof(r->err.text), "step %d: loss %.15g, alone %.15g", i + 1, losses[i],
                     expected);
            return false;
        }
    }
    return true;
}

static bool tensor_matches(struct dp_rank *r, const struct trial *trial, const struct bench *bench, size_t i)
{
    const struct slice *slice = &bench->model.tensors[i].slice;
    double *host = calloc(bench->model.tensors[i].count, sizeof(*host));
    double *expected = calloc(bench->model.tensors[i].count, sizeof(*expected));
    bool ok = model_export(&bench->model, i, DTRAIN_ZERO_WEIGHT, host, &r->err) == 0;

    parameter_cut(&bench->model.parameters[i], slice, sizeof(double), expected,
                  trial->truth->weights + trial->truth->starts[i]);
    for (size_t k = 0; ok && k < slice->real_rows * slice->cols; k++) {
        if (fabs(host[k] - expected[k]) <= trial->weight_limit)
            continue;
        snprintf(r->err.text, sizeof(r->err.text), "%s, element %zu: %.15g, alone %.15g",
                 bench->model.parameters[i].name, k, host[k], expected[k]);
        ok = false;
    }
    free(host);
    free(expected);
    return ok;
}

/* All tensors in any case: an export is collective. */
static bool weights_match(struct dp_rank *r, const struct trial *trial, const struct bench *bench)
{
    bool ok = true;

    for (size_t i = 0; trial->weight_limit > 0 && i < bench->model.count; i++) {
        if (bench->model.tensors[i].held && !tensor_matches(r, trial, bench, i))
            ok = false;
    }
    return ok;
}

static bool train(struct dp_rank *r)
{
    const struct trial *trial = r->argument;
    struct bench *bench = calloc(1, sizeof(*bench));
    double losses[STEPS];
    bool ok = bench_open(bench, r->world, &trial->options, &r->err) == 0 &&
              bench_train(bench, STEPS, losses, &r->err) == 0;

    if (ok)
        ok = weights_match(r, trial, bench) && losses_match(r, trial, losses);
    bench_close(bench);
    free(bench);
    return ok;
}

static const struct way ways[] = {
    {"1f1b", DTRAIN_PP_1F1B, 1, 0, false, 0},
    {"1f1b, zero 1, sequence parallel", DTRAIN_PP_1F1B, 1, 1, true, 0},
    {"1f1b, zero 2, clipped", DTRAIN_PP_1F1B, 1, 2, false, 0.5},
    {"gpipe, zero 2, sequence parallel", DTRAIN_PP_GPIPE, 1, 2, true, 0},
    {"gpipe, clipped", DTRAIN_PP_GPIPE, 1, 0, false, 0.5},
    {"interleaved, zero 1", DTRAIN_PP_INTERLEAVED, 2, 1, false, 0},
    {"interleaved, sequence parallel", DTRAIN_PP_INTERLEAVED, 2, 0, true, 0},
    {"zb-h1", DTRAIN_PP_ZB_H1, 1, 0, false, 0},
    {"zb-h1, zero 1, sequence parallel, clipped", DTRAIN_PP_ZB_H1, 1, 1, true, 0.5},
};

static const struct place places[] = {
    {1, 1, 1, 1, 1}, {1, 2, 2, 1, 1}, {1, 4, 4, 1, 1}, {1, 2, 1, 2, 1}, {1, 4, 1, 4, 1}, {1, 2, 1, 1, 1},
    {2, 2, 1, 1, 1}, {2, 2, 2, 1, 1}, {2, 2, 1, 2, 1}, {2, 4, 2, 2, 1}, {2, 8, 4, 2, 1}, {4, 4, 2, 4, 1},
    {1, 2, 1, 1, 2}, {1, 3, 1, 1, 3}, {1, 8, 2, 2, 2}, {2, 8, 2, 2, 2},
};

static void try_at(const struct trial *trial, const struct place *at)
{
    struct dp_layout layout = {
        .nodes = at->nodes, .tasks = at->tasks, .tp = at->tp, .pp = at->pp, .cp = at->cp};
    uint32_t ranks = at->nodes * at->tasks;

    tap_ok(dp_run(&layout, NULL, train, (void *)trial) == 0,
           "%s: tp %u x pp %u x dp %u x cp %u is as one process", trial->way->name, at->tp, at->pp,
           ranks / at->tp / at->pp / at->cp, at->cp);
}

static struct options trial_options(const struct way *way, enum dtrain_type type)
{
    struct options options = model_options(type);

    options.schedule = way->schedule;
    options.chunks = way->chunks;
    options.zero = way->zero;
    options.sequence_parallel = way->sequence_parallel;
    options.clip = way->clip;
    return options;
}

static void check_ways(struct dtrain_world *world)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct trial trial = {.way = &ways[i], .loss_limit = 1e-10, .weight_limit = 1e-9};
        struct options plain = model_options(DTRAIN_FLOAT64);
        struct truth truth = {0};
        struct dtrain_error err = {""};

        plain.clip = ways[i].clip;
        tap_ok(find_truth(&truth, world, &plain, &err) == 0, "one process %s", err.text);
        trial.truth = &truth;
        trial.options = trial_options(&ways[i], DTRAIN_FLOAT64);
        for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++)
            try_at(&trial, &places[k]);
        forget(&truth);
    }
}

static void check_type(struct dtrain_world *world, enum dtrain_type type, double limit)
{
    static const struct way all = {
        "float32 or bfloat16, zero 2, sequence parallel", DTRAIN_PP_1F1B, 1, 2, true, 0};
    struct trial trial = {.way = &all, .loss_limit = limit};
    struct options plain = model_options(type);
    struct truth truth = {0};

    tap_ok(find_truth(&truth, world, &plain, NULL) == 0, "one process in type %d", (int)type);
    trial.truth = &truth;
    trial.options = trial_options(&all, type);
    try_at(&trial, &(struct place){2, 4, 2, 2, 1});
    forget(&truth);
}

static void check_pipedream(struct dtrain_world *world)
{
    static const struct way rows[] = {
        {"pipedream", DTRAIN_PP_PIPEDREAM, 1, 0, false, 0},
        {"pipedream, zero 1", DTRAIN_PP_PIPEDREAM, 1, 1, false, 0},
        {"pipedream, zero 2, sequence parallel", DTRAIN_PP_PIPEDREAM, 1, 2, true, 0},
    };
    static const uint32_t rows_tp[] = {1, 1, 2};

    for (uint32_t i = 0; i < 4 * 2; i++) {
        uint32_t stages = i % 4 + 1, replicas = i / 4 + 1;
        struct truth truth = {0};
        struct dtrain_error err = {""};

        tap_ok(emulate_pipedream(&truth, world, (int)stages, (int)replicas, &err) == 0,
               "pipedream of %u stages and dp %u by its definition %s", stages, replicas, err.text);
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            struct trial trial = {
                .way = &rows[k], .truth = &truth, .loss_limit = 1e-10, .weight_limit = 1e-9};

            trial.options = trial_options(&rows[k], DTRAIN_FLOAT64);
            try_at(&trial, &(struct place){replicas, stages * rows_tp[k], rows_tp[k], stages, 1});
        }
        forget(&truth);
    }
}

/* ---- A rank that fails ------------------------------------------------------------------- */

struct fault {
    int rank;          /* whose operations fail */
    const char *words; /* of every rank's error */
};

/* A rank may still be opening when another one has failed already. */
static bool fails(struct dp_rank *r)
{
    const struct fault *fault = r->argument;
    struct bench *bench = calloc(1, sizeof(*bench));
    struct options options = model_options(DTRAIN_FLOAT32);
    struct dtrain_error err = {""};
    double losses[STEPS];
    bool is_open = bench_open(bench, r->world, &options, &err) == 0, ok;

    if (is_open && r->rank == fault->rank)
        compute_fail(bench->grid.compute, "the device broke");
    ok = (!is_open || bench_train(bench, STEPS, losses, &err) != 0) && strstr(err.text, fault->words) != NULL;
    if (!ok)
        snprintf(r->err.text, sizeof(r->err.text), "expected \"%s\" in: %.900s", fault->words, err.text);
    bench_close(bench);
    free(bench);
    return ok;
}

static void check_faults(void)
{
    static const struct fault faults[] = {
        {0, "the device broke"},
        {3, "pipeline stage 1 (rank 3): forward of microbatch 0, chunk 0: the device broke"},
        {7, "the device broke"},
    };
    struct dp_layout layout = {.nodes = 2, .tasks = 4, .tp = 2, .pp = 4};

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        tap_ok(dp_run(&layout, NULL, fails, (void *)&faults[i]) == 0, "rank %d fails, and all say where",
               faults[i].rank);
}

int main(void)
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""};

    if (!tap_ok(dtrain_init(&world, NULL, &err) == 0, "a world of one %s", err.text))
        return tap_done();
    check_ways(world);
    check_type(world, DTRAIN_FLOAT32, 1e-4);
    check_type(world, DTRAIN_BFLOAT16, 1e-2);
    check_pipedream(world);
    check_faults();
    tap_ok(dtrain_finalize(world, &err) == 0, "the world ends %s", err.text);
    return tap_done();
}
