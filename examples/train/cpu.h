/*
 * cpu.h - compute.h on CPUs: one table of operations for each type. cpu_TYPE.c
 * says what an element (`real`) and a sum (`wide`, the main type) are, and
 * includes the operations: cpu_product.h, cpu_attention.h, cpu_elements.h,
 * cpu_norm.h, cpu_loss.h and at last cpu_table.h.
 */
#ifndef TRAIN_CPU_H
#define TRAIN_CPU_H

#include "compute.h"

/* Of one struct compute. */
struct cpu_state {
    float *scratch; /* what products of bfloat16 are widened in */
    size_t floats;
};

/* A product of matrices whose rows may be further apart than they are long: c = alpha op(a) op(b). */
struct strided {
    enum matmul_form form;
    size_t m, n, k;
    double alpha;
    size_t lda, ldb, ldc; /* elements from one row to the next */
};

/* Room for so many floats, until the next call; NULL with the compute failed when there is none. */
float *cpu_scratch(struct compute *c, size_t floats);

void cpu_close(struct compute *c);
void cpu_zero(struct compute *c, void *x, size_t bytes);

/* Row of the table that holds the token; -1 when another rank does. */
ptrdiff_t cpu_held_row(const struct vocabulary *held, int32_t token);

extern const struct compute_ops cpu_float32_ops, cpu_float64_ops, cpu_bfloat16_ops;

#endif
