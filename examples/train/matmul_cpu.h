/*
 * matmul_cpu.h - products of matrices whose rows may be further apart than they
 * are long: c = alpha op(a) op(b), or c += .
 */
#ifndef TRAIN_MATMUL_CPU_H
#define TRAIN_MATMUL_CPU_H

#include "compute.h"

struct strided {
    struct matmul shape;
    float alpha;
    size_t lda, ldb, ldc; /* floats from one row to the next */
};

void matmul_cpu(const struct strided *s, float *c, const float *a, const float *b);

#endif
