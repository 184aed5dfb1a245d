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

/* Everybody gets the table: whom a rank must reach when others died cannot be asked for then. */
void dt_control_send_go(struct dt_control *control, struct dt_link *link)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_GO);

    dt_buffer_bytes(&link->out, control->rendezvous.world_token, DT_TOKEN_SIZE);
    dt_buffer_u32(&link->out, control->late_count);
    dt_addresses_write(&link->out, control->table, control->world);
    dt_control_send_end(control, link, begin);
}

void dt_control_send_roll(struct dt_control *control, struct dt_link *link)
{
    size_t begin = dt_frame_begin(&link->out, DT_MESSAGE_ROLL);

    dt_buffer_u32(&link->out, control->phase >= DT_PHASE_UP);
    dt_control_send_end(control, link, begin);
}
