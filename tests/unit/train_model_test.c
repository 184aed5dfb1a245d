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
    const double step = 1e-4;
    double norm = 0, up, down;

    run(bench);
    memcpy(old, w, count * sizeof(*old));
    memcpy(gradient, model_gradient(&bench->model, index), count * sizeof(*gradient));
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

    if (!tap_ok(bench_open(&bench, world, DTRAIN_FLOAT64, 4, 2, NULL) == 0, "a small model is made"))
        return;
    grow_weights(&bench);
    for (size_t i = 0; i < bench.model.count; i++)
        check_tensor(&bench, i);
    bench_close(&bench);
}

static void check_start(struct dtrain_world *world)
{
    struct bench bench;
    double loss;

    bench_open(&bench, world, DTRAIN_FLOAT32, 4, 1, NULL);
    loss = run(&bench);
    if (!tap_ok(fabs(loss - log(SHAPE_VOCABULARY)) < 0.1,
                "an untrained model knows nothing: loss is log 256"))
        printf("# %g\n", loss);
    bench_close(&bench);
}

static void check_microbatches(struct dtrain_world *world)
{
    struct bench whole, pieces;
    double whole_loss, pieces_loss, whole_norm = 0, pieces_norm = 1;

    bench_open(&whole, world, DTRAIN_FLOAT32, 4, 1, NULL);
    bench_open(&pieces, world, DTRAIN_FLOAT32, 4, 4, NULL);
    whole_loss = run(&whole);
    pieces_loss = run(&pieces);
    optimizer_gradient_norm(&whole.grid, &whole.model, &whole_norm, NULL);
    optimizer_gradient_norm(&pieces.grid, &pieces.model, &pieces_norm, NULL);
    tap_ok(fabs(whole_loss - pieces_loss) < 1e-6, "four microbatches have the loss of one");
    tap_ok(fabs(whole_norm - pieces_norm) < 1e-5 * whole_norm, "and the gradient");
    bench_close(&whole);
    bench_close(&pieces);
}

static void check_clip(struct dtrain_world *world)
{
    struct bench bench;
    double norm;
    float gradient;

    bench_open(&bench, world, DTRAIN_FLOAT32, 4, 1, NULL);
    run(&bench);
    optimizer_gradient_norm(&bench.grid, &bench.model, &norm, NULL);
    bench.options.clip = norm / 2;
    bench.options.lr = 0.1;
    optimizer_step(&bench.grid, &bench.model, &bench.options, 1, NULL);
    /* After one step the first moment is a tenth of the clipped gradient. */
    gradient = *(float *)bench.model.gradients;
    tap_ok(fabsf(*(float *)bench.model.parts[MODEL_FIRST_MOMENT] - 0.05f * gradient) <
               1e-5f * fabsf(gradient),
           "clipping to half the norm halves the gradient");
    bench_close(&bench);
}

/* ---- Types beside float64 -------------------------------------------------- */

enum { STEPS = 20 };

static int train(struct dtrain_world *world, enum dtrain_type type, double *losses)
{
    struct bench bench;
    int rc = bench_open(&bench, world, type, 4, 2, NULL);

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
static void check_rounded(struct dtrain_world *world)
{
    struct bench bench;
    bool same = true, moved = false;

    bench_open(&bench, world, DTRAIN_BFLOAT16, 4, 1, NULL);
    bench.options.lr = 0.01;
    run(&bench);
    optimizer_step(&bench.grid, &bench.model, &bench.options, 1, NULL);
    for (size_t i = 0; i < bench.model.count; i++) {
        const float *master = model_part(&bench.model, MODEL_WEIGHTS, i);
        const uint16_t *seen = model_weight(&bench.model, i);

        for (size_t k = 0; k < bench.model.tensors[i].count; k++) {
            uint32_t bits = (uint32_t)seen[k] << 16;
            float value;

            memcpy(&value, &bits, sizeof(value));
            same = same && fabsf(value - master[k]) <= fabsf(master[k]) / 256;
            moved = moved || value != master[k];
        }
    }
    tap_ok(same && moved, "after a step bfloat16's weights are float32's, rounded");
    bench_close(&bench);
}

/* Buckets of a model of 4 MiB: they cover the buffer, and the first is closed by its own cap. */
static void check_buckets(struct dtrain_world *world)
{
    struct options options = {
        .layers = 2, .hidden = 256, .heads = 2, .seq = 8, .batch = 1, .microbatches = 1};
    struct grid grid;
    struct shape shape;
    struct model model;
    struct gradients gradients;

    grid_choose(&grid, world, NULL);
    grid_open(&grid, DTRAIN_FLOAT32, NULL);
    shape_make(&shape, &options, &grid.layout, NULL);
    model_create(&model, grid.compute, &shape, 1, NULL);
    gradients_create(&gradients, &grid, &model, NULL);
    tap_ok(gradients.count == 2 && gradients.ends[gradients.count - 1] == model.elements,
           "the buckets end where the gradients end");
    tap_ok(gradients.ends[0] * sizeof(float) >= GRADIENTS_FIRST_BUCKET &&
               gradients.ends[0] == model_end_of(&model, parameter_of_layer(1, LAYER_NARROW_WEIGHT)),
           "the first closes with the tensor that reaches 1 MiB");
    gradients_start(&gradients);
    gradients_ready(&gradients, parameter_of_head(&shape, HEAD_NORM_GAIN), NULL);
    tap_ok(gradients.next == 0, "a bucket waits for all of its tensors");
    gradients_ready(&gradients, parameter_of_layer(1, LAYER_NORM1_GAIN), NULL);
    tap_ok(gradients.next == 1, "and goes when they are complete");
    gradients_ready(&gradients, PARAMETER_TOKENS, NULL);
    tap_ok(gradients.next == 2, "all are gone at the end");
    gradients_destroy(&gradients);
    model_destroy(&model);
    grid_close(&grid, NULL);
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
    check_buckets(world);
    tap_ok(dtrain_finalize(world, &err) == 0, "the world ends %s", err.text);
    return tap_done();
}
