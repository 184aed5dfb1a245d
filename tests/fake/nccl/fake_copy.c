/* fake_copy.c - copies and fills, on the stream's thread; pageable host memory as CUDA treats it. */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

struct copy {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, height;
    int value; /* of a fill: from is NULL */
    char *staged; /* a copy of pageable memory; freed at the end */
};

static void copy_run(void *arg)
{
    struct copy *copy = arg;

    for (size_t row = 0; row < copy->height; row++) {
        char *to = copy->to + row * copy->to_pitch;

        if (copy->from == NULL)
            memset(to, copy->value, copy->width);
        else
            memmove(to, copy->from + row * copy->from_pitch, copy->width);
    }
    free(copy->staged);
    free(copy);
}

static size_t extent(size_t pitch, size_t width, size_t height)
{
    return height == 0 ? 0 : pitch * (height - 1) + width;
}

static bool is_device_side(enum cudaMemcpyKind kind, bool is_source)
{
    return kind == cudaMemcpyDeviceToDevice ||
           kind == (is_source ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice);
}

/* A device's side must be an allocation as long as what is copied; so must known memory on any side. */
static cudaError_t check_side(const char *function, const void *ptr, size_t bytes, bool is_device)
{
    if (bytes == 0 || fake_memory_holds(ptr, bytes) || (!is_device && fake_memory_is_pageable(ptr)))
        return cudaSuccess;
    fake_violation("%s: %p with %zu bytes is not inside an allocation", function, ptr, bytes);
    return fake_cuda_result(cudaErrorInvalidValue);
}

static cudaError_t push(const char *function, struct copy copy, enum cudaMemcpyKind kind,
                        cudaStream_t stream, bool waits)
{
    size_t from_bytes = extent(copy.from_pitch, copy.width, copy.height);
    size_t to_bytes = extent(copy.to_pitch, copy.width, copy.height);
    struct copy *new;
    cudaError_t result = check_side(function, copy.to, to_bytes,
                                    copy.from == NULL || is_device_side(kind, false));

    if (result == cudaSuccess && copy.from != NULL)
        result = check_side(function, copy.from, from_bytes, is_device_side(kind, true));
    if (result != cudaSuccess)
        return result;
    if (copy.width == 0 || copy.height == 0)
        return fake_stream_push(function, stream, NULL, NULL, NULL);
    if (copy.from != NULL && fake_memory_is_pageable(copy.from)) {
        copy.staged = malloc(from_bytes);
        if (copy.staged == NULL)
            return fake_cuda_result(cudaErrorMemoryAllocation);
        memcpy(copy.staged, copy.from, from_bytes);
        copy.from = copy.staged;
    }
    waits = waits || (copy.from != NULL && fake_memory_is_pageable(copy.to));
    new = malloc(sizeof(*new));
    if (new != NULL)
        *new = copy;
    result = new != NULL ? fake_stream_push(function, stream, NULL, copy_run, new)
                         : fake_cuda_result(cudaErrorMemoryAllocation);
    if (result != cudaSuccess) {
        free(copy.staged);
        free(new);
        return result;
    }
    return waits ? cudaStreamSynchronize(stream) : cudaSuccess;
}

static bool is_kind(enum cudaMemcpyKind kind)
{
    return (int)kind >= cudaMemcpyHostToHost && (int)kind <= cudaMemcpyDefault;
}

static cudaError_t copy_2d(const char *function, void *to, size_t to_pitch, const void *from,
                           size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                           cudaStream_t stream, bool waits)
{
    struct copy copy = {.to = to, .from = from, .to_pitch = to_pitch, .from_pitch = from_pitch,
                        .width = width, .height = height};

    if (!is_kind(kind) || width > to_pitch || width > from_pitch ||
        ((to == NULL || from == NULL) && width * height > 0))
        return fake_cuda_result(cudaErrorInvalidValue);
    return push(function, copy, kind, stream, waits);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    FAKE_CUDA_ENTER();
    return copy_2d("cudaMemcpy", to, bytes, from, bytes, bytes, 1, kind, NULL, true);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    FAKE_CUDA_ENTER();
    return copy_2d("cudaMemcpyAsync", to, bytes, from, bytes, bytes, 1, kind, stream, false);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind)
{
    FAKE_CUDA_ENTER();
    return copy_2d("cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind, NULL, true);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    FAKE_CUDA_ENTER();
    return copy_2d("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind, stream, false);
}

static cudaError_t fill(const char *function, void *to, int value, size_t bytes, cudaStream_t stream,
                        bool waits)
{
    struct copy copy = {.to = to, .to_pitch = bytes, .width = bytes, .height = 1, .value = value};

    if (to == NULL && bytes > 0)
        return fake_cuda_result(cudaErrorInvalidValue);
    return push(function, copy, cudaMemcpyDefault, stream, waits);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    FAKE_CUDA_ENTER();
    return fill("cudaMemset", to, value, bytes, NULL, true);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    FAKE_CUDA_ENTER();
    return fill("cudaMemsetAsync", to, value, bytes, stream, false);
}
