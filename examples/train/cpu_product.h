/* cpu_product.h - products of matrices; part of cpu_TYPE.c, see cpu.h. */

/* c = alpha op(a) op(b) + beta c, by BLAS. */
static void product_wide(const struct strided *s, wide beta, wide *to, const wide *a, const wide *b)
{
    CBLAS_TRANSPOSE ta = s->form == MATMUL_TN ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = s->form == MATMUL_NT ? CblasTrans : CblasNoTrans;

    CBLAS_GEMM(CblasRowMajor, ta, tb, (blasint)s->m, (blasint)s->n, (blasint)s->k, (wide)s->alpha, a,
               (blasint)s->lda, b, (blasint)s->ldb, beta, to, (blasint)s->ldc);
}
