#include <stdlib.h>
#include <string.h>

#include "schedule.h"

/* Operations of one stage: it came to them in order, and they end in order. */
struct queue {
    int posted, ended;  /* counts */
    double *came, *end; /* [operation]: when both ends had come to it; when it ended */
    int *peers;
};

struct simulation {
    const struct dt_schedule *schedule;
    const struct dt_schedule_costs *costs;
    struct dt_schedule_timeline *timeline;
    struct queue *queues; /* [stage] */
    size_t *at;           /* [stage]: actions walked past */
    double *now, *busy;   /* [stage]: the walker's time; time spent computing */
    int *held;            /* [stage] */
    int **inputs;         /* [stage][2][chunk][microbatch]: operation that brings it; -1: none */
};

static size_t input_index(const struct dt_schedule_request *request, bool is_gradient, int chunk,
                          int microbatch)
{
    size_t row = (size_t)is_gradient * (size_t)request->chunks + (size_t)chunk;

    return row * (size_t)request->microbatches + (size_t)microbatch;
}

/* ---- Life ------------------------------------------------------------------- */

static void simulation_destroy(struct simulation *sim)
{
    for (int s = 0; s < sim->schedule->request.stages; s++) {
        if (sim->queues != NULL) {
            free(sim->queues[s].came);
            free(sim->queues[s].end);
            free(sim->queues[s].peers);
        }
        if (sim->inputs != NULL)
            free(sim->inputs[s]);
    }
    free(sim->queues);
    free(sim->at);
    free(sim->now);
    free(sim->busy);
    free(sim->held);
    free(sim->inputs);
}

static void read_operations(struct simulation *sim, int stage)
{
    const struct dt_schedule_stage *list = &sim->schedule->stages[stage];

    for (size_t i = 0; i < list->count; i++) {
        const struct dtrain_pp_action *action = &list->actions[i];

        if (!dt_schedule_is_transfer(action->kind))
            continue;
        sim->queues[stage].peers[action->operation] = action->peer;
        if (!dt_schedule_is_send(action->kind))
            sim->inputs[stage][input_index(&sim->schedule->request, action->kind == DTRAIN_PP_RECV_GRADIENT,
                                           action->chunk, action->microbatch)] = action->operation;
    }
}

static int stage_create(struct simulation *sim, int stage)
{
    const struct dt_schedule_request *request = &sim->schedule->request;
    size_t inputs = 2 * (size_t)request->chunks * (size_t)request->microbatches;
    size_t count = sim->schedule->stages[stage].count + 1;
    struct queue *queue = &sim->queues[stage];

    queue->came = calloc(count, sizeof(*queue->came));
    queue->end = calloc(count, sizeof(*queue->end));
    queue->peers = calloc(count, sizeof(*queue->peers));
    sim->inputs[stage] = malloc(inputs * sizeof(*sim->inputs[stage]));
    sim->timeline->spans[stage] = calloc(count, sizeof(*sim->timeline->spans[stage]));
    if (queue->came == NULL || queue->end == NULL || queue->peers == NULL || sim->inputs[stage] == NULL ||
        sim->timeline->spans[stage] == NULL)
        return -1;
    memset(sim->inputs[stage], 0xff, inputs * sizeof(*sim->inputs[stage]));
    read_operations(sim, stage);
    return 0;
}

static int simulation_create(struct simulation *sim, struct dtrain_error *err)
{
    size_t stages = (size_t)sim->schedule->request.stages;
    int rc = 0;

    sim->queues = calloc(stages, sizeof(*sim->queues));
    sim->at = calloc(stages, sizeof(*sim->at));
    sim->now = calloc(stages, sizeof(*sim->now));
    sim->busy = calloc(stages, sizeof(*sim->busy));
    sim->held = calloc(stages, sizeof(*sim->held));
    sim->inputs = calloc(stages, sizeof(*sim->inputs));
    sim->timeline->spans = calloc(stages, sizeof(*sim->timeline->spans));
    sim->timeline->peaks = calloc(stages, sizeof(*sim->timeline->peaks));
    if (sim->queues == NULL || sim->at == NULL || sim->now == NULL || sim->busy == NULL ||
        sim->held == NULL || sim->inputs == NULL || sim->timeline->spans == NULL ||
        sim->timeline->peaks == NULL)
        rc = -1;
    for (size_t s = 0; rc == 0 && s < stages; s++)
        rc = stage_create(sim, (int)s);
    return rc == 0 ? 0 : dt_error_memory(err, stages * sizeof(*sim->queues), "a schedule's simulation");
}

/* ---- One stage ----------------------------------------------------------------- */

static double cost_of(const struct dt_schedule_costs *costs, enum dtrain_pp_action_kind kind)
{
    switch (kind) {
    case DTRAIN_PP_FORWARD:
        return costs->forward;
    case DTRAIN_PP_BACKWARD:
        return costs->backward + costs->weight;
    case DTRAIN_PP_BACKWARD_INPUT:
        return costs->backward;
    case DTRAIN_PP_BACKWARD_WEIGHT:
        return costs->weight;
    default:
        return 0;
    }
}

/* The operation that brings the action's input; -1: none does. */
static int operation_needed(const struct simulation *sim, int stage, const struct dtrain_pp_action *action)
{
    bool is_gradient = action->kind == DTRAIN_PP_BACKWARD || action->kind == DTRAIN_PP_BACKWARD_INPUT;

    if (!is_gradient && action->kind != DTRAIN_PP_FORWARD)
        return -1;
    return sim
        ->inputs[stage][input_index(&sim->schedule->request, is_gradient, action->chunk, action->microbatch)];
}

