/*
 * dtrain.h - the world of a job step, its groups, their communicators.
 *
 * Rules that hold for every function here:
 *
 * Errors.   Functions that can fail return 0, or -1 with the reason in
 *           *err, which the caller owns. err may be NULL. Nothing exits,
 *           aborts, raises a signal or writes to stdout.
 * State.    All state hangs on a struct dtrain_world; one process may hold
 *           several. Nothing is global.
 * Threads.  Functions that take a const world or const group may be called
 *           from any thread. Operations of one communicator are issued by
 *           one thread at a time, in the same order on all of its ranks.
 *           Different communicators may be used by different threads.
 * Buffers.  A buffer belongs to the operation from the call until
 *           dtrain_stream_synchronize() of its stream returned, or
 *           dtrain_stream_query() said done. Counts are in elements.
 * Pointers. What a getter returns is borrowed and lives as long as the
 *           world, unless said otherwise.
 */
#ifndef DTRAIN_H
#define DTRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DTRAIN_VERSION "0.1.0"

/* What failed, with which value, what was expected, what to do. */
#define DTRAIN_ERROR_MAX 1024
struct dtrain_error {
    char text[DTRAIN_ERROR_MAX];
};

struct dtrain_world;  /* a step's ranks, seen from one of them */
struct dtrain_comm;   /* the communicator of one group */
struct dtrain_stream; /* a queue whose operations run in order */

/*
 * Axes. A set of axes is the bitwise or of its members. DTRAIN_EXPERT chooses
 * the expert grid (etp, ep, edp, pp over the same ranks), in which DTRAIN_TP
 * and DTRAIN_DP mean etp and edp. Without it DTRAIN_EP is not allowed, with it
 * DTRAIN_CP is not.
 */
enum {
    DTRAIN_TP = 1 << 0,
    DTRAIN_CP = 1 << 1,
    DTRAIN_EP = 1 << 2,
    DTRAIN_DP = 1 << 3,
    DTRAIN_PP = 1 << 4,
    DTRAIN_EXPERT = 1 << 8,
    DTRAIN_WORLD = DTRAIN_TP | DTRAIN_CP | DTRAIN_DP | DTRAIN_PP,
};

enum dtrain_type {
    DTRAIN_FLOAT32,
    DTRAIN_BFLOAT16,
    DTRAIN_FLOAT16,
    DTRAIN_FLOAT64,
    DTRAIN_INT32,
    DTRAIN_INT64,
    DTRAIN_INT8,
};

/* AVG divides the sum by the size of the group; integers round toward zero. */
enum dtrain_op { DTRAIN_SUM, DTRAIN_AVG, DTRAIN_MAX, DTRAIN_MIN };

/* Bytes of one element; 0 for a value that is no type. */
size_t dtrain_type_size(enum dtrain_type type);

/* The library's version ("0.1.0"); compare with DTRAIN_VERSION. */
const char *dtrain_version(void);

/* ---- World ------------------------------------------------------------- */

/*
 * Zero-initialise for the defaults. Environment variables named here
 * (dtrain-env(7)) fill what is left 0.
 */
struct dtrain_options {
    int init_timeout_ms; /* deadline of bring-up; DTRAIN_INIT_TIMEOUT, 120 s */
    int timeout_ms;      /* deadline of one operation; DTRAIN_TIMEOUT, 600 s */
};

/*
 * Reads the step's plan (SLURM_DTRAIN_PLAN) and PMIx, checks the plan against
 * PMIx's facts and against all other ranks, and builds the communicators of
 * every axis with size > 1. Without a plan: outside Slurm, or in a step of one
 * task, a world of one; in a larger step an error. options may be NULL.
 *
 * Collective over the step. Blocks until all ranks came, or until the
 * deadline; on failure every rank learns which rank is missing or differs.
 * On success the caller owns *world and ends it with dtrain_finalize().
 */
int dtrain_init(struct dtrain_world **world, const struct dtrain_options *options,
                struct dtrain_error *err);

/*
 * The same without blocking: dtrain_init_start() returns at once, then
 * dtrain_init_poll() sets *done when the world is ready. When poll returns -1
 * the bring-up failed; end the world with dtrain_finalize() in any case.
 * Before *done only poll and finalize may be called on the world.
 */
int dtrain_init_start(struct dtrain_world **world, const struct dtrain_options *options,
                      struct dtrain_error *err);
