#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/parse.h"

/* Of a microbatch and chunk: a forward, at most three actions on the way back, four transfers. */
#define ROOM_PER_FORWARD 8

static const char *const kind_names[] = {
    [DTRAIN_PP_1F1B] = "1f1b",
    [DTRAIN_PP_GPIPE] = "gpipe",
    [DTRAIN_PP_GPIPE_REVERSE] = "gpipe-reverse",
    [DTRAIN_PP_INTERLEAVED] = "interleaved",
    [DTRAIN_PP_ZB_H1] = "zb-h1",
    [DTRAIN_PP_PIPEDREAM] = "pipedream",
    [DTRAIN_PP_INFERENCE] = "inference",
};

static const char *const action_names[] = {
    [DTRAIN_PP_FORWARD] = "forward",
    [DTRAIN_PP_BACKWARD] = "backward",
    [DTRAIN_PP_BACKWARD_INPUT] = "backward-input",
    [DTRAIN_PP_BACKWARD_WEIGHT] = "backward-weight",
    [DTRAIN_PP_STASH] = "stash",
    [DTRAIN_PP_UPDATE] = "update",
    [DTRAIN_PP_SEND_ACTIVATION] = "send-activation",
    [DTRAIN_PP_RECV_ACTIVATION] = "recv-activation",
    [DTRAIN_PP_SEND_GRADIENT] = "send-gradient",
    [DTRAIN_PP_RECV_GRADIENT] = "recv-gradient",
};

#define KINDS (sizeof(kind_names) / sizeof(kind_names[0]))
#define ACTIONS (sizeof(action_names) / sizeof(action_names[0]))

/* The order of transfers that they give suits other ratios, too: see tests/unit/schedule_test.c. */
static const struct dt_schedule_times common_times = {4, 5, 3};

/* ---- Names --------------------------------------------------------------- */

const char *dtrain_pp_kind_name(enum dtrain_pp_kind kind)
{
    return (size_t)kind < KINDS ? kind_names[kind] : "?";
}

const char *dtrain_pp_action_name(enum dtrain_pp_action_kind kind)
{
    return (size_t)kind < ACTIONS ? action_names[kind] : "?";
}

int dt_schedule_kind_parse(enum dtrain_pp_kind *kind, const char *text, const char *what,
                           struct dtrain_error *err)
{
    unsigned index;

    if (dt_parse_word(&index, text, kind_names, KINDS, what, err) != 0)
        return -1;
    *kind = (enum dtrain_pp_kind)index;
    return 0;
}

char *dt_schedule_action_text(const struct dtrain_pp_action *action, int stage,
                              char buf[DT_SCHEDULE_TEXT_MAX])
{
    int used = snprintf(buf, DT_SCHEDULE_TEXT_MAX, "stage %d: %s of microbatch %d, chunk %d", stage,
                        dtrain_pp_action_name(action->kind), action->microbatch, action->chunk);

    if (dt_schedule_is_transfer(action->kind))
        snprintf(buf + used, DT_SCHEDULE_TEXT_MAX - (size_t)used, ", %s stage %d",
                 dt_schedule_is_send(action->kind) ? "to" : "from", action->peer);
    return buf;
}

/* ---- What the kinds are ---------------------------------------------------- */

bool dt_schedule_has_chunks(enum dtrain_pp_kind kind)
{
    return kind == DTRAIN_PP_INTERLEAVED || kind == DTRAIN_PP_INFERENCE;
}

bool dt_schedule_has_backward(enum dtrain_pp_kind kind)
{
    return kind != DTRAIN_PP_INFERENCE;
}

