#include "control_state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 20        /* how often a neighbour's card is looked for */
#define CALL_MS 1500      /* of one try at the parent: longer than a refusal takes to be believed */
#define CALL_CHILD_MS 500 /* of one try at a leader below */
#define CALL_AGAIN_MS 200
#define ASK_DIVISOR 4 /* the part of the timeout that is kept for finding out who came */
#define ASK_MOST_MS 5000
#define ANSWER_MS 100 /* for the answers, at least */

static int64_t after_ms(int64_t ns, int64_t ms)
{
    return ns + ms * 1000000;
}

void dt_seek_begin(struct dt_seek *seek, struct dt_control *control, const struct dt_control_seats *seats,
                   const struct dt_deadline *deadline)
{
    int kept_ms = deadline->timeout_ms / ASK_DIVISOR;

    *seek = (struct dt_seek){.control = control, .seats = seats, .deadline = *deadline};
    seek->unreached = DT_RANK_NONE;
    seek->call_ns = after_ms(dt_now_ns(), seats->patience_ms);
    seek->ask_ns = after_ms(deadline->at_ns, -(kept_ms < ASK_MOST_MS ? kept_ms : ASK_MOST_MS));
}

static bool is_linked(const struct dt_seek *seek, uint32_t rank)
{
    bool linked;

    pthread_mutex_lock(&seek->control->lock);
    linked = dt_tree_is_linked(seek->control, rank);
    pthread_mutex_unlock(&seek->control->lock);
    return linked;
}

static void stop(const struct dt_seek *seek, const char *text)
{
    struct dt_control *control = seek->control;

    pthread_mutex_lock(&control->lock);
    if (control->phase < DT_PHASE_UP)
        dt_tree_stop(control, text, NULL);
    pthread_mutex_unlock(&control->lock);
}

static struct dt_deadline within(int ms, const struct dt_deadline *limit)
{
    struct dt_deadline deadline = dt_deadline_after_ms(ms);

    return deadline.at_ns < limit->at_ns ? deadline : *limit;
}

static int find(const struct dt_seek *seek, uint32_t rank, struct dt_control_seat *seat,
                struct dtrain_error *err)
{
    return seek->seats->find(seek->seats->context, rank, seat, err);
}

/* ---- The parent --------------------------------------------------------------- */

/* Unless its call came meanwhile. */
static void give_up(struct dt_seek *seek, const char *text)
{
    struct dt_control *control = seek->control;

    pthread_mutex_lock(&control->lock);
    if (dt_tree_parent(control) == NULL && control->phase < DT_PHASE_UP) {
        seek->gave_up = true;
        dt_tree_stop(control, text, NULL);
    }
    pthread_mutex_unlock(&control->lock);
}

/* The parent may have called meanwhile. The greeting goes under the lock: from then on no call is taken. */
static void greet_parent(struct dt_seek *seek, int fd, const struct dt_greeting *greeting)
{
    struct dt_control *control = seek->control;
    bool is_lost = false;

    pthread_mutex_lock(&control->lock);
    if (dt_tree_parent(control) != NULL || dt_control_greet(fd, greeting) < 0)
        close(fd);
    else
        is_lost = dt_tree_add_parent(control, fd, false) == NULL;
    pthread_mutex_unlock(&control->lock);
    if (is_lost)
        give_up(seek, "cannot watch the control connection to the rank that this one reports to");
}

static void call_parent(struct dt_seek *seek, uint32_t parent, const struct dt_control_seat *seat,
                        const struct dt_deadline *limit)
{
    const struct dt_plan *plan = seek->control->plan;
    struct dt_greeting greeting = {.purpose = DT_PURPOSE_CONTROL, .rank = seek->control->rank};
    bool is_local = dt_plan_rank_node(plan, parent) == dt_plan_rank_node(plan, greeting.rank);
    struct dt_deadline deadline = within(CALL_MS, limit);
    char who[DT_RANK_TEXT_MAX];
    bool is_refused;
    int fd;

    memcpy(greeting.token, seat->token, DT_TOKEN_SIZE);
    if (dt_control_call_seat(seat, is_local, NULL, &deadline, &fd, &seek->why) == 0) {
        greet_parent(seek, fd, &greeting);
        return;
    }
    is_refused = errno == ECONNREFUSED;
    seek->unreached = parent;
    dt_error_prefix(&seek->why, "%s, whom this rank reports to",
                    dt_rank_text(plan, parent, who, sizeof(who)));
    if (is_refused)
        give_up(seek, seek->why.text);
}

/* Not one that knows that the world ended: it may have gone. */
static bool wants_parent(const struct dt_seek *seek, uint32_t parent)
{
    struct dt_control *control = seek->control;
    bool wants;

    pthread_mutex_lock(&control->lock);
    wants = !control->is_parent_told && !dt_tree_is_linked(control, parent);
    pthread_mutex_unlock(&control->lock);
    return wants;
}

static void seek_parent(struct dt_seek *seek, const struct dt_deadline *limit)
{
    uint32_t parent = dt_control_parent(seek->control->plan, seek->control->rank);
    struct dt_control_seat seat;
    struct dtrain_error err;
    int rc;

    if (seek->gave_up || !wants_parent(seek, parent))
        return;
    rc = find(seek, parent, &seat, &err);
    if (rc > 0)
        call_parent(seek, parent, &seat, limit);
    else if (rc < 0)
        give_up(seek, err.text);
}

/* ---- The leaders below --------------------------------------------------------- */

