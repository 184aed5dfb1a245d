#include <stdlib.h>

#include "comm_call.h"

/* ---- Life --------------------------------------------------------------- */

int dt_comm_create(struct dtrain_comm **comm, const struct dt_backend *backend, void *state,
                   int size, int rank, struct dtrain_error *err)
{
    *comm = malloc(sizeof(**comm));
    if (*comm == NULL) {
        if (state != NULL)
            backend->comm_destroy(state);
        return dt_error_memory(err, sizeof(**comm), "a communicator");
    }
    **comm = (struct dtrain_comm){.backend = backend, .state = state, .size = size, .rank = rank};
    pthread_mutex_init(&(*comm)->lock, NULL);
    pthread_cond_init(&(*comm)->unused, NULL);
    return 0;
}

void dt_comm_destroy(struct dtrain_comm *comm)
{
    if (comm == NULL)
        return;
    if (comm->state != NULL)
        comm->backend->comm_destroy(comm->state);
    pthread_cond_destroy(&comm->unused);
    pthread_mutex_destroy(&comm->lock);
    free(comm);
}

void dt_comm_set_place(struct dtrain_comm *comm, const struct dt_comm_place *place)
{
    comm->place = *place;
}

int dtrain_comm_rank(const struct dtrain_comm *comm)
{
    return comm != NULL ? comm->rank : -1;
}

int dtrain_comm_size(const struct dtrain_comm *comm)
{
    return comm != NULL ? comm->size : -1;
}

int dtrain_comm_member(const struct dtrain_comm *comm, int i)
{
    if (comm == NULL || i < 0 || i >= comm->size || comm->place.members == NULL)
        return -1;
    return (int)comm->place.members[i];
}

int dt_stream_create(struct dtrain_stream **stream, const struct dt_backend *backend,
                     void *backend_state, struct dtrain_error *err)
{
    struct dtrain_stream *made = malloc(sizeof(*made));

    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a stream");
    made->backend = backend;
    if (backend->stream_create(backend_state, &made->state, err) != 0) {
        free(made);
        return -1;
    }
    *stream = made;
    return 0;
}

int dtrain_stream_destroy(struct dtrain_stream *stream, struct dtrain_error *err)
{
    int rc;

    if (stream == NULL)
        return 0;
    rc = stream->backend->stream_synchronize(stream->state, err);
    stream->backend->stream_destroy(stream->state);
    free(stream);
    return rc;
}

int dtrain_stream_synchronize(struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (stream == NULL)
        return dt_error_set(err, "dtrain_stream_synchronize: stream is NULL: "
                                 "create one with dtrain_stream_create()");
    return stream->backend->stream_synchronize(stream->state, err);
}

int dtrain_stream_query(struct dtrain_stream *stream, bool *done, struct dtrain_error *err)
{
    if (stream == NULL || done == NULL)
        return dt_error_set(err, "dtrain_stream_query: %s is NULL",
                            stream == NULL ? "stream" : "done");
    return stream->backend->stream_query(stream->state, done, err);
}

int dtrain_stream_wait(struct dtrain_stream *stream, struct dtrain_stream *other,
                       struct dtrain_error *err)
{
    if (stream == NULL || other == NULL)
        return dt_error_set(err, "dtrain_stream_wait: %s is NULL: create it with dtrain_stream_create()",
                            stream == NULL ? "stream" : "other");
    if (stream->backend != other->backend)
        return dt_error_set(err,
                            "dtrain_stream_wait: stream is of backend %s, other of backend %s: use streams "
                            "of the same world",
                            stream->backend->name, other->backend->name);
    return stream == other ? 0 : stream->backend->stream_wait(stream->state, other->state, err);
}

/* ---- Memory ------------------------------------------------------------- */

int dtrain_copy(void *to, const void *from, size_t bytes, struct dtrain_stream *stream,
                struct dtrain_error *err)
{
    if (stream == NULL)
        return dt_error_set(err, "dtrain_copy: stream is NULL: create one with dtrain_stream_create()");
    if (bytes == 0 || to == from)
        return 0;
    if (to == NULL || from == NULL)
        return dt_error_set(err, "dtrain_copy: %s is NULL but bytes is %zu", to == NULL ? "to" : "from",
                            bytes);
    return stream->backend->enqueue_copy(to, from, bytes, stream->state, err);
}

/* ---- Operations --------------------------------------------------------- */

/*
 * An empty buffer may be NULL; backends get a place to count offsets of 0 from,
 * which nothing is read from or written to.
 */
