/*
 * host_reduce.h - element by element, for every type and reduction.
 *
 * The same two operands in the same order give the same bits everywhere, also
 * for NaN (all results that are NaN are the one quiet NaN of the type) and for
 * zeros of both signs (max and min keep the second of two equal values).
 * bfloat16 and float16 are reduced in float and rounded after each step.
 * Integer sums wrap. max and min of a NaN and anything are NaN.
 */
#ifndef DT_RUNTIME_HOST_REDUCE_H
#define DT_RUNTIME_HOST_REDUCE_H

#include "dtrain.h"

/* out[i] = a[i] op b[i], i < count. out may be a or b. AVG sums here. */
void dt_host_reduce(void *out, const void *a, const void *b, size_t count, enum dtrain_type type,
                    enum dtrain_op op);

/* The end of AVG: values[i] /= n, n > 0. Integers round toward zero. */
void dt_host_divide(void *values, size_t count, enum dtrain_type type, int n);

#endif
