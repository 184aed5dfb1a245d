#include <stdlib.h>

#include "cuda.h"
#include "dtrain_nccl.h"
#include "error.h"

void cuda_launched(struct compute *c, const char *operation)
{
    cudaError_t error = cudaGetLastError();

    if (error != cudaSuccess)
        compute_fail(c, "cannot launch %s on the GPU: %s (%s)", operation, cudaGetErrorString(error),
                     cudaGetErrorName(error));
}

static void cuda_zero(struct compute *c, void *x, size_t bytes)
{
    cudaMemsetAsync(x, 0, bytes, cuda_state_of(c)->stream);
    cuda_launched(c, "zero");
}

/* Also what was opened only in part. */
static void cuda_close(struct compute *c)
{
    struct cuda_state *state = c->state;

    if (state->blas != NULL)
        cublasDestroy(state->blas);
    dtrain_memory_free(c->world, state->parts);
    if (c->stream != NULL)
        dtrain_stream_destroy(c->stream, NULL);
    c->stream = NULL;
    free(state);
}

/* bfloat16's products are summed in float32 all the way; float32's are not cut to TensorFloat-32. */
static int open_blas(struct cuda_state *state, struct dtrain_error *err)
{
    cublasStatus_t status = cublasCreate(&state->blas);

    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetStream(state->blas, state->stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetMathMode(state->blas,
                                   CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    return error_set(err, "cannot start cuBLAS: %s", cublasGetStatusString(status));
}

static int open_device(struct compute *c, struct cuda_state *state, struct dtrain_error *err)
{
    int device = dtrain_nccl_device(c->world);
    cudaError_t error = cudaSetDevice(device);
    void *parts = NULL;

    if (error != cudaSuccess)
        return error_set(err, "cannot use GPU %d: %s (%s)", device, cudaGetErrorString(error),
                         cudaGetErrorName(error));
    if (dtrain_stream_create(c->world, &c->stream, err) != 0 ||
        dtrain_nccl_stream(c->stream, &state->stream, err) != 0 ||
        dtrain_memory_alloc(c->world, CUDA_PARTS_MAX * sizeof(*state->parts), &parts, err) != 0)
        return -1;
    state->parts = parts;
    return open_blas(state, err);
}

static void fill_ops(struct compute_ops *ops, enum dtrain_type type)
{
    ops->close = cuda_close;
    ops->zero = cuda_zero;
    cuda_product_ops(ops);
    cuda_elements_ops(ops, type);
    cuda_norm_ops(ops, type);
    cuda_attention_ops(ops, type);
    cuda_vocabulary_ops(ops, type);
}

int train_compute_open(struct compute *c, struct dtrain_error *err)
{
    struct cuda_state *state = calloc(1, sizeof(*state));

    if (state == NULL)
        return error_memory(err, sizeof(*state), "the compute device");
    c->state = state;
    if (open_device(c, state, err) != 0) {
        cuda_close(c);
        return -1;
    }
    fill_ops(&state->ops, c->type);
    c->ops = &state->ops;
    return 0;
}
