/*
 * train_ops.h - the operations of examples/train's compute.h as functions from
 * one flat array of float64 to another, so that implementations and types can
 * be compared, and backwards with differences of the forwards.
 */
#ifndef DT_TESTS_TRAIN_OPS_H
#define DT_TESTS_TRAIN_OPS_H

#include "examples/train/compute.h"

/* Sizes of what the operations are tried on. */
struct ops_dims {
    size_t rows, width, depth; /* [rows, width]; products' sums are depth long */
    struct attention attention;
};

struct ops_size {
    size_t inputs, outputs;
};

/*
 * forward: out[outputs] from in[inputs]; backward: din[inputs] from in and dout[outputs], the gradient of
 * out. Inputs are rounded to the compute's type, everything runs in its memory.
 */
struct ops_row {
    const char *name;
    struct ops_size (*size)(const struct ops_dims *dims);
    int (*forward)(struct compute *c, const struct ops_dims *dims, const double *in, double *out);
    int (*backward)(struct compute *c, const struct ops_dims *dims, const double *in, const double *dout,
                    double *din); /* NULL: it has none */
};

extern const struct ops_row ops_rows[];
extern const size_t ops_count;

/* x[n] normal random numbers. */
void ops_random(double *x, size_t n, uint64_t stream);

/* Largest |got - expected| / (1 + |expected|). */
double ops_distance(const double *got, const double *expected, size_t n);

#endif
