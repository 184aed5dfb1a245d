#include "pp_plan.h"

#include <stdlib.h>

/* Where a microbatch of a chunk is. */
struct place {
    int slot;
    int input, output, output_gradient, input_gradient;
    int activation_operation, gradient_operation; /* that receives it */
};

/* Indices that were given back, the oldest first. */
struct ring {
    int *items;
    size_t first, count, room;
    int made; /* how many there are in all */
};

/* A buffer that is being sent. */
struct sent {
    int buffer, operation;
};

struct planner {
    struct dt_pp_plan *plan;
    const struct dt_schedule_request *request;
    int stage, warm_up;
    struct place *places; /* [chunk][microbatch] */
    struct ring buffers, slots;
    struct sent *sent; /* in order, from sent_first on */
    size_t sent_first, sent_count;
};

/* ---- Rings --------------------------------------------------------------------- */

static int ring_take(struct ring *ring)
{
    int item;

    if (ring->count == 0)
        return ring->made++;
    item = ring->items[ring->first];
    ring->first = (ring->first + 1) % ring->room;
    ring->count--;
    return item;
}

static void ring_give(struct ring *ring, int item)
{
    if (item < 0)
        return;
    ring->items[(ring->first + ring->count) % ring->room] = item;
    ring->count++;
}

static int ring_create(struct ring *ring, size_t room)
{
    *ring = (struct ring){.room = room, .items = malloc(room * sizeof(*ring->items))};
    return ring->items != NULL ? 0 : -1;
}

/* ---- Buffers -------------------------------------------------------------------- */

static struct sent *oldest_sent(struct planner *planner)
{
    return planner->sent_count > 0 ? &planner->sent[planner->sent_first] : NULL;
}

static int forget_sent(struct planner *planner)
{
    int buffer = planner->sent[planner->sent_first++].buffer;

    planner->sent_count--;
    return buffer;
}

/* What ended up to an operation can be used again. */
static void wait_for(struct planner *planner, struct dt_pp_step *step, int operation)
{
    if (operation < 0)
        return;
    if (operation > step->wait)
        step->wait = operation;
    while (planner->sent_count > 0 && oldest_sent(planner)->operation <= operation)
        ring_give(&planner->buffers, forget_sent(planner));
}

/* To compute into. */
static int take_output(struct planner *planner, struct dt_pp_step *step)
{
    if (planner->buffers.count == 0 && planner->sent_count >= DT_PP_SENDS_MAX)
        wait_for(planner, step, oldest_sent(planner)->operation);
    return ring_take(&planner->buffers);
}

/* To receive into: operations run in order, so that an earlier one's buffer is free by then. */
static int take_input(struct planner *planner, int operation)
{
    if (planner->buffers.count == 0 && planner->sent_count > 0 && oldest_sent(planner)->operation < operation)
        return forget_sent(planner);
    return ring_take(&planner->buffers);
}

static void note_sent(struct planner *planner, int buffer, int operation)
{
    planner->sent[planner->sent_first + planner->sent_count++] = (struct sent){buffer, operation};
}

/* ---- Actions -------------------------------------------------------------------- */

static struct place *place_of(const struct planner *planner, int chunk, int microbatch)
{
    return &planner->places[(size_t)chunk * (size_t)planner->request->microbatches + (size_t)microbatch];
}

static void release(struct planner *planner, struct place *place)
{
    ring_give(&planner->buffers, place->input);
    ring_give(&planner->buffers, place->output_gradient);
    ring_give(&planner->slots, place->slot);
    place->slot = place->input = place->output_gradient = -1;
}

static void plan_forward(struct planner *planner, struct dt_pp_step *step, struct place *place)
{
    const struct dt_schedule_request *request = planner->request;
    int model_stage = dt_schedule_model_stage(request, planner->stage, step->action.chunk);

    wait_for(planner, step, place->activation_operation);
    place->slot = ring_take(&planner->slots);
    if (model_stage < dt_schedule_model_stages(request) - 1) {
        place->output = take_output(planner, step);
        if (request->stages == 1)
            place_of(planner, step->action.chunk + 1, step->action.microbatch)->input = place->output;
    }
    step->slot = place->slot;
    step->input = place->input;
    step->output = place->output;
}

static void plan_backward(struct planner *planner, struct dt_pp_step *step, struct place *place)
{
    int model_stage = dt_schedule_model_stage(planner->request, planner->stage, step->action.chunk);

    wait_for(planner, step, place->gradient_operation);
    if (model_stage > 0) {
        place->input_gradient = take_output(planner, step);
        if (planner->request->stages == 1)
            place_of(planner, step->action.chunk - 1, step->action.microbatch)->output_gradient =
                place->input_gradient;
    }
    step->input_gradient = place->input_gradient;
}

