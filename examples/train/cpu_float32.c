#include <cblas.h>
#include <string.h>
#include <tgmath.h>

#include "cpu.h"

#define CPU_OPS cpu_float32_ops
#define CBLAS_GEMM cblas_sgemm
typedef float real;
typedef float wide;

#include "cpu_exp.h"
#include "cpu_same.h"
