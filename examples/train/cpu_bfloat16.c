#include <cblas.h>
#include <string.h>
#include <tgmath.h>

#include "cpu.h"

#define CPU_OPS cpu_bfloat16_ops
#define CBLAS_GEMM cblas_sgemm
/* The upper half of a float32. */
typedef struct {
    uint16_t bits;
} real;
typedef float wide;

static inline wide load(real x)
{
    uint32_t bits = (uint32_t)x.bits << 16;
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* To the nearest, ties to even; a NaN stays one. */
static inline real store(wide x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    if (isnan(x))
        return (real){(uint16_t)(bits >> 16 | 0x40)};
    return (real){(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

#include "cpu_exp.h"
#include "cpu_product.h"

/* Dense from rows that are `stride` apart. */
static void widen(wide *to, const real *from, size_t rows, size_t n, size_t stride)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < n; i++)
            to[r * n + i] = load(from[r * stride + i]);
    }
}

/* Widened copies of both factors, and room for the product behind them; NULL without memory. */
struct widened {
    struct strided shape;
    wide *a, *b, *to;
};

static bool widen_factors(struct compute *c, const struct strided *s, const real *a, const real *b,
                          struct widened *w)
{
    bool a_turned = s->form == MATMUL_TN, b_turned = s->form == MATMUL_NT;

    w->shape = *s;
    w->shape.lda = a_turned ? s->m : s->k;
    w->shape.ldb = b_turned ? s->k : s->n;
    w->a = cpu_scratch(c, s->m * s->k + s->k * s->n + s->m * s->n);
    if (w->a == NULL)
        return false;
    w->b = w->a + s->m * s->k;
    w->to = w->b + s->k * s->n;
    widen(w->a, a, a_turned ? s->k : s->m, w->shape.lda, s->lda);
    widen(w->b, b, b_turned ? s->n : s->k, w->shape.ldb, s->ldb);
    return true;
}

static void product(struct compute *c, const struct strided *s, real *to, const real *a, const real *b)
{
    struct widened w;

    if (!widen_factors(c, s, a, b, &w))
        return;
    w.shape.ldc = s->n;
    product_wide(&w.shape, 0, w.to, w.a, w.b);
    for (size_t r = 0; r < s->m; r++) {
        for (size_t i = 0; i < s->n; i++)
            to[r * s->ldc + i] = store(w.to[r * s->n + i]);
    }
}

static void product_add(struct compute *c, const struct strided *s, wide *to, const real *a, const real *b)
{
    struct widened w;

    if (widen_factors(c, s, a, b, &w))
        product_wide(&w.shape, 1, to, w.a, w.b);
}

/* e^x is computed again rather than kept, as it would be rounded twice. */
static wide exponentials(real *x, wide top, size_t n)
{
    wide total = 0;

#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++)
        total += exponential(load(x[i]) - top);
    return total;
}

static void shares(real *x, wide top, wide total, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] = store(exponential(load(x[i]) - top) / total);
}

#include "cpu_attention.h"
#include "cpu_elements.h"
#include "cpu_norm.h"
#include "cpu_table.h"