int dtrain_init_poll(struct dtrain_world *world, bool *done, struct dtrain_error *err);

/*
 * After all streams were destroyed: waits until all ranks that are alive came
 * here too, then releases everything, also when it returns -1 (a rank died or
 * did not come within the operations' deadline). NULL is allowed. Before the
 * world is up it waits for the end of the bring-up.
 */
int dtrain_finalize(struct dtrain_world *world, struct dtrain_error *err);

/*
 * A world of ranks and groups only, for a program that brings its own
 * communication (PyTorch's): from the plan and SLURM_PROCID, checked against
 * Slurm's variables. Local: nothing is exchanged, PMIx is not used, no thread
 * starts. Communicators, streams and memory are refused. The caller ends it
 * with dtrain_finalize(), which is local too.
 */
int dtrain_init_layout(struct dtrain_world **world, struct dtrain_error *err);

/*
 * All ranks in one process: a world a device, without a launcher. For a machine
 * with several devices, and for a debugger. Zero-initialise; set n.
 */
#define DTRAIN_LOCAL_MAX 256
struct dtrain_local_options {
    int n;                /* ranks, 1 .. DTRAIN_LOCAL_MAX */
    const int *devices;   /* n different device numbers, rank i's at i; NULL: 0 .. n-1. The host's are only names */
    int tp, cp, ep, dp, pp, etp; /* as the options of srun; 0: not given */
    const char *order;    /* "tp-cp-ep-dp-pp"; NULL: that */
    const char *backend;  /* "nccl", "host", "auto"; NULL: auto */
    int init_timeout_ms, timeout_ms; /* as in struct dtrain_options */
};

/*
 * Fills worlds[0 .. n-1], rank i's at i. Blocks until all are up; on failure none
 * is. The caller ends them with dtrain_finalize_local(), or each with
 * dtrain_finalize() in a thread of its own.
 *
 * One thread may drive all ranks, or one thread each. With one thread for all:
 * operations are queued for one rank after the other, each rank on a stream of its
 * own world, between dtrain_batch_begin() and dtrain_batch_end(); only then is a
 * stream waited for. What blocks and is collective would wait for ranks whose turn
 * does not come, so dtrain_comm_get() of a set of several axes and dtrain_finalize()
 * have a form for all ranks at once.
 */
int dtrain_init_local(struct dtrain_world **worlds, const struct dtrain_local_options *options,
                      struct dtrain_error *err);
/* dtrain_finalize() of all; NULL worlds are allowed. Releases all, also when it returns -1. */
int dtrain_finalize_local(struct dtrain_world **worlds, int n, struct dtrain_error *err);
/* dtrain_comm_get() of all: comms[i] is that of worlds[i]. */
int dtrain_comm_get_local(struct dtrain_world **worlds, int n, unsigned axes, struct dtrain_comm **comms,
                          struct dtrain_error *err);

/*
 * What one thread queues for several ranks goes between these two: on NCCL an
 * operation may otherwise wait, in the call itself, for one that the same thread
 * queues next. Any of the ranks' worlds does. They nest, and end in the thread that
 * began; nothing is waited for in between. -1 from end: one of the operations could
 * not be queued. On the host they do nothing.
 */
int dtrain_batch_begin(struct dtrain_world *world, struct dtrain_error *err);
int dtrain_batch_end(struct dtrain_world *world, struct dtrain_error *err);

int dtrain_rank(const struct dtrain_world *world); /* 0 .. size-1, node-major */
int dtrain_size(const struct dtrain_world *world);
int dtrain_local_rank(const struct dtrain_world *world); /* within the node */
int dtrain_local_size(const struct dtrain_world *world);
int dtrain_node(const struct dtrain_world *world); /* index in the plan's node order */
int dtrain_node_count(const struct dtrain_world *world);

/* Name of the node that rank lives on; NULL when there is no such rank. */
const char *dtrain_node_name(const struct dtrain_world *world, int rank);

/* "host" or "nccl"; "none" after dtrain_init_layout(). */
const char *dtrain_backend(const struct dtrain_world *world);

/* ---- Groups: arithmetic only, nothing is exchanged ---------------------- */

/*
 * The group of this rank that varies the given axes. Members are ordered by
 * the plan's axis order, the axis named first varying fastest (Megatron-LM's
 * RankGenerator). Constant size, copied freely, nothing to free.
 */
