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

#define DT_NCCL_SLOTS 64

struct dt_nccl_stream {
    struct dt_nccl *nccl;
    cudaStream_t handle;
    bool is_owned; /* else the program's */
    unsigned slot; /* its bit in dt_nccl_comm's last.streams; the last one is shared by all that come late */
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
    uint32_t news_seen; /* of deaths and revocations */
    bool has_failed;
    struct dtrain_error failure;
    struct { /* the operation queued last */
        const char *name;
        uint64_t number;
        uint64_t streams; /* slots: what it is on or what waits for it, and was not seen empty since */
    } last;
};

struct dt_nccl {
    const struct dt_nccl_api *api;
    struct dt_backend_env env;
    int device;
    struct dt_nccl_stream stream; /* for warming up and for zeroing memory */
    void *cell;                   /* of the device, a byte: what a barrier reduces */
    pthread_mutex_t lock;         /* of the list and the slots */
    struct dt_nccl_comm *comms;
    uint64_t slots; /* taken */
};

#endif
