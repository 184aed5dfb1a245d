/*
 * fake_id.h - how ranks find each other. Each process that took part in
 * anything listens at one address. A meeting has a key: a unique id, or what
 * a parent's members derive for a child. Its ranks send their card to the
 * process that holds it, which checks them and sends all cards to all.
 */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_ID_H
#define DT_TESTS_FAKE_NCCL_FAKE_ID_H

#include <nccl.h>

#include "fake_net.h"

#define FAKE_TEXT_MAX 320

struct fake_key {
    uint64_t a, b;
};

/* A rank's card. */
struct fake_member {
    int32_t rank;
    int32_t device; /* physical, on its host */
    uint64_t host;
    int32_t color, order; /* of a split */
    struct fake_addr addr;
};

/* What a rank tells of the communicator that it makes. */
struct fake_meeting {
    struct fake_key key;   /* where its card goes */
    struct fake_addr addr; /* whose process holds that */
    struct fake_key main_key;
    struct fake_addr main_addr; /* the first id's, for those that hold the others */
    int32_t nranks;        /* that must come to the whole meeting */
    int32_t expected;      /* cards at this key, those handed on included */
    uint64_t check;        /* a hash of what must be equal on all ranks */
    int32_t is_id;         /* the key is of a unique id */
};

/* This process's address; starts to listen at the first call. -1: no interface. */
int fake_id_own(struct fake_addr *own);
uint64_t fake_id_host(void); /* NCCL_HOSTID, or a hash of the host's name */

/* Fills the meeting and its segment's expectation from NCCL's ids. */
void fake_id_meeting(struct fake_meeting *meeting, const ncclUniqueId *ids, int nids, int rank, int nranks);
bool fake_id_is_one(const ncclUniqueId *id);

/*
 * Sends the card and waits for all of them, in the order of ranks, which the
 * caller frees. Otherwise NCCL's result, with the reason.
 */
ncclResult_t fake_id_meet(const struct fake_meeting *meeting, const struct fake_member *card,
                          const struct fake_cancel *cancel, struct fake_member **members,
                          char why[FAKE_TEXT_MAX]);

/* A connection to a member of a meeting that ended, for its data. -1: cancelled. */
int fake_id_link(struct fake_key key, int own_rank, const struct fake_member *peer,
                 const struct fake_cancel *cancel);

/* Mixes a number into a key. */
struct fake_key fake_key_child(struct fake_key key, uint64_t number);
uint64_t fake_hash(uint64_t hash, const void *data, size_t size);

#endif