static struct dt_operation operation_of(const struct dt_comm_call *call,
                                        enum dt_operation_kind kind,
                                        const struct dt_comm_buffers *buffers)
{
    bool is_empty = buffers->count == 0;

    return (struct dt_operation){
        .kind = kind,
        .send = is_empty ? call->comm : buffers->send,
        .recv = is_empty ? call->comm : buffers->recv,
        .count = buffers->count,
        .type = buffers->type,
    };
}

/* An operation with a buffer to send and one to receive; a group of one copies. */
static int exchange(const struct dt_comm_call *call, enum dt_operation_kind kind,
                    const struct dt_comm_buffers *buffers, enum dtrain_op op)
{
    struct dt_operation operation;

    if (dt_comm_check_count(call, buffers->count, buffers->type, call->comm->size) != 0 ||
        dt_comm_check_buffers(call, buffers) != 0)
        return -1;
    if (call->comm->size == 1)
        return dt_comm_enqueue_copy(call, buffers->recv, buffers->send,
                                    buffers->count * dtrain_type_size(buffers->type));
    operation = operation_of(call, kind, buffers);
    operation.op = op;
    return dt_comm_enqueue(call, &operation);
}

int dtrain_all_reduce(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, enum dtrain_op op, struct dtrain_stream *stream,
                      struct dtrain_error *err)
{
    struct dt_comm_call call = {"all_reduce", comm, stream, err};

    if (dt_comm_check_handles(&call) != 0 || dt_comm_check_op(&call, op) != 0)
        return -1;
    return exchange(&call, DT_ALL_REDUCE,
                    &(struct dt_comm_buffers){send, recv, count, type, 1, 1}, op);
}

int dtrain_all_gather(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, struct dtrain_stream *stream,
                      struct dtrain_error *err)
{
    struct dt_comm_call call = {"all_gather", comm, stream, err};

    if (dt_comm_check_handles(&call) != 0)
        return -1;
    return exchange(&call, DT_ALL_GATHER,
                    &(struct dt_comm_buffers){send, recv, count, type, 1, comm->size}, DTRAIN_SUM);
}

int dtrain_reduce_scatter(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                          enum dtrain_type type, enum dtrain_op op, struct dtrain_stream *stream,
                          struct dtrain_error *err)
{
    struct dt_comm_call call = {"reduce_scatter", comm, stream, err};

    if (dt_comm_check_handles(&call) != 0 || dt_comm_check_op(&call, op) != 0)
        return -1;
    return exchange(&call, DT_REDUCE_SCATTER,
                    &(struct dt_comm_buffers){send, recv, count, type, comm->size, 1}, op);
}

int dtrain_all_to_all(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, struct dtrain_stream *stream,
                      struct dtrain_error *err)
{
    struct dt_comm_call call = {"all_to_all", comm, stream, err};

    if (dt_comm_check_handles(&call) != 0)
        return -1;
    return exchange(&call, DT_ALL_TO_ALL,
                    &(struct dt_comm_buffers){send, recv, count, type, comm->size, comm->size},
                    DTRAIN_SUM);
}

int dtrain_broadcast(struct dtrain_comm *comm, void *buf, size_t count, enum dtrain_type type,
                     int root, struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct dt_comm_call call = {"broadcast", comm, stream, err};
    struct dt_comm_buffers buffers = {buf, buf, count, type, 1, 1};
    struct dt_operation operation;

    if (dt_comm_check_handles(&call) != 0 || dt_comm_check_count(&call, count, type, 1) != 0 ||
        dt_comm_check_rank(&call, "root", root) != 0 ||
        dt_comm_check_buffer(&call, "buf", buf, count, type) != 0)
        return -1;
    if (comm->size == 1)
        return 0;
    operation = operation_of(&call, DT_BROADCAST, &buffers);
    operation.root = root;
    return dt_comm_enqueue(&call, &operation);
}

int dtrain_barrier(struct dtrain_comm *comm, struct dtrain_stream *stream,
                   struct dtrain_error *err)
{
    struct dt_comm_call call = {"barrier", comm, stream, err};
    struct dt_operation operation;

    if (dt_comm_check_handles(&call) != 0)
        return -1;
    if (comm->size == 1)
        return 0;
    operation = operation_of(&call, DT_BARRIER, &(struct dt_comm_buffers){.count = 0});
    return dt_comm_enqueue(&call, &operation);
}
