/*
 * examples/train with experts, in worlds of threads: on layouts of 1 to 8 ranks it has the losses of one
 * process with the same experts, and in float64 its weights. The gradients of experts and gates are compared
 * with differences of the loss, and what cannot work is refused.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dp_world.h"
#include "tap.h"
#include "train_bench.h"

enum { MICROBATCHES = 2, STEPS_MAX = 20, VALUES_MAX = 8 * 16 * 4 * 16 /* of the largest tensor */ };

struct way {
    const char *name;
    enum dtrain_type type;
    int experts, top_k, steps;
    enum dtrain_pp_kind schedule;
    int chunks, zero;
    double clip;
    double loss_limit, weight_limit; /* the second 0: not compared */
};

static const struct way ways[] = {
    {"8 experts, top 2, float64", DTRAIN_FLOAT64, 8, 2, 4, DTRAIN_PP_1F1B, 1, 0, 0, 1e-10, 1e-9},
    {"4 experts, top 1, float64, zero 1", DTRAIN_FLOAT64, 4, 1, 4, DTRAIN_PP_1F1B, 1, 1, 0, 1e-10, 1e-9},
    {"4 experts, top 3, float64, zero 2, clipped", DTRAIN_FLOAT64, 4, 3, 4, DTRAIN_PP_GPIPE, 1, 2, 0.5, 1e-10,
     1e-9},
    {"4 experts, top 2, float64, interleaved", DTRAIN_FLOAT64, 4, 2, 4, DTRAIN_PP_INTERLEAVED, 2, 0, 0, 1e-10,
     1e-9},
    {"4 experts, top 2, float64, zb-h1", DTRAIN_FLOAT64, 4, 2, 4, DTRAIN_PP_ZB_H1, 1, 1, 0, 1e-10, 1e-9},
    {"8 experts, top 2, float32", DTRAIN_FLOAT32, 8, 2, 20, DTRAIN_PP_1F1B, 1, 0, 0, 1e-4, 0},
};

struct place {
    uint32_t nodes, tasks, ep, pp, cp;
};

static const struct place places[] = {
    {1, 1, 1, 1, 1}, {1, 2, 1, 1, 1}, {1, 2, 2, 1, 1}, {1, 4, 2, 1, 1}, {1, 4, 4, 1, 1}, {1, 2, 1, 2, 1},
    {1, 4, 2, 2, 1}, {2, 4, 4, 2, 1}, {2, 4, 2, 2, 1}, {2, 4, 4, 1, 1}, {1, 4, 2, 1, 2},
};

/* What one process gets; weights of all tensors one after another. */
struct truth {
    double losses[STEPS_MAX];
    double *weights;
    size_t *starts; /* of each tensor in them */
};

struct trial {
    const struct way *way;
    const struct truth *truth;
    struct options options;
};

static struct options model_options(const struct way *way)
{
    struct options options = bench_options(16, MICROBATCHES);

    options.layers = 4;
    options.type = way->type;
    options.experts = way->experts;
    options.top_k = way->top_k;
    options.clip = way->clip;
    return options;
}

/* ---- One process -------------------------------------------------------------------- */

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
        memcpy(truth->weights + n, host, bench->model.tensors[i].count * sizeof(double));
        n += bench->model.tensors[i].count;
    }
    return 0;
}

static int find_truth(struct truth *truth, struct dtrain_world *world, const struct way *way,
                      struct dtrain_error *err)
{
    struct options options = model_options(way);
    struct bench bench;
    int rc = bench_open(&bench, world, &options, err);

    if (rc == 0)
        rc = bench_train(&bench, way->steps, truth->losses, err);
    if (rc == 0 && way->weight_limit > 0)
        rc = note_weights(truth, &bench);
    bench_close(&bench);
    return rc;
}

/* ---- Many ranks ------------------------------------------------------------------------ */

