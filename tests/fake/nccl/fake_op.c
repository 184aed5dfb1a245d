/* fake_op.c - NCCL's operations: arguments checked, collected, launched, run. */
#include "fake_op.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "fake_group.h"

/* ---- Batches ------------------------------------------------------------ */

struct fake_batch *fake_batch_new(ncclComm_t comm)
{
    struct fake_batch *new = calloc(1, sizeof(*new));

    if (new == NULL)
        abort();
    new->comm = comm;
    return new;
}

void fake_batch_drop(struct fake_batch *batch)
{
    free(batch->ops);
    free(batch);
}

static void batch_add(struct fake_batch *batch, const struct fake_op *op, const struct fake_fault *fault)
{
    batch->ops = realloc(batch->ops, sizeof(*op) * ((size_t)batch->count + 1));
    if (batch->ops == NULL)
        abort();
    batch->ops[batch->count++] = *op;
    if (batch->fault.kind == FAKE_FAULT_NONE)
        batch->fault = *fault;
}

static bool is_p2p(const struct fake_op *op)
{
    return op->kind == FAKE_SEND || op->kind == FAKE_RECV;
}

static void number_collectives(struct fake_batch *batch)
{
    int total = 0;

    for (int i = 0; i < batch->count; i++)
        if (!is_p2p(&batch->ops[i]))
            batch->ops[i].index = total++;
    for (int i = 0; i < batch->count; i++)
        batch->ops[i].total = total;
}

/* NCCL plans collectives before sends and receives. */
static enum fake_moved move(const struct fake_batch *batch)
{
    enum fake_moved moved = FAKE_MOVED;
    bool has_p2p = false;

    for (int i = 0; moved == FAKE_MOVED && i < batch->count; i++) {
        has_p2p = has_p2p || is_p2p(&batch->ops[i]);
        if (!is_p2p(&batch->ops[i]))
            moved = fake_coll_run(batch->comm, &batch->ops[i]);
    }
    return moved == FAKE_MOVED && has_p2p ? fake_p2p_run(batch) : moved;
}

/* An error is seen through ncclCommGetAsyncError(); unless a mismatch, the stream hangs until an abort. */
static void fail(ncclComm_t comm, ncclResult_t result, bool hangs)
{
    int before = ncclSuccess;

    if (!atomic_compare_exchange_strong(&comm->state, &before, (int)result) && before == ncclInProgress)
        comm->state = (int)result;
    if (hangs)
        fake_comm_await_stop(comm);
}

static void batch_run(void *arg)
{
    struct fake_batch *batch = arg;
    ncclComm_t comm = batch->comm;
    uint64_t ticket = batch->ticket;

    if (fake_comm_await_turn(comm, ticket)) {
        enum fake_moved moved = FAKE_STOPPED;

        if (batch->fault.kind == FAKE_FAULT_ASYNC)
            fail(comm, (ncclResult_t)batch->fault.result, true);
        else if (batch->fault.kind != FAKE_FAULT_NONE ||
                 (comm->state != ncclSuccess && comm->state != ncclInProgress))
            fake_comm_await_stop(comm);
        else
            moved = move(batch);
        if (moved == FAKE_LOST)
            fail(comm, ncclRemoteError, true);
        if (moved == FAKE_MISMATCH)
            fail(comm, ncclInvalidUsage, false);
    }
    fake_batch_drop(batch);
    fake_comm_pass_turn(comm, ticket);
}

void fake_batch_pend(const struct fake_batch *batch, int change)
{
    for (int i = 0; i < batch->count; i++)
        fake_stream_pend(batch->ops[i].stream, change);
}

/* Runs on the first operation's stream; the others wait for it, and it for them. */
ncclResult_t fake_batch_launch(struct fake_batch *batch, bool was_pending)
{
    cudaStream_t streams[16], first = batch->ops[0].stream;
    int count = 0;
    cudaError_t result;

    for (int i = 1; i < batch->count && count < 16; i++)
        if (batch->ops[i].stream != first)
            streams[count++] = batch->ops[i].stream;
    if (was_pending)
        fake_batch_pend(batch, -1);
    number_collectives(batch);
    batch->ticket = fake_comm_ticket(batch->comm);
    for (int i = 0; i < count; i++)
        fake_stream_join(first, streams[i]);
    result = fake_stream_enqueue(first, batch_run, batch);
    if (result != cudaSuccess) {
        batch_run(batch);
        return fake_fail(ncclUnhandledCudaError, "a stream could not take an operation");
    }
    for (int i = 0; i < count; i++)
        fake_stream_join(streams[i], first);
    return ncclSuccess;
}

