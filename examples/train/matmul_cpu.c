#include "matmul_cpu.h"

#include <cblas.h>

void matmul_cpu(const struct strided *s, float *c, const float *a, const float *b)
{
    CBLAS_TRANSPOSE ta = s->shape.form == MATMUL_TN ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = s->shape.form == MATMUL_NT ? CblasTrans : CblasNoTrans;

    cblas_sgemm(CblasRowMajor, ta, tb, (blasint)s->shape.m, (blasint)s->shape.n, (blasint)s->shape.k,
                s->alpha, a, (blasint)s->lda, b, (blasint)s->ldb, s->shape.accumulate ? 1.0f : 0.0f, c,
                (blasint)s->ldc);
}
