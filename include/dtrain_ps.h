/*
 * dtrain_ps.h - training with parameter servers: some ranks hold the parameters,
 * each a part of them, and update them; the others, the workers, push gradients
 * and pull values. Workers go in step, or at most a bounded number of steps apart
 * (stale synchronous parallel, Ho et al. 2013). A worker that dies does not stop
 * the others.
 *
 * The rules of dtrain.h hold here. Functions of one struct dtrain_ps are called by
 * one thread at a time.
 *
 *     dtrain_ps_create(&ps, world, parameters, n, options, err);
 *     if (dtrain_ps_is_server(ps)) {
 *         dtrain_ps_serve(ps, err);
 *     } else {
 *         dtrain_ps_pull(ps, stream, err);
 *         for (step = 1; step <= steps; step++) {
 *             forward and backward pass on stream
 *             dtrain_ps_push(ps, step, stream, err);
 *             dtrain_ps_pull(ps, stream, err);
 *         }
 *         dtrain_ps_leave(ps, err);
 *     }
 *     dtrain_ps_destroy(ps);
 *
 * Connections. Every worker and server have a communicator of two ranks of their
 * own, because a communicator fails as a whole: so a death ends only what the dead
 * rank was in. There are workers * servers of them. On the host they are cheap; on
 * NCCL each has buffers on both devices and keeps a receive waiting on the server's,
 * so there a few servers are better than many. They are none of the world's axes:
 * dtrain_comms_revoke() and dtrain_comms_rebuild() leave them alone. After a rebuild
 * a new dtrain_ps is made of the ranks that are left.
 *
 * Deadlines. A server waits for the next call of a worker, and a worker for those
 * that it may not be further ahead of, as long as for any operation (DTRAIN_TIMEOUT).
 */
#ifndef DTRAIN_PS_H
#define DTRAIN_PS_H

#include "dtrain.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dtrain_ps;

/* ---- What is trained, and how ------------------------------------------------ */

struct dtrain_ps_parameter {
    const char *name;               /* different for each; copied */
    void *value;                    /* count elements of type; not used on servers, may be NULL there */
    const void *gradient;           /* count elements of gradient_type; the same */
    size_t count;                   /* 0 is allowed */
    enum dtrain_type type;          /* float32, float64, bfloat16 or float16 */
    enum dtrain_type gradient_type; /* one of these, too */
};

enum dtrain_ps_rule {
    /*
     * Stochastic gradient descent, with w the weights, g the gradient, both of a piece of a parameter:
     *   g' = g + decay w,  m = momentum m + g',  w = w - lr m;  without momentum m = g'
     */
    DTRAIN_PS_SGD,
    /* As in dtrain_dp.h (Loshchilov and Hutter, 2019); t counts the updates of the piece, from 1. */
    DTRAIN_PS_ADAMW,
    DTRAIN_PS_USER, /* options.update */
};

/* An update of a piece of a parameter: elements first .. first + count - 1 of it, which this server holds. */
struct dtrain_ps_update {
    size_t parameter, first, count;
    uint64_t number; /* updates of the piece, from 1; with staleness 0 the step */
    int worker;      /* whose gradient it is, a world rank; -1: that of all, with staleness 0 */
    int gradients;   /* how many are in it */
    void *weight; /* to be changed; float64 for float64 parameters, else float32; in the backend's memory */
    void *gradient;  /* may be changed */
    enum dtrain_type type; /* of both */
    struct dtrain_stream *stream; /* on which it is to be queued */
};

enum dtrain_ps_event_kind {
    DTRAIN_PS_PUSHED, /* a gradient came, and is in the next update */
    DTRAIN_PS_PULLED, /* values are sent */
    DTRAIN_PS_LOST,   /* a worker died, or its connection failed */
    DTRAIN_PS_LEFT,   /* a worker called dtrain_ps_leave() */
};

struct dtrain_ps_event {
    enum dtrain_ps_event_kind kind;
    int worker;       /* world rank */
    size_t parameter; /* of pushes and pulls; first: which piece */
    size_t first;
    uint64_t step;      /* of the worker in this piece, or in all for a loss */
    const char *reason; /* of a loss; valid during the call */
};

#define DTRAIN_PS_UNBOUNDED (-1)

/* Zero-initialise for the defaults. The same on all ranks but for callbacks and context. */
struct dtrain_ps_options {
    /*
     * World ranks that are servers, server_count of them. With servers NULL: so many ranks, spread over the
     * nodes (the nodes' first ranks, then their second ones); 0: the first rank of each node. All others are
     * workers; a rank is not both.
     */
    const int *servers;
    size_t server_count;
    /*
     * How many steps a worker may be ahead of the slowest one. 0: in step; an update is that of all workers'
     * gradients of the step, added in the order of ranks, so every run gives the same bits. Otherwise each
     * gradient is an update of its own, in the order of arrival; DTRAIN_PS_UNBOUNDED: nobody waits.
     */
    int staleness;
    bool sum; /* with staleness 0: gradients are added, not averaged */
    enum dtrain_ps_rule rule;
    double lr;              /* SGD and AdamW */
    double momentum;        /* SGD */
    double beta1, beta2, epsilon; /* AdamW; 0: 0.9, 0.999, 1e-8 */
    double decay;           /* SGD and AdamW */

