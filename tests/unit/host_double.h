/*
 * host_double.h - a world of ranks for tests of the host backend: in threads of
 * one process, or in processes that it forks. Ranks on one pretended node are
 * joined by Unix sockets, others by TCP over the loopback.
 */
#ifndef DT_TESTS_HOST_DOUBLE_H
#define DT_TESTS_HOST_DOUBLE_H

#include "runtime/backend.h"
#include "runtime/comm.h"

#define DOUBLE_RANKS_MAX 16
#define DOUBLE_STREAMS 2

struct host_double;

enum placement { ALL_LOCAL, ALL_REMOTE, MIXED, PLACEMENT_COUNT };
extern const char *const placement_names[PLACEMENT_COUNT];

/* One rank while its body runs. */
struct rank {
    struct host_double *world;
    int rank, size;
    void *state;              /* of the backend */
    const struct dt_peers *peers;
    struct dtrain_comm *comm; /* of all ranks: "dtrain/tp/0" */
    struct dtrain_stream *streams[DOUBLE_STREAMS];
    void *argument;
    struct dtrain_error err;
};

/* false: the rank failed, r->err or the printed line says why. */
typedef bool rank_body(struct rank *r);

/* Runs the body on size ranks, each in a thread, and returns how many failed. */
int double_run(int size, enum placement placement, int timeout_ms, rank_body *body, void *argument);

/*
 * The same in forked processes. The body of `victim` kills or stops its own
 * process; when is_told the others then learn of it as of a death.
 */
int double_run_forked(int size, enum placement placement, int timeout_ms, rank_body *body,
                      void *argument, int victim, bool is_told);

/* Another communicator of this rank; members are world ranks in order, the own one among them. */
struct dtrain_comm *double_comm(struct rank *r, const char *name, uint64_t channel,
                                const uint32_t *members, int size);

/* Marks a rank dead for all. */
void double_mark_dead(struct host_double *world, int rank);

/* Meets the other ranks outside of the backend (threads only). */
void double_meet(struct rank *r);

#endif
