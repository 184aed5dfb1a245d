#include <assert.h>
#include <stdlib.h>

#include "schedule.h"

#define UNKNOWN (-1)

/*
 * A transfer takes one part of a unit: so little that it decides nothing but ties. Where stages run in step,
 * the next input then comes while the action before it runs, and is received beside it.
 */
#define PARTS 64

/* When the compute actions of all stages end. In parts of the request's unit of time. */
struct clock {
    const struct dt_schedule *schedule;
    int64_t *forwards, *backwards; /* [model stage][microbatch]: the end, or UNKNOWN */
    int64_t **ends;                /* [stage][action] */
    size_t *at;                    /* [stage]: actions that ended */
    int64_t *now;                  /* [stage]: the end of the last one */
};

static const struct dt_schedule_request *request_of(const struct clock *clock)
{
    return &clock->schedule->request;
}

static void clock_destroy(struct clock *clock)
{
    for (int s = 0; clock->ends != NULL && s < request_of(clock)->stages; s++)
        free(clock->ends[s]);
    free(clock->ends);
    free(clock->forwards);
    free(clock->backwards);
    free(clock->at);
    free(clock->now);
}

static int64_t *times_create(size_t n, struct dtrain_error *err)
{
    int64_t *times = malloc(n * sizeof(*times));

    if (times == NULL)
        dt_error_memory(err, n * sizeof(*times), "a pipeline's schedule");
    for (size_t i = 0; times != NULL && i < n; i++)
        times[i] = UNKNOWN;
    return times;
}

static int clock_create(struct clock *clock, const struct dt_schedule *schedule, struct dtrain_error *err)
{
    const struct dt_schedule_request *request = &schedule->request;
    size_t stages = (size_t)request->stages;
    size_t all = (size_t)dt_schedule_model_stages(request) * (size_t)request->microbatches;

    *clock = (struct clock){.schedule = schedule};
    clock->forwards = times_create(all, err);
    clock->backwards = times_create(all, err);
    clock->ends = calloc(stages, sizeof(*clock->ends));
    clock->at = calloc(stages, sizeof(*clock->at));
    clock->now = calloc(stages, sizeof(*clock->now));
    if (clock->forwards == NULL || clock->backwards == NULL || clock->ends == NULL || clock->at == NULL ||
        clock->now == NULL)
        return dt_error_memory(err, stages * sizeof(*clock->ends), "a pipeline's schedule");
    for (size_t s = 0; s < stages; s++) {
        clock->ends[s] = times_create(schedule->stages[s].count, err);
        if (clock->ends[s] == NULL)
            return -1;
    }
    return 0;
}

/* ---- Times ----------------------------------------------------------------- */

static int64_t *time_of(const struct clock *clock, int64_t *times, int model_stage, int microbatch)
{
    return &times[(size_t)model_stage * (size_t)request_of(clock)->microbatches + (size_t)microbatch];
}

static int64_t duration(const struct dt_schedule_times *times, enum dtrain_pp_action_kind kind)
{
    switch (kind) {
    case DTRAIN_PP_FORWARD:
        return PARTS * times->forward;
    case DTRAIN_PP_BACKWARD:
        return PARTS * (times->backward + times->weight);
    case DTRAIN_PP_BACKWARD_INPUT:
        return PARTS * times->backward;
    case DTRAIN_PP_BACKWARD_WEIGHT:
        return PARTS * times->weight;
    default:
        return 0;
    }
}

static int64_t arrival(const struct clock *clock, int64_t sent)
{
    return sent == UNKNOWN || request_of(clock)->stages == 1 ? sent : sent + 1;
}

/* When its inputs are there; UNKNOWN: not yet. */
static int64_t ready(const struct clock *clock, int stage, const struct dtrain_pp_action *action)
{
    int model_stage = dt_schedule_model_stage(request_of(clock), stage, action->chunk);
    int last = dt_schedule_model_stages(request_of(clock)) - 1;

    if (action->kind == DTRAIN_PP_FORWARD && model_stage == 0)
        return 0;
    if (action->kind == DTRAIN_PP_FORWARD)
        return arrival(clock, *time_of(clock, clock->forwards, model_stage - 1, action->microbatch));
    if (action->kind != DTRAIN_PP_BACKWARD && action->kind != DTRAIN_PP_BACKWARD_INPUT)
        return 0;
    if (model_stage < last)
        return arrival(clock, *time_of(clock, clock->backwards, model_stage + 1, action->microbatch));
    return *time_of(clock, clock->forwards, model_stage, action->microbatch);
}

