/*
 * cuda.h - compute.h on NVIDIA's GPUs: one stream, products by cuBLAS, all else
 * by kernels of one's own, whose sums have an order that never changes: ranks
 * with the same data agree to the bit. Each cuda_NAME.cu fills its entries of
 * the table for a type.
 */
#ifndef TRAIN_CUDA_H
#define TRAIN_CUDA_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "compute.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_PARTS_MAX = 1024 }; /* blocks of a sum */

/* Of one struct compute. */
struct cuda_state {
    struct compute_ops ops; /* of the compute's type */
    cudaStream_t stream;    /* behind the compute's; borrowed */
    cublasHandle_t blas;
    double *parts; /* [CUDA_PARTS_MAX] of a sum, in device memory */
};

/* Fills what the file has, for float32, float64 or bfloat16. */
void cuda_product_ops(struct compute_ops *ops);
void cuda_elements_ops(struct compute_ops *ops, enum dtrain_type type);
void cuda_norm_ops(struct compute_ops *ops, enum dtrain_type type);
void cuda_attention_ops(struct compute_ops *ops, enum dtrain_type type);
void cuda_vocabulary_ops(struct compute_ops *ops, enum dtrain_type type);

/* A product of `batch` matrices whose rows may be further apart than they are long. */
struct cuda_product {
    struct matmul shape;
    double alpha;
    size_t lda, ldb, ldc;          /* elements from one row to the next */
    size_t next_a, next_b, next_c; /* elements from one matrix to the next */
    size_t batch;
};
void cuda_product(struct compute *c, const struct cuda_product *product, void *to, const void *a,
                  const void *b);

/* After launches of the operation: keeps their error. */
void cuda_launched(struct compute *c, const char *operation);

static inline struct cuda_state *cuda_state_of(struct compute *c)
{
    return (struct cuda_state *)c->state;
}

#ifdef __cplusplus
}
#endif

#endif
