#include <stdlib.h>

#include "comm_call.h"
#include "runtime/type.h"

static int check_transfer(const struct dt_comm_call *call, const struct dtrain_transfer *transfer)
{
    if (dt_comm_check_count(call, transfer->count, transfer->type, 1) != 0 ||
        dt_comm_check_rank(call, "peer", transfer->peer) != 0)
        return -1;
    return dt_comm_check_buffer(call, "buf", transfer->buf, transfer->count, transfer->type);
}

static size_t transfer_bytes(const struct dtrain_transfer *transfer)
{
    return transfer->count * dtrain_type_size(transfer->type);
}

/* The first one from index i on that sends to, or receives from, the own rank; n: none. */
static size_t next_own(const struct dt_comm_call *call, const struct dtrain_transfer *transfers,
                       size_t n, size_t i, bool is_send)
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
static int copy_own(const struct dt_comm_call *call, const struct dtrain_transfer *transfers,
                    size_t n, bool is_check)
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
        if (!is_check && dt_comm_enqueue_copy(call, to->buf, from->buf, transfer_bytes(from)) != 0)
            return -1;
    }
    if (send < n || recv < n)
        return dt_error_set(call->err,
                            "dtrain_%s: peer %d is the own rank, and no %s in the same call matches: "
                            "give both to dtrain_transfer()",
                            call->function, call->comm->rank, send < n ? "receive" : "send");
    return 0;
}

static int enqueue_transfers(const struct dt_comm_call *call,
                             const struct dtrain_transfer *transfers, size_t n)
{
    struct dt_operation operation = {
        .kind = DT_TRANSFER, .transfers = transfers, .transfer_count = n};

    return n == 0 ? 0 : dt_comm_enqueue(call, &operation);
}

/* Without those of the own rank. */
static int enqueue_others(const struct dt_comm_call *call,
                          const struct dtrain_transfer *transfers, size_t n)
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

static int submit_transfers(const struct dt_comm_call *call,
                            const struct dtrain_transfer *transfers, size_t n)
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
    struct dt_comm_call call = {"transfer", comm, stream, err};

    if (dt_comm_check_handles(&call) != 0)
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
    struct dt_comm_call call = {"send", comm, stream, err};
    struct dtrain_transfer transfer = {true, peer, type, count, (void *)buf};

    return dt_comm_check_handles(&call) != 0 ? -1 : submit_transfers(&call, &transfer, 1);
}

int dtrain_recv(struct dtrain_comm *comm, void *buf, size_t count, enum dtrain_type type, int peer,
                struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct dt_comm_call call = {"recv", comm, stream, err};
    struct dtrain_transfer transfer = {false, peer, type, count, buf};

    return dt_comm_check_handles(&call) != 0 ? -1 : submit_transfers(&call, &transfer, 1);
}
