#include "host_exchange.h"

#include <sched.h>

#include "runtime/host_peer.h"
#include "runtime/host_wait.h"

/* Tries without progress before the thread sleeps; between two, others may run. */
#define TRIES_MAX 64

void dt_host_message_send(struct dt_host_message *message, const struct dt_host_call *call,
                          int peer, const void *from, size_t bytes)
{
    *message = (struct dt_host_message){
        .peer = peer, .is_send = true, .header = call->header, .from = bytes > 0 ? from : ""};
    message->header.length = bytes;
}

void dt_host_message_receive(struct dt_host_message *message, const struct dt_host_call *call,
                             int peer, void *to, size_t bytes)
{
    *message = (struct dt_host_message){.peer = peer, .header = call->header, .to = to};
    message->header.length = bytes;
}

void dt_host_message_reduce(struct dt_host_message *message, const struct dt_host_call *call,
                            int peer, void *to, const void *own, size_t bytes)
{
    dt_host_message_receive(message, call, peer, to, bytes);
    message->own = own;
}

void dt_host_message_transfer(struct dt_host_message *message, struct dt_host_comm *comm,
                              const struct dtrain_transfer *transfer)
{
    struct dt_host_peer *peer = &comm->peers[transfer->peer];
    uint64_t sequence = transfer->is_send ? ++peer->sent : ++peer->received;

    *message = (struct dt_host_message){
        .peer = transfer->peer,
        .is_send = transfer->is_send,
        .header = dt_host_header_of_transfer(transfer, sequence),
        .from = transfer->count > 0 ? transfer->buf : "",
        .to = transfer->buf,
    };
    message->header.length = message->header.bytes;
}

/* ---- The step ----------------------------------------------------------- */

static int enqueue(struct dt_host_call *call, struct dt_host_message *message,
                   struct dtrain_error *err)
{
    struct dt_host_comm *comm = call->comm;
    struct dt_host_peer *it = &comm->peers[message->peer];
    struct dt_host_queue *queue = message->is_send ? &it->sends : &it->receives;

    if (queue->tail != NULL)
        queue->tail->next = message;
    else
        queue->head = message;
    queue->tail = message;
    if (!it->is_busy)
        comm->busy[comm->busy_count++] = message->peer;
    it->is_busy = true;
    return dt_host_comm_connect(comm, message->peer, &call->deadline, err);
}

static int take_link(struct dt_host_call *call, int peer, struct dtrain_error *err)
{
    char text[DT_HOST_CALL_TEXT_MAX];

    if (dt_host_comm_take_link(call->comm, peer, err) == 0)
        return 0;
    if (dt_deadline_passed(&call->deadline))
        return dt_host_report_deadline(call, err);
    return dt_error_prefix(err, "%s", dt_host_call_text(call, text));
}

static int move(struct dt_host_call *call, int peer, struct dtrain_error *err)
{
    int pushed, pulled;

    if (take_link(call, peer, err) != 0)
        return -1;
    pushed = dt_host_peer_push(call, peer, err);
    if (pushed < 0)
        return -1;
    pulled = dt_host_peer_pull(call, peer, err);
    return pulled < 0 ? -1 : pushed | pulled;
}

/* Moves what can be moved: 1 something, 0 nothing, -1 failed. */
static int move_all(struct dt_host_call *call, struct dtrain_error *err)
{
    struct dt_host_comm *comm = call->comm;
    int moved = 0;

    for (int i = 0; i < comm->busy_count;) {
        struct dt_host_peer *it = &comm->peers[comm->busy[i]];
        int rc = move(call, comm->busy[i], err);

        if (rc < 0)
            return -1;
        moved |= rc;
        it->is_busy = it->sends.head != NULL || it->receives.head != NULL;
        if (it->is_busy)
            i++;
        else
            comm->busy[i] = comm->busy[--comm->busy_count];
    }
    return moved;
}

int dt_host_exchange(struct dt_host_call *call, struct dt_host_message *messages, size_t n,
                     struct dtrain_error *err)
{
    int tries = 0;

    for (size_t i = 0; i < n; i++) {
        if (enqueue(call, &messages[i], err) != 0)
            return -1;
    }
    while (call->comm->busy_count > 0) {
        int moved;

        if (dt_host_comm_is_revoked(call->comm))
            return dt_error_set(err, "%s", call->comm->revocation.text);
        moved = move_all(call, err);
        if (moved < 0)
            return -1;
        if (moved > 0)
            tries = 0;
        else if (tries < TRIES_MAX) {
            tries++;
            sched_yield();
        } else if (dt_host_wait(call, err) != 0)
            return -1;
    }
    return 0;
}