static void end_action(struct clock *clock, int stage, const struct dtrain_pp_action *action, int64_t end)
{
    int model_stage = dt_schedule_model_stage(request_of(clock), stage, action->chunk);

    clock->ends[stage][clock->at[stage]++] = end;
    clock->now[stage] = end;
    if (action->kind == DTRAIN_PP_FORWARD)
        *time_of(clock, clock->forwards, model_stage, action->microbatch) = end;
    else if (action->kind == DTRAIN_PP_BACKWARD || action->kind == DTRAIN_PP_BACKWARD_INPUT)
        *time_of(clock, clock->backwards, model_stage, action->microbatch) = end;
}

/* As far as one stage comes. */
static bool advance(struct clock *clock, int stage)
{
    const struct dt_schedule_stage *list = &clock->schedule->stages[stage];
    size_t before = clock->at[stage];

    while (clock->at[stage] < list->count) {
        const struct dtrain_pp_action *action = &list->actions[clock->at[stage]];
        int64_t from = ready(clock, stage, action);

        if (from == UNKNOWN)
            break;
        if (from < clock->now[stage])
            from = clock->now[stage];
        end_action(clock, stage, action, from + duration(&request_of(clock)->times, action->kind));
    }
    return clock->at[stage] > before;
}

static int run_clock(struct clock *clock, struct dtrain_error *err)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (int s = 0; s < request_of(clock)->stages; s++)
            moved = advance(clock, s) || moved;
    }
    for (int s = 0; s < request_of(clock)->stages; s++) {
        const struct dt_schedule_stage *list = &clock->schedule->stages[s];
        char text[DT_SCHEDULE_TEXT_MAX];

        if (clock->at[s] < list->count)
            return dt_error_set(err, "the schedule cannot end: %s never gets what it needs",
                                dt_schedule_action_text(&list->actions[clock->at[s]], s, text));
    }
    return 0;
}

/* ---- Lists ------------------------------------------------------------------- */

/* Actions of one moment: those that took time, then transfers, then those that take none. */
enum turn { TURN_COMPUTE, TURN_TRANSFER, TURN_NOTE };

struct item {
    int64_t at;
    enum turn turn;
    int pair; /* transfers: the place of the pair of stages in the order of pairs */
    size_t sequence;
    struct dtrain_pp_action action;
};

struct list {
    const struct clock *clock;
    int stage;
    struct item *items;
    size_t count, room;
};

static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    if (x->pair != y->pair)
        return x->pair < y->pair ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Pairs that share no stage go together: (0,1) (2,3) ..., then (1,2) (3,4) ..., then the ring's last. */
static int pair_order(int stages, int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    int colour = high - low > 1 ? 2 : low % 2;

    return colour * stages + low;
}

static void add(struct list *list, int64_t at, enum turn turn, const struct dtrain_pp_action *action)
{
    int pair = 0;

    if (turn == TURN_TRANSFER)
        pair = pair_order(request_of(list->clock)->stages, list->stage, action->peer);
    assert(list->count < list->room);
    list->items[list->count] = (struct item){at, turn, pair, list->count, *action};
    list->count++;
}

/* Where the result of an action of `from` goes; false: it stays. */
static bool route(const struct clock *clock, int from, const struct dtrain_pp_action *action, int *to,
                  int *chunk, bool *is_activation)
{
    int stages = request_of(clock)->stages;
    int model_stage = dt_schedule_model_stage(request_of(clock), from, action->chunk);

    *is_activation = action->kind == DTRAIN_PP_FORWARD;
    if (!*is_activation && action->kind != DTRAIN_PP_BACKWARD && action->kind != DTRAIN_PP_BACKWARD_INPUT)
        return false;
    model_stage += *is_activation ? 1 : -1;
    if (stages == 1 || model_stage < 0 || model_stage >= dt_schedule_model_stages(request_of(clock)))
        return false;
    *to = model_stage % stages;
    *chunk = model_stage / stages;
    return true;
}

