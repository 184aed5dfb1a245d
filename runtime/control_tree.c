#include "control_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "random.h"
#include "roll.h"

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

bool dt_tree_is_leader(const struct dt_control *control, uint32_t rank)
{
    return rank == dt_plan_node_first(control->plan, dt_plan_rank_node(control->plan, rank));
}

uint32_t dt_tree_child_count(const struct dt_control *control)
{
    return control->local_children + control->last_node - control->first_node;
}

static uint32_t child_rank(const struct dt_control *control, uint32_t i)
{
    if (i < control->local_children)
        return control->rank + 1 + i;
    return dt_plan_node_first(control->plan, control->first_node + i - control->local_children);
}

static bool is_child(const struct dt_control *control, uint32_t rank)
{
    return rank < control->world && dt_control_parent(control->plan, rank) == control->rank;
}

static struct dt_link *find_link(const struct dt_control *control, uint32_t rank, enum dt_link_role role)
{
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->rank == rank && i->role == role)
            return i;
    return NULL;
}

static struct dt_link *parent_link(const struct dt_control *control)
{
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->role == DT_LINK_PARENT)
            return i;
    return NULL;
}

/* ---- Sending -------------------------------------------------------------- */

/* A broken connection is left to the control thread, which sees its end. */
static void finish(struct dt_control *control, struct dt_link *link, size_t begin)
{
    dt_frame_end(&link->out, begin);
    if (dt_link_flush(link, control->epoll_fd) < 0)
        dt_log(control->log, DT_LOG_DEBUG, "cannot send to rank %u", link->rank);
}

static void send_empty(struct dt_control *control, struct dt_link *link, enum dt_message_kind kind)
{
    finish(control, link, dt_frame_begin(&link->out, kind));
}

static void send_stop(struct dt_control *control, struct dt_link *link)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_STOP);

    dt_buffer_text(&link->out, control->stop_text);
    finish(control, link, begin);
    control->told_count += link->role == DT_LINK_CHILD;
}

static void send_dead(struct dt_control *control, struct dt_link *link, uint32_t rank, const char *text)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_DEAD);

    dt_buffer_u32(&link->out, rank);
    dt_buffer_text(&link->out, text);
    finish(control, link, begin);
}

static void send_hello(struct dt_control *control, struct dt_link *link)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_HELLO);

    dt_opinions_write(&link->out, &control->opinions);
    dt_addresses_write(&link->out, control->table, control->world);
    finish(control, link, begin);
}

/* Only leaders get the table: the others ask for what they need. */
static void send_go(struct dt_control *control, struct dt_link *link)
{
    bool is_leader = dt_tree_is_leader(control, link->rank);
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_GO);

    dt_buffer_bytes(&link->out, control->rendezvous.world_token, DT_TOKEN_SIZE);
    dt_addresses_write(&link->out, control->table, is_leader ? control->world : 0);
    finish(control, link, begin);
}

/* ---- The end of the world, and deaths ---------------------------------------- */

void dt_tree_stop(struct dt_control *control, const char *text, const struct dt_link *from)
{
    if (control->is_stopped || control->phase == DT_PHASE_DONE)
        return;
    control->is_stopped = true;
    snprintf(control->stop_text, sizeof(control->stop_text), "%s", text);
    for (struct dt_link *i = control->links; i != NULL; i = i->next) {
        if (i != from)
            send_stop(control, i);
        else
            control->told_count += i->role == DT_LINK_CHILD;
    }
}

static void keep_death(struct dt_control *control, uint32_t rank, const char *text)
{
    uint32_t n = control->death_count;

    control->dead[rank / 8] |= (unsigned char)(1u << rank % 8);
    if (n < DT_DEATHS_KEPT) {
        control->deaths[n].rank = rank;
        snprintf(control->deaths[n].text, sizeof(control->deaths[n].text), "%s", text);
    }
    control->death_count = n + 1;
    if (write(control->death_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        dt_log(control->log, DT_LOG_DEBUG, "the death's descriptor is full");
    dt_log(control->log, n == 0 ? DT_LOG_WARN : DT_LOG_DEBUG, "%s", text);
}

void dt_tree_death(struct dt_control *control, uint32_t rank, const char *text, const struct dt_link *from)
{
    if (control->is_stopped || control->phase == DT_PHASE_DONE ||
        (control->dead[rank / 8] & 1u << rank % 8) != 0)
        return;
    keep_death(control, rank, text);
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i != from && i->role != DT_LINK_STRANGER)
            send_dead(control, i, rank, text);
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

static void link_lost(struct dt_control *control, struct dt_link *link)
{
    enum dt_link_role role = link->role;
    bool said_bye = link->said_bye;
    uint32_t rank = link->rank;
    char who[DT_RANK_TEXT_MAX], text[DT_MESSAGE_TEXT_MAX];

    link_remove(control, link);
    if (role == DT_LINK_CHILD && !control->is_stopped)
        control->told_count++;
    if (role == DT_LINK_STRANGER || said_bye)
        return;
    snprintf(text, sizeof(text), "%s died%s (seen by rank %u)",
             dt_rank_text(control->plan, rank, who, sizeof(who)),
             control->phase < DT_PHASE_UP ? " during dtrain_init" : "", control->rank);
    dt_tree_death(control, rank, text, NULL);
}

/* ---- Coming up ------------------------------------------------------------- */

static void go(struct dt_control *control)
{
    control->phase = DT_PHASE_UP;
    control->is_rolled = false;
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->role == DT_LINK_CHILD)
            send_go(control, i);
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
        go(control);
    }
}

