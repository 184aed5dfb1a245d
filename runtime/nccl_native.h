/*
 * nccl_native.h - what the module gives dtrain_nccl.h beside backend.h: struct
 * dt_backend's native. libdtrain links no NCCL and calls through it. Handles of
 * NCCL's and CUDA's are as their headers have them; arguments are checked by who calls.
 */
#ifndef DT_RUNTIME_NCCL_NATIVE_H
#define DT_RUNTIME_NCCL_NATIVE_H

#include "runtime/nccl_platform.h"

#include "dtrain.h"

/* state, comm and stream are what backend.h's functions gave. */
struct dt_nccl_native {
    int (*device)(const void *state);
    int (*comm)(void *comm, ncclComm_t *handle, struct dtrain_error *err);
    void (*stream)(const void *stream, cudaStream_t *handle);
    int (*stream_wrap)(void *state, cudaStream_t handle, void **stream, struct dtrain_error *err);
    int (*comm_register)(void *comm, void *buf, size_t bytes, void **handle, struct dtrain_error *err);
    int (*comm_deregister)(void *comm, void *handle, struct dtrain_error *err);
    int (*window_register)(void *comm, void *buf, size_t bytes, int flags, void **window,
                           struct dtrain_error *err);
    int (*window_deregister)(void *comm, void *window, struct dtrain_error *err);
};

extern const struct dt_nccl_native dt_nccl_native;

#endif
