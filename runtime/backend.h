/*
 * backend.h - what moves the data: one const table for each backend, in an
 * array in order of preference (backend.c). Shaped by NCCL and by the host's
 * memory alike: operations are queued on streams, communicators are made all
 * together with a deadline, an error found later stays in its communicator.
 */
#ifndef DT_RUNTIME_BACKEND_H
#define DT_RUNTIME_BACKEND_H

#include "core/comm_config.h"
#include "core/log.h"
#include "dtrain.h"
#include "runtime/deadline.h"
#include "runtime/math.h"
#include "runtime/peers.h"

#define DT_COMM_NAME_MAX 48 /* "dtrain/tp/3" */
#define DT_BACKEND_ID_MAX 128 /* bytes of what a group's root publishes; NCCL's id */
#define DT_BACKEND_VERSION_MAX 12 /* bytes of "2.28.9" with the NUL */
#define DT_BACKEND_DEVICE_MAX 32 /* bytes of a device's name with the NUL */

/* What a backend is opened with. Everything is borrowed and outlives it. */
struct dt_backend_env {
    const struct dt_log *log;
    const struct dt_peers *peers;
    uint32_t rank;  /* world rank */
    int local_rank; /* index of the own device among the visible ones */
    int timeout_ms; /* deadline of one operation */
    struct dt_comm_config config; /* for all communicators; how memory is made */
};

/* One communicator to make; size > 1 always. */
struct dt_comm_request {
    char name[DT_COMM_NAME_MAX];
    uint64_t channel;        /* same on all members, different for every communicator of the world */
    int size;                /* members */
    int rank;                /* this rank among them */
    const uint32_t *members; /* world ranks, size of them; copied when needed */
    struct dt_comm_config config;
    int id_count; /* 0 where id_size is 0 */
    unsigned char (*ids)[DT_BACKEND_ID_MAX]; /* id_size bytes of each; id i is of member i * ranks_per_id */
};

enum dt_operation_kind {
    DT_ALL_REDUCE,
    DT_ALL_GATHER,
    DT_REDUCE_SCATTER,
    DT_BROADCAST, /* recv is the buffer on every rank; send == recv */
    DT_ALL_TO_ALL,
    DT_TRANSFER, /* transfers; send and receive alone are transfers of one */
    DT_BARRIER,
};

/* Already validated by comm.c: types, ranks, null pointers, sizes that would overflow. */
struct dt_operation {
    enum dt_operation_kind kind;
    const void *send;
    void *recv;
    size_t count; /* as in dtrain.h's function of that name */
    enum dtrain_type type;
    enum dtrain_op op;
    int root;
    const struct dtrain_transfer *transfers; /* copied by the backend */
    size_t transfer_count;
};

struct dt_backend {
    const char *name;
    size_t id_size; /* 0: roots publish nothing */
    const void *native; /* what dtrain_nccl.h gives out; NULL: nothing */

    /* Whether this process can use it; else why not ("no NVIDIA device"). */
    bool (*is_available)(char *why, size_t size);

    /* What all ranks must have alike beside the name, "2.28.9"; NULL: nothing. */
    const char *(*version)(void);
    /*
     * The device that open() will take, by a name that no other device of the node has
     * ("0000:1b:00.0"): two ranks on one are refused before they meet. NULL: ranks may share it.
     */
    int (*device)(int local_rank, char *name, size_t size, struct dtrain_error *err);

    /* How many members share an id, the same on all ranks; larger groups have several. NULL: one id each. */
    int (*ranks_per_id)(void);
    /* Fills id_size bytes, on the member that makes it, before the exchange. NULL when id_size is 0. */
    int (*id_create)(void *id, struct dtrain_error *err);

    int (*open)(void **state, const struct dt_backend_env *env, struct dtrain_error *err);
    void (*close)(void *state); /* after all streams and communicators; NULL state allowed */

    /* All n communicators or none. Blocks until the deadline; comms[i] belongs to requests[i]. */
    int (*comms_create)(void *state, const struct dt_comm_request *requests, size_t n,
                        void **comms, const struct dt_deadline *deadline,
                        struct dtrain_error *err);
    void (*comm_destroy)(void *comm); /* nothing of it is queued; NULL allowed */

    int (*stream_create)(void *state, void **stream, struct dtrain_error *err);
    void (*stream_destroy)(void *stream); /* waits for what is queued */
    int (*stream_synchronize)(void *stream, struct dtrain_error *err);
    int (*stream_query)(void *stream, bool *done, struct dtrain_error *err);
    /* What is queued on stream later runs after all that is queued on other by now. */
    int (*stream_wait)(void *stream, void *other, struct dtrain_error *err);

    /* Memory that operations, copies and math use; zeroed, aligned to 64 bytes; bytes > 0. */
    int (*memory_alloc)(void *state, size_t bytes, void **memory, struct dtrain_error *err);
    void (*memory_free)(void *state, void *memory); /* nothing queued uses it; NULL allowed */

    /*
     * One thread drives several opened states: each entry makes its state's device
     * current itself. What it enqueues between these two must not wait for what it
     * enqueues later: NCCL's are ncclGroupStart() and ncclGroupEnd(), with all
     * communicators of the thread non-blocking; batch_end then polls each that was
     * used until it is no longer in progress, or the operations' deadline, and fails
     * with the first error. They nest; what begins in a thread ends in it; state: any
     * opened one. NULL (both): enqueue never waits, as on the host.
     */
    int (*batch_begin)(void *state, struct dtrain_error *err);
    int (*batch_end)(void *state, struct dtrain_error *err);

    /* Queue and return. -1 when the communicator failed before (its first error) or cannot queue. */
    int (*enqueue)(void *comm, const struct dt_operation *operation, void *stream,
                   struct dtrain_error *err);
    /* bytes from one buffer to another, on the stream; each in the backend's memory or the host's. */
    int (*enqueue_copy)(void *to, const void *from, size_t bytes, void *stream,
                        struct dtrain_error *err);
    int (*enqueue_math)(const struct dt_math *math, void *stream, struct dtrain_error *err);

    /*
     * Makes the communicator fail with err_text as its first error unless it failed before: what is
     * queued or runs on it ends soon with -1, on the other ranks too (a backend whose ranks cannot
     * tell each other relies on theirs doing the same). Bounded in time. Thread-safe.
     */
    void (*comm_revoke)(void *comm, const char *err_text);
    /* Whether it takes no operations any more. Does not wait; thread-safe. NULL: nobody can tell. */
    bool (*comm_has_failed)(void *comm);
};

extern const struct dt_backend dt_backend_host;

#endif