static bool losses_match(struct dp_rank *r, const struct trial *trial, const double *losses)
{
    for (int i = 0; i < trial->way->steps; i++) {
        double expected = trial->truth->losses[i];

        if (!(fabs(losses[i] - expected) <= trial->way->loss_limit * expected)) {
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
        if (fabs(host[k] - expected[k]) <= trial->way->weight_limit)
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

    for (size_t i = 0; trial->way->weight_limit > 0 && i < bench->model.count; i++) {
        if (bench->model.tensors[i].held && !tensor_matches(r, trial, bench, i))
            ok = false;
    }
    return ok;
}

static bool train(struct dp_rank *r)
{
    const struct trial *trial = r->argument;
    struct bench *bench = calloc(1, sizeof(*bench));
    double losses[STEPS_MAX];
    bool ok = bench_open(bench, r->world, &trial->options, &r->err) == 0 &&
              bench_train(bench, trial->way->steps, losses, &r->err) == 0;

    if (ok)
        ok = weights_match(r, trial, bench) && losses_match(r, trial, losses);
    bench_close(bench);
    free(bench);
    return ok;
}

static struct dp_layout layout_of(const struct place *at)
{
    return (struct dp_layout){
        .nodes = at->nodes, .tasks = at->tasks, .ep = at->ep, .pp = at->pp, .cp = at->cp};
}

static void check_way(struct dtrain_world *world, const struct way *way)
{
    struct truth truth = {0};
    struct trial trial = {.way = way, .truth = &truth, .options = model_options(way)};
    struct dtrain_error err = {""};

    tap_ok(find_truth(&truth, world, way, &err) == 0, "one process %s", err.text);
    trial.options.schedule = way->schedule;
    trial.options.chunks = way->chunks;
    trial.options.zero = way->zero;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const struct place *at = &places[i];
        struct dp_layout layout = layout_of(at);

        tap_ok(dp_run(&layout, NULL, train, &trial) == 0,
               "%s: %u ranks, ep %u x pp %u x cp %u, are as one process", way->name, at->nodes * at->tasks,
               at->ep, at->pp, at->cp);
    }
    free(truth.weights);
    free(truth.starts);
}

/* ---- Gradients ------------------------------------------------------------------------ */

/*
 * The step and the limit: weights of experts are float32, so that the loss has steps of 1e-7 along the gate.
 * There all experts are chosen, for none to come and go.
 */
struct difference {
    const char *name;
    int top_k;
    enum layer_parameter which;
    double step, limit;
};

static const struct difference differences[] = {
    {"gate, all chosen", 4, LAYER_GATE_WEIGHT, 1e-2, 2e-4},
    {"wide weights, top 1", 1, LAYER_WIDE_WEIGHT, 1e-4, 1e-6},
    {"wide weights, top 2", 2, LAYER_WIDE_WEIGHT, 1e-4, 1e-6},
    {"wide biases, top 2", 2, LAYER_WIDE_BIAS, 1e-4, 1e-6},
    {"narrow weights, top 2", 2, LAYER_NARROW_WEIGHT, 1e-4, 1e-6},
    {"narrow biases, top 2", 2, LAYER_NARROW_BIAS, 1e-4, 1e-6},
    {"norm before, all chosen", 4, LAYER_NORM2_GAIN, 1e-2, 2e-4},
};

/* Larger weights than the initial ones: the gate's gradient is a product of several. */
static void enlarge(struct bench *bench)
{
    for (size_t i = parameter_of_layer(&bench->shape, 0, LAYER_WIDE_WEIGHT);
         i <= parameter_of_layer(&bench->shape, 0, LAYER_GATE_WEIGHT); i++) {
        double *weight = model_weight(&bench->model, i);

        for (size_t k = 0; k < bench->model.tensors[i].count; k++)
            weight[k] = 0.5 * dp_random(9, i, k, 0);
    }
}

/* The loss is a mean over tokens, as the gradient is. */
static double central(struct bench *bench, double *weight, double step)
{
    double old = *weight, up, down;

    *weight = old + step;
    up = bench_run(bench, NULL);
    *weight = old - step;
    down = bench_run(bench, NULL);
    *weight = old;
    return (up - down) / (2 * step);
}

/* The furthest of some elements apart, relative to the largest gradient; NAN where all of them are 0. */
static double furthest(struct bench *bench, const struct difference *row)
{
    size_t index = parameter_of_layer(&bench->shape, 0, row->which),
           count = bench->model.tensors[index].count;
    double *weight = model_weight(&bench->model, index), most = 0, apart = 0;
    double *gradients = calloc(count, sizeof(*gradients));
    void *lent = NULL;

    if (!isnan(bench_run(bench, NULL)) && model_gradient(&bench->model, index, &lent, NULL) == 0)
        memcpy(gradients, lent, count * sizeof(*gradients));
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(gradients[i]));
    for (size_t i = 0; i < count; i += count / 16)
        apart = fmax(apart, fabs(central(bench, &weight[i], row->step) - gradients[i]));
    free(gradients);
    return apart / most;
}

static void check_difference(struct dtrain_world *world, const struct difference *row)
{
    struct options options = bench_options(4, 1);
    struct dtrain_error err = {""};
    struct bench bench;
    double apart = NAN;

    options.layers = 1;
    options.type = DTRAIN_FLOAT64;
    options.experts = 4;
    options.top_k = row->top_k;
    if (bench_open(&bench, world, &options, &err) == 0) {
        enlarge(&bench);
        apart = furthest(&bench, row);
    }
    if (!tap_ok(apart < row->limit, "%s: the gradient is the loss's derivative %s", row->name, err.text))
        printf("# furthest apart: %g\n", apart);
    bench_close(&bench);
}

/* ---- Refusals ------------------------------------------------------------------------- */

struct refusal {
    struct dp_layout layout;
    int experts;
    const char *words;
};

static const struct refusal refusals[] = {
    {{.nodes = 1, .tasks = 2, .ep = 2}, 3, "--experts 3 cannot be split over ep=2: use a multiple of 2"},
    {{.nodes = 1, .tasks = 2, .ep = 2}, 0, "--dtrain-ep=2: this program has no experts without --experts=N"},
    {{.nodes = 1, .tasks = 2, .tp = 2, .etp = 1}, 4, "--experts 4 with tp=2: experts are not split over tp"},
    {{.nodes = 1, .tasks = 2, .tp = 2, .etp = 2}, 4, "--experts=4 with etp=2"},
};

static bool refuses(struct dp_rank *r)
{
    const struct refusal *row = r->argument;
    struct options options = bench_options(16, MICROBATCHES);
    struct bench *bench = calloc(1, sizeof(*bench));
    struct dtrain_error err = {""};
    bool ok;

    options.experts = row->experts;
    options.top_k = 2;
    ok = bench_open(bench, r->world, &options, &err) != 0 && strstr(err.text, row->words) != NULL;
    if (!ok)
        snprintf(r->err.text, sizeof(r->err.text), "expected \"%s\" in: %.900s", row->words, err.text);
    bench_close(bench);
    free(bench);
    return ok;
}

int main(void)
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""};

    if (!tap_ok(dtrain_init(&world, NULL, &err) == 0, "a world of one %s", err.text))
        return tap_done();
    for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++)
        check_difference(world, &differences[i]);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        tap_ok(dp_run(&refusals[i].layout, NULL, refuses, (void *)&refusals[i]) == 0, "refused: %s",
               refusals[i].words);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        check_way(world, &ways[i]);
    tap_ok(dtrain_finalize(world, &err) == 0, "the world ends %s", err.text);
    return tap_done();
}
