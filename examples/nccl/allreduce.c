#include "allreduce.h"

#include <stdio.h>
#include <stdlib.h>

static int check(int failed, const char *what, const char *why)
{
    if (failed)
        fprintf(stderr, "%s: %s\n", what, why);
    return failed;
}

/* Until NCCL has taken the call: at once where the communicator is blocking. */
static ncclResult_t wait_for(ncclComm_t comm, ncclResult_t result)
{
    while (result == ncclInProgress)
        if (ncclCommGetAsyncError(comm, &result) != ncclSuccess)
            break;
    return result;
}

static int sum(ncclComm_t comm, float *memory, float *host, size_t count, cudaStream_t stream)
{
    ncclResult_t result;
    cudaError_t error;

    cudaMemcpyAsync(memory, host, count * sizeof(*host), cudaMemcpyHostToDevice, stream);
    result = wait_for(comm, ncclAllReduce(memory, memory, count, ncclFloat, ncclSum, comm, stream));
    cudaMemcpyAsync(host, memory, count * sizeof(*host), cudaMemcpyDeviceToHost, stream);
    error = cudaStreamSynchronize(stream);
    return check(result != ncclSuccess, "ncclAllReduce", ncclGetErrorString(result)) ||
           check(error != cudaSuccess, "cudaStreamSynchronize", cudaGetErrorString(error));
}

int allreduce_run(ncclComm_t comm, int rank, int size, size_t count)
{
    float *host = malloc(count * sizeof(*host)), expected = (float)size * (float)(size - 1) / 2;
    float *memory = NULL;
    cudaStream_t stream = NULL;
    int rc = 1;

    for (size_t i = 0; host != NULL && i < count; i++)
        host[i] = (float)rank;
    if (host != NULL && cudaMalloc((void **)&memory, count * sizeof(*memory)) == cudaSuccess &&
        cudaStreamCreate(&stream) == cudaSuccess)
        rc = sum(comm, memory, host, count, stream);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = check(host[i] != expected, "the sum", "wrong");
    if (stream != NULL)
        cudaStreamDestroy(stream);
    cudaFree(memory);
    free(host);
    return rc;
}
