#include "schedule_machine.h"

/* ---- Transfers ------------------------------------------------------------------- */

/* 1: done, 0: its send is not there yet, -1: wrong. */
static int buffered(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action)
{
    struct dt_machine_pair *pair;

    if (dt_schedule_is_send(action->kind)) {
        dt_machine_pair_of(machine, stage, action->peer)->sent++;
        return dt_machine_send(machine, stage, action) == 0 ? 1 : -1;
    }
    pair = dt_machine_pair_of(machine, action->peer, stage);
    if (pair->received == pair->sent)
        return 0;
    return dt_machine_receive(machine, stage, action) == 0 ? 1 : -1;
}

/* The transfers of the operation that a stage is at, and how many of them are sends. */
static size_t operation_size(const struct dt_machine *machine, int stage, size_t *sends)
{
    const struct dt_schedule_stage *list = &machine->schedule->stages[stage];
    const struct dtrain_pp_action *first = &list->actions[machine->at[stage]];
    size_t n = 0;

    *sends = 0;
    for (size_t i = machine->at[stage]; i < list->count; i++, n++) {
        const struct dtrain_pp_action *action = &list->actions[i];

        if (!dt_schedule_is_transfer(action->kind) || action->operation != first->operation ||
            action->peer != first->peer)
            break;
        *sends += dt_schedule_is_send(action->kind);
    }
    return n;
}

static int complete(struct dt_machine *machine, int stage, size_t count, bool is_send)
{
    const struct dtrain_pp_action *actions = dt_machine_current(machine, stage);

    for (size_t i = 0; i < count; i++) {
        if (dt_schedule_is_send(actions[i].kind) != is_send)
            continue;
        if (is_send && dt_machine_send(machine, stage, &actions[i]) != 0)
            return -1;
        if (!is_send && dt_machine_receive(machine, stage, &actions[i]) != 0)
            return -1;
    }
    return 0;
}

static int report_deadlock(const struct dt_machine *machine, int stage)
{
    const struct dtrain_pp_action *own = dt_machine_current(machine, stage);
    const struct dtrain_pp_action *other = dt_machine_current(machine, own->peer);
    char text[DT_SCHEDULE_TEXT_MAX], other_text[DT_SCHEDULE_TEXT_MAX];

    if (other == NULL)
        return dt_error_set(machine->err, "deadlock: %s waits, and stage %d ended",
                            dt_schedule_action_text(own, stage, text), own->peer);
    return dt_error_set(machine->err, "deadlock: %s waits, while the other is at %s",
                        dt_schedule_action_text(own, stage, text),
                        dt_schedule_action_text(other, own->peer, other_text));
}

/* 1: both stages' operations are done, 0: the other stage is elsewhere, -1: wrong. */
static int rendezvous(struct dt_machine *machine, int stage, const struct dtrain_pp_action *action)
{
    const struct dtrain_pp_action *theirs = dt_machine_current(machine, action->peer);
    int peer = action->peer;
    size_t sends, their_sends, count, their_count;

    if (theirs == NULL || !dt_schedule_is_transfer(theirs->kind) || theirs->peer != stage)
        return 0;
    count = operation_size(machine, stage, &sends);
    their_count = operation_size(machine, peer, &their_sends);
    if (sends != their_count - their_sends || their_sends != count - sends)
        return report_deadlock(machine, stage);
    if (complete(machine, stage, count, true) != 0 || complete(machine, peer, their_count, true) != 0 ||
        complete(machine, stage, count, false) != 0 || complete(machine, peer, their_count, false) != 0)
        return -1;
    machine->at[stage] += count;
    machine->at[peer] += their_count;
    return 1;
}

/* ---- All stages ------------------------------------------------------------------------ */

/* As far as one stage comes: 1 it moved, 0 not, -1 wrong. */
static int advance(struct dt_machine *machine, int stage)
{
    const struct dtrain_pp_action *action;
    int moved = 0, rc = 1;

    while (rc == 1 && (action = dt_machine_current(machine, stage)) != NULL) {
        if (!dt_schedule_is_transfer(action->kind))
            rc = dt_machine_compute(machine, stage, action) == 0 ? 1 : -1;
        else if (machine->is_buffered)
            rc = buffered(machine, stage, action);
        else
            rc = rendezvous(machine, stage, action);
        if (rc == 1 && (machine->is_buffered || !dt_schedule_is_transfer(action->kind)))
            machine->at[stage]++;
        moved |= rc == 1;
    }
    return rc < 0 ? -1 : moved;
}

static int check_complete(const struct dt_machine *machine)
{
    const struct dt_schedule_request *request = &machine->schedule->request;
    bool has_backward = dt_schedule_has_backward(request->kind);
    unsigned wanted = DT_FORWARD_DONE | (has_backward ? DT_BACKWARD_DONE | DT_WEIGHT_DONE : 0) |
                      (request->kind == DTRAIN_PP_PIPEDREAM ? DT_UPDATED : 0);

    for (int k = 0; k < dt_schedule_model_stages(request); k++) {
        for (int m = 0; m < request->microbatches; m++) {
            unsigned missing = wanted & ~(unsigned)*dt_machine_state(machine, k, m);
            struct dtrain_pp_action action = {DTRAIN_PP_UPDATE, m, k / request->stages, -1, -1};

            if (missing == 0)
                continue;
            if (missing & DT_FORWARD_DONE)
                action.kind = DTRAIN_PP_FORWARD;
            else if (missing & DT_BACKWARD_DONE)
                action.kind = DTRAIN_PP_BACKWARD;
            else if (missing & DT_WEIGHT_DONE)
                action.kind = DTRAIN_PP_BACKWARD_WEIGHT;
            return dt_machine_refuse(machine, k % request->stages, &action, "is missing");
        }
    }
    for (int i = 0; i < request->stages * request->stages; i++) {
        const struct dt_machine_pair *pair = &machine->pairs[i];

        if (pair->received < pair->count)
            return dt_machine_refuse(machine, i / request->stages, pair->sends[pair->received],
                                     "is never received");
    }
    return 0;
}

static int run(struct dt_machine *machine)
{
    int stages = machine->schedule->request.stages, moved = 1;

    while (moved != 0) {
        moved = 0;
        for (int s = 0; s < stages; s++) {
            int rc = advance(machine, s);

            if (rc < 0)
                return -1;
            moved |= rc;
        }
    }
    for (int s = 0; s < stages; s++)
        if (dt_machine_current(machine, s) != NULL)
            return report_deadlock(machine, s);
    return check_complete(machine);
}

static int verify(const struct dt_schedule *schedule, bool is_buffered, struct dtrain_error *err)
{
    struct dt_machine machine;
    int rc = dt_machine_create(&machine, schedule, is_buffered, err);

    if (rc == 0)
        rc = run(&machine);
    dt_machine_destroy(&machine);
    return rc;
}

int dt_schedule_verify(const struct dt_schedule *schedule, struct dtrain_error *err)
{
    if (verify(schedule, true, err) != 0)
        return -1;
    return verify(schedule, false, err);
}
