/*
 * fake_kernel.c - what code from nvcc needs to be loaded. There is no device
 * to run a kernel: a launch is refused and counts as broken contract.
 */
#include <string.h>

#include "fake_cuda.h"

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                            uint3 *thread, uint3 *block, dim3 *block_dim, dim3 *grid_dim, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern, size_t size,
                       int is_constant, int is_global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                               cudaStream_t stream);

static void *module;

static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} pushed;

void **__cudaRegisterFatBinary(void *binary)
{
    (void)binary;
    return &module;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                            uint3 *thread, uint3 *block, dim3 *block_dim, dim3 *grid_dim, int *warp_size)
{
    (void)handle, (void)host, (void)device, (void)name, (void)limit;
    (void)thread, (void)block, (void)block_dim, (void)grid_dim, (void)warp_size;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern, size_t size,
                       int is_constant, int is_global)
{
    (void)handle, (void)host, (void)device, (void)name;
    (void)is_extern, (void)size, (void)is_constant, (void)is_global;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    memcpy(stream, &pushed.stream, sizeof(pushed.stream));
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry)
{
    memcpy(kernel, &entry, sizeof(entry));
    return cudaSuccess;
}

static cudaError_t refuse(void)
{
    fake_violation("a kernel was launched: this double of libcudart has no device to run it");
    return fake_cuda_result(cudaErrorNotSupported);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                               cudaStream_t stream)
{
    (void)kernel, (void)grid, (void)block, (void)args, (void)shared, (void)stream;
    return refuse();
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
    (void)kernel, (void)grid, (void)block, (void)args, (void)shared, (void)stream;
    return refuse();
}
