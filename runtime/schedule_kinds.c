#include <assert.h>

#include "schedule.h"

/* What the order of a stage is made from: its n-th forward and its n-th backward. */
struct maker {
    struct dt_schedule_stage *to;
    const struct dt_schedule_request *request;
    int stage, warm_up, all; /* all: with those that fill the last group up */
};

struct place {
    int microbatch, chunk;
};

static void add(struct maker *maker, enum dtrain_pp_action_kind kind, struct place place)
{
    if (place.microbatch >= maker->request->microbatches)
        return;
    assert(maker->to->count < maker->to->room);
    maker->to->actions[maker->to->count++] =
        (struct dtrain_pp_action){kind, place.microbatch, place.chunk, -1, -1};
}

/*
 * Microbatches go in groups of as many as there are stages, each group through chunk after chunk. A last
 * group that is not full leaves out what is missing; with a shorter turn through the chunks, stages could
 * wait for each other in a circle.
 */
static struct place nth(const struct maker *maker, int n)
{
    int group = maker->request->stages, in_group = group * maker->request->chunks;

    if (maker->request->chunks == 1)
        return (struct place){n, 0};
    return (struct place){n / in_group * group + n % group, n % in_group / group};
}

static struct place nth_backward(const struct maker *maker, int n)
{
    struct place place;

    if (maker->request->kind == DTRAIN_PP_GPIPE_REVERSE)
        n = maker->all - 1 - n;
    place = nth(maker, n);
    place.chunk = maker->request->chunks - 1 - place.chunk;
    return place;
}

static void add_forward(struct maker *maker, int n)
{
    add(maker, DTRAIN_PP_FORWARD, nth(maker, n));
}

static void add_weight(struct maker *maker, int n)
{
    add(maker, DTRAIN_PP_BACKWARD_WEIGHT, nth_backward(maker, n));
}

/*
 * Forward j uses the weights after max(0, j - warm-up) updates. Before update n those after n updates are
 * stashed when a microbatch in flight has them.
 */
static bool is_stashed(const struct maker *maker, int n)
{
    if (n > 0)
        return maker->warm_up > 0 && n + maker->warm_up < maker->all;
    return maker->warm_up > 0 && maker->all > 1;
}

static void add_backward(struct maker *maker, int n)
{
    enum dtrain_pp_kind kind = maker->request->kind;
    struct place place = nth_backward(maker, n);

    add(maker, dt_schedule_is_split(kind) ? DTRAIN_PP_BACKWARD_INPUT : DTRAIN_PP_BACKWARD, place);
    /* The W that fills the time in which 1F1B's stage would wait (ZB-H1). */
    if (dt_schedule_is_split(kind) && n >= maker->stage)
        add_weight(maker, n - maker->stage);
    if (kind != DTRAIN_PP_PIPEDREAM)
        return;
    if (is_stashed(maker, n))
        add(maker, DTRAIN_PP_STASH, place);
    add(maker, DTRAIN_PP_UPDATE, place);
}

static void add_late_weights(struct maker *maker)
{
    int first = maker->all > maker->stage ? maker->all - maker->stage : 0;

    for (int n = first; n < maker->all; n++)
        add_weight(maker, n);
}

void dt_schedule_order(struct dt_schedule_stage *to, const struct dt_schedule_request *request, int stage)
{
    struct maker maker = {to, request, stage, dt_schedule_warm_up(request, stage),
                          dt_schedule_turns(request)};

    for (int n = 0; n < maker.warm_up; n++)
        add_forward(&maker, n);
    if (!dt_schedule_has_backward(request->kind))
        return;
    for (int n = maker.warm_up; n < maker.all; n++) {
        add_forward(&maker, n);
        add_backward(&maker, n - maker.warm_up);
    }
    for (int n = maker.all - maker.warm_up; n < maker.all; n++)
        add_backward(&maker, n);
    if (dt_schedule_is_split(request->kind))
        add_late_weights(&maker);
}
