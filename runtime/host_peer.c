#include "host_peer.h"

#include <stdio.h>
#include <string.h>

#include "runtime/host_reduce.h"
#include "runtime/host_wait.h"

/* What a link says does not know whose it is, or in which operation. */
static int name_failure(const struct dt_host_call *call, int peer, struct dtrain_error *err)
{
    char text[DT_HOST_CALL_TEXT_MAX], name[DT_HOST_PEER_TEXT_MAX];

    return dt_error_prefix(err, "%s: %s", dt_host_call_text(call, text),
                           dt_host_comm_peer_text(call->comm, peer, name));
}

static ssize_t read_link(const struct dt_host_call *call, int peer, void *buf, size_t size,
                         struct dtrain_error *err)
{
    struct dt_host_link *link = call->comm->peers[peer].link;
    ssize_t got = link->kind->read(link, buf, size, err);

    return got < 0 ? name_failure(call, peer, err) : got;
}

static void drop_head(struct dt_host_queue *queue)
{
    queue->head = queue->head->next;
    if (queue->head == NULL)
        queue->tail = NULL;
}

/* ---- Sending ------------------------------------------------------------ */

static void advance(struct dt_host_peer *it, struct dt_host_message *message, size_t written)
{
    size_t of_header = sizeof(message->header) - message->header_done;

    if (of_header > written)
        of_header = written;
    message->header_done += of_header;
    message->done += written - of_header;
    it->is_sending = message->header_done < sizeof(message->header) ||
                     message->done < message->header.length;
    if (!it->is_sending)
        drop_head(&it->sends);
}

int dt_host_peer_push(struct dt_host_call *call, int peer, struct dtrain_error *err)
{
    struct dt_host_peer *it = &call->comm->peers[peer];
    struct dt_host_message *message = it->sends.head;
    struct iovec pieces[2];
    ssize_t written;

    if (message == NULL || it->link == NULL || it->link->left)
        return 0;
    pieces[0] = (struct iovec){.iov_base = (char *)&message->header + message->header_done,
                               .iov_len = sizeof(message->header) - message->header_done};
    pieces[1] = (struct iovec){.iov_base = (char *)message->from + message->done,
                               .iov_len = message->header.length - message->done};
    written = it->link->kind->write(it->link, pieces, 2, err);
    if (written < 0)
        return name_failure(call, peer, err);
    if (written == 0)
        return 0;
    advance(it, message, (size_t)written);
    return 1;
}

/* ---- What arrives: the header ------------------------------------------- */

static int pull_header(struct dt_host_call *call, int peer, struct dtrain_error *err)
{
    struct dt_host_peer *it = &call->comm->peers[peer];
    ssize_t got = read_link(call, peer, (char *)&it->in + it->in_used, sizeof(it->in) - it->in_used,
                            err);

    if (got <= 0)
        return (int)got;
    it->in_used += (size_t)got;
    return 1;
}

/* The reason of a peer that gave up; of the first one when several do. */
static int pull_cause(struct dt_host_call *call, int peer, struct dtrain_error *err)
{
    struct dt_host_comm *comm = call->comm;
    struct dt_host_peer *it = &comm->peers[peer];
    struct dt_host_cause *cause = &comm->cause;
    char prefix[DT_HOST_CALL_TEXT_MAX], name[DT_HOST_PEER_TEXT_MAX], awaited[DTRAIN_ERROR_MAX / 4];
    const struct dt_peers *peers = comm->host->env.peers;
    ssize_t got;

    if (it->in.length == 0 || it->in.length >= sizeof(cause->text))
        return dt_error_set(err, "%s: a reason of %llu bytes came, expected 1 to %zu",
                            dt_host_call_text(call, prefix), (unsigned long long)it->in.length,
                            sizeof(cause->text) - 1);
    if (cause->used == 0)
        cause->rank = (uint32_t)it->in.root;
    got = read_link(call, peer, cause->text + cause->used, it->in.length - cause->used, err);
    if (got <= 0)
        return (int)got;
    cause->used += (size_t)got;
    if (cause->used < it->in.length)
        return 1;
    cause->text[cause->used] = '\0';
    cause->is_whole = true;
    /* Whom the giver waited for may be waiting, too: whoever says nothing at the chain's end is the culprit. */
    return dt_error_set(err, "%s: %s gave up: %s (this rank waited for %s)", dt_host_call_text(call, prefix),
                        peers->describe(peers->context, cause->rank, name, sizeof(name)),
                        cause->text, dt_host_awaited_text(call, awaited, sizeof(awaited)));
}

