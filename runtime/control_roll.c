#include "control_state.h"

#include <stdio.h>

static bool lacks_children(const struct dt_control *control)
{
    uint32_t n = control->phase == DT_PHASE_LEAVING ? control->bye_count : control->hello_count;

    return (control->phase == DT_PHASE_COLLECTING || control->phase == DT_PHASE_LEAVING) &&
           n < dt_tree_child_count(control);
}

static bool is_waiting(const struct dt_control *control)
{
    return !control->is_stopped && control->phase != DT_PHASE_IDLE && control->phase != DT_PHASE_UP &&
           control->phase != DT_PHASE_DONE;
}

void dt_control_roll_say(struct dt_control *control, struct dt_roll *roll)
{
    bool is_leaving = control->phase == DT_PHASE_LEAVING;
    char text[DT_MESSAGE_TEXT_MAX];

    snprintf(text, sizeof(text), "%s did not come %swithin %.4g s%s", dt_roll_end(roll),
             is_leaving ? "to dtrain_finalize " : "", control->deadline.timeout_ms / 1000.0,
             is_leaving ? "" : ": it exited, crashed, or waits before dtrain_init");
    dt_tree_stop(control, text, NULL);
}

static void say_missing(struct dt_control *control)
{
    bool is_leaving = control->phase == DT_PHASE_LEAVING;
    struct dt_roll roll = {0};

    for (uint32_t i = 0; i < dt_tree_child_count(control); i++) {
        uint32_t rank = dt_tree_child(control, i);
        const struct dt_link *link = dt_tree_find(control, rank, DT_LINK_CHILD);

        if (link == NULL || !(is_leaving ? link->said_bye : link->said_hello))
            dt_roll_add(&roll, control->plan, rank);
    }
    dt_control_roll_say(control, &roll);
}

/* Nobody waits for the root by name, so it names itself. */
static void say_root_missing(struct dt_control *control)
{
    char text[DT_MESSAGE_TEXT_MAX];

    snprintf(text, sizeof(text),
             "rank %u (task %u) on %s did not come to dtrain_finalize when others waited for it", control->rank,
             dt_plan_rank_procid(control->plan, control->rank),
             dt_plan_node_name(control->plan, dt_plan_rank_node(control->plan, control->rank)));
    dt_tree_stop(control, text, NULL);
}

void dt_control_roll_call(struct dt_control *control, const struct dt_link *from)
{
    if (control->is_rolled || control->is_stopped)
        return;
    control->is_rolled = true;
    control->deadline.at_ns = dt_now_ns() + (int64_t)control->height * DT_ROLL_LEVEL_MS * 1000000;
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i != from && (i->role & DT_LINK_TREE) != 0)
            dt_control_send_roll(control, i);
    if (control->is_root && control->phase == DT_PHASE_UP)
        say_root_missing(control);
}

/* Whoever comes during a roll call is in time, but has no time of its own left. */
void dt_control_roll_start(struct dt_control *control, const struct dt_deadline *deadline,
                           enum dt_control_phase phase)
{
    int64_t at_ns = control->deadline.at_ns;

    control->phase = phase;
    control->deadline = *deadline;
    if (control->is_rolled)
        control->deadline.at_ns = at_ns;
}

int dt_control_roll_due_ms(const struct dt_control *control)
{
    if (!is_waiting(control) || (control->is_rolled && !lacks_children(control)))
        return -1;
    return dt_deadline_left_ms(&control->deadline);
}

void dt_control_roll_tick(struct dt_control *control)
{
    if (dt_control_roll_due_ms(control) != 0)
        return;
    if (!control->is_rolled)
        dt_control_roll_call(control, NULL);
    else
        say_missing(control);
}