static void add_transfer(struct list *list, int64_t at, int from, const struct dtrain_pp_action *action)
{
    bool is_send = from == list->stage, is_activation;
    struct dtrain_pp_action transfer = *action;
    int to, chunk;

    if (!route(list->clock, from, action, &to, &chunk, &is_activation) || (!is_send && to != list->stage))
        return;
    transfer.peer = is_send ? to : from;
    if (!is_send)
        transfer.chunk = chunk;
    if (is_activation)
        transfer.kind = is_send ? DTRAIN_PP_SEND_ACTIVATION : DTRAIN_PP_RECV_ACTIVATION;
    else
        transfer.kind = is_send ? DTRAIN_PP_SEND_GRADIENT : DTRAIN_PP_RECV_GRADIENT;
    add(list, at, TURN_TRANSFER, &transfer);
}

static void add_stage(struct list *list, int from)
{
    const struct dt_schedule_stage *stage = &list->clock->schedule->stages[from];
    const int64_t *ends = list->clock->ends[from];
    const struct dt_schedule_times *times = &request_of(list->clock)->times;

    for (size_t i = 0; i < stage->count; i++) {
        const struct dtrain_pp_action *action = &stage->actions[i];

        if (from == list->stage)
            add(list, ends[i], duration(times, action->kind) > 0 ? TURN_COMPUTE : TURN_NOTE, action);
        add_transfer(list, ends[i], from, action);
    }
}

/* The transfers of one pair at one moment are one operation. */
static void number_operations(struct list *list)
{
    const struct item *last = NULL;
    int operation = -1;

    for (size_t i = 0; i < list->count; i++) {
        struct item *item = &list->items[i];

        if (item->turn != TURN_TRANSFER)
            continue;
        if (last == NULL || last->at != item->at || last->pair != item->pair)
            operation++;
        item->action.operation = operation;
        last = item;
    }
}

static void fill(struct list *list)
{
    int stages = request_of(list->clock)->stages;
    int next = (list->stage + 1) % stages, previous = (list->stage + stages - 1) % stages;

    list->count = 0;
    add_stage(list, list->stage);
    if (next != list->stage)
        add_stage(list, next);
    if (previous != list->stage && previous != next)
        add_stage(list, previous);
    qsort(list->items, list->count, sizeof(*list->items), compare);
    number_operations(list);
}

/* What the lists become replaces them only when all are there: each is made from its neighbours' as well. */
static int fill_all(struct dt_schedule_stage *made, const struct clock *clock, struct dtrain_error *err)
{
    struct list list = {.clock = clock, .room = clock->schedule->stages[0].room};
    int rc = 0;

    list.items = malloc(list.room * sizeof(*list.items));
    if (list.items == NULL)
        return dt_error_memory(err, list.room * sizeof(*list.items), "a pipeline's schedule");
    for (list.stage = 0; rc == 0 && list.stage < request_of(clock)->stages; list.stage++) {
        struct dt_schedule_stage *stage = &made[list.stage];

        fill(&list);
        stage->actions = malloc(list.count * sizeof(*stage->actions));
        if (stage->actions == NULL)
            rc = dt_error_memory(err, list.count * sizeof(*stage->actions), "a pipeline's schedule");
        for (; rc == 0 && stage->count < list.count; stage->count++)
            stage->actions[stage->count] = list.items[stage->count].action;
        stage->room = list.count;
    }
    free(list.items);
    return rc;
}

int dt_schedule_place(struct dt_schedule *schedule, struct dtrain_error *err)
{
    int stages = schedule->request.stages;
    struct dt_schedule_stage made[DTRAIN_PP_STAGES_MAX] = {{.count = 0}};
    struct clock clock;
    int rc = clock_create(&clock, schedule, err);

    if (rc == 0)
        rc = run_clock(&clock, err);
    if (rc == 0)
        rc = fill_all(made, &clock, err);
    for (int s = 0; s < stages; s++) {
        struct dt_schedule_stage old = schedule->stages[s];

        if (rc == 0)
            schedule->stages[s] = made[s];
        free(rc == 0 ? old.actions : made[s].actions);
    }
    clock_destroy(&clock);
    return rc;
}
