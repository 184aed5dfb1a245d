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

#include "cpu_attention.h"
#include "cpu_elements.h"
#include "cpu_loss.h"
#include "cpu_norm.h"
#include "cpu_table.h"
