/* nccl_device.h - this rank's GPU, and CUDA's results as errors. */
#ifndef DT_RUNTIME_NCCL_DEVICE_H
#define DT_RUNTIME_NCCL_DEVICE_H

#include "runtime/nccl_state.h"

/* "WHAT: cudaErrorMemoryAllocation (out of memory)". */
int dt_nccl_cuda_check(cudaError_t result, const char *what, struct dtrain_error *err);

bool dt_nccl_device_is_there(char *why, size_t size);

/* The index of the rank's device among the visible ones. */
int dt_nccl_device_find(int *device, int local_rank, struct dtrain_error *err);
/* Its PCI id, "0000:1b:00.0": NCCL refuses two ranks with the same one. */
int dt_nccl_device_name(int local_rank, char *name, size_t size, struct dtrain_error *err);

/* The thread that calls may have another device current. */
int dt_nccl_device_use(const struct dt_nccl *nccl, struct dtrain_error *err);

#endif
