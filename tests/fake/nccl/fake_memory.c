/*
 * fake_memory.c - allocations: host memory that is known by address, filled
 * with bytes that are NaN as floating point, because CUDA's is not cleared.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

#define ALIGNMENT 4096 /* enough for cudaMalloc's 256 and NCCL's windows */
#define MEMORY_MIB 4096
#define UNSET 0xff

static struct fake_allocation *allocations;
static size_t used[FAKE_DEVICES_MAX];

static size_t device_bytes(void)
{
    return (size_t)fake_env_int("FAKE_CUDA_MEMORY_MIB", MEMORY_MIB) << 20;
}

struct fake_allocation *fake_memory_find(const void *ptr)
{
    struct fake_allocation *one = allocations;

    while (one != NULL && ((const char *)ptr < one->ptr || (const char *)ptr >= one->ptr + one->size))
        one = one->next;
    return one;
}

bool fake_memory_holds(const void *ptr, size_t bytes)
{
    const struct fake_allocation *one;
    bool ok;

    if (bytes == 0)
        return true;
    pthread_mutex_lock(&fake_cuda_lock);
    one = fake_memory_find(ptr);
    ok = one != NULL && bytes <= (size_t)(one->ptr + one->size - (const char *)ptr);
    pthread_mutex_unlock(&fake_cuda_lock);
    return ok;
}

bool fake_memory_is_pageable(const void *ptr)
{
    bool is_known;

    pthread_mutex_lock(&fake_cuda_lock);
    is_known = fake_memory_find(ptr) != NULL;
    pthread_mutex_unlock(&fake_cuda_lock);
    return !is_known;
}

/* CUDA gives a null pointer for 0 bytes. */
static cudaError_t allocate(void **ptr, size_t size, enum cudaMemoryType type, const char *owner)
{
    int device = fake_device_current();
    bool counts = type != cudaMemoryTypeHost;
    struct fake_allocation *new;

    if (ptr == NULL || fake_device_physical(device) < 0)
        return fake_cuda_result(ptr == NULL ? cudaErrorInvalidValue : cudaErrorNoDevice);
    *ptr = NULL;
    if (size == 0)
        return cudaSuccess;
    new = calloc(1, sizeof(*new));
    pthread_mutex_lock(&fake_cuda_lock);
    if (new == NULL || (counts && size > device_bytes() - used[device]) ||
        posix_memalign((void **)&new->ptr, ALIGNMENT, size) != 0) {
        pthread_mutex_unlock(&fake_cuda_lock);
        free(new);
        return fake_cuda_result(cudaErrorMemoryAllocation);
    }
    memset(new->ptr, UNSET, size);
    new->size = size;
    new->type = type;
    new->device = device;
    new->owner = owner;
    new->next = allocations;
    allocations = new;
    used[device] += counts ? size : 0;
    pthread_mutex_unlock(&fake_cuda_lock);
    *ptr = new->ptr;
    return cudaSuccess;
}

/* Takes it out of the list: later calls do not know it. NULL: it is none of the owner's. */
static struct fake_allocation *forget(void *ptr, const char *function, const char *owner)
{
    struct fake_allocation **link = &allocations, *one;
    const char *wrong = NULL;

    pthread_mutex_lock(&fake_cuda_lock);
    while (*link != NULL && (*link)->ptr != ptr)
        link = &(*link)->next;
    one = *link;
    if (one != NULL && strcmp(one->owner, owner) == 0) {
        *link = one->next;
        used[one->device] -= one->type != cudaMemoryTypeHost ? one->size : 0;
    } else if (one != NULL) {
        wrong = one->owner;
        one = NULL;
    }
    pthread_mutex_unlock(&fake_cuda_lock);
    if (one == NULL && wrong != NULL)
        fake_violation("%s of %p, which %s releases", function, ptr, wrong);
    else if (one == NULL)
        fake_violation("%s of %p, which is no allocation: never made, or released before", function, ptr);
    return one;
}

/* CUDA waits for the device, so that nothing queued uses the memory. */
static cudaError_t release(void *ptr, const char *function, const char *owner)
{
    struct fake_allocation *one;

    if (ptr == NULL)
        return cudaSuccess;
    one = forget(ptr, function, owner);
    if (one == NULL)
        return fake_cuda_result(cudaErrorInvalidValue);
    fake_stream_wait_device(one->device);
    free(one->ptr);
    free(one);
    return cudaSuccess;
}

