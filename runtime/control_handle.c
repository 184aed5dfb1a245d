#include "control_state.h"

#include <errno.h>
#include <stdio.h>

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

static int handle_here(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    if (!dt_reader_is_done(reader) || dt_tree_find(control, link->rank, DT_LINK_CHILD) != NULL)
        return -1;
    link->role = DT_LINK_CHILD;
    if (control->is_stopped)
        dt_tree_count_told(control, link->role);
    return 0;
}

static int handle_hello(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    struct dt_opinions theirs = {0};
    uint32_t late_count;

    if (link->said_hello)
        return -1;
    dt_opinions_read(reader, &theirs);
    if (!reader->is_broken && link->role == DT_LINK_STRANGER) {
        handle_stranger(control, link, &theirs);
        return 0;
    }
    late_count = dt_reader_u32(reader);
    dt_addresses_read(reader, control->table, control->world);
    if (!dt_reader_is_done(reader))
        return -1;
    control->late_count += late_count;
    if (theirs.n == 1)
        dt_tree_check_device(control, link->rank, theirs.items[0].device);
    for (uint32_t i = 0; i < theirs.n; i++)
        dt_opinions_add(&control->opinions, &theirs.items[i]);
    link->said_hello = true;
    control->hello_count++;
    dt_tree_check_joined(control);
    return 0;
}

static int handle_go(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    unsigned char token[DT_TOKEN_SIZE];
    uint32_t late_count;

    (void)link;
    dt_reader_bytes(reader, token, sizeof(token));
    late_count = dt_reader_u32(reader);
    dt_addresses_read(reader, control->table, control->world);
    if (!dt_reader_is_done(reader) || control->phase != DT_PHASE_WAITING)
        return -1;
    if (control->is_stopped)
        return 0;
    control->late_count = late_count;
    dt_rendezvous_set_world_token(&control->rendezvous, token);
    dt_tree_go(control);
    return 0;
}

static int handle_stop(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    char text[DT_MESSAGE_TEXT_MAX];

    dt_reader_text(reader, text, sizeof(text));
    if (!dt_reader_is_done(reader))
        return -1;
    if ((link->role & DT_LINK_TREE) != 0 || control->phase < DT_PHASE_UP)
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

static int handle_revoked(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    char text[DT_MESSAGE_TEXT_MAX];
    uint64_t channel = dt_reader_u64(reader);

    dt_reader_text(reader, text, sizeof(text));
    if (!dt_reader_is_done(reader))
        return -1;
    dt_tree_revoke(control, channel, text, link);
    return 0;
}

static int handle_bye(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    if (!dt_reader_is_done(reader) || link->said_bye)
        return -1;
    link->said_bye = true;
    control->bye_count++;
    dt_tree_check_left(control);
    return 0;
}

/* One of the start may still be on its way when the world is up already. */
static int handle_roll(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    bool is_end = dt_reader_u32(reader) != 0;

    if (!dt_reader_is_done(reader))
        return -1;
    if (is_end == (control->phase >= DT_PHASE_UP))
        dt_control_roll_call(control, link);
    return 0;
}

static int handle_done(struct dt_control *control, struct dt_link *link, struct dt_reader *reader)
{
    (void)link;
    if (!dt_reader_is_done(reader) || control->phase != DT_PHASE_LEAVING)
        return -1;
    dt_tree_done(control);
    return 0;
}

static const struct {
    unsigned from; /* roles that may send it */
    int (*handle)(struct dt_control *, struct dt_link *, struct dt_reader *);
} handlers[DT_MESSAGE_KINDS] = {
    [DT_MESSAGE_HERE] = {DT_LINK_CALLED, handle_here},
    [DT_MESSAGE_HELLO] = {DT_LINK_CHILD | DT_LINK_STRANGER, handle_hello},
    [DT_MESSAGE_GO] = {DT_LINK_PARENT, handle_go},
    [DT_MESSAGE_STOP] = {DT_LINK_TREE | DT_LINK_STRANGER | DT_LINK_CALLED, handle_stop},
    [DT_MESSAGE_DEAD] = {DT_LINK_TREE, handle_dead},
    [DT_MESSAGE_REVOKED] = {DT_LINK_TREE, handle_revoked},
    [DT_MESSAGE_BYE] = {DT_LINK_CHILD, handle_bye},
    [DT_MESSAGE_DONE] = {DT_LINK_PARENT, handle_done},
    [DT_MESSAGE_ROLL] = {DT_LINK_TREE, handle_roll},
};

static int handle(struct dt_control *control, struct dt_link *link, uint32_t kind, struct dt_reader *payload)
{
    if (link->role == DT_LINK_RETIRED)
        return 0;
    if (kind < DT_MESSAGE_KINDS && (handlers[kind].from & link->role) != 0 &&
        handlers[kind].handle(control, link, payload) == 0)
        return 0;
    dt_log(control->log, DT_LOG_DEBUG, "rank %u sent a message (kind %u) that makes no sense here",
           link->rank, kind);
    return -1;
}

/* One frame a call, so that the list of connections may change in between; epoll calls again. */
void dt_control_handle(struct dt_source *source)
{
    struct dt_link *link = (struct dt_link *)source;
    struct dt_control *control = source->context;
    struct dt_reader payload;
    uint32_t kind;
    int rc;

    errno = 0;
    rc = dt_link_receive(link, control->world, &kind, &payload);
    if (rc > 0)
        rc = handle(control, link, kind, &payload);
    else if (rc == 0)
        rc = dt_link_flush(link, control->epoll_fd);
    if (rc < 0)
        dt_tree_lost(control, link, errno);
}
