/*
 * dtrain_pp.h - pipeline parallelism: the layers of a model are split over the
 * ranks of the pp axis, a step's batch into microbatches, and a schedule says
 * what each stage does when.
 *
 * dtrain.h's rules hold. A stage is a rank of the pp group; with interleaving
 * it holds several chunks of the model. Model stage = chunk * stages + stage.
 * What a model stage hands to the next one is an activation, what comes back
 * its gradient; between model stage k and k + 1 lies boundary k.
 */
#ifndef DTRAIN_PP_H
#define DTRAIN_PP_H

#include "dtrain.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DTRAIN_PP_STAGES_MAX 64
#define DTRAIN_PP_CHUNKS_MAX 8
#define DTRAIN_PP_DIMS_MAX 8

struct dtrain_pp; /* one rank's stage */

/* ---- Schedules ---------------------------------------------------------- */

/*
 * With p stages and m microbatches, stage s from 0:
 *   1F1B         PipeDream-flush: min(p-s-1, m) forwards, then one forward and one backward by turns;
 *                holds at most min(p-s, m) activations (Narayanan et al., 2021)
 *   GPIPE        all forwards, then all backwards in the same order (Huang et al., 2019)
 *   GPIPE_REVERSE  the same, the last microbatch first on the way back
 *   INTERLEAVED  1F1B over chunks, which makes the bubble smaller by their number (Megatron-LM)
 *   ZB_H1        1F1B whose backward is split: the gradient of the input at once, that of the weights
 *                where the stage would be idle (Qi et al., 2023)
 *   PIPEDREAM    no flush: each microbatch is a batch of its own, updates the weights after its
 *                backward, and meets in its backward the weights of its forward; s keeps p-s
 *                versions and its weights are stale by p-s-1 updates (Narayanan et al., 2019)
 *   INFERENCE    forwards only
 */
enum dtrain_pp_kind {
    DTRAIN_PP_1F1B,
    DTRAIN_PP_GPIPE,
    DTRAIN_PP_GPIPE_REVERSE,
    DTRAIN_PP_INTERLEAVED,
    DTRAIN_PP_ZB_H1,
    DTRAIN_PP_PIPEDREAM,
    DTRAIN_PP_INFERENCE,
};

enum dtrain_pp_action_kind {
    DTRAIN_PP_FORWARD,
    DTRAIN_PP_BACKWARD,       /* of input and weights */
    DTRAIN_PP_BACKWARD_INPUT, /* of the input only; a BACKWARD_WEIGHT follows */
    DTRAIN_PP_BACKWARD_WEIGHT,
    DTRAIN_PP_STASH, /* keeps the weights that microbatches in flight still need */
    DTRAIN_PP_UPDATE,
    DTRAIN_PP_SEND_ACTIVATION, /* microbatch and chunk are those of the own stage, also of what is received */
    DTRAIN_PP_RECV_ACTIVATION,
    DTRAIN_PP_SEND_GRADIENT,
    DTRAIN_PP_RECV_GRADIENT,
};

struct dtrain_pp_action {
    enum dtrain_pp_action_kind kind;
    int microbatch; /* 0 .. microbatches-1 */
    int chunk;      /* of this stage */
    int peer;       /* transfers: the other stage; else -1 */
    int operation;  /* transfers: those of the same number go together, in rising order; else -1 */
};

/* "1f1b", "forward"; "?" for a value that is none. */
const char *dtrain_pp_kind_name(enum dtrain_pp_kind kind);
const char *dtrain_pp_action_name(enum dtrain_pp_action_kind kind);

/* ---- Layers ------------------------------------------------------------- */

/*
 * The layers of a stage's chunk: first .. first+count-1 of `layers` in all, spread evenly over the
 * model stages, the first ones taking one more. Fails when a model stage would have none.
 */
int dtrain_pp_stage_layers(int layers, int stages, int chunks, int stage, int chunk, int *first, int *count,
                           struct dtrain_error *err);

/*
 * The same where layers differ: costs[layers] (> 0, any unit) are split into runs of neighbours so that the
 * dearest model stage is as cheap as can be. firsts: stages * chunks + 1 numbers; model stage k has the
 * layers firsts[k] .. firsts[k+1]-1.
 */
int dtrain_pp_balance(const double *costs, int layers, int stages, int chunks, int *firsts,
                      struct dtrain_error *err);

/* ---- Pipelines ---------------------------------------------------------- */

/* Row-major, elements of the pipeline's type; no dimension is 0. */
struct dtrain_pp_shape {
    int rank; /* dimensions: 1 .. DTRAIN_PP_DIMS_MAX */
    size_t dims[DTRAIN_PP_DIMS_MAX];
};

/*
 * What a callback is called for. Buffers are the pipeline's, in the memory that the world's backend moves,
 * and belong to the callback until what it queued on the stream has run.
 */
struct dtrain_pp_work {
    int stage, chunk, model_stage, microbatch;
    int first_layer, layer_count; /* of this chunk; 0 where options.layers is 0 */
    /*
     * 0 .. slots-1: the same from the forward to the last action of a microbatch and chunk, and no other
     * one's in between: an index for what the caller keeps meanwhile.
     */
    int slot;
    struct dtrain_pp_shape input_shape, output_shape; /* of boundary model_stage - 1 and model_stage */
    const void *input;           /* activation; NULL on the first model stage. Kept until the last action */
    void *output;                /* forward: to be filled; NULL on the last model stage */
    const void *output_gradient; /* backward: what came back; NULL on the last model stage */
    void *input_gradient;        /* backward: to be filled; NULL on the first model stage */
    void *const *parameters;     /* those of the options; in a backward of PIPEDREAM the forward's version */
    struct dtrain_stream *stream;
    void *context;
};

