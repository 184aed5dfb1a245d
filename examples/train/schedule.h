/*
 * schedule.h - what one pipeline stage does in a step, as data: 1F1B
 * (PipeDream-flush). Stage s of p with m microbatches first runs
 * min(p-s-1, m) forwards, then one forward and one backward in turn, then the
 * backwards that are left; it holds the activations of at most min(p-s, m)
 * microbatches. Any m >= 1 works.
 *
 * A transfer with a neighbour is one action, and both ends have the same
 * transfers in the same order: what one sends and receives together, the other
 * receives and sends together. So nothing needs to be buffered in between.
 */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stddef.h>

#include "dtrain.h"

enum action_kind {
    ACTION_FORWARD,  /* of microbatch `forward` */
    ACTION_BACKWARD, /* of microbatch `backward` */
    ACTION_NEXT,     /* with stage s+1: send activation `forward`, receive gradient `backward` */
    ACTION_PREVIOUS, /* with stage s-1: receive activation `forward`, send gradient `backward` */
};

struct action {
    enum action_kind kind;
    int forward;  /* a microbatch, or -1 for none */
    int backward; /* a microbatch, or -1 for none */
};

struct schedule {
    struct action *actions;
    size_t count;
    int slots; /* microbatches whose activations are held at most */
};

/* The actions of stage 0 .. stages-1, microbatches >= 1. The caller frees with schedule_clear(). */
int schedule_make(struct schedule *schedule, int stages, int stage, int microbatches,
                  struct dtrain_error *err);
void schedule_clear(struct schedule *schedule);

#endif
