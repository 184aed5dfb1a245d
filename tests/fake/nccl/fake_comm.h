/*
 * fake_comm.h - a communicator of the double of libnccl, and what every
 * function asks before it touches one. Handles are kept for the life of the
 * process, so that the use of a destroyed one is recognised.
 */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_COMM_H
#define DT_TESTS_FAKE_NCCL_FAKE_COMM_H

#include <pthread.h>

#include "fake.h"
#include "fake_id.h"
#include "fake_nccl.h"

#define FAKE_NAME_MAX 128
#define FAKE_INIT_MS 30000
#define FAKE_HANG_MS 30000
#define FAKE_PROGRESS_US 2000

enum fake_life { FAKE_MAKING, FAKE_READY, FAKE_FINALIZED, FAKE_REVOKED, FAKE_GONE };

struct ncclComm {
    ncclComm_t next;    /* of all that were made */
    _Atomic int state;  /* ncclResult_t: what ncclCommGetAsyncError() says */
    _Atomic int life;   /* enum fake_life */
    _Atomic bool abort; /* everything ends */
    _Atomic bool stop;  /* the operations end: revoked, or shrunk with an abort */
    _Atomic bool must_abort; /* shrunk with an abort: not to be destroyed otherwise */
    struct fake_key key;
    int rank, nranks, device;
    ncclConfig_t config;
    char name[FAKE_NAME_MAX], net_name[FAKE_NAME_MAX];
    struct fake_member *members; /* nranks */
    int *fds;                    /* nranks; the own is -1 */
    pthread_mutex_t lock;        /* of what follows */
    pthread_cond_t changed;
    uint64_t tickets, turn; /* what uses the links goes one after the other, as issued */
    int jobs;               /* that hold this communicator */
    uint64_t children;      /* splits and shrinks so far */
    int registrations;
};

extern struct fake_nccl_counts fake_counts;
void fake_count(int *count); /* one more of them */

/* What a function needs. */
enum fake_use {
    FAKE_USE_ANY,    /* is alive and not in progress */
    FAKE_USE_OPS,    /* ready; the device is current */
    FAKE_USE_MANAGE, /* ready or revoked */
    FAKE_USE_END,    /* to be released: also after an error */
};

/*
 * At the head of every function: its version, and faults. A fault other than
 * a result goes to *fault (NULL: the function cannot be told so).
 */
ncclResult_t fake_enter(const char *function, struct fake_fault *fault);
ncclResult_t fake_comm_use(ncclComm_t comm, const char *function, enum fake_use use);

/* Keeps the text for ncclGetLastError(), and the result for the group that is open; returns it. */
ncclResult_t fake_fail(ncclResult_t result, const char *fmt, ...) FAKE_PRINTF(2, 3);
/* The same, as a violation. */
ncclResult_t fake_break(ncclResult_t result, const char *fmt, ...) FAKE_PRINTF(2, 3);

/* A communicator that is being made; the configuration was checked. */
ncclComm_t fake_comm_new(int nranks, int rank, const ncclConfig_t *config);
/* Checks the size of one, and connects to all members. */
ncclResult_t fake_comm_connect(ncclComm_t comm, const struct fake_cancel *cancel);
void fake_comm_close(ncclComm_t comm);
bool fake_comm_is_blocking(ncclComm_t comm);

/* Sets a flag that waits look at, and wakes them. */
void fake_comm_raise(ncclComm_t comm, _Atomic bool *flag);
uint64_t fake_comm_ticket(ncclComm_t comm);
/* false: an abort or stop came first. Either way the turn is to be passed. */
bool fake_comm_await_turn(ncclComm_t comm, uint64_t ticket);
void fake_comm_pass_turn(ncclComm_t comm, uint64_t ticket);
void fake_comm_await_stop(ncclComm_t comm); /* hangs as a kernel does */
/* Waits until no operation (nor, with_jobs, any job) holds it. */
void fake_comm_await_idle(ncclComm_t comm, const char *function, bool with_jobs);
void fake_comm_hold(ncclComm_t comm, int change);

/* Fills in what is undefined from the parent (NULL: NCCL's defaults). What is out of range is an error. */
ncclResult_t fake_config_read(ncclConfig_t *config, const ncclConfig_t *given, const ncclConfig_t *parent);

#endif
