/*
 * nccl_state.h - what the nccl_*.c files share: the backend as opened on one
 * device, its communicators, its streams. Private to them.
 *
 * Locks, in this order: a communicator's calls, the state's list, a
 * communicator's lock. NCCL forbids two calls on one communicator at a time, and
 * any but ncclCommGetAsyncError() and ncclCommAbort() while one is in progress.
 */
#ifndef DT_RUNTIME_NCCL_STATE_H
#define DT_RUNTIME_NCCL_STATE_H

#include <pthread.h>

#include "runtime/nccl_api.h"

#define DT_NCCL_END_MS 10000 /* for NCCL to finalize, revoke or abort; the operations' deadline if shorter */

struct dt_nccl_stream {
    struct dt_nccl *nccl;
    cudaStream_t handle;
    bool is_owned; /* else the program's */
};

struct dt_nccl_comm {
    struct dt_nccl *nccl;
    char name[DT_COMM_NAME_MAX];
    uint64_t channel;
    int size, rank;
    uint32_t *members; /* world ranks */
    struct dt_comm_config config; /* NCCL may keep a pointer into it */
    struct dt_nccl_comm *next;

    pthread_mutex_t calls; /* held during a call on the handle */
    uint64_t collectives, transfers; /* queued so far */
    bool is_revoked;                 /* by ncclCommRevoke(): the handle can be destroyed, no more */

    pthread_mutex_t lock; /* of what follows */
    ncclComm_t handle;    /* set with both locks held; NULL: not made, or aborted */
    uint32_t deaths_seen;
    bool has_failed;
    struct dtrain_error failure;
    struct { /* the operation queued last, where it may still run */
        const char *name; /* NULL: none */
        uint64_t number;
        const struct dt_nccl_stream *stream;
    } last;
};

struct dt_nccl {
    const struct dt_nccl_api *api;
    struct dt_backend_env env;
    int device;
    struct dt_nccl_stream stream; /* for warming up and for zeroing memory */
    void *cell;                   /* of the device, a byte: what a barrier reduces */
    pthread_mutex_t lock;         /* of the list */
    struct dt_nccl_comm *comms;
};

#endif
