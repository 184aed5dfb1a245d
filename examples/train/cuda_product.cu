/* Products of matrices, by cuBLAS. */
#include "cuda_device.h"

static cudaDataType_t data_type(enum dtrain_type type)
{
    if (type == DTRAIN_FLOAT64)
        return CUDA_R_64F;
    return type == DTRAIN_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* alpha and beta, of the type that sums run in. */
struct factors {
    double wide[2];
    float narrow[2];
};

/*
 * cuBLAS counts column by column, where a row-major matrix is its own transpose: c^T = op(b)^T op(a)^T is the
 * same memory as c = op(a) op(b).
 */
extern "C" void cuda_product(struct compute *c, const struct cuda_product *p, void *to, const void *a,
                             const void *b)
{
    const struct matmul *s = &p->shape;
    bool is_wide = c->type == DTRAIN_FLOAT64;
    double beta = s->accumulate ? 1 : 0;
    struct factors f = {{p->alpha, beta}, {(float)p->alpha, (float)beta}};
    const void *alphas = is_wide ? (const void *)&f.wide[0] : &f.narrow[0];
    const void *betas = is_wide ? (const void *)&f.wide[1] : &f.narrow[1];
    cublasStatus_t status = cublasGemmStridedBatchedEx(
        cuda_state_of(c)->blas, s->form == MATMUL_NT ? CUBLAS_OP_T : CUBLAS_OP_N,
        s->form == MATMUL_TN ? CUBLAS_OP_T : CUBLAS_OP_N, (int)s->n, (int)s->m, (int)s->k, alphas, b,
        data_type(c->type), (int)p->ldb, (long long)p->next_b, a, data_type(c->type), (int)p->lda,
        (long long)p->next_a, betas, to, data_type(s->accumulate ? c->main : c->type), (int)p->ldc,
        (long long)p->next_c, (int)p->batch, is_wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT);

    if (status != CUBLAS_STATUS_SUCCESS)
        compute_fail(c, "cannot multiply [%zu, %zu] by [%zu, %zu] on the GPU: %s", s->m, s->k, s->k, s->n,
                     cublasGetStatusString(status));
}

static void matmul(struct compute *c, const struct matmul *shape, void *to, const void *a, const void *b)
{
    struct cuda_product p = {};

    p.shape = *shape;
    p.alpha = 1;
    p.lda = shape->form == MATMUL_TN ? shape->m : shape->k;
    p.ldb = shape->form == MATMUL_NT ? shape->k : shape->n;
    p.ldc = shape->n;
    p.batch = 1;
    cuda_product(c, &p, to, a, b);
}

extern "C" void cuda_product_ops(struct compute_ops *ops)
{
    ops->matmul = matmul;
}