/* ---- Arguments ---------------------------------------------------------- */

/* How many counts of elements each buffer holds: 1, or the number of ranks (-1); who uses it. */
static const struct shape {
    const char *name;
    int send, recv;
    bool send_at_root, recv_at_root; /* only */
    bool has_op, has_root;
} shapes[FAKE_KIND_COUNT] = {
    [FAKE_ALL_REDUCE] = {"ncclAllReduce", 1, 1, false, false, true, false},
    [FAKE_REDUCE] = {"ncclReduce", 1, 1, false, true, true, true},
    [FAKE_BROADCAST] = {"ncclBroadcast", 1, 1, true, false, false, true},
    [FAKE_ALL_GATHER] = {"ncclAllGather", 1, -1, false, false, false, false},
    [FAKE_REDUCE_SCATTER] = {"ncclReduceScatter", -1, 1, false, false, true, false},
    [FAKE_ALL_TO_ALL] = {"ncclAlltoAll", -1, -1, false, false, false, false},
    [FAKE_GATHER] = {"ncclGather", 1, -1, false, true, false, true},
    [FAKE_SCATTER] = {"ncclScatter", -1, 1, true, false, false, true},
    [FAKE_SEND] = {"ncclSend", 1, 0, false, false, false, true},
    [FAKE_RECV] = {"ncclRecv", 0, 1, false, false, false, true},
    [FAKE_P2P] = {.name = "sends and receives"},
    [FAKE_FINALIZE] = {.name = "ncclCommFinalize"},
    [FAKE_WINDOW] = {.name = "ncclCommWindowRegister"},
};

const char *fake_kind_name(int kind)
{
    return kind >= 0 && kind < FAKE_KIND_COUNT ? shapes[kind].name : "something else";
}

size_t fake_type_size(ncclDataType_t type)
{
    static const size_t sizes[ncclNumTypes] = {
        [ncclInt8] = 1,    [ncclUint8] = 1,   [ncclInt32] = 4,   [ncclUint32] = 4,
        [ncclInt64] = 8,   [ncclUint64] = 8,  [ncclFloat16] = 2, [ncclFloat32] = 4,
        [ncclFloat64] = 8, [ncclBfloat16] = 2, [ncclFloat8e4m3] = 1, [ncclFloat8e5m2] = 1,
    };

    return (unsigned)type < ncclNumTypes ? sizes[type] : 0;
}

static size_t bytes_of(const struct fake_op *op, int blocks, int nranks)
{
    return op->count * fake_type_size(op->type) * (size_t)(blocks < 0 ? nranks : blocks);
}

static ncclResult_t check_buffer(const struct fake_op *op, const char *side, const void *ptr, size_t bytes)
{
    if (bytes == 0)
        return ncclSuccess;
    if (ptr == NULL)
        return fake_fail(ncclInvalidArgument, "%s: %s is NULL", fake_kind_name(op->kind), side);
    if (!fake_memory_holds(ptr, bytes))
        return fake_break(ncclInvalidArgument,
                          "%s: %s %p with %zu bytes is not inside an allocation of CUDA's",
                          fake_kind_name(op->kind), side, ptr, bytes);
    return ncclSuccess;
}

/* In place is what NCCL's header says, and nothing else. */
static ncclResult_t check_overlap(const struct fake_op *op, ncclComm_t comm, size_t send, size_t recv)
{
    const char *from = op->send, *to = op->recv, *wanted = to;
    size_t block = op->count * fake_type_size(op->type);

    if (send == 0 || recv == 0 || from >= to + recv || to >= from + send)
        return ncclSuccess;
    if (op->kind == FAKE_ALL_GATHER)
        wanted = to + (size_t)comm->rank * block;
    else if (op->kind == FAKE_REDUCE_SCATTER)
        wanted = to - (size_t)comm->rank * block;
    else if (op->kind == FAKE_GATHER)
        wanted = to + (size_t)op->root * block;
    else if (op->kind == FAKE_SCATTER)
        wanted = to - (size_t)op->root * block;
    if (from == wanted && op->kind != FAKE_ALL_TO_ALL)
        return ncclSuccess;
    return fake_break(ncclInvalidArgument, "%s: the buffers overlap in a way that is not in place",
                      fake_kind_name(op->kind));
}