    /* On servers, one at a time, from threads of the library; they call nothing of this ps. May be NULL. */
    double (*rate)(void *context, uint64_t number); /* instead of lr, by the update's number */
    /* DTRAIN_PS_USER. -1 ends the training on all ranks with the reason in err. */
    int (*update)(void *context, const struct dtrain_ps_update *update, struct dtrain_error *err);
    void (*watch)(void *context, const struct dtrain_ps_event *event);
    void *context;
};

/*
 * Registers n parameters; the array is copied. Collective over the world's ranks
 * that are alive, on the communicator of DTRAIN_WORLD; blocks. The servers start
 * with the values of the lowest worker; the others' are set by their first pull.
 * Elements are spread over the servers by bytes, a parameter may lie on several,
 * cut at multiples of 16 elements. A server needs memory for its part of values
 * and optimizer state, and the same part once more for each worker. Fails on all
 * ranks: with the name of the rank and of the parameter where two do not agree;
 * without a server or a worker; where a name comes twice. The caller ends it with
 * dtrain_ps_destroy(), before the world. A world in which a worker died is ended by
 * dtrain_finalize() with -1, which names the dead.
 */
int dtrain_ps_create(struct dtrain_ps **ps, struct dtrain_world *world,
                     const struct dtrain_ps_parameter *parameters, size_t n,
                     const struct dtrain_ps_options *options, struct dtrain_error *err);

/* Waits for what this rank queued. A worker that did not leave counts as lost. NULL is allowed. */
void dtrain_ps_destroy(struct dtrain_ps *ps);

bool dtrain_ps_is_server(const struct dtrain_ps *ps);
int dtrain_ps_server_count(const struct dtrain_ps *ps);
int dtrain_ps_worker_count(const struct dtrain_ps *ps);
/* World rank of server or worker i; -1 when there is none. */
int dtrain_ps_server(const struct dtrain_ps *ps, int i);
int dtrain_ps_worker(const struct dtrain_ps *ps, int i);

/* ---- On servers ---------------------------------------------------------------- */

/*
 * Serves until every worker left or was lost. Blocks. -1 when no worker left by
 * itself, when an update failed, or when another server died, whom the error names;
 * then all workers' operations fail with that. Once for each ps.
 *
 * A worker that is lost is said in the log by the first server. A gradient that had
 * arrived from it counts; from then on the others go on without it, and the average
 * is over as many gradients as there are.
 */
int dtrain_ps_serve(struct dtrain_ps *ps, struct dtrain_error *err);

/* ---- On workers ---------------------------------------------------------------- */

/*
 * Queue and return. What is queued on stream before is done before gradients are
 * read or values written, and what is queued on it later waits for that. step
 * counts from 1, for each parameter: a worker pushes each gradient once a step. The
 * values that are pulled have all updates up to the last step that this worker
 * pushed, less staleness, of every worker; with staleness 0 exactly these. While
 * others are too far behind, pushes and pulls wait.
 *
 * A failure that is found later is returned by the next call and by
 * dtrain_ps_wait(), and ends this worker's part in the training: a server died, or
 * failed. dtrain_stream_synchronize(stream) does not tell of it.
 */
int dtrain_ps_push(struct dtrain_ps *ps, uint64_t step, struct dtrain_stream *stream,
                   struct dtrain_error *err);
int dtrain_ps_pull(struct dtrain_ps *ps, struct dtrain_stream *stream, struct dtrain_error *err);

/* The same with parameter `index` alone; workers may differ in the order of their calls. */
int dtrain_ps_push_one(struct dtrain_ps *ps, size_t index, uint64_t step, struct dtrain_stream *stream,
                       struct dtrain_error *err);
int dtrain_ps_pull_one(struct dtrain_ps *ps, size_t index, struct dtrain_stream *stream,
                       struct dtrain_error *err);

/* Waits until all pushes and pulls are through; -1 when one failed. */
int dtrain_ps_wait(struct dtrain_ps *ps, struct dtrain_error *err);

/* The last call of a worker: the servers have all that it pushed, and no longer wait for it. Blocks. */
int dtrain_ps_leave(struct dtrain_ps *ps, struct dtrain_error *err);

/* ---- On both ------------------------------------------------------------------- */

enum dtrain_ps_state { DTRAIN_PS_WORKS, DTRAIN_PS_HAS_LEFT, DTRAIN_PS_IS_LOST };

struct dtrain_ps_status {
    int rank; /* of the world */
    enum dtrain_ps_state state;
    uint64_t steps; /* that the server has of all parameters */
};

/*
 * status[dtrain_ps_worker_count()], by the order of dtrain_ps_worker(). A server
 * tells what it knows (any thread may ask, also while it serves); a worker asks the
 * first server, behind its own pushes, and blocks.
 */
int dtrain_ps_status_get(struct dtrain_ps *ps, struct dtrain_ps_status *status, struct dtrain_error *err);

#ifdef __cplusplus
}
#endif

#endif
