/*
 * schedule_machine.h - all stages of a schedule as its check runs them: where
 * each is, what it holds, and what is known of each microbatch. An action that
 * lacks what it needs is an error that names it.
 */
#ifndef DT_RUNTIME_SCHEDULE_MACHINE_H
#define DT_RUNTIME_SCHEDULE_MACHINE_H

#include "schedule.h"

/* What is known of a microbatch on a model stage. */
enum {
    DT_HAS_INPUT = 1 << 0,
    DT_FORWARD_DONE = 1 << 1,
    DT_HAS_GRADIENT = 1 << 2,
    DT_BACKWARD_DONE = 1 << 3, /* of the input */
    DT_WEIGHT_DONE = 1 << 4,
    DT_UPDATED = 1 << 5,
};

/* What one stage sends another, in order. */
struct dt_machine_pair {
    const struct dtrain_pp_action **sends;
    size_t count, sent, received;
};

struct dt_machine {
    const struct dt_schedule *schedule;
    bool is_buffered;              /* else each transfer blocks both ends until both came to it */
    unsigned char *states;         /* [model stage][microbatch] */
    struct dt_machine_pair *pairs; /* [from][to] */
    size_t *at;                    /* [stage] */
    int *held;                     /* [stage] */
    struct dtrain_error *err;
};

/* Fails when memory runs out or an action names what is not there; dt_machine_destroy() in any case. */
int dt_machine_create(struct dt_machine *machine, const struct dt_schedule *schedule, bool is_buffered,
                      struct dtrain_error *err);
void dt_machine_destroy(struct dt_machine *machine);

/* The action that a stage is at; NULL: it ended. */
const struct dtrain_pp_action *dt_machine_current(const struct dt_machine *machine, int stage);
unsigned char *dt_machine_state(const struct dt_machine *machine, int model_stage, int microbatch);
struct dt_machine_pair *dt_machine_pair_of(const struct dt_machine *machine, int from, int to);

/* What the action does; -1 when it cannot. A receive meets its peer's oldest send that was not received. */
int dt_machine_compute(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action);
int dt_machine_send(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action);
int dt_machine_receive(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action);

/* "stage 1: forward of microbatch 2, chunk 0 WHY". Always -1. */
int dt_machine_refuse(const struct dt_machine *machine, int stage, const struct dtrain_pp_action *action,
                      const char *why);

#endif