static int refuse(const struct dt_host_call *call, int peer, const struct dt_host_header *mine,
                  const struct dt_host_header *theirs, struct dtrain_error *err)
{
    const struct dt_host_comm *comm = call->comm;
    char names[2][DT_HOST_PEER_TEXT_MAX], texts[2][DT_HOST_WIRE_TEXT_MAX];
    char number[32] = "";

    if (theirs->magic != DT_HOST_WIRE_MAGIC)
        return dt_error_set(err, "%s wrote what is no message (0x%08x instead of 0x%08x) on %s: all "
                            "ranks must run the same version on machines of one byte order",
                            dt_host_comm_peer_text(comm, peer, names[0]), theirs->magic,
                            DT_HOST_WIRE_MAGIC, comm->name);
    if (dt_host_header_is_collective(theirs) && theirs->sequence != call->number)
        snprintf(number, sizeof(number), " as #%llu", (unsigned long long)theirs->sequence);
    return dt_error_set(err, "%s called %s, %s %s%s (operation #%llu on %s): all ranks of a "
                        "communicator must call the same operations in the same order",
                        dt_host_comm_peer_text(comm, comm->rank, names[0]),
                        dt_host_header_text(texts[0], mine, true),
                        dt_host_comm_peer_text(comm, peer, names[1]),
                        dt_host_header_text(texts[1], theirs, false), number,
                        (unsigned long long)call->number, comm->name);
}

/* message: what the header is for; NULL: nothing is expected of this peer at this moment. */
static int check_header(struct dt_host_call *call, int peer, const struct dt_host_message *message,
                        struct dtrain_error *err)
{
    const struct dt_host_header *theirs = &call->comm->peers[peer].in;
    const struct dt_host_header *mine = message != NULL ? &message->header : &call->header;

    if (message != NULL || theirs->magic != DT_HOST_WIRE_MAGIC) {
        if (dt_host_header_matches(mine, theirs) && mine->length == theirs->length)
            return 0;
        return refuse(call, peer, mine, theirs, err);
    }
    /* Messages that are ahead of this operation, and transfers, are for later. */
    if (!dt_host_header_is_collective(theirs) || theirs->sequence > mine->sequence ||
        call->operation == NULL || call->operation->kind == DT_TRANSFER ||
        dt_host_header_matches(mine, theirs))
        return 0;
    return refuse(call, peer, mine, theirs, err);
}

/* ---- What arrives: the payload ------------------------------------------ */

static ssize_t read_plain(struct dt_host_call *call, const struct dt_host_message *message,
                          struct dtrain_error *err)
{
    return read_link(call, message->peer, message->to + message->done,
                     message->header.length - message->done, err);
}

/* Elements are reduced as they come; a part of one waits in front of the piece. */
static ssize_t read_reduced(struct dt_host_call *call, const struct dt_host_message *message,
                            struct dtrain_error *err)
{
    struct dt_host_comm *comm = call->comm;
    size_t element = dtrain_type_size(call->operation->type);
    size_t room = DT_HOST_PIECE_BYTES - comm->piece_used;
    size_t left = message->header.length - message->done;
    size_t at = message->done - comm->piece_used;
    size_t count, whole;
    ssize_t got = read_link(call, message->peer, comm->piece + comm->piece_used,
                            room < left ? room : left, err);

    if (got <= 0)
        return got;
    comm->piece_used += (size_t)got;
    count = comm->piece_used / element;
    whole = count * element;
    dt_host_reduce(message->to + at, comm->piece, message->own + at, count, call->operation->type,
                   call->operation->op);
    comm->piece_used -= whole;
    memcpy(comm->piece, comm->piece + whole, comm->piece_used);
    return got;
}

static int pull_payload(struct dt_host_call *call, struct dt_host_message *message,
                        struct dtrain_error *err)
{
    struct dt_host_peer *it = &call->comm->peers[message->peer];
    ssize_t got = 0;

    if (message->done < message->header.length) {
        got = message->own != NULL ? read_reduced(call, message, err)
                                   : read_plain(call, message, err);
        if (got <= 0)
            return (int)got;
    }
    message->done += (size_t)got;
    if (message->done == message->header.length) {
        it->in_used = 0;
        drop_head(&it->receives);
    }
    return 1;
}

int dt_host_peer_pull(struct dt_host_call *call, int peer, struct dtrain_error *err)
{
    struct dt_host_peer *it = &call->comm->peers[peer];
    struct dt_host_message *message = it->receives.head;
    int moved = 0;

    if (it->link == NULL)
        return 0;
    if (it->in_used < sizeof(it->in)) {
        moved = pull_header(call, peer, err);
        if (moved < 0 || it->in_used < sizeof(it->in))
            return moved;
    }
    if (it->in.kind == DT_HOST_GAVE_UP && it->in.magic == DT_HOST_WIRE_MAGIC)
        return pull_cause(call, peer, err);
    if (check_header(call, peer, message, err) != 0)
        return -1;
    return message != NULL ? pull_payload(call, message, err) : moved;
}
