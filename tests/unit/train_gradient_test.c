/*
 * The operations of examples/train on CPUs: in float64 every backward against
 * central differences of its forward; then float32 and bfloat16 beside float64.
 */
#include <math.h>
#include <stdlib.h>

#include "tap.h"
#include "train_ops.h"

static const struct ops_dims dims = {
    .rows = 7, .width = 12, .depth = 5, .attention = {.sequences = 2, .seq = 6, .heads = 2, .head_size = 4}};

static double scalar(struct compute *c, const struct ops_row *row, const double *in, const double *weights)
{
    struct ops_size size = row->size(&dims);
    double *out = calloc(size.outputs, sizeof(*out)), sum = 0;

    if (row->forward(c, &dims, in, out) != 0)
        sum = NAN;
    for (size_t i = 0; i < size.outputs; i++)
        sum += out[i] * weights[i];
    free(out);
    return sum;
}

static void difference(struct compute *c, const struct ops_row *row, double *in, const double *weights,
                       double *din)
{
    const double step = 1e-5;

    for (size_t i = 0; i < row->size(&dims).inputs; i++) {
        double old = in[i], up, down;

        in[i] = old + step;
        up = scalar(c, row, in, weights);
        in[i] = old - step;
        down = scalar(c, row, in, weights);
        in[i] = old;
        din[i] = (up - down) / (2 * step);
    }
}

static void check_backward(struct compute *c, const struct ops_row *row)
{
    struct ops_size size = row->size(&dims);
    double *in = calloc(size.inputs, sizeof(*in)), *weights = calloc(size.outputs, sizeof(*weights));
    double *got = calloc(size.inputs, sizeof(*got)), *expected = calloc(size.inputs, sizeof(*expected));
    double worst;
    int rc;

    ops_random(in, size.inputs, 1);
    ops_random(weights, size.outputs, 2);
    difference(c, row, in, weights, expected);
    rc = row->backward(c, &dims, in, weights, got);
    worst = ops_distance(got, expected, size.inputs);
    if (!tap_ok(rc == 0 && worst < 1e-8, "%s: backward is the forward's derivative", row->name))
        printf("# furthest apart: %g\n", worst);
    free(in);
    free(weights);
    free(got);
    free(expected);
}

/* ---- Types beside float64 ------------------------------------------------------ */

struct type_row {
    enum dtrain_type type;
    const char *name;
    double tolerance;
};

static const struct type_row type_rows[] = {
    {DTRAIN_FLOAT32, "float32", 1e-5},
    {DTRAIN_BFLOAT16, "bfloat16", 2e-2},
};

static double forward_distance(struct compute *c, struct compute *exact, const struct ops_row *row,
                               const double *in)
{
    struct ops_size size = row->size(&dims);
    double *got = calloc(size.outputs, sizeof(*got)), *expected = calloc(size.outputs, sizeof(*expected));
    double distance = INFINITY;

    if (row->forward(c, &dims, in, got) == 0 && row->forward(exact, &dims, in, expected) == 0)
        distance = ops_distance(got, expected, size.outputs);
    free(got);
    free(expected);
    return distance;
}

static double backward_distance(struct compute *c, struct compute *exact, const struct ops_row *row,
                                const double *in, const double *dout)
{
    struct ops_size size = row->size(&dims);
    double *got = calloc(size.inputs, sizeof(*got)), *expected = calloc(size.inputs, sizeof(*expected));
    double distance = INFINITY;

    if (row->backward(c, &dims, in, dout, got) == 0 && row->backward(exact, &dims, in, dout, expected) == 0)
        distance = ops_distance(got, expected, size.inputs);
    free(got);
    free(expected);
    return distance;
}

static void check_type(struct compute *c, struct compute *exact, const struct type_row *type,
                       const struct ops_row *row)
{
    struct ops_size size = row->size(&dims);
    double *in = calloc(size.inputs, sizeof(*in)), *dout = calloc(size.outputs, sizeof(*dout));
    double distance;

    ops_random(in, size.inputs, 3);
    ops_random(dout, size.outputs, 4);
    distance = forward_distance(c, exact, row, in);
    if (!tap_ok(distance < type->tolerance, "%s: %s is near float64", row->name, type->name))
        printf("# furthest apart: %g\n", distance);
    if (row->backward != NULL) {
        distance = backward_distance(c, exact, row, in, dout);
        if (!tap_ok(distance < type->tolerance, "%s: %s's backward, too", row->name, type->name))
            printf("# furthest apart: %g\n", distance);
    }
    free(in);
    free(dout);
}

static void check_types(struct dtrain_world *world, struct compute *exact)
{
    for (size_t i = 0; i < sizeof(type_rows) / sizeof(type_rows[0]); i++) {
        struct compute *c = NULL;

        if (!tap_ok(compute_open(&c, world, type_rows[i].type, NULL) == 0, "%s opens", type_rows[i].name))
            continue;
        for (size_t k = 0; k < ops_count; k++)
            check_type(c, exact, &type_rows[i], &ops_rows[k]);
        compute_close(c);
    }
}

int main(void)
{
    struct dtrain_world *world = NULL;
    struct compute *exact = NULL;
    struct dtrain_error err = {""};

    setenv("CUDA_VISIBLE_DEVICES", "", 1); /* the CPU's, also where a GPU is */
    if (!tap_ok(dtrain_init(&world, NULL, &err) == 0 &&
                    compute_open(&exact, world, DTRAIN_FLOAT64, &err) == 0,
                "a world of one that computes in float64 %s", err.text))
        return tap_done();
    for (size_t i = 0; i < ops_count; i++) {
        if (ops_rows[i].backward != NULL)
            check_backward(exact, &ops_rows[i]);
    }
    check_types(world, exact);
    compute_close(exact);
    tap_ok(dtrain_finalize(world, &err) == 0, "the world ends %s", err.text);
    return tap_done();
}