cudaError_t fake_memory_alloc(void **ptr, size_t size, const char *owner)
{
    return allocate(ptr, size, cudaMemoryTypeDevice, owner);
}

cudaError_t fake_memory_free(void *ptr, const char *owner)
{
    return release(ptr, owner, owner);
}

cudaError_t cudaMalloc(void **ptr, size_t size)
{
    FAKE_CUDA_ENTER();
    return allocate(ptr, size, cudaMemoryTypeDevice, "cudaFree");
}

cudaError_t cudaMallocManaged(void **ptr, size_t size, unsigned int flags)
{
    FAKE_CUDA_ENTER();
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return fake_cuda_result(cudaErrorInvalidValue);
    return allocate(ptr, size, cudaMemoryTypeManaged, "cudaFree");
}

cudaError_t cudaFree(void *ptr)
{
    FAKE_CUDA_ENTER();
    return release(ptr, "cudaFree", "cudaFree");
}

cudaError_t cudaHostAlloc(void **ptr, size_t size, unsigned int flags)
{
    FAKE_CUDA_ENTER();
    if (flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
        return fake_cuda_result(cudaErrorInvalidValue);
    return allocate(ptr, size, cudaMemoryTypeHost, "cudaFreeHost");
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    FAKE_CUDA_ENTER();
    return allocate(ptr, size, cudaMemoryTypeHost, "cudaFreeHost");
}

cudaError_t cudaFreeHost(void *ptr)
{
    FAKE_CUDA_ENTER();
    return release(ptr, "cudaFreeHost", "cudaFreeHost");
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    FAKE_CUDA_ENTER();
    if (flags != 0 || !fake_memory_holds(host, 1))
        return fake_cuda_result(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **ptr, size_t size, cudaStream_t stream)
{
    cudaError_t result;

    FAKE_CUDA_ENTER();
    result = fake_stream_push("cudaMallocAsync", stream, NULL, NULL, NULL);
    return result == cudaSuccess ? allocate(ptr, size, cudaMemoryTypeDevice, "cudaFree") : result;
}

static void free_now(void *arg)
{
    struct fake_allocation *one = arg;

    free(one->ptr);
    free(one);
}

cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    struct fake_allocation *one;
    cudaError_t result;

    FAKE_CUDA_ENTER();
    if (ptr == NULL)
        return fake_cuda_result(cudaErrorInvalidValue);
    one = forget(ptr, "cudaFreeAsync", "cudaFree");
    if (one == NULL)
        return fake_cuda_result(cudaErrorInvalidValue);
    result = fake_stream_push("cudaFreeAsync", stream, NULL, free_now, one);
    if (result != cudaSuccess)
        free_now(one);
    return result;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    FAKE_CUDA_ENTER();
    if (fake_device_physical(fake_device_current()) < 0)
        return fake_cuda_result(cudaErrorNoDevice);
    pthread_mutex_lock(&fake_cuda_lock);
    *total = device_bytes();
    *free_bytes = *total - used[fake_device_current()];
    pthread_mutex_unlock(&fake_cuda_lock);
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    const struct fake_allocation *one;

    FAKE_CUDA_ENTER();
    memset(attributes, 0, sizeof(*attributes));
    pthread_mutex_lock(&fake_cuda_lock);
    one = fake_memory_find(ptr);
    attributes->type = one != NULL ? one->type : cudaMemoryTypeUnregistered;
    attributes->device = one != NULL ? one->device : -2;
    attributes->devicePointer = one != NULL ? (void *)(uintptr_t)ptr : NULL;
    attributes->hostPointer =
        one == NULL || one->type != cudaMemoryTypeDevice ? (void *)(uintptr_t)ptr : NULL;
    pthread_mutex_unlock(&fake_cuda_lock);
    return cudaSuccess;
}

void fake_memory_check_leaks(void)
{
    size_t bytes = 0;
    int count = 0;

    pthread_mutex_lock(&fake_cuda_lock);
    for (const struct fake_allocation *one = allocations; one != NULL; one = one->next) {
        bytes += one->size;
        count++;
    }
    pthread_mutex_unlock(&fake_cuda_lock);
    if (count > 0)
        fake_violation("leak: %d allocations of %zu bytes were not released", count, bytes);
}
