/*
 * fake_coll.c - collectives in rounds between all members. A reduction is
 * made once for each block, by the rank that the block belongs to, in the
 * order of ranks, so that all ranks get the same bits.
 */
#include <stdlib.h>

#include "fake_op.h"

struct coll {
    ncclComm_t comm;
    const struct fake_op *op;
    size_t size; /* of an element */
    int n, own;
    struct fake_piece *out, *in; /* n each */
    char *scratch;               /* what came from each rank */
};

/* Element at which block i of n begins. */
static size_t edge(const struct coll *coll, int i)
{
    return coll->op->count / (size_t)coll->n * (size_t)i +
           coll->op->count % (size_t)coll->n * (size_t)i / (size_t)coll->n;
}

static char *sent(const struct coll *coll, size_t element)
{
    return (char *)(uintptr_t)coll->op->send + element * coll->size;
}

static char *received(const struct coll *coll, size_t element)
{
    return (char *)coll->op->recv + element * coll->size;
}

static enum fake_moved run_round(const struct coll *coll)
{
    return fake_mesh_round(coll->comm, coll->out, coll->in, fake_kind_name(coll->op->kind));
}

/* All ranks' pieces of `count` elements come to the scratch, and are reduced. */
static enum fake_moved reduce_round(struct coll *coll, size_t count, void *result)
{
    size_t bytes = count * coll->size;
    void **inputs = malloc(sizeof(*inputs) * (size_t)coll->n);
    enum fake_moved moved;

    coll->scratch = malloc(bytes * (size_t)coll->n + 1);
    if (inputs == NULL || coll->scratch == NULL)
        abort();
    for (int i = 0; i < coll->n; i++) {
        inputs[i] = coll->scratch + (size_t)i * bytes;
        coll->in[i] = (struct fake_piece){inputs[i], bytes};
    }
    moved = run_round(coll);
    if (moved == FAKE_MOVED)
        fake_reduce(result, inputs, coll->n, count, coll->op->type, coll->op->op);
    free(inputs);
    free(coll->scratch);
    return moved;
}

static enum fake_moved all_reduce(struct coll *coll)
{
    size_t own = edge(coll, coll->own), count = edge(coll, coll->own + 1) - own;
    enum fake_moved moved;
    char *block = malloc(count * coll->size + 1);

    if (block == NULL)
        abort();
    for (int i = 0; i < coll->n; i++)
        coll->out[i] =
            (struct fake_piece){sent(coll, edge(coll, i)), (edge(coll, i + 1) - edge(coll, i)) * coll->size};
    moved = reduce_round(coll, count, block);
    for (int i = 0; i < coll->n; i++) {
        coll->out[i] = (struct fake_piece){block, count * coll->size};
        coll->in[i] = (struct fake_piece){received(coll, edge(coll, i)),
                                          (edge(coll, i + 1) - edge(coll, i)) * coll->size};
    }
    if (moved == FAKE_MOVED)
        moved = run_round(coll);
    free(block);
    return moved;
}

static enum fake_moved reduce_scatter(struct coll *coll)
{
    size_t bytes = coll->op->count * coll->size;

    for (int i = 0; i < coll->n; i++)
        coll->out[i] = (struct fake_piece){sent(coll, (size_t)i * coll->op->count), bytes};
    return reduce_round(coll, coll->op->count, coll->op->recv);
}

static enum fake_moved reduce(struct coll *coll)
{
    size_t bytes = coll->op->count * coll->size;
    bool is_root = coll->own == coll->op->root;

    coll->out[coll->op->root] = (struct fake_piece){sent(coll, 0), bytes};
    return is_root ? reduce_round(coll, coll->op->count, coll->op->recv) : run_round(coll);
}

static enum fake_moved broadcast(struct coll *coll)
{
    size_t bytes = coll->op->count * coll->size;

    for (int i = 0; coll->own == coll->op->root && i < coll->n; i++)
        coll->out[i] = (struct fake_piece){sent(coll, 0), bytes};
    coll->in[coll->op->root] = (struct fake_piece){received(coll, 0), bytes};
    return run_round(coll);
}

/* Each rank's block goes to the ranks that gather; scattered, each gets its own. */
static enum fake_moved exchange(struct coll *coll)
{
    enum fake_kind kind = coll->op->kind;
    size_t count = coll->op->count, bytes = count * coll->size;
    bool is_root = coll->own == coll->op->root;

    for (int i = 0; i < coll->n; i++) {
        bool sends = kind == FAKE_GATHER ? i == coll->op->root : kind != FAKE_SCATTER || is_root;
        bool receives = kind == FAKE_SCATTER ? i == coll->op->root : kind != FAKE_GATHER || is_root;
        size_t from = kind == FAKE_ALL_TO_ALL || kind == FAKE_SCATTER ? (size_t)i * count : 0;
        size_t to = kind == FAKE_SCATTER ? 0 : (size_t)i * count;

        if (sends)
            coll->out[i] = (struct fake_piece){sent(coll, from), bytes};
        if (receives)
            coll->in[i] = (struct fake_piece){received(coll, to), bytes};
    }
    return run_round(coll);
}

static enum fake_moved move(struct coll *coll)
{
    switch (coll->op->kind) {
    case FAKE_ALL_REDUCE:
        return all_reduce(coll);
    case FAKE_REDUCE:
        return reduce(coll);
    case FAKE_REDUCE_SCATTER:
        return reduce_scatter(coll);
    case FAKE_BROADCAST:
        return broadcast(coll);
    default:
        return exchange(coll);
    }
}

enum fake_moved fake_coll_run(ncclComm_t comm, const struct fake_op *op)
{
    struct fake_desc desc = {.kind = (int)op->kind, .count = op->count, .type = (int)op->type,
                             .op = (int)op->op, .root = op->root, .index = op->index, .total = op->total};
    struct coll coll = {.comm = comm, .op = op, .size = fake_type_size(op->type), .n = comm->nranks,
                        .own = comm->rank};
    enum fake_moved moved = fake_mesh_agree(comm, &desc);

    if (moved != FAKE_MOVED || op->count == 0)
        return moved;
    coll.out = calloc((size_t)coll.n, sizeof(*coll.out));
    coll.in = calloc((size_t)coll.n, sizeof(*coll.in));
    if (coll.out == NULL || coll.in == NULL)
        abort();
    moved = move(&coll);
    free(coll.out);
    free(coll.in);
    return moved;
}
