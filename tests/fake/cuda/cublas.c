/*
 * cublas.c - what cuda_product.cu calls of cuBLAS, over the memory of libcudart's double: cuBLAS's checks of
 * a call and its result in plain loops, queued on the stream. Sums run in the compute type, one after
 * another; the real one adds in another order.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cublasContext {
    cudaStream_t stream;
};

struct matrices {
    const void *x;
    cudaDataType type;
    int ld;
    long long stride;
};

struct product {
    bool is_a_transposed, is_b_transposed;
    int m, n, k, batch;
    double alpha, beta;
    bool is_wide; /* float64 */
    struct matrices a, b, c;
};

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof(**handle));
    return *handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

/* No mode makes these sums less exact. */
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    (void)mode;
    return handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
        return "another status of cuBLAS's";
    }
}

static double load(const struct matrices *m, long long i)
{
    uint32_t bits;
    float x;

    if (m->type == CUDA_R_64F)
        return ((const double *)m->x)[i];
    if (m->type == CUDA_R_32F)
        return (double)((const float *)m->x)[i];
    bits = (uint32_t)((const uint16_t *)m->x)[i] << 16;
    memcpy(&x, &bits, sizeof(x));
    return (double)x;
}

/* bfloat16: to the nearest, ties to even. */
static void store(const struct matrices *m, long long i, double value)
{
    float narrow = (float)value;
    uint32_t bits;

    if (m->type == CUDA_R_64F) {
        ((double *)(uintptr_t)m->x)[i] = value;
    } else if (m->type == CUDA_R_32F) {
        ((float *)(uintptr_t)m->x)[i] = narrow;
    } else {
        memcpy(&bits, &narrow, sizeof(bits));
        ((uint16_t *)(uintptr_t)m->x)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

/* Column by column, as cuBLAS counts. */
static double dot(const struct product *p, int batch, int i, int j)
{
    long long a = batch * p->a.stride, b = batch * p->b.stride;
    double wide = 0;
    float narrow = 0;

    for (long long l = 0; l < p->k; l++) {
        double x = load(&p->a, a + (p->is_a_transposed ? (long long)i * p->a.ld + l : l * p->a.ld + i));
        double y = load(&p->b, b + (p->is_b_transposed ? l * p->b.ld + j : (long long)j * p->b.ld + l));

        wide += x * y;
        narrow += (float)x * (float)y;
    }
    return p->is_wide ? wide : (double)narrow;
}

static void CUDART_CB run(void *argument)
{
    struct product *p = argument;

    for (int batch = 0; batch < p->batch; batch++) {
        for (int j = 0; j < p->n; j++) {
            for (int i = 0; i < p->m; i++) {
                long long at = batch * p->c.stride + (long long)j * p->c.ld + i;
                double value = p->alpha * dot(p, batch, i, j);

                store(&p->c, at, p->beta == 0 ? value : value + p->beta * load(&p->c, at));
            }
        }
    }
    free(p);
}

/* Types in the table of cublasGemmStridedBatchedEx()'s documentation that this double knows. */
static bool are_known(const struct product *p, cublasComputeType_t compute)
{
    if (p->a.type != p->b.type)
        return false;
    if (compute == CUBLAS_COMPUTE_64F)
        return p->a.type == CUDA_R_64F && p->c.type == CUDA_R_64F;
    return compute == CUBLAS_COMPUTE_32F &&
           ((p->a.type == CUDA_R_32F && p->c.type == CUDA_R_32F) ||
            (p->a.type == CUDA_R_16BF && (p->c.type == CUDA_R_16BF || p->c.type == CUDA_R_32F)));
}

static int at_least_1(int rows)
{
    return rows > 1 ? rows : 1;
}

static bool is_valid(const struct product *p)
{
    return p->m >= 0 && p->n >= 0 && p->k >= 0 && p->batch >= 0 &&
           p->a.ld >= at_least_1(p->is_a_transposed ? p->k : p->m) &&
           p->b.ld >= at_least_1(p->is_b_transposed ? p->n : p->k) && p->c.ld >= at_least_1(p->m);
}

static cublasStatus_t enqueue(cublasHandle_t handle, const struct product *product)
{
    struct product *copy = malloc(sizeof(*copy));

    if (copy == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *copy = *product;
    if (cudaLaunchHostFunc(handle->stream, run, copy) == cudaSuccess)
        return CUBLAS_STATUS_SUCCESS;
    free(copy);
    return CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k, const void *alpha,
                                          const void *a, cudaDataType type_a, int lda, long long stride_a,
                                          const void *b, cudaDataType type_b, int ldb, long long stride_b,
                                          const void *beta, void *c, cudaDataType type_c, int ldc,
                                          long long stride_c, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algo)
{
    struct product p = {.is_a_transposed = op_a == CUBLAS_OP_T,
                        .is_b_transposed = op_b == CUBLAS_OP_T,
                        .m = m,
                        .n = n,
                        .k = k,
                        .batch = batch,
                        .is_wide = compute == CUBLAS_COMPUTE_64F,
                        .a = {a, type_a, lda, stride_a},
                        .b = {b, type_b, ldb, stride_b},
                        .c = {c, type_c, ldc, stride_c}};

    if (op_a == CUBLAS_OP_C || op_b == CUBLAS_OP_C || !are_known(&p, compute) || algo != CUBLAS_GEMM_DEFAULT)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!is_valid(&p))
        return CUBLAS_STATUS_INVALID_VALUE;
    p.alpha = p.is_wide ? *(const double *)alpha : (double)*(const float *)alpha;
    p.beta = p.is_wide ? *(const double *)beta : (double)*(const float *)beta;
    return enqueue(handle, &p);
}