/* The weights after n updates, n = microbatch - warm-up, are what its forward used. */
static int version_used(const struct planner *planner, int microbatch)
{
    if (planner->request->kind != DTRAIN_PP_PIPEDREAM || planner->warm_up == 0 || microbatch == 0)
        return -1;
    return microbatch > planner->warm_up ? (microbatch - planner->warm_up) % planner->warm_up : 0;
}

static void plan_compute(struct planner *planner, struct dt_pp_step *step, struct place *place)
{
    if (step->action.kind == DTRAIN_PP_FORWARD) {
        plan_forward(planner, step, place);
    } else if (step->action.kind == DTRAIN_PP_STASH) {
        step->version = step->action.microbatch % planner->warm_up;
        return;
    } else if (step->action.kind == DTRAIN_PP_UPDATE) {
        return;
    } else {
        if (step->action.kind != DTRAIN_PP_BACKWARD_WEIGHT)
            plan_backward(planner, step, place);
        step->slot = place->slot;
        step->input = place->input;
        step->output_gradient = place->output_gradient;
        step->version = version_used(planner, step->action.microbatch);
    }
    if (dt_schedule_releases(planner->request, step->action.kind))
        release(planner, place);
}

static void plan_transfer(struct planner *planner, struct dt_pp_step *step, struct place *place)
{
    int operation = step->action.operation;

    switch (step->action.kind) {
    case DTRAIN_PP_RECV_ACTIVATION:
        place->activation_operation = operation;
        step->input = place->input = take_input(planner, operation);
        break;
    case DTRAIN_PP_RECV_GRADIENT:
        place->gradient_operation = operation;
        step->output_gradient = place->output_gradient = take_input(planner, operation);
        break;
    case DTRAIN_PP_SEND_ACTIVATION:
        step->output = place->output;
        note_sent(planner, place->output, operation);
        place->output = -1;
        break;
    default:
        step->input_gradient = place->input_gradient;
        note_sent(planner, place->input_gradient, operation);
        place->input_gradient = -1;
    }
}

static void plan_all(struct planner *planner, const struct dt_schedule_stage *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct dt_pp_step *step = &planner->plan->steps[i];
        struct place *place = place_of(planner, list->actions[i].chunk, list->actions[i].microbatch);

        *step = (struct dt_pp_step){list->actions[i], -1, -1, -1, -1, -1, -1, -1};
        if (dt_schedule_is_transfer(step->action.kind))
            plan_transfer(planner, step, place);
        else
            plan_compute(planner, step, place);
    }
    planner->plan->count = list->count;
    planner->plan->slots = planner->slots.made;
    planner->plan->buffers = planner->buffers.made;
    planner->plan->stashes = planner->request->kind == DTRAIN_PP_PIPEDREAM ? planner->warm_up : 0;
}

/* ---- Life ------------------------------------------------------------------------ */

static int allocate(struct planner *planner, size_t actions, struct dtrain_error *err)
{
    size_t places = (size_t)planner->request->chunks * (size_t)planner->request->microbatches;

    planner->plan->steps = malloc((actions + 1) * sizeof(*planner->plan->steps));
    planner->places = malloc(places * sizeof(*planner->places));
    planner->sent = malloc((actions + 1) * sizeof(*planner->sent));
    if (planner->plan->steps == NULL || planner->places == NULL || planner->sent == NULL ||
        ring_create(&planner->buffers, actions + 1) != 0 || ring_create(&planner->slots, actions + 1) != 0)
        return dt_error_memory(err, (actions + 1) * sizeof(*planner->plan->steps), "a pipeline's plan");
    for (size_t i = 0; i < places; i++)
        planner->places[i] = (struct place){-1, -1, -1, -1, -1, -1, -1};
    return 0;
}

int dt_pp_plan_create(struct dt_pp_plan *plan, const struct dt_schedule *schedule, int stage,
                      struct dtrain_error *err)
{
    const struct dt_schedule_stage *list = &schedule->stages[stage];
    struct planner planner = {.plan = plan, .request = &schedule->request, .stage = stage};
    int rc;

    *plan = (struct dt_pp_plan){.count = 0};
    planner.warm_up = dt_schedule_warm_up(planner.request, stage);
    rc = allocate(&planner, list->count, err);
    if (rc == 0)
        plan_all(&planner, list);
    free(planner.places);
    free(planner.sent);
    free(planner.buffers.items);
    free(planner.slots.items);
    return rc;
}

void dt_pp_plan_clear(struct dt_pp_plan *plan)
{
    free(plan->steps);
    *plan = (struct dt_pp_plan){.count = 0};
}
