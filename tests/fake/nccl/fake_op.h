/* fake_op.h - operations: what a call asked for, and the batch of one communicator's in a group. */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_OP_H
#define DT_TESTS_FAKE_NCCL_FAKE_OP_H

#include "fake_comm.h"
#include "fake_mesh.h"

enum fake_kind {
    FAKE_ALL_REDUCE,
    FAKE_REDUCE,
    FAKE_BROADCAST,
    FAKE_ALL_GATHER,
    FAKE_REDUCE_SCATTER,
    FAKE_ALL_TO_ALL,
    FAKE_GATHER,
    FAKE_SCATTER,
    FAKE_SEND,
    FAKE_RECV,
    FAKE_P2P, /* all sends and receives of a batch */
    FAKE_FINALIZE,
    FAKE_WINDOW,
    FAKE_KIND_COUNT,
};

const char *fake_kind_name(int kind); /* NCCL's function */

struct fake_op {
    enum fake_kind kind;
    const void *send;
    void *recv;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root; /* or the peer */
    cudaStream_t stream;
    int index, total; /* of the collectives in the batch */
};

struct fake_batch {
    struct fake_batch *next;
    ncclComm_t comm;
    struct fake_op *ops;
    int count;
    uint64_t ticket;
    struct fake_fault fault; /* of the first operation that has one */
};

struct fake_batch *fake_batch_new(ncclComm_t comm);
void fake_batch_drop(struct fake_batch *batch);
/* Queues it on its streams, and owns it from here on. was_pending: fake_batch_pend(1) came before. */
ncclResult_t fake_batch_launch(struct fake_batch *batch, bool was_pending);
void fake_batch_pend(const struct fake_batch *batch, int change);

size_t fake_type_size(ncclDataType_t type); /* 0: it is none */

/* One collective, its descriptors included (fake_coll.c). */
enum fake_moved fake_coll_run(ncclComm_t comm, const struct fake_op *op);
/* All sends and receives of a batch, at the same time (fake_p2p.c). */
enum fake_moved fake_p2p_run(const struct fake_batch *batch);

/*
 * out[i] = op over ranks, in their order, of inputs[rank][i] (fake_reduce.c).
 * Floating point is summed in single precision (float64 in its own) and
 * rounded once; the average multiplies by 1/ranks first, as NCCL's does.
 */
void fake_reduce(void *out, void *const *inputs, int ranks, size_t count, ncclDataType_t type,
                 ncclRedOp_t op);

#endif
