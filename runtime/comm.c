#include "comm.h"

#include <stdlib.h>

#include "runtime/type.h"

struct dtrain_comm {
    const struct dt_backend *backend;
    void *state; /* NULL: a group of one */
    int size, rank;
};

struct dtrain_stream {
    const struct dt_backend *backend;
    void *state;
};

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
    return 0;
}

void dt_comm_destroy(struct dtrain_comm *comm)
{
    if (comm == NULL)
        return;
    if (comm->state != NULL)
        comm->backend->comm_destroy(comm->state);
    free(comm);
}

int dtrain_comm_rank(const struct dtrain_comm *comm)
{
    return comm != NULL ? comm->rank : -1;
}

int dtrain_comm_size(const struct dtrain_comm *comm)
{
    return comm != NULL ? comm->size : -1;
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

/* ---- Checks ------------------------------------------------------------- */

/* What every operation is called with. function: its name without "dtrain_". */
struct call {
    const char *function;
    struct dtrain_comm *comm;
    struct dtrain_stream *stream;
    struct dtrain_error *err;
};

static int check_handles(const struct call *call)
{
    if (call->comm == NULL)
        return dt_error_set(call->err, "dtrain_%s: comm is NULL: take one from dtrain_comm_get()",
                            call->function);
    if (call->stream == NULL)
        return dt_error_set(call->err,
                            "dtrain_%s: stream is NULL: create one with dtrain_stream_create()",
                            call->function);
    if (call->stream->backend != call->comm->backend)
        return dt_error_set(call->err,
                            "dtrain_%s: the stream is of backend %s, the communicator of backend %s: "
                            "use a stream of the same world",
                            call->function, call->stream->backend->name, call->comm->backend->name);
    return 0;
}

/* blocks: how many times count elements the longest buffer holds. */
static int check_count(const struct call *call, size_t count, enum dtrain_type type, int blocks)
{
    size_t element = dtrain_type_size(type);

    if (element == 0)
        return dt_error_set(call->err, "dtrain_%s: type %d is not known: use a value of enum dtrain_type",
                            call->function, (int)type);
    if (count > PTRDIFF_MAX / element / (size_t)blocks)
        return dt_error_set(call->err,
                            "dtrain_%s: count %zu of %s for %d ranks is more than memory can hold",
                            call->function, count, dt_type_name(type), blocks);
    return 0;
}

static int check_op(const struct call *call, enum dtrain_op op)
{
    if (dt_op_is_valid(op))
        return 0;
    return dt_error_set(call->err, "dtrain_%s: op %d is not known: use a value of enum dtrain_op",
                        call->function, (int)op);
}

static int check_rank(const struct call *call, const char *name, int rank)
{
    if (rank >= 0 && rank < call->comm->size)
        return 0;
    return dt_error_set(call->err, "dtrain_%s: %s is %d: the group has ranks 0 to %d", call->function,
                        name, rank, call->comm->size - 1);
}

static int check_buffer(const struct call *call, const char *name, const void *buf, size_t count,
                        enum dtrain_type type)
{
    size_t element = dtrain_type_size(type);

    if (count == 0)
        return 0;
    if (buf == NULL)
        return dt_error_set(call->err, "dtrain_%s: %s is NULL but count is %zu", call->function, name,
                            count);
    if ((uintptr_t)buf % element != 0)
        return dt_error_set(call->err, "dtrain_%s: %s is at %p: %s must be aligned to %zu bytes",
                            call->function, name, buf, dt_type_name(type), element);
    return 0;
}

/* Buffers of blocks blocks each; in place exactly when they share their whole common block. */
struct buffers {
    const void *send;
    void *recv;
    size_t count;
    enum dtrain_type type;
    int send_blocks, recv_blocks;
};

/* Offset in bytes of the block in the longer buffer that the shorter one may be. */
static bool is_in_place(const struct call *call, const struct buffers *buffers, size_t block)
{
    uintptr_t send = (uintptr_t)buffers->send, recv = (uintptr_t)buffers->recv;
    size_t own = (size_t)call->comm->rank * block;

    if (buffers->send_blocks < buffers->recv_blocks)
        recv += own;
    else if (buffers->send_blocks > buffers->recv_blocks)
        send += own;
    return send == recv;
}

static int check_buffers(const struct call *call, const struct buffers *buffers)
{
    size_t block = buffers->count * dtrain_type_size(buffers->type);
    uintptr_t send = (uintptr_t)buffers->send, recv = (uintptr_t)buffers->recv;

    if (check_buffer(call, "send", buffers->send, buffers->count, buffers->type) != 0 ||
        check_buffer(call, "recv", buffers->recv, buffers->count, buffers->type) != 0)
        return -1;
    if (block == 0 || is_in_place(call, buffers, block) ||
        recv >= send + block * (size_t)buffers->send_blocks ||
        send >= recv + block * (size_t)buffers->recv_blocks)
        return 0;
    return dt_error_set(call->err,
                        "dtrain_%s: send (%p) and recv (%p) overlap in a way that is not in place",
                        call->function, buffers->send, buffers->recv);
}

/* ---- Operations --------------------------------------------------------- */

/*
 * An empty buffer may be NULL; backends get a place to count offsets of 0 from,
 * which nothing is read from or written to.
 */
static struct dt_operation operation_of(const struct call *call, enum dt_operation_kind kind,
                                        const struct buffers *buffers)
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

static int enqueue(const struct call *call, const struct dt_operation *operation)
{
    return call->comm->backend->enqueue(call->comm->state, operation, call->stream->state, call->err);
}

static int enqueue_copy(const struct call *call, void *to, const void *from, size_t bytes)
{
    if (bytes == 0 || to == from)
        return 0;
    return call->comm->backend->enqueue_copy(to, from, bytes, call->stream->state, call->err);
}

/* An operation with a buffer to send and one to receive; a group of one copies. */
static int exchange(const struct call *call, enum dt_operation_kind kind,
                    const struct buffers *buffers, enum dtrain_op op)
{
    struct dt_operation operation;

    if (check_count(call, buffers->count, buffers->type, call->comm->size) != 0 ||
        check_buffers(call, buffers) != 0)
        return -1;
    if (call->comm->size == 1)
        return enqueue_copy(call, buffers->recv, buffers->send,
                            buffers->count * dtrain_type_size(buffers->type));
    operation = operation_of(call, kind, buffers);
    operation.op = op;
    return enqueue(call, &operation);
}

int dtrain_all_reduce(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, enum dtrain_op op, struct dtrain_stream *stream,
                      struct dtrain_error *err)
{
    struct call call = {"all_reduce", comm, stream, err};

    if (check_handles(&call) != 0 || check_op(&call, op) != 0)
        return -1;
    return exchange(&call, DT_ALL_REDUCE, &(struct buffers){send, recv, count, type, 1, 1}, op);
}

int dtrain_all_gather(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, struct dtrain_stream *stream,
                      struct dtrain_error *err)
{
    struct call call = {"all_gather", comm, stream, err};

    if (check_handles(&call) != 0)
        return -1;
    return exchange(&call, DT_ALL_GATHER,
                    &(struct buffers){send, recv, count, type, 1, comm->size}, DTRAIN_SUM);
}

int dtrain_reduce_scatter(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                          enum dtrain_type type, enum dtrain_op op, struct dtrain_stream *stream,
                          struct dtrain_error *err)
{
    struct call call = {"reduce_scatter", comm, stream, err};

    if (check_handles(&call) != 0 || check_op(&call, op) != 0)
        return -1;
    return exchange(&call, DT_REDUCE_SCATTER,
                    &(struct buffers){send, recv, count, type, comm->size, 1}, op);
}

int dtrain_all_to_all(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, struct dtrain_stream *stream,
                      struct dtrain_error *err)
{
    struct call call = {"all_to_all", comm, stream, err};

    if (check_handles(&call) != 0)
        return -1;
    return exchange(&call, DT_ALL_TO_ALL,
                    &(struct buffers){send, recv, count, type, comm->size, comm->size}, DTRAIN_SUM);
}

int dtrain_broadcast(struct dtrain_comm *comm, void *buf, size_t count, enum dtrain_type type,
                     int root, struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct call call = {"broadcast", comm, stream, err};
    struct buffers buffers = {buf, buf, count, type, 1, 1};
    struct dt_operation operation;

    if (check_handles(&call) != 0 || check_count(&call, count, type, 1) != 0 ||
        check_rank(&call, "root", root) != 0 || check_buffer(&call, "buf", buf, count, type) != 0)
        return -1;
    if (comm->size == 1)
        return 0;
    operation = operation_of(&call, DT_BROADCAST, &buffers);
    operation.root = root;
    return enqueue(&call, &operation);
}

int dtrain_barrier(struct dtrain_comm *comm, struct dtrain_stream *stream,
                   struct dtrain_error *err)
{
    struct call call = {"barrier", comm, stream, err};
    struct dt_operation operation;

    if (check_handles(&call) != 0)
        return -1;
    if (comm->size == 1)
        return 0;
    operation = operation_of(&call, DT_BARRIER, &(struct buffers){.count = 0});
    return enqueue(&call, &operation);
}

/* ---- Transfers ---------------------------------------------------------- */

static int check_transfer(const struct call *call, const struct dtrain_transfer *transfer)
{
    if (check_count(call, transfer->count, transfer->type, 1) != 0 ||
        check_rank(call, "peer", transfer->peer) != 0)
        return -1;
    return check_buffer(call, "buf", transfer->buf, transfer->count, transfer->type);
}

static size_t transfer_bytes(const struct dtrain_transfer *transfer)
{
    return transfer->count * dtrain_type_size(transfer->type);
}

/* The first one from index i on that sends to, or receives from, the own rank; n: none. */
static size_t next_own(const struct call *call, const struct dtrain_transfer *transfers, size_t n,
                       size_t i, bool is_send)
{
    while (i < n && (transfers[i].peer != call->comm->rank || transfers[i].is_send != is_send))
        i++;
    return i;
}

/*
 * Transfers with the own rank are copies: sends and receives match in order, in
 * the same call, because alone each would wait for ever. Checks all of them
 * (is_check), or queues them.
 */
static int copy_own(const struct call *call, const struct dtrain_transfer *transfers, size_t n,
                    bool is_check)
{
    size_t send = next_own(call, transfers, n, 0, true);
    size_t recv = next_own(call, transfers, n, 0, false);

    for (; send < n && recv < n; send = next_own(call, transfers, n, send + 1, true),
                                 recv = next_own(call, transfers, n, recv + 1, false)) {
        const struct dtrain_transfer *from = &transfers[send], *to = &transfers[recv];

        if (from->count != to->count || from->type != to->type)
            return dt_error_set(call->err,
                                "dtrain_%s: a send of %zu %s to the own rank %d meets a receive of %zu %s",
                                call->function, from->count, dt_type_name(from->type),
                                call->comm->rank, to->count, dt_type_name(to->type));
        if (!is_check && enqueue_copy(call, to->buf, from->buf, transfer_bytes(from)) != 0)
            return -1;
    }
    if (send < n || recv < n)
        return dt_error_set(call->err,
                            "dtrain_%s: peer %d is the own rank, and no %s in the same call matches: "
                            "give both to dtrain_transfer()",
                            call->function, call->comm->rank, send < n ? "receive" : "send");
    return 0;
}

static int enqueue_transfers(const struct call *call, const struct dtrain_transfer *transfers,
                             size_t n)
{
    struct dt_operation operation = {
        .kind = DT_TRANSFER, .transfers = transfers, .transfer_count = n};

    return n == 0 ? 0 : enqueue(call, &operation);
}

/* Without those of the own rank. */
static int enqueue_others(const struct call *call, const struct dtrain_transfer *transfers, size_t n)
{
    struct dtrain_transfer *others = malloc((n + 1) * sizeof(*others));
    size_t kept = 0;
    int rc;

    if (others == NULL)
        return dt_error_memory(call->err, (n + 1) * sizeof(*others), "transfers");
    for (size_t i = 0; i < n; i++) {
        if (transfers[i].peer != call->comm->rank)
            others[kept++] = transfers[i];
    }
    rc = enqueue_transfers(call, others, kept);
    free(others);
    return rc;
}

static int submit_transfers(const struct call *call, const struct dtrain_transfer *transfers,
                            size_t n)
{
    bool has_own = false;

    for (size_t i = 0; i < n; i++) {
        if (check_transfer(call, &transfers[i]) != 0)
            return -1;
        has_own = has_own || transfers[i].peer == call->comm->rank;
    }
    if (!has_own)
        return enqueue_transfers(call, transfers, n);
    if (copy_own(call, transfers, n, true) != 0 || copy_own(call, transfers, n, false) != 0)
        return -1;
    return enqueue_others(call, transfers, n);
}

int dtrain_transfer(struct dtrain_comm *comm, const struct dtrain_transfer *transfers, size_t n,
                    struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct call call = {"transfer", comm, stream, err};

    if (check_handles(&call) != 0)
        return -1;
    if (n > DT_TRANSFERS_MAX)
        return dt_error_set(err, "dtrain_transfer: n is %zu: at most %u transfers in one call", n,
                            DT_TRANSFERS_MAX);
    if (transfers == NULL && n > 0)
        return dt_error_set(err, "dtrain_transfer: transfers is NULL but n is %zu", n);
    return submit_transfers(&call, transfers, n);
}

int dtrain_send(struct dtrain_comm *comm, const void *buf, size_t count, enum dtrain_type type,
                int peer, struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct call call = {"send", comm, stream, err};
    struct dtrain_transfer transfer = {true, peer, type, count, (void *)buf};

    return check_handles(&call) != 0 ? -1 : submit_transfers(&call, &transfer, 1);
}

int dtrain_recv(struct dtrain_comm *comm, void *buf, size_t count, enum dtrain_type type, int peer,
                struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct call call = {"recv", comm, stream, err};
    struct dtrain_transfer transfer = {false, peer, type, count, buf};

    return check_handles(&call) != 0 ? -1 : submit_transfers(&call, &transfer, 1);
}
