/*
 * fake_nccl.h - rows for the doubles of libnccl and libcudart: what the ranks
 * of a row do, each a process with a device of its own, and what their
 * stderr and their exit status are to be.
 */
#ifndef DT_TESTS_FAKE_NCCL_ROWS_H
#define DT_TESTS_FAKE_NCCL_ROWS_H

#include <nccl.h>
#include <stdbool.h>
#include <stdint.h>

#define ROW_IDS_MAX 8
#define ROW_RANKS_MAX 16
#define ROW_BROKEN 86 /* the status of a process that broke the contract */

/* In shared memory: ids, and how far the ranks are. */
struct row_shared {
    _Atomic int ids_there[ROW_IDS_MAX];
    ncclUniqueId ids[ROW_IDS_MAX];
    _Atomic int reached[ROW_IDS_MAX];
};

struct row_rank {
    struct row_shared *shared;
    int rank, count;
    const char *argument; /* the row's */
};

/* Ends with 0, or the number of the line that was not as expected. */
typedef int row_body(struct row_rank *rank);

struct row {
    const char *name;
    int ranks;
    row_body *body;
    const char *words;       /* in what any rank wrote to stderr; NULL: no VIOLATION there */
    const char *environment; /* "A=1 B=2" for the ranks, or NULL */
    const char *argument;    /* for the body */
};

/* Whether all ranks did as the row says; shows what they wrote if not. */
bool row_run(const struct row *row);

/* In a body: leaves it with the line's number. */
#define ROW_WANT(condition)                                                                                  \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return row_failed(__FILE__, __LINE__, #condition);                                               \
    } while (0)
int row_failed(const char *file, int line, const char *what);

/* Id `at`: made by rank `maker`, waited for by the others. */
ncclUniqueId row_id(struct row_rank *rank, int at, int maker);
/* All ranks come to point `at` before any goes on; false: not within 10 s. */
bool row_meet(struct row_rank *rank, int at);
/* Polls until the communicator is not in progress; its result. */
ncclResult_t row_settle(ncclComm_t comm);
/* A communicator of all ranks with id `at`; blocking or not, ready when it returns. */
ncclResult_t row_comm(struct row_rank *rank, int at, int blocking, ncclComm_t *comm);
/* Polls until the communicator has an error, 10 s at most. */
ncclResult_t row_await_error(ncclComm_t comm);

#endif
