#include <cblas.h>
#include <string.h>
#include <tgmath.h>

#include "cpu.h"

#define CPU_OPS cpu_float64_ops
#define CBLAS_GEMM cblas_dgemm
typedef double real;
typedef double wide;

static inline wide exponential(wide x)
{
    return exp(x);
}

#include "cpu_same.h"
