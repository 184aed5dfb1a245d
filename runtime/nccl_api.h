/*
 * nccl_api.h - NCCL's functions, found at run time: the library that the process
 * has loaded already (PyTorch's, for instance), else the loader's own, so that a
 * process never has two. From NCCL 2.19; what an older one lacks is NULL, also
 * when the library has a symbol of that name.
 */
#ifndef DT_RUNTIME_NCCL_API_H
#define DT_RUNTIME_NCCL_API_H

#include "core/error.h"
#include "runtime/backend.h"
#include "runtime/nccl_config.h"
#include "runtime/nccl_platform.h"

/* The members are named after NCCL's functions without "nccl". */
struct dt_nccl_api {
    int version;                              /* as ncclGetVersion() counts: 22809 */
    char version_text[DT_BACKEND_VERSION_MAX]; /* "2.28.9" */
    char path[256];                           /* of the library */
    bool was_loaded;                          /* before this module came */

    ncclResult_t (*GetVersion)(int *version);
    ncclResult_t (*GetUniqueId)(ncclUniqueId *id);
    const char *(*GetErrorString)(ncclResult_t result);
    const char *(*GetLastError)(ncclComm_t comm);
    ncclResult_t (*CommInitRankConfig)(ncclComm_t *comm, int size, ncclUniqueId id, int rank,
                                       struct dt_nccl_config *config);
    ncclResult_t (*CommFinalize)(ncclComm_t comm);
    ncclResult_t (*CommDestroy)(ncclComm_t comm);
    ncclResult_t (*CommAbort)(ncclComm_t comm);
    ncclResult_t (*CommGetAsyncError)(ncclComm_t comm, ncclResult_t *result);
    ncclResult_t (*GroupStart)(void);
    ncclResult_t (*GroupEnd)(void);
    ncclResult_t (*AllReduce)(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                              ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*Broadcast)(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                              ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*ReduceScatter)(const void *send, void *recv, size_t count, ncclDataType_t type,
                                  ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*AllGather)(const void *send, void *recv, size_t count, ncclDataType_t type,
                              ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*Send)(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                         cudaStream_t stream);
    ncclResult_t (*Recv)(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                         cudaStream_t stream);
    ncclResult_t (*MemAlloc)(void **memory, size_t bytes);
    ncclResult_t (*MemFree)(void *memory);
    ncclResult_t (*CommRegister)(const ncclComm_t comm, void *buf, size_t bytes, void **handle);
    ncclResult_t (*CommDeregister)(const ncclComm_t comm, void *handle);

    /* NULL before the version behind each. */
    ncclResult_t (*CommInitRankScalable)(ncclComm_t *comm, int size, int rank, int id_count, /* 2.23 */
                                         ncclUniqueId *ids, struct dt_nccl_config *config);
    ncclResult_t (*CommWindowRegister)(ncclComm_t comm, void *buf, size_t bytes, void **window, /* 2.27 */
                                       int flags);
    ncclResult_t (*CommWindowDeregister)(ncclComm_t comm, void *window);
    ncclResult_t (*CommRevoke)(ncclComm_t comm, int flags); /* 2.28.7 */
};

/*
 * The process's NCCL, found by the first call and never unloaded; NULL with the
 * reason, always the same one. Thread-safe.
 */
const struct dt_nccl_api *dt_nccl_api(struct dtrain_error *err);

/* "2.28.9" from 22809. Returns text. */
char *dt_nccl_version_text(char text[DT_BACKEND_VERSION_MAX], int version);

/* "WHAT needs NCCL 2.28.7, this is 2.21.5". Always returns -1. */
int dt_nccl_api_refuse(const struct dt_nccl_api *api, const char *what, int since, struct dtrain_error *err);

#endif
