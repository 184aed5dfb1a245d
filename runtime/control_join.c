#include <stdio.h>
#include <string.h>

#include "control_state.h"

/* A little more than the deadline: by then the roll call has told who is missing. */
static struct dt_deadline patient_deadline(const struct dt_deadline *deadline)
{
    struct dt_deadline patient = *deadline;

    patient.at_ns += (int64_t)DT_CONTROL_PATIENCE_MS * 1000000;
    return patient;
}

/* Children that did not connect yet are told when they do. */
static void linger(struct dt_control *control)
{
    struct dt_deadline mine = dt_deadline_after_ms(DT_CONTROL_LINGER_MS);

    while (!dt_tree_is_told(control) && dt_control_wait(control, &mine))
        continue;
}

static int wait_verdict(struct dt_control *control, const struct dt_deadline *deadline,
                        struct dtrain_error *err)
{
    struct dt_deadline patient = patient_deadline(deadline);
    char text[DT_MESSAGE_TEXT_MAX];
    bool in_time = true;

    while (in_time && !control->is_stopped && control->phase != DT_PHASE_UP)
        in_time = dt_control_wait(control, &patient);
    if (!control->is_stopped && control->phase == DT_PHASE_UP)
        return 0;
    if (!control->is_stopped) {
        snprintf(text, sizeof(text), "rank 0 did not say within %.4g s whether the world is complete",
                 deadline->timeout_ms / 1000.0);
        dt_tree_stop(control, text, NULL);
    }
    linger(control);
    return dt_error_set(err, "%s", control->stop_text);
}

static int join_parent(struct dt_control *control, const struct dt_control_seat *seat,
                       const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dt_greeting greeting = {.purpose = DT_PURPOSE_CONTROL, .rank = control->rank};
    uint32_t parent = dt_control_parent(control->plan, control->rank);
    bool is_local =
        dt_plan_rank_node(control->plan, parent) == dt_plan_rank_node(control->plan, control->rank);
    char who[DT_RANK_TEXT_MAX];
    const struct dt_link *link;
    int fd;

    memcpy(greeting.token, seat->token, DT_TOKEN_SIZE);
    if (dt_control_call_seat(seat, is_local, &greeting, deadline, &fd, err) < 0)
        return dt_error_prefix(err, "%s, whom this rank reports to",
                               dt_rank_text(control->plan, parent, who, sizeof(who)));
    pthread_mutex_lock(&control->lock);
    link = dt_tree_add(control, fd, parent, DT_LINK_PARENT);
    pthread_mutex_unlock(&control->lock);
    return link != NULL ? 0 : dt_error_set(err, "cannot watch the control connection to rank %u", parent);
}

int dt_control_join(struct dt_control *control, const struct dt_control_seat *parent,
                    const struct dt_opinion *opinion, const char *failure, const struct dt_deadline *deadline,
                    struct dtrain_error *err)
{
    struct dtrain_error own;
    int rc;

    if (control->world == 1) {
        control->phase = DT_PHASE_UP;
        return 0;
    }
    if (dt_control_start(control, err) < 0)
        return -1;
    if (parent != NULL && join_parent(control, parent, deadline, &own) < 0 && failure == NULL)
        failure = own.text;
    pthread_mutex_lock(&control->lock);
    if (failure != NULL)
        dt_tree_stop(control, failure, NULL);
    else
        dt_tree_join(control, opinion, deadline);
    dt_control_wake(control);
    rc = wait_verdict(control, deadline, err);
    pthread_mutex_unlock(&control->lock);
    return rc;
}

/* ---- Leaving ------------------------------------------------------------------- */

/* A rank that goes early looks to the others like one that died, but says why. */
static void say_left(struct dt_control *control, const char *why)
{
    char who[DT_RANK_TEXT_MAX], text[DT_MESSAGE_TEXT_MAX];

    snprintf(text, sizeof(text), "%s left: %.700s",
             dt_rank_text(control->plan, control->rank, who, sizeof(who)), why);
    dt_tree_farewell(control, text);
}

static int leave_early(struct dt_control *control, struct dtrain_error *err)
{
    const char *why = control->is_stopped ? control->stop_text : control->deaths[0].text;

    if (!control->is_stopped)
        say_left(control, why);
    return dt_error_set(err, "%s", why);
}

int dt_control_leave(struct dt_control *control, const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dt_deadline patient = patient_deadline(deadline);
    bool in_time = true;
    int rc = 0;

    if (control->world == 1)
        return 0;
    pthread_mutex_lock(&control->lock);
    if (!control->is_stopped && control->death_count == 0)
        dt_tree_leave(control, deadline);
    dt_control_wake(control);
    while (in_time && !control->is_stopped && control->death_count == 0 && control->phase != DT_PHASE_DONE)
        in_time = dt_control_wait(control, &patient);
    if (control->phase != DT_PHASE_DONE && (control->is_stopped || control->death_count > 0))
        rc = leave_early(control, err);
    else if (control->phase != DT_PHASE_DONE)
        rc = dt_error_set(err, "not all ranks came to dtrain_finalize within %.4g s",
                          deadline->timeout_ms / 1000.0);
    pthread_mutex_unlock(&control->lock);
    return rc;
}

void dt_control_abandon(struct dt_control *control, const char *why)
{
    pthread_mutex_lock(&control->lock);
    if (!control->is_stopped && control->phase == DT_PHASE_UP)
        say_left(control, why);
    pthread_mutex_unlock(&control->lock);
}
