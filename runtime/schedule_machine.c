#include "schedule_machine.h"

#include <stdlib.h>

static const struct dt_schedule_request *request_of(const struct dt_machine *machine)
{
    return &machine->schedule->request;
}

unsigned char *dt_machine_state(const struct dt_machine *machine, int model_stage, int microbatch)
{
    return &machine->states[(size_t)model_stage * (size_t)request_of(machine)->microbatches +
                            (size_t)microbatch];
}

struct dt_machine_pair *dt_machine_pair_of(const struct dt_machine *machine, int from, int to)
{
    return &machine->pairs[from * request_of(machine)->stages + to];
}

const struct dtrain_pp_action *dt_machine_current(const struct dt_machine *machine, int stage)
{
    const struct dt_schedule_stage *list = &machine->schedule->stages[stage];

    return machine->at[stage] < list->count ? &list->actions[machine->at[stage]] : NULL;
}

int dt_machine_refuse(const struct dt_machine *machine, int stage, const struct dtrain_pp_action *action,
                      const char *why)
{
    char text[DT_SCHEDULE_TEXT_MAX];

    return dt_error_set(machine->err, "%s %s", dt_schedule_action_text(action, stage, text), why);
}

/* ---- Life ------------------------------------------------------------------- */

void dt_machine_destroy(struct dt_machine *machine)
{
    size_t pairs = (size_t)request_of(machine)->stages * (size_t)request_of(machine)->stages;

    for (size_t i = 0; machine->pairs != NULL && i < pairs; i++)
        free(machine->pairs[i].sends);
    free(machine->pairs);
    free(machine->states);
    free(machine->at);
    free(machine->held);
}

static int list_sends(struct dt_machine *machine, int stage)
{
    const struct dt_schedule_stage *list = &machine->schedule->stages[stage];

    for (size_t i = 0; i < list->count; i++)
        if (dt_schedule_is_send(list->actions[i].kind))
            dt_machine_pair_of(machine, stage, list->actions[i].peer)->count++;
    for (int to = 0; to < request_of(machine)->stages; to++) {
        struct dt_machine_pair *pair = dt_machine_pair_of(machine, stage, to);

        pair->sends = malloc((pair->count + 1) * sizeof(*pair->sends));
        if (pair->sends == NULL)
            return dt_error_memory(machine->err, (pair->count + 1) * sizeof(*pair->sends),
                                   "a schedule's check");
        pair->count = 0;
    }
    for (size_t i = 0; i < list->count; i++) {
        struct dt_machine_pair *pair;

        if (!dt_schedule_is_send(list->actions[i].kind))
            continue;
        pair = dt_machine_pair_of(machine, stage, list->actions[i].peer);
        pair->sends[pair->count++] = &list->actions[i];
    }
    return 0;
}

/* ---- Each action by itself ---------------------------------------------------- */

static int check_action(const struct dt_machine *machine, int stage, const struct dtrain_pp_action *action,
                        int *operation)
{
    const struct dt_schedule_request *request = request_of(machine);

    if (action->microbatch < 0 || action->microbatch >= request->microbatches || action->chunk < 0 ||
        action->chunk >= request->chunks || action->kind > DTRAIN_PP_RECV_GRADIENT)
        return dt_machine_refuse(machine, stage, action, "is not there: no such action, microbatch or chunk");
    if (!dt_schedule_is_transfer(action->kind))
        return 0;
    if (action->peer < 0 || action->peer >= request->stages || action->peer == stage)
        return dt_machine_refuse(machine, stage, action, "has no such peer");
    if (action->operation < *operation)
        return dt_machine_refuse(machine, stage, action, "is in an operation before the last one's");
    *operation = action->operation;
    return 0;
}

static int check_actions(const struct dt_machine *machine)
{
    for (int s = 0; s < request_of(machine)->stages; s++) {
        const struct dt_schedule_stage *list = &machine->schedule->stages[s];
        int operation = 0;

        for (size_t i = 0; i < list->count; i++)
            if (check_action(machine, s, &list->actions[i], &operation) != 0)
                return -1;
    }
    return 0;
}

static int allocate(struct dt_machine *machine)
{
    size_t stages = (size_t)request_of(machine)->stages;
    size_t states =
        (size_t)dt_schedule_model_stages(request_of(machine)) * (size_t)request_of(machine)->microbatches;

    machine->states = calloc(states, 1);
    machine->pairs = calloc(stages * stages, sizeof(*machine->pairs));
    machine->at = calloc(stages, sizeof(*machine->at));
    machine->held = calloc(stages, sizeof(*machine->held));
    if (machine->states == NULL || machine->pairs == NULL || machine->at == NULL || machine->held == NULL)
        return dt_error_memory(machine->err, states, "a schedule's check");
    for (int s = 0; s < (int)stages; s++)
        if (list_sends(machine, s) != 0)
            return -1;
    return 0;
}

int dt_machine_create(struct dt_machine *machine, const struct dt_schedule *schedule, bool is_buffered,
                      struct dtrain_error *err)
{
    *machine = (struct dt_machine){.schedule = schedule, .is_buffered = is_buffered, .err = err};
    return check_actions(machine) == 0 ? allocate(machine) : -1;
}

