/*
 * nccl_platform.h - the one place that knows which collective library and device
 * runtime the module is built for: NCCL and CUDA, or, with DT_NCCL_RCCL, RCCL and
 * HIP, which has NCCL's functions under their names and CUDA's under its own.
 * The part for RCCL has not been compiled yet: no RCCL was at hand.
 */
#ifndef DT_RUNTIME_NCCL_PLATFORM_H
#define DT_RUNTIME_NCCL_PLATFORM_H

#ifdef DT_NCCL_RCCL

#include <hip/hip_runtime_api.h>
#include <rccl/rccl.h>

#define DT_NCCL_LIBRARY "librccl.so.1"

typedef hipPointerAttribute_t dt_nccl_pointer;

#define cudaDeviceGetPCIBusId hipDeviceGetPCIBusId
#define cudaErrorNotReady hipErrorNotReady
#define cudaError_t hipError_t
#define cudaEventCreateWithFlags hipEventCreateWithFlags
#define cudaEventDestroy hipEventDestroy
#define cudaEventDisableTiming hipEventDisableTiming
#define cudaEventRecord hipEventRecord
#define cudaEvent_t hipEvent_t
#define cudaFree hipFree
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetErrorName hipGetErrorName
#define cudaGetErrorString hipGetErrorString
#define cudaMalloc hipMalloc
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyDefault hipMemcpyDefault
#define cudaMemoryTypeUnregistered hipMemoryTypeUnregistered
#define cudaMemsetAsync hipMemsetAsync
#define cudaPointerGetAttributes hipPointerGetAttributes
#define cudaSetDevice hipSetDevice
#define cudaStreamCreateWithFlags hipStreamCreateWithFlags
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamNonBlocking hipStreamNonBlocking
#define cudaStreamQuery hipStreamQuery
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStreamWaitEvent hipStreamWaitEvent
#define cudaStream_t hipStream_t
#define cudaSuccess hipSuccess

#else

#include <cuda_runtime_api.h>
#include <nccl.h>

#define DT_NCCL_LIBRARY "libnccl.so.2"

typedef struct cudaPointerAttributes dt_nccl_pointer;

#endif

#endif
