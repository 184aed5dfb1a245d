/*
 * fake_p2p.c - the sends and receives of a batch. Each pair agrees on what it
 * has in this group, then its data goes, without waiting for other pairs: a
 * receive alone starts no other one.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_op.h"

#define HEAD 2 /* pieces before the data: descriptor, list */

/* What one transfer is, as both sides see it. */
struct entry {
    uint64_t count;
    int32_t type;
    int32_t is_send;
};

struct pair {
    ncclComm_t comm;
    struct fake_desc own, other;
    struct entry *own_list, *other_list;
    struct fake_piece *out, *in;
};

static bool lists_agree(const struct pair *pair, int peer)
{
    int count = pair->own.sends + pair->own.recvs, send = 0, recv = 0;

    /* Sends first in both lists: the other side's sends are the own receives. */
    for (int i = 0; i < count; i++) {
        const struct entry *mine = &pair->own_list[i], *theirs;
        int at;

        if (mine->is_send)
            at = pair->own.recvs + send++; /* among the other's receives, after its sends */
        else
            at = recv++;
        theirs = &pair->other_list[at];
        if (mine->count == theirs->count && mine->type == theirs->type)
            continue;
        fake_break(ncclInvalidUsage,
                   "mismatch on %s: rank %d %s %llu of type %d %s rank %d, which %s %llu of type %d",
                   pair->comm->name, pair->comm->rank, mine->is_send ? "sends" : "receives",
                   (unsigned long long)mine->count, mine->type, mine->is_send ? "to" : "from", peer,
                   mine->is_send ? "receives" : "sends", (unsigned long long)theirs->count, theirs->type);
        return false;
    }
    return true;
}

static bool pair_check(struct fake_lane *lane, int piece)
{
    const struct pair *pair = lane->context;

    if (piece == 0)
        return fake_desc_agrees(pair->comm, lane->peer, &pair->own, &pair->other);
    return lists_agree(pair, lane->peer);
}

static void *allocate(size_t count, size_t size)
{
    void *new = calloc(count + 1, size);

    if (new == NULL)
        abort();
    return new;
}

static bool is_with(const struct fake_op *op, enum fake_kind kind, int peer)
{
    return op->kind == kind && op->root == peer;
}

/* Sends, then receives; their pieces behind the head. */
static void pair_fill(struct pair *pair, const struct fake_batch *batch, enum fake_kind kind, int peer,
                      int at)
{
    int piece = HEAD;

    for (int i = 0; i < batch->count; i++) {
        const struct fake_op *op = &batch->ops[i];

        if (!is_with(op, kind, peer))
            continue;
        pair->own_list[at++] = (struct entry){op->count, (int)op->type, kind == FAKE_SEND};
        if (kind == FAKE_SEND)
            pair->out[piece++] =
                (struct fake_piece){(void *)(uintptr_t)op->send, op->count * fake_type_size(op->type)};
        else
            pair->in[piece++] = (struct fake_piece){op->recv, op->count * fake_type_size(op->type)};
    }
}

static void pair_init(struct pair *pair, const struct fake_batch *batch, int peer)
{
    size_t all;

    pair->comm = batch->comm;
    pair->own.kind = FAKE_P2P;
    pair->own.magic = FAKE_DESC_MAGIC;
    for (int i = 0; i < batch->count; i++) {
        pair->own.sends += is_with(&batch->ops[i], FAKE_SEND, peer);
        pair->own.recvs += is_with(&batch->ops[i], FAKE_RECV, peer);
    }
    all = (size_t)(pair->own.sends + pair->own.recvs);
    pair->own_list = allocate(all, sizeof(struct entry));
    pair->other_list = allocate(all, sizeof(struct entry));
    pair->out = allocate((size_t)pair->own.sends + HEAD, sizeof(struct fake_piece));
    pair->in = allocate((size_t)pair->own.recvs + HEAD, sizeof(struct fake_piece));
    pair->out[0] = (struct fake_piece){&pair->own, sizeof(pair->own)};
    pair->out[1] = (struct fake_piece){pair->own_list, all * sizeof(struct entry)};
    pair->in[0] = (struct fake_piece){&pair->other, sizeof(pair->other)};
    pair->in[1] = (struct fake_piece){pair->other_list, all * sizeof(struct entry)};
    pair_fill(pair, batch, FAKE_SEND, peer, 0);
    pair_fill(pair, batch, FAKE_RECV, peer, pair->own.sends);
}

static void pair_free(struct pair *pair)
{
    free(pair->own_list);
    free(pair->other_list);
    free(pair->out);
    free(pair->in);
}

/* To the own rank: the group has to hold both sides. */
static bool copy_to_self(struct pair *self)
{
    int peer = self->comm->rank;

    self->other = self->own;
    if (self->own.sends != self->own.recvs) {
        fake_break(ncclInvalidUsage, "rank %d of %s has %d sends and %d receives with itself in one group",
                   peer, self->comm->name, self->own.sends, self->own.recvs);
        return false;
    }
    memcpy(self->other_list, self->own_list, sizeof(struct entry) * (size_t)(2 * self->own.sends));
    if (!lists_agree(self, peer))
        return false;
    for (int i = HEAD; i < HEAD + self->own.sends; i++)
        memmove(self->in[i].data, self->out[i].data, self->in[i].size);
    return true;
}

enum fake_moved fake_p2p_run(const struct fake_batch *batch)
{
    int n = batch->comm->nranks, count = 0;
    struct pair *pairs = allocate((size_t)n, sizeof(*pairs));
    struct fake_lane *lanes = allocate((size_t)n, sizeof(*lanes));
    enum fake_moved moved = FAKE_MOVED;

    for (int peer = 0; peer < n; peer++) {
        struct pair *pair = &pairs[peer];

        pair_init(pair, batch, peer);
        if (peer == batch->comm->rank && !copy_to_self(pair))
            moved = FAKE_MISMATCH;
        if (peer == batch->comm->rank || pair->own.sends + pair->own.recvs == 0)
            continue;
        lanes[count++] = (struct fake_lane){
            .peer = peer, .out = pair->out, .in = pair->in, .out_count = HEAD + pair->own.sends,
            .in_count = HEAD + pair->own.recvs, .gate = HEAD, .out_open = HEAD, .check = pair_check,
            .context = pair};
    }
    if (moved == FAKE_MOVED)
        moved = fake_mesh_exchange(batch->comm, lanes, count, fake_kind_name(FAKE_P2P));
    for (int peer = 0; peer < n; peer++)
        pair_free(&pairs[peer]);
    free(pairs);
    free(lanes);
    return moved;
}
