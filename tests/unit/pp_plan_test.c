/*
 * The buffers of a pipeline stage, for all schedules and sizes: each step finds in its buffers what it needs,
 * overwrites nothing that is still needed or being sent, and waits for what it uses; there are few buffers.
 */
#include <stdlib.h>

#include "runtime/pp_plan.h"
#include "tap.h"

enum { STAGES_MAX = 8, MICROBATCHES_MAX = 20, CHUNKS_MAX = 3 };

enum content { NOTHING, ACTIVATION, GRADIENT };

/* What is in a buffer: of which boundary (before this model stage) and microbatch. */
struct buffer {
    enum content content;
    int boundary, microbatch;
    int receiving; /* operation that fills it; -1: none */
    int sending;   /* operation that empties it; -1: none */
};

struct checker {
    const struct dt_schedule_request *request;
    int stage;
    const struct dt_pp_plan *plan;
    struct buffer *buffers;
    bool *is_held; /* [slot] */
    int waited;    /* operations up to this one ended before what comes now */
    const char *wrong;
};

static void expect(struct checker *checker, bool ok, const char *what)
{
    if (!ok && checker->wrong == NULL)
        checker->wrong = what;
}

/* Into a buffer of which nothing is needed any more, at the latest after the operation `after`. */
static void fill(struct checker *checker, int index, struct buffer content, int after)
{
    struct buffer *buffer = &checker->buffers[index];

    expect(checker, buffer->content == NOTHING || (buffer->sending >= 0 && buffer->sending <= after),
           "a buffer that is in use is overwritten");
    *buffer = content;
}

static void need(struct checker *checker, int index, enum content content, int boundary, int microbatch)
{
    const struct buffer *buffer;

    expect(checker, index >= 0, "a buffer is missing");
    if (index < 0)
        return;
    buffer = &checker->buffers[index];
    expect(checker,
           buffer->content == content && buffer->boundary == boundary && buffer->microbatch == microbatch,
           "a buffer holds something else");
    expect(checker, buffer->receiving <= checker->waited, "a buffer is read before it came");
}

static void empty(struct checker *checker, int index)
{
    if (index >= 0)
        checker->buffers[index].content = NOTHING;
}

static void check_compute(struct checker *checker, const struct dt_pp_step *step)
{
    const struct dtrain_pp_action *action = &step->action;
    int k = dt_schedule_model_stage(checker->request, checker->stage, action->chunk), m = action->microbatch;
    bool is_first = k == 0, is_last = k == dt_schedule_model_stages(checker->request) - 1;

    if (action->kind == DTRAIN_PP_STASH || action->kind == DTRAIN_PP_UPDATE)
        return;
    checker->waited = step->wait > checker->waited ? step->wait : checker->waited;
    expect(checker, is_first == (step->input < 0), "an input where none is, or none");
    if (!is_first)
        need(checker, step->input, ACTIVATION, k, m);
    if (action->kind == DTRAIN_PP_FORWARD) {
        expect(checker, !checker->is_held[step->slot], "a slot is used twice");
        checker->is_held[step->slot] = true;
        expect(checker, is_last == (step->output < 0), "an output where none is, or none");
        if (!is_last)
            fill(checker, step->output, (struct buffer){ACTIVATION, k + 1, m, -1, -1}, checker->waited);
    } else {
        expect(checker, checker->is_held[step->slot], "a slot that nobody holds");
        if (!is_last)
            need(checker, step->output_gradient, GRADIENT, k + 1, m);
        if (!is_first && action->kind != DTRAIN_PP_BACKWARD_WEIGHT)
            fill(checker, step->input_gradient, (struct buffer){GRADIENT, k, m, -1, -1}, checker->waited);
    }
    if (!dt_schedule_releases(checker->request, action->kind))
        return;
    empty(checker, step->input);
    empty(checker, step->output_gradient);
    checker->is_held[step->slot] = false;
}