static void check_collected(struct dt_control *control)
{
    if (control->is_stopped || control->phase != DT_PHASE_COLLECTING ||
        control->hello_count < dt_tree_child_count(control))
        return;
    control->phase = DT_PHASE_WAITING;
    if (control->rank == 0)
        decide(control);
    else if (parent_link(control) != NULL)
        send_hello(control, parent_link(control));
}

/* ---- Who is missing ---------------------------------------------------------- */

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

static void say_missing(struct dt_control *control)
{
    bool is_leaving = control->phase == DT_PHASE_LEAVING;
    struct dt_roll roll = {0};
    char text[DT_MESSAGE_TEXT_MAX];

    for (uint32_t i = 0; i < dt_tree_child_count(control); i++) {
        uint32_t rank = child_rank(control, i);
        const struct dt_link *link = find_link(control, rank, DT_LINK_CHILD);

        if (link == NULL || !(is_leaving ? link->said_bye : link->said_hello))
            dt_roll_add(&roll, control->plan, rank);
    }
    snprintf(text, sizeof(text), "%s did not come to %s within %.4g s", dt_roll_end(&roll),
             is_leaving ? "dtrain_finalize" : "the control connections of dtrain_init",
             control->deadline.timeout_ms / 1000.0);
    dt_tree_stop(control, text, NULL);
}

/* Nobody waits for rank 0 by name, so it names itself. */
static void say_root_missing(struct dt_control *control)
{
    char text[DT_MESSAGE_TEXT_MAX];

    snprintf(text, sizeof(text), "rank 0 (task %u) on %s did not come to dtrain_finalize when others waited for it",
             dt_plan_rank_procid(control->plan, 0), dt_plan_node_name(control->plan, 0));
    dt_tree_stop(control, text, NULL);
}

static void send_roll(struct dt_control *control, struct dt_link *link)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_ROLL);

    dt_buffer_u32(&link->out, control->phase >= DT_PHASE_UP);
    finish(control, link, begin);
}

static void call_roll(struct dt_control *control, const struct dt_link *from)
{
    if (control->is_rolled || control->is_stopped)
        return;
    control->is_rolled = true;
    control->deadline.at_ns = dt_now_ns() + (int64_t)control->height * DT_ROLL_LEVEL_MS * 1000000;
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i != from && i->role != DT_LINK_STRANGER)
            send_roll(control, i);
    if (control->rank == 0 && control->phase == DT_PHASE_UP)
        say_root_missing(control);
}

/* Whoever comes during a roll call is in time, but has no time of its own left. */
static void begin_waiting(struct dt_control *control, const struct dt_deadline *deadline, enum dt_control_phase phase)
{
    int64_t at_ns = control->deadline.at_ns;

    control->phase = phase;
    control->deadline = *deadline;
    if (control->is_rolled)
        control->deadline.at_ns = at_ns;
}

void dt_tree_join(struct dt_control *control, const struct dt_opinion *opinion, const struct dt_deadline *deadline)
{
    struct dt_opinions below = control->opinions;

    control->opinions = (struct dt_opinions){0};
    dt_opinions_add(&control->opinions, opinion);
    for (uint32_t i = 0; i < below.n; i++)
        dt_opinions_add(&control->opinions, &below.items[i]);
    control->table[control->rank] = control->rendezvous.listener.address;
    begin_waiting(control, deadline, DT_PHASE_COLLECTING);
    check_collected(control);
}

int dt_tree_due_ms(const struct dt_control *control)
{
    if (!is_waiting(control) || (control->is_rolled && !lacks_children(control)))
        return -1;
    return dt_deadline_left_ms(&control->deadline);
}

