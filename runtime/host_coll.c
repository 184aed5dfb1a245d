#include "host_coll.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/host_exchange.h"

#define TREE_CHILDREN_MAX 32 /* of a binomial tree over the ranks that an int can count */

void dt_host_copy(void *to, const void *from, size_t bytes)
{
    if (to != from && bytes > 0)
        memcpy(to, from, bytes);
}

int dt_host_ring(const struct dt_host_comm *comm, int distance)
{
    int64_t rank = ((int64_t)comm->rank + distance) % comm->size;

    return (int)(rank < 0 ? rank + comm->size : rank);
}

static size_t block_bytes(const struct dt_operation *operation)
{
    return operation->count * dtrain_type_size(operation->type);
}

/* Segments of a block; an empty block has one, so that its ranks still meet. */
static size_t segment_count(size_t bytes)
{
    return bytes == 0 ? 1 : (bytes - 1) / DT_HOST_SEGMENT_BYTES + 1;
}

static size_t segment_bytes(size_t bytes, size_t i)
{
    size_t left = bytes - i * DT_HOST_SEGMENT_BYTES;

    return left < DT_HOST_SEGMENT_BYTES ? left : DT_HOST_SEGMENT_BYTES;
}

/* Step s passes on the block that came in step s - 1. */
static int all_gather(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    const struct dt_host_comm *comm = call->comm;
    size_t bytes = block_bytes(operation);
    char *blocks = operation->recv;
    struct dt_host_message messages[2];

    dt_host_copy(blocks + (size_t)comm->rank * bytes, operation->send, bytes);
    for (int s = 0; s < comm->size - 1; s++) {
        size_t out = (size_t)dt_host_ring(comm, -s), in = (size_t)dt_host_ring(comm, -s - 1);

        dt_host_message_send(&messages[0], call, dt_host_ring(comm, 1), blocks + out * bytes, bytes);
        dt_host_message_receive(&messages[1], call, dt_host_ring(comm, -1), blocks + in * bytes, bytes);
        if (dt_host_exchange(call, messages, 2, err) != 0)
            return -1;
    }
    return 0;
}

/*
 * Ranks are numbered from the root. The parent of one is the number without its
 * lowest bit, its children have one more bit below that.
 */
struct tree {
    int parent; /* -1: the root */
    int children[TREE_CHILDREN_MAX];
    int child_count;
};

static void tree_init(struct tree *tree, const struct dt_host_comm *comm, int root)
{
    int64_t size = comm->size;
    int64_t from_root = (comm->rank - root + size) % size;
    int64_t bit = 1;

    for (; bit < size && (from_root & bit) == 0; bit <<= 1)
        ;
    tree->parent = from_root == 0 ? -1 : (int)(((from_root ^ bit) + root) % size);
    tree->child_count = 0;
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (from_root + bit < size)
            tree->children[tree->child_count++] = (int)((from_root + bit + root) % size);
    }
}

/* A segment is passed on while the next one arrives. */
static int broadcast(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    size_t bytes = block_bytes(operation);
    size_t segments = segment_count(bytes);
    char *buf = operation->recv;
    struct dt_host_message messages[1 + TREE_CHILDREN_MAX];
    struct tree tree;

    tree_init(&tree, call->comm, operation->root);
    for (size_t i = 0; i <= segments; i++) {
        size_t n = 0;

        if (i < segments && tree.parent >= 0)
            dt_host_message_receive(&messages[n++], call, tree.parent,
                                    buf + i * DT_HOST_SEGMENT_BYTES, segment_bytes(bytes, i));
        for (int child = 0; i > 0 && child < tree.child_count; child++)
            dt_host_message_send(&messages[n++], call, tree.children[child],
                                 buf + (i - 1) * DT_HOST_SEGMENT_BYTES, segment_bytes(bytes, i - 1));
        if (dt_host_exchange(call, messages, n, err) != 0)
            return -1;
    }
    return 0;
}

/* Both blocks of a pair, in segments: in place, the one to send is saved before the other arrives. */
static int swap_blocks(struct dt_host_call *call, int peer, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    size_t bytes = block_bytes(operation);
    const char *send = (const char *)operation->send + (size_t)peer * bytes;
    char *recv = (char *)operation->recv + (size_t)peer * bytes;
    bool is_in_place = send == recv;
    char *saved = is_in_place ? dt_host_comm_scratch(call->comm, DT_HOST_SEGMENT_BYTES, err) : NULL;
    struct dt_host_message messages[2];

    if (is_in_place && saved == NULL)
        return -1;
    for (size_t i = 0; i < segment_count(bytes); i++) {
        size_t at = i * DT_HOST_SEGMENT_BYTES, length = segment_bytes(bytes, i);

        if (is_in_place)
            memcpy(saved, send + at, length);
        dt_host_message_send(&messages[0], call, peer, is_in_place ? saved : send + at, length);
        dt_host_message_receive(&messages[1], call, peer, recv + at, length);
        if (dt_host_exchange(call, messages, 2, err) != 0)
            return -1;
    }
    return 0;
}

/* In round i those ranks meet whose sum is i: every pair does so once. */
static int all_to_all(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    const struct dt_host_comm *comm = call->comm;
    size_t bytes = block_bytes(operation);
    size_t own = (size_t)comm->rank * bytes;

    dt_host_copy((char *)operation->recv + own, (const char *)operation->send + own, bytes);
    for (int i = 0; i < comm->size; i++) {
        int peer = (i - comm->rank + comm->size) % comm->size;

        if (peer != comm->rank && swap_blocks(call, peer, err) != 0)
            return -1;
    }
    return 0;
}

static int transfer(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_operation *operation = call->operation;
    size_t n = operation->transfer_count;
    struct dt_host_message *messages = calloc(n, sizeof(*messages));
    int rc;

    if (messages == NULL)
        return dt_error_memory(err, n * sizeof(*messages), "transfers");
    for (size_t i = 0; i < n; i++)
        dt_host_message_transfer(&messages[i], call->comm, &operation->transfers[i]);
    rc = dt_host_exchange(call, messages, n, err);
    free(messages);
    return rc;
}

/* After step i a rank has heard, directly or not, of the 2^(i+1) - 1 ranks in front of it. */
static int barrier(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_host_comm *comm = call->comm;
    struct dt_host_message messages[2];

    for (int64_t distance = 1; distance < comm->size; distance <<= 1) {
        dt_host_message_send(&messages[0], call, dt_host_ring(comm, (int)distance), NULL, 0);
        dt_host_message_receive(&messages[1], call, dt_host_ring(comm, (int)-distance), NULL, 0);
        if (dt_host_exchange(call, messages, 2, err) != 0)
            return -1;
    }
    return 0;
}

static int (*const algorithms[])(struct dt_host_call *call, struct dtrain_error *err) = {
    [DT_ALL_REDUCE] = dt_host_all_reduce,
    [DT_ALL_GATHER] = all_gather,
    [DT_REDUCE_SCATTER] = dt_host_reduce_scatter,
    [DT_BROADCAST] = broadcast,
    [DT_ALL_TO_ALL] = all_to_all,
    [DT_TRANSFER] = transfer,
    [DT_BARRIER] = barrier,
};

int dt_host_coll_run(struct dt_host_call *call, struct dtrain_error *err)
{
    return algorithms[call->operation->kind](call, err);
}
