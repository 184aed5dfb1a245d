/*
 * The model of examples/train in a world of one: the gradient of every tensor
 * against differences of the loss, microbatches against the whole batch.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "train_bench.h"

static double run(struct bench *bench)
{
    return bench_run(bench, NULL);
}

/* Weights of a few times the usual size, so that no gradient is hidden by rounding. */
static void grow_weights(struct bench *bench)
{
    for (size_t i = 0; i < bench->model.count; i++) {
        double *w = model_weight(&bench->model, i);

        for (size_t k = 0; k < bench->model.tensors[i].count; k++)
            w[k] = bench->model.parameters[i].decay ? 10 * w[k] : w[k] + 0.1 * sin((double)(k + i));
    }
}

/* The loss along the gradient's own direction in one tensor rises by the gradient's norm. */
static void check_tensor(struct bench *bench, size_t index)
{
    size_t count = bench->model.tensors[index].count;
    double *w = model_weight(&bench->model, index);
    double *old = malloc(count * sizeof(*old)), *gradient = malloc(count * sizeof(*gradient));
    void *found = NULL;
    const double step = 1e-4;
    double norm = 0, up, down;

    run(bench);
    memcpy(old, w, count * sizeof(*old));
    model_gradient(&bench->model, index, &found, NULL);
    memcpy(gradient, found, count * sizeof(*gradient));
    for (size_t i = 0; i < count; i++)
        norm += gradient[i] * gradient[i];
    norm = sqrt(norm);
    for (size_t i = 0; i < count; i++)
        w[i] = old[i] + step * gradient[i] / norm;
    up = run(bench);
    for (size_t i = 0; i < count; i++)
        w[i] = old[i] - step * gradient[i] / norm;
    down = run(bench);
    memcpy(w, old, count * sizeof(*old));
    if (!tap_ok(norm > 1e-4 && fabs((up - down) / (2 * step) - norm) < 1e-5 * norm, "gradient of %s",
                bench->model.parameters[index].name))
        printf("# by differences %.6g, by the backward %.6g\n", (up - down) / (2 * step), norm);
    free(old);
    free(gradient);
}

static void check_gradients(struct dtrain_world *world)
{
    struct bench bench;
    struct options options = bench_options(4, 2);

    options.type = DTRAIN_FLOAT64;
    if (!tap_ok(bench_open(&bench, world, &options, NULL) == 0, "a small model is made"))
        return;
    grow_weights(&bench);
    for (size_t i = 0; i < bench.model.count; i++)
        check_tensor(&bench, i);
    bench_close(&bench);
}

static void check_start(struct dtrain_world *world)
{
    struct bench bench;
    struct options options = bench_options(4, 1);
    double loss;

    bench_open(&bench, world, &options, NULL);
    loss = run(&bench);
    if (!tap_ok(fabs(loss - log(SHAPE_VOCABULARY)) < 0.1,
                "an untrained model knows nothing: loss is log 256"))
        printf("# %g\n", loss);
    bench_close(&bench);
}

static double norm_of(struct bench *bench)
{
    double norm = NAN;

    dtrain_dp_norm(bench->model.dp, grid_stream(&bench->grid), &norm, NULL);
    return grid_follow(&bench->grid, NULL) == 0 ? norm : (double)NAN;
}

static void check_microbatches(struct dtrain_world *world)
{
    struct bench whole, pieces;
    struct options one = bench_options(4, 1), four = bench_options(4, 4);
    double whole_loss, pieces_loss, whole_norm;

    bench_open(&whole, world, &one, NULL);
    bench_open(&pieces, world, &four, NULL);
    whole_loss = run(&whole);
    pieces_loss = run(&pieces);
    whole_norm = norm_of(&whole);
    tap_ok(fabs(whole_loss - pieces_loss) < 1e-6, "four microbatches have the loss of one");
    tap_ok(fabs(whole_norm - norm_of(&pieces)) < 1e-5 * whole_norm, "and the gradient");
    bench_close(&whole);
    bench_close(&pieces);
}

enum { VALUES_MAX = 256 * 16 }; /* of a tensor */

