/*
 * comm_call.h - one call of an operation of dtrain.h: its checks, and handing
 * it to the backend. For comm.c and its neighbours only.
 */
#ifndef DT_RUNTIME_COMM_CALL_H
#define DT_RUNTIME_COMM_CALL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/comm.h"

struct dtrain_comm {
    const struct dt_backend *backend;
    void *state; /* NULL: a group of one */
    int size, rank;
    struct dt_comm_place place;
    pthread_mutex_t lock;
    pthread_cond_t unused; /* nobody revokes it at this moment */
    int revoker_count;
    atomic_bool has_ended; /* then every call fails with: */
    struct dtrain_error end;
};

struct dtrain_stream {
    const struct dt_backend *backend;
    void *state;
};

/* What every operation is called with. function: its name without "dtrain_". */
struct dt_comm_call {
    const char *function;
    struct dtrain_comm *comm;
    struct dtrain_stream *stream;
    struct dtrain_error *err;
};

/* The buffers of one call; each holds its number of blocks of count elements. */
struct dt_comm_buffers {
    const void *send;
    void *recv;
    size_t count;
    enum dtrain_type type;
    int send_blocks, recv_blocks;
};

/* Each returns 0, or -1 with the reason in the call's err. */
int dt_comm_check_handles(const struct dt_comm_call *call);
/* Type and count; blocks: how many times count elements the longest buffer holds. */
int dt_comm_check_count(const struct dt_comm_call *call, size_t count, enum dtrain_type type,
                        int blocks);
int dt_comm_check_op(const struct dt_comm_call *call, enum dtrain_op op);
int dt_comm_check_rank(const struct dt_comm_call *call, const char *name, int rank);
/* Not NULL and aligned, unless it is empty. */
int dt_comm_check_buffer(const struct dt_comm_call *call, const char *name, const void *buf,
                         size_t count, enum dtrain_type type);
/* Both, and that they are apart or in place. */
int dt_comm_check_buffers(const struct dt_comm_call *call, const struct dt_comm_buffers *buffers);

int dt_comm_enqueue(const struct dt_comm_call *call, const struct dt_operation *operation);
/* Nothing is queued for no bytes, or in place. */
int dt_comm_enqueue_copy(const struct dt_comm_call *call, void *to, const void *from, size_t bytes);

#endif
