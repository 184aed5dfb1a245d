#include <string.h>

#include "host_coll.h"
#include "runtime/host_exchange.h"
#include "runtime/host_reduce.h"

/* ---- all_reduce by recursive doubling ----------------------------------- */

/*
 * A power of two of the ranks doubles. The others, at most as many, are folded
 * in: of the first pairs of ranks the even one hands its values to the odd one
 * and gets the result back.
 */
struct doubling {
    int pairs;  /* folded */
    int size;   /* ranks that double */
    int number; /* of this rank among them; -1: folded in */
};

static void doubling_init(struct doubling *doubling, const struct dt_host_comm *comm)
{
    int size = 1;

    while (size <= comm->size / 2)
        size *= 2;
    doubling->size = size;
    doubling->pairs = comm->size - size;
    if (comm->rank >= 2 * doubling->pairs)
        doubling->number = comm->rank - doubling->pairs;
    else
        doubling->number = comm->rank % 2 == 1 ? comm->rank / 2 : -1;
}

static int doubling_rank(const struct doubling *doubling, int number)
{
    return number < doubling->pairs ? 2 * number + 1 : number + doubling->pairs;
}

static int fold_in(struct dt_host_call *call, size_t bytes, struct dtrain_error *err)
{
    const struct dt_host_comm *comm = call->comm;
    void *values = call->operation->recv;
    struct dt_host_message message;

    if (comm->rank % 2 == 0)
        dt_host_message_send(&message, call, comm->rank + 1, values, bytes);
    else
        dt_host_message_reduce(&message, call, comm->rank - 1, values, values, bytes);
    return dt_host_exchange(call, &message, 1, err);
}

static int fold_out(struct dt_host_call *call, size_t bytes, struct dtrain_error *err)
{
    const struct dt_host_comm *comm = call->comm;
    void *values = call->operation->recv;
    struct dt_host_message message;

    if (comm->rank % 2 == 0)
        dt_host_message_receive(&message, call, comm->rank + 1, values, bytes);
    else
        dt_host_message_send(&message, call, comm->rank - 1, values, bytes);
    return dt_host_exchange(call, &message, 1, err);
}

/* Both sides of a pair put the lower one's values first and so get the same bits. */
static int double_once(struct dt_host_call *call, const struct doubling *doubling, int distance,
                       size_t bytes, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    char *theirs = dt_host_comm_scratch(call->comm, DT_HOST_SMALL_BYTES, err);
    int partner = doubling->number ^ distance;
    int peer = doubling_rank(doubling, partner);
    bool is_lower = doubling->number < partner;
    void *values = operation->recv;
    struct dt_host_message messages[2];

    if (theirs == NULL)
        return -1;
    dt_host_message_send(&messages[0], call, peer, values, bytes);
    dt_host_message_receive(&messages[1], call, peer, theirs, bytes);
    if (dt_host_exchange(call, messages, 2, err) != 0)
        return -1;
    dt_host_reduce(values, is_lower ? values : theirs, is_lower ? theirs : values, operation->count,
                   operation->type, operation->op);
    return 0;
}

static int all_reduce_small(struct dt_host_call *call, size_t bytes, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    struct dt_host_comm *comm = call->comm;
    struct doubling doubling;
    bool is_folded;

    doubling_init(&doubling, comm);
    is_folded = comm->rank < 2 * doubling.pairs;
    dt_host_copy(operation->recv, operation->send, bytes);
    if (is_folded && fold_in(call, bytes, err) != 0)
        return -1;
    for (int distance = 1; doubling.number >= 0 && distance < doubling.size; distance *= 2) {
        if (double_once(call, &doubling, distance, bytes, err) != 0)
            return -1;
    }
    if (is_folded && fold_out(call, bytes, err) != 0)
        return -1;
    if (operation->op == DTRAIN_AVG)
        dt_host_divide(operation->recv, operation->count, operation->type, comm->size);
    return 0;
}

/* ---- all_reduce by a ring ----------------------------------------------- */

/* Element at which chunk i of the size nearly equal ones begins. */
static size_t chunk_first(size_t count, int size, int i)
{
    size_t extra = count % (size_t)size;

    return count / (size_t)size * (size_t)i + ((size_t)i < extra ? (size_t)i : extra);
}

struct chunk {
    size_t at, bytes;
};