void dt_tree_tick(struct dt_control *control)
{
    if (dt_tree_due_ms(control) != 0)
        return;
    if (!control->is_rolled)
        call_roll(control, NULL);
    else
        say_missing(control);
}

/* ---- Leaving --------------------------------------------------------------- */

static void done(struct dt_control *control)
{
    control->phase = DT_PHASE_DONE;
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->role == DT_LINK_CHILD)
            send_empty(control, i, DT_MESSAGE_DONE);
}

static void check_left(struct dt_control *control)
{
    if (control->is_stopped || control->phase != DT_PHASE_LEAVING ||
        control->bye_count < dt_tree_child_count(control))
        return;
    if (control->rank == 0)
        done(control);
    else if (parent_link(control) != NULL)
        send_empty(control, parent_link(control), DT_MESSAGE_BYE);
}

void dt_tree_leave(struct dt_control *control, const struct dt_deadline *deadline)
{
    begin_waiting(control, deadline, DT_PHASE_LEAVING);
    check_left(control);
}

void dt_tree_farewell(struct dt_control *control, const char *text)
{
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i->role != DT_LINK_STRANGER)
            send_dead(control, i, control->rank, text);
    control->phase = DT_PHASE_DONE;
}

bool dt_tree_is_told(const struct dt_control *control)
{
    for (const struct dt_link *i = control->links; i != NULL; i = i->next)
        if (!dt_link_is_flushed(i))
            return false;
    return control->told_count >= dt_tree_child_count(control);
}

/* ---- Receiving ------------------------------------------------------------- */

/* A handler says -1 when the message makes no sense: the connection ends. */

static void handle_stranger(struct dt_control *control, const struct dt_link *link,
                            const struct dt_opinions *theirs)
{
    struct dt_opinions both = control->opinions;
    char text[DT_MESSAGE_TEXT_MAX];

    for (uint32_t i = 0; i < theirs->n; i++)
        dt_opinions_add(&both, &theirs->items[i]);
    if (dt_opinions_agree(&both, control->plan, text, sizeof(text)))
        snprintf(text, sizeof(text), "two tasks of this step came as rank %u", link->rank);
    dt_tree_stop(control, text, NULL);
}

static int handle_hello(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    struct dt_opinions theirs = {0};

    if (link->said_hello)
        return -1;
    dt_opinions_read(reader, &theirs);
    if (!reader->is_broken && link->role == DT_LINK_STRANGER) {
        handle_stranger(control, link, &theirs);
        return 0;
    }
    dt_addresses_read(reader, control->table, control->world);
    if (!dt_reader_is_done(reader))
        return -1;
    for (uint32_t i = 0; i < theirs.n; i++)
        dt_opinions_add(&control->opinions, &theirs.items[i]);
    link->said_hello = true;
    control->hello_count++;
    check_collected(control);
    return 0;
}

static int handle_go(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    unsigned char token[DT_TOKEN_SIZE];

    (void)link;
    dt_reader_bytes(reader, token, sizeof(token));
    dt_addresses_read(reader, control->table, control->world);
    if (!dt_reader_is_done(reader) || control->phase != DT_PHASE_WAITING)
        return -1;
    if (control->is_stopped)
        return 0;
    dt_rendezvous_set_world_token(&control->rendezvous, token);
    go(control);
    return 0;
}

static int handle_stop(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    char text[DT_MESSAGE_TEXT_MAX];

    dt_reader_text(reader, text, sizeof(text));
    if (!dt_reader_is_done(reader))
        return -1;
    if (link->role != DT_LINK_STRANGER || control->phase < DT_PHASE_UP)
        dt_tree_stop(control, text, link);
    return 0;
}

static int handle_dead(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    char text[DT_MESSAGE_TEXT_MAX];
    uint32_t rank = dt_reader_u32(reader);

    dt_reader_text(reader, text, sizeof(text));
    if (!dt_reader_is_done(reader) || rank >= control->world)
        return -1;
    dt_tree_death(control, rank, text, link);
    return 0;
}

static int handle_bye(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    if (!dt_reader_is_done(reader) || link->said_bye)
        return -1;
    link->said_bye = true;
    control->bye_count++;
    check_left(control);
    return 0;
}

/* One of the start may still be on its way when the world is up already. */
static int handle_roll(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    bool is_end = dt_reader_u32(reader) != 0;

    if (!dt_reader_is_done(reader))
        return -1;
    if (is_end == (control->phase >= DT_PHASE_UP))
        call_roll(control, link);
    return 0;
}

static int handle_done(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    (void)link;
    if (!dt_reader_is_done(reader) || control->phase != DT_PHASE_LEAVING)
        return -1;
    done(control);
    return 0;
}

