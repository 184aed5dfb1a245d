#include "control_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "random.h"

/* ---- Who is where in the tree -------------------------------------------- */

uint32_t dt_control_parent(const struct dt_plan *plan, uint32_t rank)
{
    uint32_t node = dt_plan_rank_node(plan, rank), leader = dt_plan_node_first(plan, node);

    if (rank != leader)
        return leader;
    if (node == 0)
        return DT_RANK_NONE;
    return dt_plan_node_first(plan, (node - 1) / DT_CONTROL_FANOUT);
}

uint32_t dt_tree_child_count(const struct dt_control *control)
{
    if (control->branch.children != NULL)
        return control->branch.child_count;
    return control->local_children + control->last_node - control->first_node;
}

uint32_t dt_tree_child(const struct dt_control *control, uint32_t i)
{
    if (control->branch.children != NULL)
        return control->branch.children[i];
    if (i < control->local_children)
        return control->rank + 1 + i;
    return dt_plan_node_first(control->plan, control->first_node + i - control->local_children);
}

static bool is_child(const struct dt_control *control, uint32_t rank)
{
    return rank < control->world && dt_control_parent(control->plan, rank) == control->rank;
}

struct dt_link *dt_tree_find(const struct dt_control *control, uint32_t rank, enum dt_link_role role)
{
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->rank == rank && i->role == role)
            return i;
    return NULL;
}

bool dt_tree_is_linked(const struct dt_control *control, uint32_t rank)
{
    for (const struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->rank == rank && i->role != DT_LINK_STRANGER)
            return true;
    return rank == DT_RANK_NONE;
}

struct dt_link *dt_tree_parent(const struct dt_control *control)
{
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->role == DT_LINK_PARENT)
            return i;
    return NULL;
}

/* ---- The end of the world, and deaths ---------------------------------------- */

void dt_tree_count_told(struct dt_control *control, enum dt_link_role role)
{
    control->told_count += role == DT_LINK_CHILD;
    control->is_parent_told = control->is_parent_told || role == DT_LINK_PARENT;
}

void dt_tree_stop(struct dt_control *control, const char *text, const struct dt_link *from)
{
    if (control->is_stopped || control->phase == DT_PHASE_DONE)
        return;
    control->is_stopped = true;
    snprintf(control->stop_text, sizeof(control->stop_text), "%s", text);
    for (struct dt_link *i = control->links; i != NULL; i = i->next) {
        if (i != from)
            dt_control_send_stop(control, i);
        else
            dt_tree_count_told(control, i->role);
    }
}

static void keep_death(struct dt_control *control, uint32_t rank, const char *text, bool is_witness)
{
    uint32_t n = control->death_count;

    control->dead[rank / 8] |= (unsigned char)(1u << rank % 8);
    if (n < DT_DEATHS_KEPT) {
        control->deaths[n].rank = rank;
        snprintf(control->deaths[n].text, sizeof(control->deaths[n].text), "%s", text);
    }
    control->death_count = n + 1;
    control->lost_count++;
    if (write(control->death_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        dt_log(control->log, DT_LOG_DEBUG, "the death's descriptor is full");
    /* Who saw it says it: one line in the job's output, not one a rank. */
    dt_log(control->log, n > 0 ? DT_LOG_DEBUG : is_witness ? DT_LOG_WARN : DT_LOG_INFO, "%s", text);
}

void dt_tree_death(struct dt_control *control, uint32_t rank, const char *text, const struct dt_link *from)
{
    if (control->is_stopped || control->phase == DT_PHASE_DONE ||
        (control->dead[rank / 8] & 1u << rank % 8) != 0)
        return;
    keep_death(control, rank, text, from == NULL);
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i != from && (i->role & DT_LINK_TREE) != 0)
            dt_control_send_dead(control, i, rank, text);
    if (control->phase < DT_PHASE_UP)
        dt_tree_stop(control, text, NULL);
}

static void link_remove(struct dt_control *control, struct dt_link *link)
{
    struct dt_link **at = &control->links;

    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    dt_link_destroy(link);
}

/* error: of the last read; ETIMEDOUT when the kernel's probes got no answer. */
void dt_tree_lost(struct dt_control *control, struct dt_link *link, int error)
{
    enum dt_link_role role = link->role;
    bool said_bye = link->said_bye;
    uint32_t rank = link->rank;
    char who[DT_RANK_TEXT_MAX], text[DT_MESSAGE_TEXT_MAX];

    link_remove(control, link);
    if (!control->is_stopped)
        dt_tree_count_told(control, role);
    if ((role & DT_LINK_TREE) == 0 || said_bye)
        return;
    snprintf(text, sizeof(text), "%s died%s%s (seen by rank %u)",
             dt_rank_text(control->plan, rank, who, sizeof(who)),
             error == ETIMEDOUT ? " or lost its network" : "",
             control->phase < DT_PHASE_UP ? " during dtrain_init" : "", control->rank);
    dt_tree_death(control, rank, text, NULL);
}

/* ---- Coming up ------------------------------------------------------------- */

void dt_tree_go(struct dt_control *control)
{
    control->phase = DT_PHASE_UP;
    control->is_rolled = false;
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->role == DT_LINK_CHILD)
            dt_control_send_go(control, i);
}

static void decide(struct dt_control *control)
{
    char text[DT_MESSAGE_TEXT_MAX];
    unsigned char token[DT_TOKEN_SIZE];
    struct dtrain_error err;

    if (!dt_opinions_agree(&control->opinions, control->plan, text, sizeof(text))) {
        dt_tree_stop(control, text, NULL);
    } else if (dt_random_fill(token, sizeof(token), &err) < 0) {
        dt_tree_stop(control, err.text, NULL);
    } else {
        dt_rendezvous_set_world_token(&control->rendezvous, token);
        dt_tree_go(control);
    }
}

