#include "control_state.h"

/* A broken connection is left to the control thread, which sees its end. */
void dt_control_send_end(struct dt_control *control, struct dt_link *link, size_t begin)
{
    dt_frame_end(&link->out, begin);
    if (dt_link_flush(link, control->epoll_fd) < 0)
        dt_log(control->log, DT_LOG_DEBUG, "cannot send to rank %u", link->rank);
}

void dt_control_send_empty(struct dt_control *control, struct dt_link *link, enum dt_message_kind kind)
{
    dt_control_send_end(control, link, dt_frame_begin(&link->out, kind));
}

void dt_control_send_stop(struct dt_control *control, struct dt_link *link)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_STOP);

    dt_buffer_text(&link->out, control->stop_text);
    dt_control_send_end(control, link, begin);
    dt_tree_count_told(control, link->role);
}

void dt_control_send_dead(struct dt_control *control, struct dt_link *link, uint32_t rank, const char *text)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_DEAD);

    dt_buffer_u32(&link->out, rank);
    dt_buffer_text(&link->out, text);
    dt_control_send_end(control, link, begin);
}

void dt_control_send_revoked(struct dt_control *control, struct dt_link *link, uint64_t channel,
                             const char *text)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_REVOKED);

    dt_buffer_u64(&link->out, channel);
    dt_buffer_text(&link->out, text);
    dt_control_send_end(control, link, begin);
}

void dt_control_send_hello(struct dt_control *control, struct dt_link *link)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_HELLO);

    dt_opinions_write(&link->out, &control->opinions);
    dt_buffer_u32(&link->out, control->late_count);
    dt_addresses_write(&link->out, control->table, control->world);
    dt_control_send_end(control, link, begin);
}

/* Only leaders get the table: the others ask for what they need. */
void dt_control_send_go(struct dt_control *control, struct dt_link *link)
{
    bool is_leader = dt_tree_is_leader(control, link->rank);
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_GO);

    dt_buffer_bytes(&link->out, control->rendezvous.world_token, DT_TOKEN_SIZE);
    dt_buffer_u32(&link->out, control->late_count);
    dt_addresses_write(&link->out, control->table, is_leader ? control->world : 0);
    dt_control_send_end(control, link, begin);
}

void dt_control_send_roll(struct dt_control *control, struct dt_link *link)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_ROLL);

    dt_buffer_u32(&link->out, control->phase >= DT_PHASE_UP);
    dt_control_send_end(control, link, begin);
}

void dt_control_send_lookup(struct dt_control *control, const uint32_t *ranks, size_t n)
{
    struct dt_link *link = dt_tree_parent(control);
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
    dt_control_send_end(control, link, begin);
}
