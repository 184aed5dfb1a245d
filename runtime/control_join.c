#include <stdio.h>

#include "control_state.h"

/* A little more than the deadline: by then the roll call has told who is missing. */
static struct dt_deadline patient_deadline(const struct dt_deadline *deadline)
{
    struct dt_deadline patient = *deadline;

    patient.at_ns += (int64_t)DT_CONTROL_PATIENCE_MS * 1000000;
    return patient;
}

/* The turn itself is without the lock: whatever changed meanwhile is looked at before the wait. */
static void seek_turn(struct dt_control *control, struct dt_seek *seek, const struct dt_deadline *limit)
{
    pthread_mutex_unlock(&control->lock);
    dt_seek_turn(seek, limit);
    pthread_mutex_lock(&control->lock);
}

static void wait_turn(struct dt_control *control, const struct dt_seek *seek, const struct dt_deadline *limit)
{
    struct dt_deadline next = dt_seek_next(seek, limit);

    dt_control_wait(control, &next);
}

/* Also a rank that knows the end has still to tell its parent. */
static bool is_settled(const struct dt_control *control, const struct dt_seek *seek)
{
    if (control->is_stopped)
        return control->is_parent_told || seek->gave_up;
    return control->phase == DT_PHASE_UP;
}

/* Children that did not connect yet are told when they do. */
static void linger(struct dt_control *control, struct dt_seek *seek)
{
    struct dt_deadline mine = dt_deadline_after_ms(DT_CONTROL_LINGER_MS);

    while (!dt_tree_is_told(control) && !dt_deadline_passed(&mine)) {
        wait_turn(control, seek, &mine);
        seek_turn(control, seek, &mine);
    }
}

static int wait_verdict(struct dt_control *control, struct dt_seek *seek, struct dtrain_error *err)
{
    struct dt_deadline patient = patient_deadline(&seek->deadline);
    char text[DT_MESSAGE_TEXT_MAX];

    seek_turn(control, seek, &patient);
    while (!is_settled(control, seek) && !dt_deadline_passed(&patient)) {
        wait_turn(control, seek, &patient);
        seek_turn(control, seek, &patient);
    }
    if (!control->is_stopped && control->phase == DT_PHASE_UP)
        return 0;
    if (!control->is_stopped) {
        snprintf(text, sizeof(text), "rank 0 did not say within %.4g s whether the world is complete",
                 seek->deadline.timeout_ms / 1000.0);
        dt_tree_stop(control, text, NULL);
    }
    linger(control, seek);
    return dt_error_set(err, "%s", control->stop_text);
}

int dt_control_join(struct dt_control *control, const struct dt_control_seats *seats,
                    const struct dt_opinion *opinion, const char *failure, const struct dt_deadline *deadline,
                    struct dtrain_error *err)
{
    struct dt_seek seek;
    int rc;

    if (control->world == 1) {
        control->phase = DT_PHASE_UP;
        return 0;
    }
    if (dt_control_start(control, err) < 0)
        return -1;
    dt_seek_begin(&seek, control, seats, deadline);
    pthread_mutex_lock(&control->lock);
    control->late_count += seats->is_late;
    if (failure != NULL)
        dt_tree_stop(control, failure, NULL);
    else
        dt_tree_join(control, opinion, deadline);
    dt_control_wake(control);
    rc = wait_verdict(control, &seek, err);
    pthread_mutex_unlock(&control->lock);
    return rc;
}

uint32_t dt_control_late_count(struct dt_control *control)
{
    uint32_t n;

    pthread_mutex_lock(&control->lock);
    n = control->late_count;
    pthread_mutex_unlock(&control->lock);
    return n;
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

/* Of the ranks that the world still needs. */
static const char *first_death(const struct dt_control *control)
{
    for (uint32_t i = 0; i < control->death_count && i < DT_DEATHS_KEPT; i++)
        if (!dt_control_is_left_out(control, control->deaths[i].rank))
            return control->deaths[i].text;
    return "a rank died";
}

static int leave_early(struct dt_control *control, struct dtrain_error *err)
{
    const char *why = control->is_stopped ? control->stop_text : first_death(control);

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
    if (!control->is_stopped && control->lost_count == 0)
        dt_tree_leave(control, deadline);
    dt_control_wake(control);
    while (in_time && !control->is_stopped && control->lost_count == 0 && control->phase != DT_PHASE_DONE)
        in_time = dt_control_wait(control, &patient);
    if (control->phase != DT_PHASE_DONE && (control->is_stopped || control->lost_count > 0))
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
