#include "nccl_memory.h"

#include <stdio.h>

#include "nccl_device.h"
#include "nccl_stream.h"

static bool is_for_registration(const struct dt_nccl *nccl)
{
    return nccl->env.config.values[DT_COMM_MEM_ALLOC] != 0;
}

static int take(struct dt_nccl *nccl, size_t bytes, void **memory, struct dtrain_error *err)
{
    char what[64];
    ncclResult_t result;

    snprintf(what, sizeof(what), "cudaMalloc of %zu bytes on device %d", bytes, nccl->device);
    if (!is_for_registration(nccl))
        return dt_nccl_cuda_check(cudaMalloc(memory, bytes), what, err);
    result = nccl->api->MemAlloc(memory, bytes);
    if (result == ncclSuccess)
        return 0;
    return dt_error_set(err, "ncclMemAlloc of %zu bytes on device %d: %s", bytes, nccl->device,
                        nccl->api->GetErrorString(result));
}

/* On a stream of its own: the default stream orders nothing with streams that do not block. */
static int zero(struct dt_nccl *nccl, void *memory, size_t bytes, struct dtrain_error *err)
{
    cudaStream_t stream = nccl->stream.handle;

    if (dt_nccl_cuda_check(cudaMemsetAsync(memory, 0, bytes, stream), "cudaMemsetAsync", err) != 0)
        return -1;
    return dt_nccl_cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", err);
}

int dt_nccl_memory_alloc(struct dt_nccl *nccl, size_t bytes, void **memory, struct dtrain_error *err)
{
    *memory = NULL;
    if (dt_nccl_device_use(nccl, err) != 0 || take(nccl, bytes, memory, err) != 0)
        return -1;
    if (zero(nccl, *memory, bytes, err) == 0)
        return 0;
    dt_nccl_memory_free(nccl, *memory);
    *memory = NULL;
    return -1;
}

void dt_nccl_memory_free(struct dt_nccl *nccl, void *memory)
{
    if (memory == NULL || dt_nccl_device_use(nccl, NULL) != 0)
        return;
    if (is_for_registration(nccl))
        nccl->api->MemFree(memory);
    else
        cudaFree(memory);
}

static bool is_pageable(const void *memory)
{
    dt_nccl_pointer attributes;

    return cudaPointerGetAttributes(&attributes, memory) == cudaSuccess &&
           attributes.type == cudaMemoryTypeUnregistered;
}

int dt_nccl_memory_copy(void *to, const void *from, size_t bytes, struct dt_nccl_stream *stream,
                        struct dtrain_error *err)
{
    if (dt_nccl_device_use(stream->nccl, err) != 0 ||
        (is_pageable(to) && dt_nccl_stream_synchronize(stream, err) != 0))
        return -1;
    return dt_nccl_cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream->handle),
                              "cudaMemcpyAsync", err);
}
