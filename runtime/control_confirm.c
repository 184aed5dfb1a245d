#include "control_state.h"

/* ---- In the tree --------------------------------------------------------------- */

void dt_tree_confirm(struct dt_control *control)
{
    control->is_confirmed = true;
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->role == DT_LINK_CHILD)
            dt_control_send_empty(control, i, DT_MESSAGE_CONFIRMED);
}

void dt_tree_check_ready(struct dt_control *control)
{
    if (!control->is_ready || control->ready_count < dt_tree_child_count(control))
        return;
    if (control->is_root)
        dt_tree_confirm(control);
    else if (dt_tree_parent(control) != NULL)
        dt_control_send_empty(control, dt_tree_parent(control), DT_MESSAGE_READY);
}

/* ---- For the world ------------------------------------------------------------- */

/* The first death is the reason; one that died of it has said so itself. */
static int refuse(const struct dt_control *control, const struct dt_deadline *deadline,
                  struct dtrain_error *err)
{
    if (control->is_stopped)
        return dt_error_set(err, "%s", control->stop_text);
    if (control->death_count > 0)
        return dt_error_set(err, "%s", control->deaths[0].text);
    return dt_error_set(err, "not all ranks were ready within %.4g s", deadline->timeout_ms / 1000.0);
}

int dt_control_confirm(struct dt_control *control, const struct dt_deadline *deadline,
                       struct dtrain_error *err)
{
    struct dt_deadline patient = dt_control_patient(deadline);
    bool in_time = true;
    int rc;

    if (control->world == 1)
        return 0;
    pthread_mutex_lock(&control->lock);
    control->is_ready = true;
    dt_tree_check_ready(control);
    dt_control_wake(control);
    while (in_time && !control->is_confirmed && !control->is_stopped && control->lost_count == 0)
        in_time = dt_control_wait(control, &patient);
    rc = control->is_confirmed ? 0 : refuse(control, deadline, err);
    pthread_mutex_unlock(&control->lock);
    return rc;
}
