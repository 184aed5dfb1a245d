/* cpu_same.h - a type whose sums are of the type itself; part of cpu_TYPE.c, see cpu.h. */

static inline wide load(real x)
{
    return x;
}

static inline real store(wide x)
{
    return x;
}

#include "cpu_product.h"

static void product(struct compute *c, const struct strided *s, real *to, const real *a, const real *b)
{
    (void)c;
    product_wide(s, 0, to, a, b);
}

static void product_add(struct compute *c, const struct strided *s, wide *to, const real *a, const real *b)
{
    (void)c;
    product_wide(s, 1, to, a, b);
}

static wide exponentials(real *x, wide top, size_t n)
{
    wide total = 0;

#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++) {
        x[i] = exponential(x[i] - top);
        total += x[i];
    }
    return total;
}

static void shares(real *x, wide top, wide total, size_t n)
{
    wide share = 1 / total;

    (void)top;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] *= share;
}

#include "cpu_attention.h"
#include "cpu_elements.h"
#include "cpu_norm.h"
#include "cpu_table.h"