static void check_clip(struct dtrain_world *world)
{
    struct bench bench;
    struct options options = bench_options(4, 1);
    float moment[VALUES_MAX];
    void *found = NULL;
    float gradient;

    bench_open(&bench, world, &options, NULL);
    run(&bench);
    bench.options.clip = norm_of(&bench) / 2;
    model_gradient(&bench.model, PARAMETER_POSITIONS, &found, NULL);
    gradient = *(float *)found;
    optimizer_step(&bench.model, &bench.options, NULL);
    model_export(&bench.model, PARAMETER_POSITIONS, DTRAIN_ZERO_FIRST_MOMENT, moment, NULL);
    /* After one step the first moment is a tenth of the clipped gradient. */
    tap_ok(gradient != 0 && fabsf(moment[0] - 0.05f * gradient) < 1e-5f * fabsf(gradient),
           "clipping to half the norm halves the gradient");
    bench_close(&bench);
}

/* ---- Types beside float64 -------------------------------------------------- */

enum { STEPS = 20 };

static int train(struct dtrain_world *world, enum dtrain_type type, double *losses)
{
    struct bench bench;
    struct options options = bench_options(4, 2);
    int rc;

    options.type = type;
    options.clip = 1;
    rc = bench_open(&bench, world, &options, NULL);
    if (rc == 0)
        rc = bench_train(&bench, STEPS, losses, NULL);
    bench_close(&bench);
    return rc;
}

static void check_type(struct dtrain_world *world, enum dtrain_type type, const char *name, double tolerance)
{
    double losses[STEPS], expected[STEPS], worst = 0;
    int rc = train(world, type, losses);

    if (rc == 0)
        rc = train(world, DTRAIN_FLOAT64, expected);
    for (int i = 0; rc == 0 && i < STEPS; i++)
        worst = fmax(worst, fabs(losses[i] - expected[i]) / expected[i]);
    tap_ok(rc == 0 && expected[STEPS - 1] < expected[0] / 2, "the loss falls in float64");
    if (!tap_ok(rc == 0 && worst < tolerance, "%d steps in %s have the losses of float64", STEPS, name))
        printf("# furthest apart: %g\n", worst);
}

/* The weights that layers see are the master weights, rounded. */
static bool is_rounded(const struct bench *bench, size_t index, bool *moved)
{
    static float master[VALUES_MAX];
    const uint16_t *seen = model_weight(&bench->model, index);
    bool same = model_export(&bench->model, index, DTRAIN_ZERO_WEIGHT, master, NULL) == 0;

    for (size_t k = 0; k < bench->model.tensors[index].count; k++) {
        uint32_t bits = (uint32_t)seen[k] << 16;
        float value;

        memcpy(&value, &bits, sizeof(value));
        same = same && fabsf(value - master[k]) <= fabsf(master[k]) / 256;
        *moved = *moved || value != master[k];
    }
    return same;
}

static void check_rounded(struct dtrain_world *world)
{
    struct bench bench;
    struct options options = bench_options(4, 1);
    bool same = true, moved = false;

    options.type = DTRAIN_BFLOAT16;
    bench_open(&bench, world, &options, NULL);
    for (size_t i = 0; i < bench.model.count; i++)
        same = is_rounded(&bench, i, &moved) && same;
    tap_ok(same && moved, "bfloat16's weights begin as float32's, rounded");
    run(&bench);
    optimizer_step(&bench.model, &bench.options, NULL);
    moved = false;
    for (size_t i = 0; i < bench.model.count; i++)
        same = is_rounded(&bench, i, &moved) && same;
    tap_ok(same && moved, "and are so after a step");
    bench_close(&bench);
}

int main(void)
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""};

    setenv("CUDA_VISIBLE_DEVICES", "", 1); /* the CPU's, also where a GPU is */
    if (!tap_ok(dtrain_init(&world, NULL, &err) == 0, "a world of one %s", err.text))
        return tap_done();
    check_start(world);
    check_gradients(world);
    check_microbatches(world);
    check_clip(world);
    check_type(world, DTRAIN_FLOAT32, "float32", 1e-5);
    check_type(world, DTRAIN_BFLOAT16, "bfloat16", 1e-2);
    check_rounded(world);
    tap_ok(dtrain_finalize(world, &err) == 0, "the world ends %s", err.text);
    return tap_done();
}