/*
 * Queues its work on work->stream, or does it before it returns, as on the host backend, where inputs are
 * there when it is called; on NCCL they are there for what is queued. 0, or -1 with the reason, which ends
 * the step on all stages. Called by the thread that runs the pipeline.
 */
typedef int dtrain_pp_callback(const struct dtrain_pp_work *work, struct dtrain_error *err);

/* Weights whose versions PIPEDREAM keeps, in the memory that the world's backend moves. */
struct dtrain_pp_parameter {
    void *data;
    size_t bytes;
};

/* Zero-initialise. All but callbacks, context and parameters are the same on all stages. */
struct dtrain_pp_options {
    enum dtrain_pp_kind kind;
    int microbatches;
    int chunks;                   /* 0: 1 */
    int layers;                   /* of the model, split by dtrain_pp_stage_layers(); 0: not told */
    const double *layer_costs;    /* [layers], split by dtrain_pp_balance(); NULL: they are alike */
    enum dtrain_type type;        /* of activations and gradients */
    struct dtrain_pp_shape shape; /* at every boundary; with variable shapes the most elements */
    const struct dtrain_pp_shape *input_shapes; /* [chunks] of this stage, where boundaries differ; or NULL */
    const struct dtrain_pp_shape *output_shapes;
    dtrain_pp_callback *forward;
    dtrain_pp_callback *backward;        /* ZB_H1: of the input only */
    dtrain_pp_callback *backward_weight; /* ZB_H1 */
    dtrain_pp_callback *update;          /* PIPEDREAM: after each backward */
    /*
     * Variable shapes: the shape of the output of a microbatch, whose input_shape is known; on the last model
     * stage not called. Every run begins with it: shapes go from stage to stage before any data do.
     */
    int (*output_shape)(const struct dtrain_pp_work *work, struct dtrain_pp_shape *shape,
                        struct dtrain_error *err);
    const struct dtrain_pp_parameter *parameters;
    size_t parameter_count;
    void *context;
    /*
     * Times of a forward, of the gradient of its input and of its weights, in any unit; all 0: a common
     * ratio. Only the order of transfers follows them, see dtrain_pp_schedule().
     */
    int forward_time, backward_time, weight_time;
};

/*
 * Collective over the pp group: compares the options of all stages, and fails on all of them, naming both
 * sides, where they or the shapes of neighbours differ. Proves the schedule. What the options point to is
 * copied, but for parameters' data and context. The caller ends *pp with dtrain_pp_destroy().
 */
int dtrain_pp_create(struct dtrain_world *world, const struct dtrain_pp_options *options,
                     struct dtrain_pp **pp, struct dtrain_error *err);
/* Before the world; NULL is allowed. */
void dtrain_pp_destroy(struct dtrain_pp *pp);

/*
 * One step: all microbatches through the schedule. Collective over the pp group, on its communicator; returns
 * when the step's work has run. When a callback fails on a stage, the communicator is revoked with the
 * reason, which names rank, stage and microbatch, and all stages return -1 with it; the pipeline cannot run
 * again. Communicators of other axes stay as they are: who waits on one for a failed stage is not told here.
 */
int dtrain_pp_run(struct dtrain_pp *pp, struct dtrain_error *err);

/*
 * Weights that the first and the last model stage share, as tied embeddings do: after the backwards of each
 * step, the sum of both gradients stands in both. Collective over the pp group, in the same order; stages
 * between the two give NULL. Not with PIPEDREAM and INFERENCE. With one stage there is one gradient already.
 */
int dtrain_pp_tied(struct dtrain_pp *pp, void *gradient, size_t count, enum dtrain_type type,
                   struct dtrain_error *err);

/* ---- What there is and what happened ------------------------------------ */

struct dtrain_pp_info {
    int stage, stages, chunks, microbatches;
    int slots;           /* the schedule's peak on this stage */
    int buffers;         /* activations and gradients that are allocated: those held and those under way */
    size_t buffer_bytes; /* of one */
    int versions;        /* of the weights: 1 but for PIPEDREAM */
};
void dtrain_pp_info(const struct dtrain_pp *pp, struct dtrain_pp_info *info);

/* This stage's actions in the order of their turns. Borrowed, as long as the pipeline. */
const struct dtrain_pp_action *dtrain_pp_schedule(const struct dtrain_pp *pp, size_t *count);

/*
 * When each action of dtrain_pp_schedule() ran in the last step, by CLOCK_MONOTONIC. On NCCL computing begins
 * and ends when its callback was called and returned. A transfer begins when it was queued and ends when it
 * was waited for, at the latest at the step's end. Borrowed, until the next run.
 */
struct dtrain_pp_event {
    struct dtrain_pp_action action;
    int64_t begin_ns, end_ns; /* both 0: it did not run */
};
const struct dtrain_pp_event *dtrain_pp_trace(const struct dtrain_pp *pp, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
