/*
 * schedule.h - what every stage of a pipeline does in a step, as data. Pure: a
 * request in, lists of actions out, which a verifier proves and a simulator
 * times. All stages are made together, because where a stage's transfers go
 * depends on the others.
 *
 * Each kind fixes the order of a stage's compute actions. Transfers are placed
 * by one rule for all kinds: with the request's times, a transfer becomes ready
 * at the end of the action that makes its data. A list is sorted by the ends of
 * its compute actions and these moments; transfers of one pair of stages at one
 * moment are one operation, and pairs have an order. So there is one order of
 * everything that all lists follow: no stage waits for another in a circle,
 * even where each transfer blocks both ends. A receive stands before the action
 * that is under way when the data come, so that the two overlap.
 */
#ifndef DT_RUNTIME_SCHEDULE_H
#define DT_RUNTIME_SCHEDULE_H

#include "core/error.h"
#include "dtrain_pp.h"

#define DT_SCHEDULE_COMPUTE_MAX (1 << 20) /* forwards of all stages together */

/* Of one chunk and microbatch, in any unit, >= 1. A full backward takes backward + weight. */
struct dt_schedule_times {
    int64_t forward, backward, weight;
};

struct dt_schedule_request {
    enum dtrain_pp_kind kind;
    int stages, microbatches, chunks;
    struct dt_schedule_times times; /* all 0: a common ratio */
};

struct dt_schedule_stage {
    struct dtrain_pp_action *actions;
    size_t count, room;
};

struct dt_schedule {
    struct dt_schedule_request request;
    struct dt_schedule_stage *stages; /* request.stages of them */
};

/*
 * Refuses sizes out of range and chunks that the kind does not take. The caller owns *schedule and
 * frees it with dt_schedule_destroy() (NULL allowed).
 */
int dt_schedule_create(struct dt_schedule **schedule, const struct dt_schedule_request *request,
                       struct dtrain_error *err);
void dt_schedule_destroy(struct dt_schedule *schedule);

/* "1f1b" and so on; else the error lists the words. */
int dt_schedule_kind_parse(enum dtrain_pp_kind *kind, const char *text, const char *what,
                           struct dtrain_error *err);

/* Whether the kind works on more than one chunk. */
bool dt_schedule_has_chunks(enum dtrain_pp_kind kind);
/* Whether it goes backward at all, and whether in two parts. */
bool dt_schedule_has_backward(enum dtrain_pp_kind kind);
bool dt_schedule_is_split(enum dtrain_pp_kind kind);

/*
 * Turns of forwards on each stage: microbatches * chunks, where interleaving fills the last group of
 * microbatches up to the number of stages; the turns of those that are not there are skipped.
 */
int dt_schedule_turns(const struct dt_schedule_request *request);

/* Turns before the first backward's, and (microbatch, chunk) pairs held at most, by the formulas. */
int dt_schedule_warm_up(const struct dt_schedule_request *request, int stage);
int dt_schedule_peak(const struct dt_schedule_request *request, int stage);

static inline bool dt_schedule_is_transfer(enum dtrain_pp_action_kind kind)
{
    return kind >= DTRAIN_PP_SEND_ACTIVATION;
}

static inline bool dt_schedule_is_send(enum dtrain_pp_action_kind kind)
{
    return kind == DTRAIN_PP_SEND_ACTIVATION || kind == DTRAIN_PP_SEND_GRADIENT;
}

/* The action that lets go of what a forward keeps. */
static inline bool dt_schedule_releases(const struct dt_schedule_request *request,
                                        enum dtrain_pp_action_kind kind)
{
    if (!dt_schedule_has_backward(request->kind))
        return kind == DTRAIN_PP_FORWARD;
    return kind == DTRAIN_PP_BACKWARD || kind == DTRAIN_PP_BACKWARD_WEIGHT;
}

static inline int dt_schedule_model_stages(const struct dt_schedule_request *request)
{
    return request->stages * request->chunks;
}

static inline int dt_schedule_model_stage(const struct dt_schedule_request *request, int stage, int chunk)
{
    return chunk * request->stages + stage;
}

/* "stage 1: send activation of microbatch 3, chunk 0, to stage 2". Returns buf. */
#define DT_SCHEDULE_TEXT_MAX 128
char *dt_schedule_action_text(const struct dtrain_pp_action *action, int stage,
                              char buf[DT_SCHEDULE_TEXT_MAX]);

/* ---- schedule_kinds.c: the order of a stage's compute actions ------------ */

/* Appends them to `to`, whose room suffices. */
void dt_schedule_order(struct dt_schedule_stage *to, const struct dt_schedule_request *request, int stage);

/* ---- schedule_place.c: transfers between them ----------------------------- */

int dt_schedule_place(struct dt_schedule *schedule, struct dtrain_error *err);

/* ---- schedule_verify.c ----------------------------------------------------- */

/*
 * Proves that the lists can run: each action's inputs are there, sends and receives pair up in order, no
 * stage waits in a circle (each transfer blocking both ends; and buffered), every gradient is done once, and
 * no stage holds more than dt_schedule_peak(). Else the error names stage, action, microbatch and chunk.
 */
int dt_schedule_verify(const struct dt_schedule *schedule, struct dtrain_error *err);

/* ---- schedule_simulate.c ---------------------------------------------------- */

struct dt_schedule_costs {
    double forward, backward, weight; /* of one chunk and microbatch, as in the request's times */
    double link;                      /* of one operation between two stages, beside computing */
};

struct dt_schedule_span {
    double begin, end;
};

/* In the unit of the costs. */
struct dt_schedule_timeline {
    struct dt_schedule_span **spans; /* [stages][actions of the stage] */
    int *peaks;                      /* [stages]: held at most */
    double makespan;
    double bubble; /* share of the makespan in which a stage does not compute, mean over the stages */
    int stages;
};

/*
 * As the runtime does it: a stage walks its list, an operation starts when both ends came to it and ended
 * their earlier ones, and computing waits only for the operation that it needs. A schedule that cannot end
 * is an error. The caller frees with dt_schedule_timeline_clear().
 */
int dt_schedule_simulate(struct dt_schedule_timeline *timeline, const struct dt_schedule *schedule,
                         const struct dt_schedule_costs *costs, struct dtrain_error *err);
void dt_schedule_timeline_clear(struct dt_schedule_timeline *timeline);

#endif