static struct chunk chunk_of(const struct dt_host_call *call, int i)
{
    const struct dt_operation *operation = call->operation;
    size_t element = dtrain_type_size(operation->type);
    size_t first = chunk_first(operation->count, call->comm->size, i);
    size_t end = chunk_first(operation->count, call->comm->size, i + 1);

    return (struct chunk){.at = first * element, .bytes = (end - first) * element};
}

/* Chunk r travels from rank r + 1 around the ring to r and takes up every rank's values. */
static int ring_reduce(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    const struct dt_host_comm *comm = call->comm;
    struct dt_host_message messages[2];

    for (int s = 0; s < comm->size - 1; s++) {
        struct chunk out = chunk_of(call, dt_host_ring(comm, -s - 1));
        struct chunk in = chunk_of(call, dt_host_ring(comm, -s - 2));
        const char *from = s == 0 ? operation->send : operation->recv;

        dt_host_message_send(&messages[0], call, dt_host_ring(comm, 1), from + out.at, out.bytes);
        dt_host_message_reduce(&messages[1], call, dt_host_ring(comm, -1),
                               (char *)operation->recv + in.at,
                               (const char *)operation->send + in.at, in.bytes);
        if (dt_host_exchange(call, messages, 2, err) != 0)
            return -1;
    }
    return 0;
}

static int ring_gather(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_host_comm *comm = call->comm;
    char *values = call->operation->recv;
    struct dt_host_message messages[2];

    for (int s = 0; s < comm->size - 1; s++) {
        struct chunk out = chunk_of(call, dt_host_ring(comm, -s));
        struct chunk in = chunk_of(call, dt_host_ring(comm, -s - 1));

        dt_host_message_send(&messages[0], call, dt_host_ring(comm, 1), values + out.at, out.bytes);
        dt_host_message_receive(&messages[1], call, dt_host_ring(comm, -1), values + in.at, in.bytes);
        if (dt_host_exchange(call, messages, 2, err) != 0)
            return -1;
    }
    return 0;
}

int dt_host_all_reduce(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    size_t element = dtrain_type_size(operation->type);
    struct chunk own = chunk_of(call, call->comm->rank);

    if (operation->count * element <= DT_HOST_SMALL_BYTES)
        return all_reduce_small(call, operation->count * element, err);
    if (ring_reduce(call, err) != 0)
        return -1;
    if (operation->op == DTRAIN_AVG)
        dt_host_divide((char *)operation->recv + own.at, own.bytes / element, operation->type,
                       call->comm->size);
    return ring_gather(call, err);
}

/* ---- reduce_scatter ----------------------------------------------------- */

/*
 * The same ring for one segment of every block. What is not yet whole lives in
 * two scratch segments in turn: one is sent while the other fills.
 */
static int scatter_segment(struct dt_host_call *call, size_t at, size_t length, char *scratch,
                           struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    const struct dt_host_comm *comm = call->comm;
    size_t block = operation->count * dtrain_type_size(operation->type);
    const char *send = (const char *)operation->send + at;
    const char *from = send + (size_t)dt_host_ring(comm, -1) * block;
    struct dt_host_message messages[2];

    for (int s = 0; s < comm->size - 1; s++) {
        bool is_last = s == comm->size - 2;
        char *to = is_last ? (char *)operation->recv + at
                           : scratch + (size_t)(s % 2) * DT_HOST_SEGMENT_BYTES;

        dt_host_message_send(&messages[0], call, dt_host_ring(comm, 1), from, length);
        dt_host_message_reduce(&messages[1], call, dt_host_ring(comm, -1), to,
                               send + (size_t)dt_host_ring(comm, -s - 2) * block, length);
        if (dt_host_exchange(call, messages, 2, err) != 0)
            return -1;
        from = to;
    }
    return 0;
}

int dt_host_reduce_scatter(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    size_t bytes = operation->count * dtrain_type_size(operation->type);
    char *scratch = dt_host_comm_scratch(call->comm, 2 * DT_HOST_SEGMENT_BYTES, err);
    size_t at = 0;

    if (scratch == NULL)
        return -1;
    do {
        size_t left = bytes - at;
        size_t length = left < DT_HOST_SEGMENT_BYTES ? left : DT_HOST_SEGMENT_BYTES;

        if (scatter_segment(call, at, length, scratch, err) != 0)
            return -1;
        at += length;
    } while (at < bytes);
    if (operation->op == DTRAIN_AVG)
        dt_host_divide(operation->recv, operation->count, operation->type, call->comm->size);
    return 0;
}