static ncclResult_t check_numbers(const struct fake_op *op, ncclComm_t comm)
{
    const struct shape *shape = &shapes[op->kind];
    size_t size = fake_type_size(op->type);

    if (size == 0)
        return fake_fail(ncclInvalidArgument, "%s: type %d is none", shape->name, (int)op->type);
    if (op->count > PTRDIFF_MAX / size / (size_t)comm->nranks)
        return fake_fail(ncclInvalidArgument, "%s: count %zu", shape->name, op->count);
    if (shape->has_op && (unsigned)op->op >= ncclNumOps)
        return fake_fail(ncclInvalidArgument, "%s: operator %d is none", shape->name, (int)op->op);
    if (shape->has_root && (op->root < 0 || op->root >= comm->nranks))
        return fake_fail(ncclInvalidArgument, "%s: rank %d of %d", shape->name, op->root, comm->nranks);
    return ncclSuccess;
}

static ncclResult_t check_stream(const struct fake_op *op, ncclComm_t comm)
{
    int device;

    if (fake_stream_device(op->stream, &device) != 0)
        return fake_break(ncclInvalidArgument, "%s on a stream that was destroyed or never created",
                          fake_kind_name(op->kind));
    if (device != comm->device)
        return fake_break(ncclInvalidArgument, "%s of %s of device %d on a stream of device %d",
                          fake_kind_name(op->kind), comm->name, comm->device, device);
    return ncclSuccess;
}

static ncclResult_t check(const struct fake_op *op, ncclComm_t comm)
{
    const struct shape *shape = &shapes[op->kind];
    ncclResult_t result = check_numbers(op, comm);
    size_t send, recv;

    if (result != ncclSuccess)
        return result;
    send = shape->send_at_root && comm->rank != op->root ? 0 : bytes_of(op, shape->send, comm->nranks);
    recv = shape->recv_at_root && comm->rank != op->root ? 0 : bytes_of(op, shape->recv, comm->nranks);
    result = check_stream(op, comm);
    if (result == ncclSuccess)
        result = check_buffer(op, "the send buffer", op->send, send);
    if (result == ncclSuccess)
        result = check_buffer(op, "the receive buffer", op->recv, recv);
    return result == ncclSuccess ? check_overlap(op, comm, send, recv) : result;
}

static ncclResult_t submit(struct fake_op op, ncclComm_t comm)
{
    struct fake_fault fault = {FAKE_FAULT_NONE, 0};
    ncclResult_t result = fake_enter(fake_kind_name(op.kind), &fault);

    if (result == ncclSuccess)
        result = fake_comm_use(comm, fake_kind_name(op.kind), FAKE_USE_OPS);
    if (result == ncclSuccess)
        result = check(&op, comm);
    if (result != ncclSuccess)
        return result;
    fake_count(&fake_counts.ops);
    fake_group_open();
    batch_add(fake_group_batch(comm), &op, &fault);
    return fake_group_close();
}

/* ---- NCCL's functions --------------------------------------------------- */

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_ALL_REDUCE, send, recv, count, type, op, 0, stream, 0, 0}, comm);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_REDUCE, send, recv, count, type, op, root, stream, 0, 0}, comm);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_BROADCAST, send, recv, count, type, ncclSum, root, stream, 0, 0},
                  comm);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_ALL_GATHER, send, recv, count, type, ncclSum, 0, stream, 0, 0}, comm);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_REDUCE_SCATTER, send, recv, count, type, op, 0, stream, 0, 0}, comm);
}

ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_ALL_TO_ALL, send, recv, count, type, ncclSum, 0, stream, 0, 0}, comm);
}

ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_GATHER, send, recv, count, type, ncclSum, root, stream, 0, 0}, comm);
}

ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_SCATTER, send, recv, count, type, ncclSum, root, stream, 0, 0}, comm);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_SEND, send, NULL, count, type, ncclSum, peer, stream, 0, 0}, comm);
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return submit((struct fake_op){FAKE_RECV, NULL, recv, count, type, ncclSum, peer, stream, 0, 0}, comm);
}