static void call_child(struct dt_seek *seek, uint32_t child, const struct dt_control_seat *seat,
                       const struct dt_deadline *limit)
{
    struct dt_control *control = seek->control;
    struct dt_greeting greeting = {.purpose = DT_PURPOSE_CALL, .rank = control->rank};
    struct dt_deadline deadline = within(CALL_CHILD_MS, limit);
    char who[DT_RANK_TEXT_MAX];
    int fd;

    memcpy(greeting.token, seat->token, DT_TOKEN_SIZE);
    if (dt_control_call(&seat->address, false, &greeting, &deadline, &fd, &seek->why) < 0) {
        seek->unreached = child;
        dt_error_prefix(&seek->why, "%s", dt_rank_text(control->plan, child, who, sizeof(who)));
        return;
    }
    pthread_mutex_lock(&control->lock);
    if (control->phase >= DT_PHASE_UP || dt_tree_is_linked(control, child))
        close(fd);
    else
        dt_tree_add(control, fd, child, DT_LINK_CALLED);
    pthread_mutex_unlock(&control->lock);
}

static void seek_children(struct dt_seek *seek, const struct dt_deadline *limit)
{
    const struct dt_control *control = seek->control;

    if (dt_now_ns() < seek->call_ns)
        return;
    for (uint32_t node = control->first_node; node < control->last_node; node++) {
        uint32_t child = dt_plan_node_first(control->plan, node);
        struct dt_control_seat seat;
        struct dtrain_error err;
        int rc = is_linked(seek, child) ? 0 : find(seek, child, &seat, &err);

        if (rc > 0)
            call_child(seek, child, &seat, limit);
        else if (rc < 0)
            stop(seek, err.text);
    }
    seek->call_ns = after_ms(dt_now_ns(), CALL_AGAIN_MS);
}

/* ---- Who did not come ---------------------------------------------------------- */

/*
 * The tree names the missing below each rank. Rank 0, and a rank whose parent
 * is missing, have nobody above who puts these together: they ask for all cards.
 */
static bool must_name(const struct dt_seek *seek)
{
    struct dt_control *control = seek->control;
    uint32_t parent = dt_control_parent(control->plan, control->rank);
    bool must;

    pthread_mutex_lock(&control->lock);
    must = !control->is_stopped && control->phase < DT_PHASE_UP &&
           (parent == DT_RANK_NONE || !dt_tree_is_linked(control, parent));
    pthread_mutex_unlock(&control->lock);
    return must;
}

/* All at once: the time that the missing ones cost is spent once. */
static void ask_all(struct dt_seek *seek)
{
    struct dt_control_seat seat;

    for (uint32_t rank = 0; rank < seek->control->world && must_name(seek); rank++)
        find(seek, rank, &seat, NULL);
    seek->has_asked = true;
    seek->name_ns = after_ms(dt_now_ns(), ANSWER_MS);
    if (seek->name_ns < seek->deadline.at_ns)
        seek->name_ns = seek->deadline.at_ns;
}

/* No card of a rank whose leader is connected without one: of that node nothing can be seen from here. */
static bool is_missing(const struct dt_seek *seek, uint32_t rank)
{
    const struct dt_plan *plan = seek->control->plan;
    uint32_t leader = dt_plan_node_first(plan, dt_plan_rank_node(plan, rank));
    struct dt_control_seat seat;

    if (rank == seek->control->rank || find(seek, rank, &seat, NULL) != 0 || is_linked(seek, rank))
        return false;
    return !is_linked(seek, leader) || find(seek, leader, &seat, NULL) != 0;
}

static void name_missing(const struct dt_seek *seek)
{
    struct dt_control *control = seek->control;
    uint32_t parent = dt_control_parent(control->plan, control->rank);
    struct dt_roll roll = {0};

    for (uint32_t rank = 0; rank < control->world; rank++)
        if (is_missing(seek, rank))
            dt_roll_add(&roll, control->plan, rank);
    pthread_mutex_lock(&control->lock);
    if (roll.n == 0 && !dt_tree_is_linked(control, seek->unreached))
        dt_tree_stop(control, seek->why.text, NULL);
    else if (roll.n == 0 && !dt_tree_is_linked(control, parent))
        dt_roll_add(&roll, control->plan, parent);
    if (roll.n > 0 && control->phase < DT_PHASE_UP)
        dt_control_roll_say(control, &roll);
    pthread_mutex_unlock(&control->lock);
}

static void look_who_came(struct dt_seek *seek)
{
    const struct dt_control *control = seek->control;
    int64_t now_ns = dt_now_ns();

    if (!seek->has_asked && now_ns >= seek->ask_ns) {
        ask_all(seek);
    } else if (seek->has_asked && !seek->has_named && now_ns >= seek->name_ns) {
        seek->has_named = true;
        if (must_name(seek))
            name_missing(seek);
        if (!is_linked(seek, dt_control_parent(control->plan, control->rank)))
            seek->gave_up = true;
    }
}

/* ---- All of it ------------------------------------------------------------------ */

void dt_seek_turn(struct dt_seek *seek, const struct dt_deadline *limit)
{
    seek_parent(seek, limit);
    seek_children(seek, limit);
    look_who_came(seek);
}

static bool is_all_linked(const struct dt_control *control)
{
    bool all = dt_tree_is_linked(control, dt_control_parent(control->plan, control->rank));

    for (uint32_t node = control->first_node; node < control->last_node && all; node++)
        all = dt_tree_is_linked(control, dt_plan_node_first(control->plan, node));
    return all;
}

struct dt_deadline dt_seek_next(const struct dt_seek *seek, const struct dt_deadline *limit)
{
    struct dt_deadline next = *limit;
    int64_t due_ns = seek->has_asked ? seek->name_ns : seek->ask_ns;

    if (!is_all_linked(seek->control))
        return within(LOOK_MS, limit);
    if (!seek->has_named && due_ns < next.at_ns)
        next.at_ns = due_ns;
    return next;
}