static void compute(struct simulation *sim, int stage, const struct dtrain_pp_action *action, double begin)
{
    double cost = cost_of(sim->costs, action->kind);

    sim->timeline->spans[stage][sim->at[stage]] = (struct dt_schedule_span){begin, begin + cost};
    sim->now[stage] = begin + cost;
    sim->busy[stage] += cost;
    sim->held[stage] += action->kind == DTRAIN_PP_FORWARD;
    if (sim->held[stage] > sim->timeline->peaks[stage])
        sim->timeline->peaks[stage] = sim->held[stage];
    sim->held[stage] -= dt_schedule_releases(&sim->schedule->request, action->kind);
}

static void post(struct simulation *sim, int stage, const struct dtrain_pp_action *action)
{
    struct queue *queue = &sim->queues[stage];

    if (action->operation < queue->posted)
        return;
    queue->came[action->operation] = sim->now[stage];
    queue->posted = action->operation + 1;
}

/* Walks on until an input is missing. */
static bool walk(struct simulation *sim, int stage)
{
    const struct dt_schedule_stage *list = &sim->schedule->stages[stage];
    size_t before = sim->at[stage];

    for (; sim->at[stage] < list->count; sim->at[stage]++) {
        const struct dtrain_pp_action *action = &list->actions[sim->at[stage]];
        double begin = sim->now[stage];
        int needed;

        if (dt_schedule_is_transfer(action->kind)) {
            post(sim, stage, action);
            continue;
        }
        needed = operation_needed(sim, stage, action);
        if (needed >= sim->queues[stage].ended)
            break;
        if (needed >= 0 && sim->queues[stage].end[needed] > begin)
            begin = sim->queues[stage].end[needed];
        compute(sim, stage, action, begin);
    }
    return sim->at[stage] > before;
}

/* ---- Operations ------------------------------------------------------------------ */

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* The earliest moment for the oldest operation that did not end; false: the stage did not come to it. */
static bool earliest(const struct queue *queue, double *at)
{
    if (queue->ended == queue->posted)
        return false;
    *at = queue->came[queue->ended];
    if (queue->ended > 0)
        *at = later(*at, queue->end[queue->ended - 1]);
    return true;
}

/* Ends the oldest operation of a stage when its peer's oldest is the same one. */
static bool meet(struct simulation *sim, int stage)
{
    struct queue *own = &sim->queues[stage], *other;
    double at, other_at;

    if (!earliest(own, &at))
        return false;
    other = &sim->queues[own->peers[own->ended]];
    if (!earliest(other, &other_at) || other->peers[other->ended] != stage)
        return false;
    own->came[own->ended] = other->came[other->ended] = later(at, other_at);
    at = later(at, other_at) + sim->costs->link;
    own->end[own->ended++] = at;
    other->end[other->ended++] = at;
    return true;
}

/* ---- All --------------------------------------------------------------------------- */

static int run(struct simulation *sim, struct dtrain_error *err)
{
    const struct dt_schedule_request *request = &sim->schedule->request;
    bool moved = true;

    while (moved) {
        moved = false;
        for (int s = 0; s < request->stages; s++) {
            moved = walk(sim, s) || moved;
            while (meet(sim, s))
                moved = true;
        }
    }
    for (int s = 0; s < request->stages; s++) {
        const struct dt_schedule_stage *list = &sim->schedule->stages[s];
        char text[DT_SCHEDULE_TEXT_MAX];

        if (sim->at[s] < list->count)
            return dt_error_set(err, "the schedule cannot end: %s waits for ever",
                                dt_schedule_action_text(&list->actions[sim->at[s]], s, text));
    }
    return 0;
}

static void finish(struct simulation *sim)
{
    struct dt_schedule_timeline *timeline = sim->timeline;
    double idle = 0;

    for (int s = 0; s < timeline->stages; s++) {
        const struct dt_schedule_stage *list = &sim->schedule->stages[s];
        const struct queue *queue = &sim->queues[s];

        for (size_t i = 0; i < list->count; i++)
            if (dt_schedule_is_transfer(list->actions[i].kind))
                timeline->spans[s][i] = (struct dt_schedule_span){queue->came[list->actions[i].operation],
                                                                  queue->end[list->actions[i].operation]};
        timeline->makespan = later(timeline->makespan, sim->now[s]);
    }
    for (int s = 0; s < timeline->stages; s++)
        idle += timeline->makespan - sim->busy[s];
    timeline->bubble = timeline->makespan > 0 ? idle / timeline->stages / timeline->makespan : 0;
}

int dt_schedule_simulate(struct dt_schedule_timeline *timeline, const struct dt_schedule *schedule,
                         const struct dt_schedule_costs *costs, struct dtrain_error *err)
{
    struct simulation sim = {.schedule = schedule, .costs = costs, .timeline = timeline};
    int rc;

    *timeline = (struct dt_schedule_timeline){.stages = schedule->request.stages};
    rc = simulation_create(&sim, err);
    if (rc == 0)
        rc = run(&sim, err);
    if (rc == 0)
        finish(&sim);
    else
        dt_schedule_timeline_clear(timeline);
    simulation_destroy(&sim);
    return rc;
}

void dt_schedule_timeline_clear(struct dt_schedule_timeline *timeline)
{
    for (int s = 0; timeline->spans != NULL && s < timeline->stages; s++)
        free(timeline->spans[s]);
    free(timeline->spans);
    free(timeline->peaks);
    *timeline = (struct dt_schedule_timeline){.stages = 0};
}
