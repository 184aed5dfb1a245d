/*
 * fake_group.h - what a group holds until its end. Management calls are jobs,
 * each on a thread of its own; operations are batches, one for each
 * communicator. A call outside a group is a group of one.
 */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_GROUP_H
#define DT_TESTS_FAKE_NCCL_FAKE_GROUP_H

#include "fake_comm.h"

struct fake_batch; /* fake_op.h */

struct fake_job {
    struct fake_job *next;
    const char *function;
    ncclResult_t (*run)(struct fake_job *job);
    void (*undo)(struct fake_job *job); /* the group failed; NULL: nothing to do */
    ncclComm_t comm;  /* whose state shows the progress; a child's parent */
    ncclComm_t child; /* that is made; NULL: comm itself, or none */
    ncclComm_t *out;  /* where the child goes at the end; of an init: the caller's handle */
    bool is_end;      /* a release: never in progress, runs on the caller's thread */
    bool is_split;
    struct fake_fault fault;
    struct fake_cancel cancel; /* for run() */
    struct fake_meeting meeting;
    struct fake_member card;
    int color, flags;          /* of a split, of a shrink */
    void *data;                /* run()'s own, freed with the job */
    pthread_t thread;
    ncclResult_t result;
};

struct fake_job *fake_job_new(const char *function, ncclComm_t comm, ncclResult_t (*run)(struct fake_job *));
/* A device's and host's part of a card. */
struct fake_member fake_job_card(int rank);

/* Opens and closes a group around one call. */
void fake_group_open(void);
ncclResult_t fake_group_close(void);
/* Keeps the first error of the group that is open on this thread. */
void fake_group_note(ncclResult_t result);
bool fake_group_has_split(ncclComm_t parent);

/* To the group that is open on this thread. */
void fake_group_add_job(struct fake_job *job);
/* The batch of a communicator; made when it is the first. */
struct fake_batch *fake_group_batch(ncclComm_t comm);

#endif
