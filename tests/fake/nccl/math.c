/* runtime/nccl_math.h's kernels over the doubles' memory, which the CPU can reach: the host's reference. */
#include "runtime/nccl_math.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "core/error.h"

static void CUDART_CB run(void *argument)
{
    dt_math_run(argument);
    free(argument);
}

int dt_nccl_math_enqueue(const struct dt_math *math, void *stream, struct dtrain_error *err)
{
    struct dt_math *copy = malloc(sizeof(*copy));
    cudaError_t result;

    if (copy == NULL)
        return dt_error_memory(err, sizeof(*copy), "a kernel's arguments");
    *copy = *math;
    result = cudaLaunchHostFunc(stream, run, copy);
    if (result == cudaSuccess)
        return 0;
    free(copy);
    return dt_error_set(err, "cudaLaunchHostFunc: %s", cudaGetErrorString(result));
}