static void check_transfer(struct checker *checker, const struct dt_pp_step *step)
{
    const struct dtrain_pp_action *action = &step->action;
    int k = dt_schedule_model_stage(checker->request, checker->stage, action->chunk), m = action->microbatch;
    int operation = action->operation;

    switch (action->kind) {
    case DTRAIN_PP_RECV_ACTIVATION:
        fill(checker, step->input, (struct buffer){ACTIVATION, k, m, operation, -1}, operation - 1);
        break;
    case DTRAIN_PP_RECV_GRADIENT:
        fill(checker, step->output_gradient, (struct buffer){GRADIENT, k + 1, m, operation, -1},
             operation - 1);
        break;
    case DTRAIN_PP_SEND_ACTIVATION:
        need(checker, step->output, ACTIVATION, k + 1, m);
        checker->buffers[step->output].sending = operation;
        break;
    default:
        need(checker, step->input_gradient, GRADIENT, k, m);
        checker->buffers[step->input_gradient].sending = operation;
    }
}

/* Those of a stage, for each forward that it holds: an input, and while it goes back two gradients. */
static int buffers_most(const struct dt_schedule_request *request, const struct dt_pp_plan *plan)
{
    int held = dt_schedule_has_backward(request->kind) ? plan->slots : 1;

    return held + (dt_schedule_is_split(request->kind) ? plan->slots : 2) + DT_PP_SENDS_MAX +
           2 * request->chunks;
}

static const char *check_stage(const struct dt_schedule *schedule, int stage)
{
    struct dt_pp_plan plan;
    struct checker checker = {.request = &schedule->request, .stage = stage, .plan = &plan, .waited = -1};

    if (dt_pp_plan_create(&plan, schedule, stage, NULL) != 0)
        return "no plan";
    checker.buffers = calloc((size_t)plan.buffers + 1, sizeof(*checker.buffers));
    checker.is_held = calloc((size_t)plan.slots + 1, sizeof(*checker.is_held));
    for (size_t i = 0; i < plan.count && checker.wrong == NULL; i++) {
        if (dt_schedule_is_transfer(plan.steps[i].action.kind))
            check_transfer(&checker, &plan.steps[i]);
        else
            check_compute(&checker, &plan.steps[i]);
    }
    expect(&checker, plan.slots <= dt_schedule_peak(&schedule->request, stage), "more slots than the peak");
    if (plan.buffers > buffers_most(&schedule->request, &plan) && checker.wrong == NULL) {
        printf("# %d buffers with %d slots, expected %d\n", plan.buffers, plan.slots,
               buffers_most(&schedule->request, &plan));
        checker.wrong = "many buffers";
    }
    free(checker.buffers);
    free(checker.is_held);
    dt_pp_plan_clear(&plan);
    return checker.wrong;
}

static bool check(const struct dt_schedule_request *request)
{
    struct dt_schedule *schedule;
    const char *wrong = NULL;

    if (dt_schedule_create(&schedule, request, NULL) != 0)
        return false;
    for (int s = 0; s < request->stages && wrong == NULL; s++)
        wrong = check_stage(schedule, s);
    dt_schedule_destroy(schedule);
    if (wrong != NULL)
        printf("# %d microbatches, %d chunks: %s\n", request->microbatches, request->chunks, wrong);
    return wrong == NULL;
}

int main(void)
{
    for (int kind = 0; kind <= DTRAIN_PP_INFERENCE; kind++) {
        int chunks = dt_schedule_has_chunks((enum dtrain_pp_kind)kind) ? CHUNKS_MAX : 1;

        for (int p = 1; p <= STAGES_MAX; p++) {
            bool ok = true;

            for (int v = 1; v <= chunks; v++)
                for (int m = 1; m <= MICROBATCHES_MAX; m++)
                    ok = ok &&
                         check(&(struct dt_schedule_request){(enum dtrain_pp_kind)kind, p, m, v, {0, 0, 0}});
            tap_ok(ok, "buffers of %s on %d stages", dtrain_pp_kind_name((enum dtrain_pp_kind)kind), p);
        }
    }
    return tap_done();
}