struct dtrain_group {
    int size;  /* members */
    int rank;  /* this rank among them */
    int index; /* which of the groups of these axes, 0 .. count-1 */
    int count; /* how many such groups there are */
    unsigned axes;
};

/* Fails for an empty set, an unknown bit, or axes of the other grid. */
int dtrain_group_get(const struct dtrain_world *world, unsigned axes, struct dtrain_group *group,
                     struct dtrain_error *err);

/*
 * World rank of member i (0 .. size-1) of the group; -1 when out of range. It is
 * this rank's group, or any other of these axes when group->index was set to it.
 */
int dtrain_group_member(const struct dtrain_world *world, const struct dtrain_group *group, int i);

/* This rank's coordinate on one axis (a single bit, with or without DTRAIN_EXPERT); -1 if not one. */
int dtrain_coord(const struct dtrain_world *world, unsigned axis);

/* ---- Streams ------------------------------------------------------------ */

/*
 * A queue of operations. On the host backend a thread of its own runs it, on
 * NCCL it is a CUDA stream. Operations of one stream run in order, those of
 * different streams at the same time. The caller destroys it, before the
 * world; destroying waits for what is queued.
 */
int dtrain_stream_create(struct dtrain_world *world, struct dtrain_stream **stream,
                         struct dtrain_error *err);
int dtrain_stream_destroy(struct dtrain_stream *stream, struct dtrain_error *err);

/* Waits until all that is queued has run; -1 with the first failure since the last call. */
int dtrain_stream_synchronize(struct dtrain_stream *stream, struct dtrain_error *err);

/* The same without waiting: *done says whether the queue is empty. */
int dtrain_stream_query(struct dtrain_stream *stream, bool *done, struct dtrain_error *err);

/* What is queued on stream from now on runs after all that is queued on other by now; does not block. */
int dtrain_stream_wait(struct dtrain_stream *stream, struct dtrain_stream *other,
                       struct dtrain_error *err);

/* ---- Memory ------------------------------------------------------------- */

/*
 * Memory that the world's backend moves: the host's, or the device's on NCCL.
 * Zeroed, aligned to 64 bytes. 0 bytes give NULL. The caller frees it, before
 * the world, when nothing queued uses it; NULL is allowed there. Operations
 * take other memory of the same kind as well.
 */
int dtrain_memory_alloc(struct dtrain_world *world, size_t bytes, void **memory,
                        struct dtrain_error *err);
void dtrain_memory_free(struct dtrain_world *world, void *memory);

/*
 * Copies bytes in the stream's order. Either side may be the backend's memory or
 * the host's; the two do not overlap. A buffer of the host's may be used again
 * after dtrain_stream_synchronize().
 */
int dtrain_copy(void *to, const void *from, size_t bytes, struct dtrain_stream *stream,
                struct dtrain_error *err);

/* ---- Communicators ------------------------------------------------------ */

/*
 * The communicator of this rank's group for a set of axes. For a single axis,
 * and for any group of size 1, it is ready after dtrain_init() and the call is
 * local. For a set of axes the first call is collective over that group (all of
 * its members call, in the same order as other collective calls) and blocks;
 * later calls return the same communicator. *comm is borrowed from the world.
 */
int dtrain_comm_get(struct dtrain_world *world, unsigned axes, struct dtrain_comm **comm,
                    struct dtrain_error *err);

/*
 * Makes a communicator fail on all its ranks: what is queued or runs on it, and
 * what is called later, ends soon with -1 and "revoked by rank 3 on n1: why". For
 * a rank that cannot go on, so that the others do not wait for it. The first
 * reason stays; revoking again, or what failed before, is no error. A group of one
 * is only marked. Does not wait for the other ranks; any thread may call it.
 */
int dtrain_comm_revoke(struct dtrain_comm *comm, const char *why, struct dtrain_error *err);

int dtrain_comm_rank(const struct dtrain_comm *comm);
int dtrain_comm_size(const struct dtrain_comm *comm);

/* World rank of member i (0 .. size-1), also after dtrain_comms_rebuild(); -1 when out of range. */
int dtrain_comm_member(const struct dtrain_comm *comm, int i);

/* ---- Going on without the dead ------------------------------------------ */