void dt_tree_check_joined(struct dt_control *control)
{
    if (control->is_stopped || control->phase != DT_PHASE_COLLECTING ||
        control->hello_count < dt_tree_child_count(control))
        return;
    control->phase = DT_PHASE_WAITING;
    if (control->rank == 0)
        decide(control);
    else if (dt_tree_parent(control) != NULL)
        dt_control_send_hello(control, dt_tree_parent(control));
}

void dt_tree_check_device(struct dt_control *control, uint32_t rank, const char *device)
{
    char who[DT_RANK_TEXT_MAX], text[DT_MESSAGE_TEXT_MAX];

    if (device[0] == '\0' || rank < control->rank || rank > control->rank + control->local_children)
        return;
    for (uint32_t i = 0; i <= control->local_children; i++) {
        uint32_t other = control->rank + i;

        if (other == rank || strcmp(control->devices[i], device) != 0)
            continue;
        snprintf(text, sizeof(text),
                 "%s and rank %u have one device, %s: each rank needs its own; see CUDA_VISIBLE_DEVICES and "
                 "--gpus-per-node",
                 dt_rank_text(control->plan, other < rank ? other : rank, who, sizeof(who)),
                 other < rank ? rank : other, device);
        dt_tree_stop(control, text, NULL);
    }
    snprintf(control->devices[rank - control->rank], DT_OPINION_DEVICE_MAX, "%s", device);
}

void dt_tree_join(struct dt_control *control, const struct dt_opinion *opinion,
                  const struct dt_deadline *deadline)
{
    struct dt_opinions below = control->opinions;

    control->opinions = (struct dt_opinions){0};
    dt_opinions_add(&control->opinions, opinion);
    for (uint32_t i = 0; i < below.n; i++)
        dt_opinions_add(&control->opinions, &below.items[i]);
    dt_tree_check_device(control, control->rank, opinion->device);
    control->table[control->rank] = control->rendezvous.listener.address;
    dt_control_roll_start(control, deadline, DT_PHASE_COLLECTING);
    dt_tree_check_joined(control);
}

/* ---- Leaving --------------------------------------------------------------- */

void dt_tree_done(struct dt_control *control)
{
    control->phase = DT_PHASE_DONE;
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->role == DT_LINK_CHILD)
            dt_control_send_empty(control, i, DT_MESSAGE_DONE);
}

void dt_tree_check_left(struct dt_control *control)
{
    if (control->is_stopped || control->phase != DT_PHASE_LEAVING ||
        control->bye_count < dt_tree_child_count(control))
        return;
    if (control->is_root)
        dt_tree_done(control);
    else if (dt_tree_parent(control) != NULL)
        dt_control_send_empty(control, dt_tree_parent(control), DT_MESSAGE_BYE);
}

void dt_tree_leave(struct dt_control *control, const struct dt_deadline *deadline)
{
    dt_control_roll_start(control, deadline, DT_PHASE_LEAVING);
    dt_tree_check_left(control);
}

void dt_tree_farewell(struct dt_control *control, const char *text)
{
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if ((i->role & DT_LINK_TREE) != 0)
            dt_control_send_dead(control, i, control->rank, text);
    control->phase = DT_PHASE_DONE;
}

bool dt_tree_is_told(const struct dt_control *control)
{
    for (const struct dt_link *i = control->links; i != NULL; i = i->next)
        if (!dt_link_is_flushed(i))
            return false;
    return control->told_count >= dt_tree_child_count(control);
}

/* ---- Connections ------------------------------------------------------------ */

struct dt_link *dt_tree_add(struct dt_control *control, int fd, uint32_t rank, enum dt_link_role role)
{
    struct dt_link *link = dt_link_create(fd, role, rank);

    if (link == NULL)
        return NULL;
    link->source.ready = dt_control_handle;
    link->source.context = control;
    if (dt_source_watch(&link->source, control->epoll_fd, EPOLLIN) < 0) {
        dt_link_destroy(link);
        return NULL;
    }
    link->next = control->links;
    control->links = link;
    if (control->is_stopped)
        dt_control_send_stop(control, link);
    return link;
}

/* This rank's subtree may have been complete before. */
struct dt_link *dt_tree_add_parent(struct dt_control *control, int fd, bool is_call)
{
    uint32_t parent = dt_control_parent(control->plan, control->rank);
    struct dt_link *link = dt_tree_add(control, fd, parent, DT_LINK_PARENT);

    if (link != NULL && is_call)
        dt_control_send_empty(control, link, DT_MESSAGE_HERE);
    if (link != NULL && control->phase == DT_PHASE_WAITING && !control->is_stopped)
        dt_control_send_hello(control, link);
    return link;
}

/*
 * A child has one parent link: that of its own greeting, or the call that came
 * before it. So a parent that holds a child's greeting may forget its call.
 */
static void take_call(struct dt_control *control, int fd, uint32_t rank)
{
    if (rank == DT_RANK_NONE || rank != dt_control_parent(control->plan, control->rank) ||
        dt_tree_parent(control) != NULL)
        close(fd);
    else
        dt_tree_add_parent(control, fd, true);
}

void dt_tree_adopt(void *context, int fd, const struct dt_greeting *greeting)
{
    struct dt_control *control = context;
    uint32_t rank = greeting->rank;
    bool is_new = is_child(control, rank) && dt_tree_find(control, rank, DT_LINK_CHILD) == NULL;

    if (control->phase >= DT_PHASE_UP)
        close(fd);
    else if (greeting->purpose == DT_PURPOSE_CALL)
        take_call(control, fd, rank);
    else
        dt_tree_add(control, fd, rank, is_new ? DT_LINK_CHILD : DT_LINK_STRANGER);
}
