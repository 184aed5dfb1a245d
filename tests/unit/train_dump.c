/*
 * A step of examples/train in float64, for train_torch_test.sh: writes to the file argv[1], as raw float64,
 * the tokens and labels of the batch, the weights and the gradients of all tensors and the loss; and says on
 * standard output how long each is, a line "name rows columns".
 */
#include <math.h>
#include <stdio.h>

#include "train_bench.h"

static int write_values(FILE *out, const char *name, const double *values, size_t rows, size_t cols)
{
    printf("%s %zu %zu\n", name, rows, cols);
    return fwrite(values, sizeof(*values), rows * cols, out) == rows * cols ? 0 : -1;
}

/* Larger than they start, so that no part of the model is lost in rounding. */
static void grow_weights(struct bench *bench)
{
    for (size_t i = 0; i < bench->model.count; i++) {
        double *w = model_weight(&bench->model, i);

        for (size_t k = 0; k < bench->model.tensors[i].count; k++)
            w[k] = bench->model.parameters[i].decay ? 10 * w[k] : w[k] + 0.1 * sin((double)(k + i));
    }
}

static int write_tokens(FILE *out, const struct bench *bench)
{
    size_t rows = (size_t)bench->shape.microbatches * bench->shape.sequences, count = rows * bench->shape.seq;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < 2; i++) {
        printf("%s %zu %zu\n", i == 0 ? "tokens" : "labels", rows, bench->shape.seq);
        for (size_t k = 0; rc == 0 && k < count; k++) {
            double value = bench->stage.host[i * count + k];

            rc = fwrite(&value, sizeof(value), 1, out) == 1 ? 0 : -1;
        }
    }
    return rc;
}

static int write_tensors(FILE *out, const struct bench *bench)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < bench->model.count; i++) {
        const struct parameter *parameter = &bench->model.parameters[i];
        char name[PARAMETER_NAME_MAX + 16];
        void *gradient;

        rc = write_values(out, parameter->name, model_weight(&bench->model, i), parameter->rows,
                          parameter->cols);
        snprintf(name, sizeof(name), "gradient.%s", parameter->name);
        if (rc == 0 && model_gradient(&bench->model, i, &gradient, NULL) == 0)
            rc = write_values(out, name, gradient, parameter->rows, parameter->cols);
    }
    return rc;
}

static int dump(FILE *out, struct dtrain_world *world, struct dtrain_error *err)
{
    struct options options = bench_options(4, 2);
    struct bench bench;
    double loss;
    int rc = -1;

    options.type = DTRAIN_FLOAT64;
    options.heads = 4;
    if (bench_open(&bench, world, &options, err) != 0)
        goto out;
    grow_weights(&bench);
    loss = bench_run(&bench, err);
    if (!isnan(loss) && write_tokens(out, &bench) == 0 && write_tensors(out, &bench) == 0)
        rc = write_values(out, "loss", &loss, 1, 1);
out:
    bench_close(&bench);
    return rc;
}

int main(int argc, char **argv)
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""};
    FILE *out = argc == 2 ? fopen(argv[1], "wb") : NULL;
    int rc;

    if (out == NULL) {
        fprintf(stderr, "usage: train_dump FILE\n");
        return 2;
    }
    rc = dtrain_init(&world, NULL, &err);
    if (rc == 0)
        rc = dump(out, world, &err);
    if (fclose(out) != 0)
        rc = -1;
    if (dtrain_finalize(world, rc == 0 ? &err : NULL) != 0)
        rc = -1;
    if (rc != 0)
        fprintf(stderr, "train_dump: %s\n", err.text);
    return rc == 0 ? 0 : 1;
}
