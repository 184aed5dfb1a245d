/*
 * fake_mesh.h - moving bytes between the members of one communicator: each
 * pair has one connection, and what both put on it has one order. A lane is
 * what one use of it sends to and receives from one peer.
 */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_MESH_H
#define DT_TESTS_FAKE_NCCL_FAKE_MESH_H

#include "fake_comm.h"

struct fake_piece {
    void *data; /* read only when sent */
    size_t size;
};

struct fake_lane {
    int peer;
    struct fake_piece *out, *in;
    int out_count, in_count;
    /* check() sees the first `gate` pieces that come; pieces from out_open on go only after that. */
    int gate, out_open;
    bool (*check)(struct fake_lane *lane, int piece); /* false: it does not match */
    void *context;
    /* Of the exchange itself. */
    int out_at, in_at;
    size_t out_done, in_done;
    bool is_lost;
};

enum fake_moved { FAKE_MOVED, FAKE_STOPPED, FAKE_LOST, FAKE_MISMATCH };

/* Runs all lanes at the same time until all are through. what: for the report of a hang. */
enum fake_moved fake_mesh_exchange(ncclComm_t comm, struct fake_lane *lanes, int count, const char *what);

#define FAKE_DESC_MAGIC 0x64657363u

/* What a rank is about to do; exchanged before any data. */
struct fake_desc {
    uint32_t magic;
    int32_t kind; /* enum fake_kind */
    uint64_t count;
    int32_t type, op, root;
    int32_t index, total; /* of the collectives in its group */
    int32_t sends, recvs; /* of FAKE_P2P: with this peer */
};

/* Exchanges descriptors with all members; a difference is a violation that names both. */
enum fake_moved fake_mesh_agree(ncclComm_t comm, const struct fake_desc *own);
/* Whether a peer's words agree with the own ones; otherwise the violation. */
bool fake_desc_agrees(ncclComm_t comm, int peer, const struct fake_desc *own, const struct fake_desc *other);
/* One piece to and from every member; [own rank] is copied. sizes may be 0. */
enum fake_moved fake_mesh_round(ncclComm_t comm, struct fake_piece *out, struct fake_piece *in,
                                const char *what);

#endif
