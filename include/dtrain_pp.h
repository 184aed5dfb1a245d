/*
 * dtrain_pp.h - pipeline parallelism: the layers of a model are split over the
 * ranks of the pp axis, a step's batch into microbatches, and a schedule says
 * what each stage does when.
 *
 * dtrain.h's rules hold. A stage is a rank of the pp group; with interleaving
 * it holds several chunks of the model. Model stage = chunk * stages + stage.
 * What a model stage hands to the next one is an activation, what comes back
 * its gradient; between the two lies boundary `model stage` (0 is the first).
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
 *                backward, and meets in its backward the weights of its forward; s stashes p-s
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
    DTRAIN_PP_BACKWARD,        /* of input and weights */
    DTRAIN_PP_BACKWARD_INPUT,  /* of the input only; a BACKWARD_WEIGHT follows */
    DTRAIN_PP_BACKWARD_WEIGHT,
    DTRAIN_PP_STASH,           /* keeps the weights that microbatches in flight still need */
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

#ifdef __cplusplus
}
#endif

#endif