bool dt_schedule_is_split(enum dtrain_pp_kind kind)
{
    return kind == DTRAIN_PP_ZB_H1;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

int dt_schedule_turns(const struct dt_schedule_request *request)
{
    int groups = (request->microbatches + request->stages - 1) / request->stages;

    return request->chunks > 1 ? groups * request->stages * request->chunks : request->microbatches;
}

int dt_schedule_warm_up(const struct dt_schedule_request *request, int stage)
{
    int after = request->stages - stage - 1, all = dt_schedule_turns(request);

    switch (request->kind) {
    case DTRAIN_PP_GPIPE:
    case DTRAIN_PP_GPIPE_REVERSE:
    case DTRAIN_PP_INFERENCE:
        return all;
    case DTRAIN_PP_INTERLEAVED:
        return least(2 * after + (request->chunks - 1) * request->stages, all);
    case DTRAIN_PP_1F1B:
    case DTRAIN_PP_ZB_H1:
    case DTRAIN_PP_PIPEDREAM:
        break;
    }
    return least(after, all);
}

int dt_schedule_peak(const struct dt_schedule_request *request, int stage)
{
    int all = request->microbatches * request->chunks;

    if (request->kind == DTRAIN_PP_INFERENCE)
        return 1;
    if (request->kind == DTRAIN_PP_ZB_H1)
        return least(request->stages, all);
    return least(dt_schedule_warm_up(request, stage) + 1, all);
}

/* ---- Life ------------------------------------------------------------------ */

static int check_range(const char *what, int value, int most, struct dtrain_error *err)
{
    if (value >= 1 && value <= most)
        return 0;
    return dt_error_set(err, "a pipeline schedule of %d %s: expected 1 to %d", value, what, most);
}

static int check_request(const struct dt_schedule_request *request, struct dtrain_error *err)
{
    const struct dt_schedule_times *times = &request->times;

    if ((size_t)request->kind >= KINDS)
        return dt_error_set(err, "pipeline schedule %d is not known: use a value of enum dtrain_pp_kind",
                            (int)request->kind);
    if (check_range("stages", request->stages, DTRAIN_PP_STAGES_MAX, err) != 0 ||
        check_range("chunks", request->chunks, DTRAIN_PP_CHUNKS_MAX, err) != 0 ||
        check_range("microbatches", request->microbatches,
                    DT_SCHEDULE_COMPUTE_MAX / request->stages / request->chunks, err) != 0)
        return -1;
    if (request->chunks > 1 && !dt_schedule_has_chunks(request->kind))
        return dt_error_set(err, "the schedule %s has one chunk a stage, not %d: use interleaved",
                            dtrain_pp_kind_name(request->kind), request->chunks);
    if (times->forward < 1 || times->backward < 1 || times->weight < 1)
        return dt_error_set(err,
                            "times of a schedule are %lld forward, %lld backward, %lld weight: expected at "
                            "least 1 each, or 0 for all",
                            (long long)times->forward, (long long)times->backward, (long long)times->weight);
    return 0;
}

static int allocate(struct dt_schedule *schedule, struct dtrain_error *err)
{
    const struct dt_schedule_request *request = &schedule->request;
    size_t room = (size_t)request->microbatches * (size_t)request->chunks * ROOM_PER_FORWARD;

    schedule->stages = calloc((size_t)request->stages, sizeof(*schedule->stages));
    if (schedule->stages == NULL)
        return dt_error_memory(err, sizeof(*schedule->stages), "a pipeline's schedule");
    for (int s = 0; s < request->stages; s++) {
        struct dt_schedule_stage *stage = &schedule->stages[s];

        stage->actions = malloc(room * sizeof(*stage->actions));
        if (stage->actions == NULL)
            return dt_error_memory(err, room * sizeof(*stage->actions), "a pipeline's schedule");
        stage->room = room;
        dt_schedule_order(stage, request, s);
    }
    return 0;
}

int dt_schedule_create(struct dt_schedule **schedule, const struct dt_schedule_request *request,
                       struct dtrain_error *err)
{
    struct dt_schedule *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a pipeline's schedule");
    made->request = *request;
    if (request->times.forward == 0 && request->times.backward == 0 && request->times.weight == 0)
        made->request.times = common_times;
    if (check_request(&made->request, err) != 0 || allocate(made, err) != 0 ||
        dt_schedule_place(made, err) != 0) {
        dt_schedule_destroy(made);
        return -1;
    }
    *schedule = made;
    return 0;
}

void dt_schedule_destroy(struct dt_schedule *schedule)
{
    if (schedule == NULL)
        return;
    for (int s = 0; schedule->stages != NULL && s < schedule->request.stages; s++)
        free(schedule->stages[s].actions);
    free(schedule->stages);
    free(schedule);
}
