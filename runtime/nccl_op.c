#include "nccl_op.h"

#include <stdio.h>

#include "nccl_batch.h"
#include "nccl_comm.h"
#include "nccl_device.h"
#include "operation.h"

static const ncclDataType_t types[] = {
    [DTRAIN_FLOAT32] = ncclFloat32, [DTRAIN_BFLOAT16] = ncclBfloat16, [DTRAIN_FLOAT16] = ncclFloat16,
    [DTRAIN_FLOAT64] = ncclFloat64, [DTRAIN_INT32] = ncclInt32,       [DTRAIN_INT64] = ncclInt64,
    [DTRAIN_INT8] = ncclInt8,
};

static const ncclRedOp_t ops[] = {
    [DTRAIN_SUM] = ncclSum, [DTRAIN_AVG] = ncclAvg, [DTRAIN_MAX] = ncclMax, [DTRAIN_MIN] = ncclMin};

/* ---- As calls of NCCL's ------------------------------------------------------------ */

/* The first result that is neither success nor progress counts; a group that was begun is ended. */
static ncclResult_t first_of(ncclResult_t first, ncclResult_t next)
{
    return first != ncclSuccess && first != ncclInProgress ? first : next;
}

static ncclResult_t start_all_to_all(const struct dt_nccl_comm *comm, const struct dt_operation *op,
                                     cudaStream_t stream)
{
    const struct dt_nccl_api *api = comm->nccl->api;
    size_t bytes = op->count * dtrain_type_size(op->type);
    ncclResult_t result = api->GroupStart();

    for (int peer = 0; peer < comm->size; peer++) {
        const char *send = (const char *)op->send + (size_t)peer * bytes;
        char *recv = (char *)op->recv + (size_t)peer * bytes;

        result = first_of(result, api->Send(send, op->count, types[op->type], peer, comm->handle, stream));
        result = first_of(result, api->Recv(recv, op->count, types[op->type], peer, comm->handle, stream));
    }
    return first_of(result, api->GroupEnd());
}

static ncclResult_t start_transfers(const struct dt_nccl_comm *comm, const struct dt_operation *op,
                                    cudaStream_t stream)
{
    const struct dt_nccl_api *api = comm->nccl->api;
    ncclResult_t result = api->GroupStart();

    for (size_t i = 0; i < op->transfer_count; i++) {
        const struct dtrain_transfer *t = &op->transfers[i];

        result = first_of(
            result, t->is_send ? api->Send(t->buf, t->count, types[t->type], t->peer, comm->handle, stream)
                               : api->Recv(t->buf, t->count, types[t->type], t->peer, comm->handle, stream));
    }
    return first_of(result, api->GroupEnd());
}

static ncclResult_t start(const struct dt_nccl_comm *comm, const struct dt_operation *op, cudaStream_t stream)
{
    const struct dt_nccl_api *api = comm->nccl->api;
    ncclDataType_t type = types[op->type];
    void *cell = comm->nccl->cell;

    switch (op->kind) {
    case DT_ALL_REDUCE:
        return api->AllReduce(op->send, op->recv, op->count, type, ops[op->op], comm->handle, stream);
    case DT_ALL_GATHER:
        return api->AllGather(op->send, op->recv, op->count, type, comm->handle, stream);
    case DT_REDUCE_SCATTER:
        return api->ReduceScatter(op->send, op->recv, op->count, type, ops[op->op], comm->handle, stream);
    case DT_BROADCAST:
        return api->Broadcast(op->send, op->recv, op->count, type, op->root, comm->handle, stream);
    case DT_ALL_TO_ALL:
        return start_all_to_all(comm, op, stream);
    case DT_TRANSFER:
        return start_transfers(comm, op, stream);
    case DT_BARRIER:
        return api->AllReduce(cell, cell, 1, ncclInt8, ncclMax, comm->handle, stream);
    }
    return ncclInvalidArgument;
}

/* ---- Queueing ---------------------------------------------------------------------- */

static void remember(struct dt_nccl_comm *comm, const char *name, uint64_t number,
                     const struct dt_nccl_stream *stream)
{
    pthread_mutex_lock(&comm->lock);
    comm->last.name = name;
    comm->last.number = number;
    comm->last.streams |= UINT64_C(1) << stream->slot;
    pthread_mutex_unlock(&comm->lock);
}

static void op_text(char text[DT_NCCL_OP_TEXT_MAX], const char *name, uint64_t number)
{
    snprintf(text, DT_NCCL_OP_TEXT_MAX, "%s #%llu", name, (unsigned long long)number);
}

/* With comm->calls. */
static int enqueue(struct dt_nccl_comm *comm, const struct dt_operation *operation,
                   struct dt_nccl_stream *stream, struct dtrain_error *err)
{
    bool is_transfer = operation->kind == DT_TRANSFER;
    struct dt_deadline deadline = dt_deadline_after_ms(comm->nccl->env.timeout_ms);
    const char *name = dt_operation_name(operation);
    char text[DT_NCCL_OP_TEXT_MAX];
    uint64_t number = is_transfer ? comm->transfers + 1 : comm->collectives + 1;
    ncclResult_t result;

    op_text(text, name, number);
    if (dt_nccl_comm_look(comm, text, err) != 0)
        return -1;
    comm->transfers += is_transfer;
    comm->collectives += !is_transfer;
    remember(comm, name, number, stream);
    result = start(comm, operation, stream->handle);
    if (dt_nccl_batch_is_open() && (result == ncclSuccess || result == ncclInProgress))
        return dt_nccl_batch_add(comm, err);
    return dt_nccl_comm_settle(comm, result, text, &deadline, err);
}

int dt_nccl_op_enqueue(struct dt_nccl_comm *comm, const struct dt_operation *operation,
                       struct dt_nccl_stream *stream, struct dtrain_error *err)
{
    int rc;

    if (dt_nccl_device_use(comm->nccl, err) != 0)
        return -1;
    pthread_mutex_lock(&comm->calls);
    rc = enqueue(comm, operation, stream, err);
    pthread_mutex_unlock(&comm->calls);
    /* The other members see that it is gone, and need not wait for their deadlines. */
    if (rc != 0 && dt_nccl_comm_check(comm, NULL) != 0)
        dt_nccl_comms_abort(comm->nccl, &comm, 1);
    return rc;
}

static bool has_bit(const struct dt_nccl_comm *comm, const struct dt_nccl_stream *stream)
{
    return (comm->last.streams >> stream->slot & 1) != 0;
}

bool dt_nccl_op_is_on(struct dt_nccl_comm *comm, const struct dt_nccl_stream *stream,
                      char text[DT_NCCL_OP_TEXT_MAX])
{
    bool is_on;

    pthread_mutex_lock(&comm->lock);
    is_on = has_bit(comm, stream);
    if (is_on)
        op_text(text, comm->last.name, comm->last.number);
    pthread_mutex_unlock(&comm->lock);
    return is_on;
}

void dt_nccl_op_forget(struct dt_nccl_comm *comm, const struct dt_nccl_stream *stream)
{
    pthread_mutex_lock(&comm->lock);
    comm->last.streams &= ~(UINT64_C(1) << stream->slot);
    pthread_mutex_unlock(&comm->lock);
}

void dt_nccl_op_follow(struct dt_nccl_comm *comm, const struct dt_nccl_stream *stream,
                       const struct dt_nccl_stream *other)
{
    pthread_mutex_lock(&comm->lock);
    if (has_bit(comm, other))
        comm->last.streams |= UINT64_C(1) << stream->slot;
    pthread_mutex_unlock(&comm->lock);
}