/* ---- What an action needs and does ----------------------------------------------- */

/* The state that must hold before, the one that must not, and what is true after. */
static int step(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action, unsigned before,
                unsigned after, const char *missing)
{
    int model_stage = dt_schedule_model_stage(request_of(machine), stage, action->chunk);
    unsigned char *state = dt_machine_state(machine, model_stage, action->microbatch);

    if ((*state & before) != before)
        return dt_machine_refuse(machine, stage, action, missing);
    if ((*state & after) != 0)
        return dt_machine_refuse(machine, stage, action, "is done twice");
    *state = (unsigned char)(*state | after);
    return 0;
}

/* A stage alone hands over without transfers. */
static void hand_over(const struct dt_machine *machine, int model_stage, int microbatch, unsigned what)
{
    int last = dt_schedule_model_stages(request_of(machine)) - 1;

    if (request_of(machine)->stages > 1)
        return;
    if (what == DT_HAS_INPUT && model_stage < last)
        *dt_machine_state(machine, model_stage + 1, microbatch) |= DT_HAS_INPUT;
    if (what == DT_HAS_GRADIENT && model_stage > 0)
        *dt_machine_state(machine, model_stage - 1, microbatch) |= DT_HAS_GRADIENT;
}

static int hold(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action)
{
    int most = dt_schedule_peak(request_of(machine), stage);
    char text[DT_SCHEDULE_TEXT_MAX];

    if (++machine->held[stage] <= most)
        return 0;
    return dt_error_set(machine->err, "%s makes %d activations held: expected at most %d",
                        dt_schedule_action_text(action, stage, text), machine->held[stage], most);
}

int dt_machine_compute(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action)
{
    int model_stage = dt_schedule_model_stage(request_of(machine), stage, action->chunk);
    bool is_first = model_stage == 0;
    bool is_last = model_stage == dt_schedule_model_stages(request_of(machine)) - 1;
    unsigned gradient = DT_FORWARD_DONE | (is_last ? 0 : DT_HAS_GRADIENT);
    int rc = 0;

    switch (action->kind) {
    case DTRAIN_PP_FORWARD:
        rc = step(machine, stage, action, is_first ? 0 : DT_HAS_INPUT, DT_FORWARD_DONE,
                  "comes before its activation was received");
        hand_over(machine, model_stage, action->microbatch, DT_HAS_INPUT);
        if (rc == 0)
            rc = hold(machine, stage, action);
        break;
    case DTRAIN_PP_BACKWARD:
    case DTRAIN_PP_BACKWARD_INPUT:
        rc = step(machine, stage, action, gradient,
                  action->kind == DTRAIN_PP_BACKWARD ? DT_BACKWARD_DONE | DT_WEIGHT_DONE : DT_BACKWARD_DONE,
                  "comes before its forward was done and its gradient received");
        hand_over(machine, model_stage, action->microbatch, DT_HAS_GRADIENT);
        break;
    case DTRAIN_PP_BACKWARD_WEIGHT:
        rc =
            step(machine, stage, action, DT_BACKWARD_DONE, DT_WEIGHT_DONE, "comes before its backward-input");
        break;
    case DTRAIN_PP_UPDATE:
        rc = step(machine, stage, action, DT_WEIGHT_DONE, DT_UPDATED, "comes before its backward");
        break;
    default:
        break;
    }
    if (rc == 0)
        machine->held[stage] -= dt_schedule_releases(request_of(machine), action->kind);
    return rc;
}

/* ---- Transfers ---------------------------------------------------------------------- */

int dt_machine_send(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action)
{
    if (action->kind == DTRAIN_PP_SEND_ACTIVATION)
        return step(machine, stage, action, DT_FORWARD_DONE, 0, "comes before its forward");
    return step(machine, stage, action, DT_BACKWARD_DONE, 0, "comes before its backward");
}

int dt_machine_receive(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action)
{
    struct dt_machine_pair *pair = dt_machine_pair_of(machine, action->peer, stage);
    const struct dtrain_pp_action *sent = pair->sends[pair->received++];
    bool is_activation = action->kind == DTRAIN_PP_RECV_ACTIVATION;
    int to = dt_schedule_model_stage(request_of(machine), stage, action->chunk);
    int from = dt_schedule_model_stage(request_of(machine), action->peer, sent->chunk);
    char text[DT_SCHEDULE_TEXT_MAX], sent_text[DT_SCHEDULE_TEXT_MAX];

    if (sent->kind != (is_activation ? DTRAIN_PP_SEND_ACTIVATION : DTRAIN_PP_SEND_GRADIENT) ||
        sent->microbatch != action->microbatch || from + (is_activation ? 1 : -1) != to)
        return dt_error_set(machine->err, "%s does not pair up: what comes next is %s",
                            dt_schedule_action_text(action, stage, text),
                            dt_schedule_action_text(sent, action->peer, sent_text));
    return step(machine, stage, action, 0, is_activation ? DT_HAS_INPUT : DT_HAS_GRADIENT, "");
}
