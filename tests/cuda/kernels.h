/* kernels.h - small kernels, right and wrong ones, that show what the emulator sees. */
#ifndef DT_TESTS_CUDA_KERNELS_H
#define DT_TESTS_CUDA_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KERNELS_THREADS = 96 };

/* Launches the kernel of this name, which leaves a number in to[0] of device memory. -1: there is none. */
int kernels_launch(const char *name, int *to, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
