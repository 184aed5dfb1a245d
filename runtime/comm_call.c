#include "comm_call.h"

#include "runtime/type.h"

int dt_comm_check_handles(const struct dt_comm_call *call)
{
    if (call->comm == NULL)
        return dt_error_set(call->err, "dtrain_%s: comm is NULL: take one from dtrain_comm_get()",
                            call->function);
    if (call->stream == NULL)
        return dt_error_set(call->err,
                            "dtrain_%s: stream is NULL: create one with dtrain_stream_create()",
                            call->function);
    if (atomic_load(&call->comm->has_ended))
        return dt_error_set(call->err, "dtrain_%s: %s", call->function, call->comm->end.text);
    if (call->stream->backend != call->comm->backend)
        return dt_error_set(call->err,
                            "dtrain_%s: the stream is of backend %s, the communicator of backend %s: "
                            "use a stream of the same world",
                            call->function, call->stream->backend->name, call->comm->backend->name);
    return 0;
}

int dt_comm_check_count(const struct dt_comm_call *call, size_t count, enum dtrain_type type,
                        int blocks)
{
    size_t element = dtrain_type_size(type);

    if (element == 0)
        return dt_error_set(call->err, "dtrain_%s: type %d is not known: use a value of enum dtrain_type",
                            call->function, (int)type);
    if (count > PTRDIFF_MAX / element / (size_t)blocks)
        return dt_error_set(call->err,
                            "dtrain_%s: count %zu of %s in %d blocks is more than memory can hold",
                            call->function, count, dt_type_name(type), blocks);
    return 0;
}

int dt_comm_check_op(const struct dt_comm_call *call, enum dtrain_op op)
{
    if (dt_op_is_valid(op))
        return 0;
    return dt_error_set(call->err, "dtrain_%s: op %d is not known: use a value of enum dtrain_op",
                        call->function, (int)op);
}

int dt_comm_check_rank(const struct dt_comm_call *call, const char *name, int rank)
{
    if (rank >= 0 && rank < call->comm->size)
        return 0;
    return dt_error_set(call->err, "dtrain_%s: %s is %d: the group has ranks 0 to %d", call->function,
                        name, rank, call->comm->size - 1);
}

int dt_comm_check_buffer(const struct dt_comm_call *call, const char *name, const void *buf,
                         size_t count, enum dtrain_type type)
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

/* block: its bytes. The shorter buffer may be the own block of the longer one. */
static bool is_in_place(const struct dt_comm_call *call, const struct dt_comm_buffers *buffers,
                        size_t block)
{
    uintptr_t send = (uintptr_t)buffers->send, recv = (uintptr_t)buffers->recv;
    size_t own = (size_t)call->comm->rank * block;

    if (buffers->send_blocks < buffers->recv_blocks)
        recv += own;
    else if (buffers->send_blocks > buffers->recv_blocks)
        send += own;
    return send == recv;
}

int dt_comm_check_buffers(const struct dt_comm_call *call, const struct dt_comm_buffers *buffers)
{
    size_t block = buffers->count * dtrain_type_size(buffers->type);
    uintptr_t send = (uintptr_t)buffers->send, recv = (uintptr_t)buffers->recv;

    if (dt_comm_check_buffer(call, "send", buffers->send, buffers->count, buffers->type) != 0 ||
        dt_comm_check_buffer(call, "recv", buffers->recv, buffers->count, buffers->type) != 0)
        return -1;
    if (block == 0 || is_in_place(call, buffers, block) ||
        recv >= send + block * (size_t)buffers->send_blocks ||
        send >= recv + block * (size_t)buffers->recv_blocks)
        return 0;
    return dt_error_set(call->err,
                        "dtrain_%s: send (%p) and recv (%p) overlap in a way that is not in place",
                        call->function, buffers->send, buffers->recv);
}

int dt_comm_enqueue(const struct dt_comm_call *call, const struct dt_operation *operation)
{
    return call->comm->backend->enqueue(call->comm->state, operation, call->stream->state, call->err);
}

int dt_comm_enqueue_copy(const struct dt_comm_call *call, void *to, const void *from, size_t bytes)
{
    if (bytes == 0 || to == from)
        return 0;
    return call->comm->backend->enqueue_copy(to, from, bytes, call->stream->state, call->err);
}