/*
 * All communicators of this rank at once, as dtrain_comm_revoke() does with each.
 * The first step of every survivor that learned of a death: whoever waits for one
 * of them, or they for others, stops. -1 when a device does not let go within 10
 * seconds (or the operations' deadline, if that is shorter): the others are told
 * all the same, but this process is to end. Any thread may call it.
 */
int dtrain_comms_revoke(struct dtrain_world *world, const char *why, struct dtrain_error *err);

/*
 * The second step, after all streams were synchronized: goes on with the survivors,
 * n world ranks in ascending order, this one among them. Collective over them, and
 * each call of a rank is one attempt of all: they must give the same list (else all
 * fail, and the error names a rank that only some count), and whoever is not in it
 * counts as dead. Blocks, at most for the deadline of bring-up. When it fails
 * nothing can be used until it is called again, with those that are left.
 *
 * The groups of single axes that lost a member, or whose communicator was revoked
 * or failed on any survivor, get a new one of those that are left, in the old
 * order; the others keep theirs. A set of axes that lost, likewise, is made anew
 * by the next dtrain_comm_get(), which is collective as the first was. Ask
 * dtrain_comm_get() for all communicators again: one that was replaced fails every
 * call from then on, and is freed by dtrain_finalize(). dtrain_size(), coordinates
 * and groups stay those of the plan; dtrain_comm_size(), dtrain_comm_rank() and
 * dtrain_comm_member() tell who is there. The deaths before it do not make
 * dtrain_finalize() fail.
 */
int dtrain_comms_rebuild(struct dtrain_world *world, const int *survivors, size_t n,
                         struct dtrain_error *err);

/*
 * Operations. Each is queued on the stream and returns; a failure found later
 * (a peer died, the deadline passed) is returned by the next call on this
 * communicator and by dtrain_stream_synchronize(), names the peer, and leaves
 * the communicator unusable. A count of 0 is allowed and is still an operation
 * that all ranks call. In place: send == recv where both have the same count;
 * all_gather with send == recv + rank * count, reduce_scatter with
 * recv == send + rank * count. Other overlaps are not allowed. A group of one
 * copies.
 */

/* recv[i] = op over ranks of send[i], i < count. All ranks get bitwise the same result. */
int dtrain_all_reduce(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, enum dtrain_op op, struct dtrain_stream *stream,
                      struct dtrain_error *err);

/* send: count elements; recv: size * count elements, rank r's at r * count. */
int dtrain_all_gather(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, struct dtrain_stream *stream,
                      struct dtrain_error *err);

/* send: size * count elements; recv: count elements, block `rank` of the reduction. */
int dtrain_reduce_scatter(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                          enum dtrain_type type, enum dtrain_op op, struct dtrain_stream *stream,
                          struct dtrain_error *err);

/* buf: count elements, from root (a rank of the group) to all. */
int dtrain_broadcast(struct dtrain_comm *comm, void *buf, size_t count, enum dtrain_type type,
                     int root, struct dtrain_stream *stream, struct dtrain_error *err);

/* send, recv: size * count elements; block r of send goes to rank r, block r of recv comes from it. */
int dtrain_all_to_all(struct dtrain_comm *comm, const void *send, void *recv, size_t count,
                      enum dtrain_type type, struct dtrain_stream *stream,
                      struct dtrain_error *err);

/* Point to point. Between two ranks messages match in order; both sides name the same count and type. */
int dtrain_send(struct dtrain_comm *comm, const void *buf, size_t count, enum dtrain_type type,
                int peer, struct dtrain_stream *stream, struct dtrain_error *err);
int dtrain_recv(struct dtrain_comm *comm, void *buf, size_t count, enum dtrain_type type, int peer,
                struct dtrain_stream *stream, struct dtrain_error *err);

/*
 * Several transfers as one operation: all progress together, so two ranks that
 * send to each other do not wait for each other. The array is copied.
 */
struct dtrain_transfer {
    bool is_send;
    int peer;
    enum dtrain_type type;
    size_t count;
    void *buf; /* read only when is_send */
};
int dtrain_transfer(struct dtrain_comm *comm, const struct dtrain_transfer *transfers, size_t n,
                    struct dtrain_stream *stream, struct dtrain_error *err);

/* No rank passes before all came; ordered with the stream like any operation. */
int dtrain_barrier(struct dtrain_comm *comm, struct dtrain_stream *stream,
                   struct dtrain_error *err);

#ifdef __cplusplus
}
#endif

#endif