static int handle_lookup(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_ADDRESSES);
    uint32_t n = dt_reader_u32(reader);

    dt_buffer_u32(&link->out, n);
    for (uint32_t i = 0; i < n && !reader->is_broken; i++) {
        uint32_t rank = dt_reader_u32(reader);

        if (rank >= control->world || control->table[rank].family == 0)
            return -1;
        dt_buffer_u32(&link->out, rank);
        dt_address_write(&link->out, &control->table[rank]);
    }
    if (!dt_reader_is_done(reader))
        return -1;
    finish(control, link, begin);
    return 0;
}

static int handle_addresses(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    (void)link;
    dt_addresses_read(reader, control->table, control->world);
    return dt_reader_is_done(reader) ? 0 : -1;
}

void dt_tree_lookup(struct dt_control *control, const uint32_t *ranks, size_t n)
{
    struct dt_link *link = parent_link(control);
    size_t begin, at;
    uint32_t wanted = 0;

    if (link == NULL)
        return;
    begin = dt_frame_begin(&link->out, DT_MESSAGE_LOOKUP);
    at = link->out.size;
    dt_buffer_u32(&link->out, 0);
    for (size_t i = 0; i < n; i++) {
        if (control->table[ranks[i]].family != 0)
            continue;
        dt_buffer_u32(&link->out, ranks[i]);
        wanted++;
    }
    dt_buffer_set_u32(&link->out, at, wanted);
    finish(control, link, begin);
}

static const struct {
    unsigned from; /* roles that may send it */
    int (*handle)(struct dt_control *, struct dt_link *, struct dt_reader *);
} handlers[DT_MESSAGE_KINDS] = {
    [DT_MESSAGE_HELLO] = {DT_LINK_CHILD | DT_LINK_STRANGER, handle_hello},
    [DT_MESSAGE_GO] = {DT_LINK_PARENT, handle_go},
    [DT_MESSAGE_STOP] = {DT_LINK_PARENT | DT_LINK_CHILD | DT_LINK_STRANGER, handle_stop},
    [DT_MESSAGE_DEAD] = {DT_LINK_PARENT | DT_LINK_CHILD, handle_dead},
    [DT_MESSAGE_BYE] = {DT_LINK_CHILD, handle_bye},
    [DT_MESSAGE_DONE] = {DT_LINK_PARENT, handle_done},
    [DT_MESSAGE_ROLL] = {DT_LINK_PARENT | DT_LINK_CHILD, handle_roll},
    [DT_MESSAGE_LOOKUP] = {DT_LINK_CHILD, handle_lookup},
    [DT_MESSAGE_ADDRESSES] = {DT_LINK_PARENT, handle_addresses},
};

static int handle(struct dt_control *control, struct dt_link *link, uint32_t kind, struct dt_reader *payload)
{
    if (kind < DT_MESSAGE_KINDS && (handlers[kind].from & link->role) != 0 &&
        handlers[kind].handle(control, link, payload) == 0)
        return 0;
    dt_log(control->log, DT_LOG_DEBUG, "rank %u sent a message (kind %u) that makes no sense here",
           link->rank, kind);
    return -1;
}

/* One frame a call, so that the list of connections may change in between; epoll calls again. */
static void link_ready(struct dt_source *source)
{
    struct dt_link *link = (struct dt_link *)source;
    struct dt_control *control = source->context;
    struct dt_reader payload;
    uint32_t kind;
    int rc = dt_link_receive(link, control->world, &kind, &payload);

    if (rc > 0)
        rc = handle(control, link, kind, &payload);
    else if (rc == 0)
        rc = dt_link_flush(link, control->epoll_fd);
    if (rc < 0)
        link_lost(control, link);
}

struct dt_link *dt_tree_add(struct dt_control *control, int fd, uint32_t rank, enum dt_link_role role)
{
    struct dt_link *link = dt_link_create(fd, role, rank);

    if (link == NULL)
        return NULL;
    link->source.ready = link_ready;
    link->source.context = control;
    if (dt_source_watch(&link->source, control->epoll_fd, EPOLLIN) < 0) {
        dt_link_destroy(link);
        return NULL;
    }
    link->next = control->links;
    control->links = link;
    if (control->is_stopped)
        send_stop(control, link);
    return link;
}

void dt_tree_adopt(void *context, int fd, uint32_t rank)
{
    struct dt_control *control = context;
    bool is_new = is_child(control, rank) && find_link(control, rank, DT_LINK_CHILD) == NULL;

    if (control->phase >= DT_PHASE_UP)
        close(fd);
    else
        dt_tree_add(control, fd, rank, is_new ? DT_LINK_CHILD : DT_LINK_STRANGER);
}
