#include "host_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SCRATCH_ALIGN 64

/* ---- Life --------------------------------------------------------------- */

static int allocate(struct dt_host_comm *comm, struct dtrain_error *err)
{
    size_t size = (size_t)comm->size;

    comm->peers = calloc(size, sizeof(*comm->peers));
    comm->linked = calloc(size, sizeof(*comm->linked));
    comm->busy = calloc(size, sizeof(*comm->busy));
    comm->polls = calloc(size + 2, sizeof(*comm->polls));
    comm->piece = aligned_alloc(SCRATCH_ALIGN, DT_HOST_PIECE_BYTES);
    if (comm->peers == NULL || comm->linked == NULL || comm->busy == NULL || comm->polls == NULL ||
        comm->piece == NULL)
        return dt_error_memory(err, size * sizeof(*comm->peers), "a communicator's members");
    return 0;
}

static int open_events(struct dt_host_comm *comm, struct dtrain_error *err)
{
    comm->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    comm->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (comm->notify_fd < 0 || comm->cancel_fd < 0)
        return dt_error_set(err, "cannot open an event descriptor for %s: %m", comm->name);
    return 0;
}

int dt_host_comm_create(struct dt_host_comm **comm, struct dt_host *host,
                        const struct dt_comm_request *request, struct dtrain_error *err)
{
    struct dt_host_comm *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a communicator");
    made->host = host;
    memcpy(made->name, request->name, sizeof(made->name));
    made->channel = request->channel;
    made->size = request->size;
    made->rank = request->rank;
    made->notify_fd = made->cancel_fd = -1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->turn_came, NULL);
    if (allocate(made, err) != 0 || open_events(made, err) != 0) {
        dt_host_comm_destroy(made);
        return -1;
    }
    for (int i = 0; i < made->size; i++)
        made->peers[i].rank = request->members[i];
    *comm = made;
    return 0;
}

/* Attempts that wait for a peer which will not come would last until their deadline. */
static void cancel_connecting(struct dt_host_comm *comm)
{
    const struct dt_peers *peers = comm->host->env.peers;

    if (comm->cancel_fd >= 0)
        eventfd_write(comm->cancel_fd, 1);
    if (peers->cancel != NULL)
        peers->cancel(peers->context, comm->channel);
}

static void destroy_peer(struct dt_host_peer *peer)
{
    if (peer->connector != NULL)
        (void)dt_host_connector_finish(peer->connector, &peer->link, NULL);
    dt_host_link_destroy(peer->link);
}

static void close_event(int fd)
{
    if (fd >= 0)
        close(fd);
}

void dt_host_comm_destroy(struct dt_host_comm *comm)
{
    if (comm == NULL)
        return;
    cancel_connecting(comm);
    for (int i = 0; comm->peers != NULL && i < comm->size; i++)
        destroy_peer(&comm->peers[i]);
    close_event(comm->notify_fd);
    close_event(comm->cancel_fd);
    pthread_cond_destroy(&comm->turn_came);
    pthread_mutex_destroy(&comm->lock);
    free(comm->peers);
    free(comm->linked);
    free(comm->busy);
    free(comm->polls);
    free(comm->piece);
    free(comm->scratch);
    free(comm);
}

char *dt_host_comm_scratch(struct dt_host_comm *comm, size_t bytes, struct dtrain_error *err)
{
    size_t size = (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;

    if (size <= comm->scratch_size)
        return comm->scratch;
    free(comm->scratch);
    comm->scratch = aligned_alloc(SCRATCH_ALIGN, size);
    comm->scratch_size = comm->scratch != NULL ? size : 0;
    if (comm->scratch == NULL)
        dt_error_memory(err, size, "an operation's scratch memory");
    return comm->scratch;
}

char *dt_host_comm_peer_text(const struct dt_host_comm *comm, int peer,
                             char buf[DT_HOST_PEER_TEXT_MAX])
{
    const struct dt_peers *peers = comm->host->env.peers;

    return peers->describe(peers->context, comm->peers[peer].rank, buf, DT_HOST_PEER_TEXT_MAX);
}

/* ---- Links -------------------------------------------------------------- */

int dt_host_comm_connect(struct dt_host_comm *comm, int peer, const struct dt_deadline *deadline,
                         struct dtrain_error *err)
{
    struct dt_host_connect_request request = {
        .host = comm->host,
        .peer = comm->peers[peer].rank,
        .channel = comm->channel,
        .deadline = *deadline,
        .cancel_fd = comm->cancel_fd,
        .notify_fd = comm->notify_fd,
    };

    if (comm->peers[peer].link != NULL || comm->peers[peer].connector != NULL)
        return 0;
    return dt_host_connector_start(&comm->peers[peer].connector, &request, err);
}

int dt_host_comm_take_link(struct dt_host_comm *comm, int peer, struct dtrain_error *err)
{
    struct dt_host_peer *it = &comm->peers[peer];
    struct dt_host_connector *connector = it->connector;

    if (connector == NULL || !dt_host_connector_is_done(connector))
        return 0;
    it->connector = NULL;
    if (dt_host_connector_finish(connector, &it->link, err) != 0)
        return -1;
    comm->linked[comm->linked_count++] = peer;
    return 0;
}

/* ---- Turns and failure -------------------------------------------------- */

int dt_host_comm_begin(struct dt_host_comm *comm, uint64_t ticket, struct dtrain_error *err)
{
    int rc = 0;

    pthread_mutex_lock(&comm->lock);
    while (comm->turn != ticket)
        pthread_cond_wait(&comm->turn_came, &comm->lock);
    if (comm->has_failed)
        rc = dt_error_set(err, "%s", comm->failure.text);
    else
        comm->is_running = true;
    pthread_mutex_unlock(&comm->lock);
    return rc;
}

/*
 * The reason is passed on in the words of who found it first. It can only be
 * written between two messages; who waits inside one sees the end of the link.
 */
static void say_why(struct dt_host_peer *peer, uint32_t finder, const char *why)
{
    struct dt_host_header header = {.magic = DT_HOST_WIRE_MAGIC,
                                    .kind = DT_HOST_GAVE_UP,
                                    .root = (int32_t)finder,
                                    .length = strlen(why)};
    struct iovec pieces[2] = {{.iov_base = &header, .iov_len = sizeof(header)},
                              {.iov_base = (void *)why, .iov_len = header.length}};

    if (!peer->link->left && !peer->is_sending)
        (void)peer->link->kind->write(peer->link, pieces, 2, NULL);
    dt_host_link_shutdown(peer->link);
}

static void tell_members(struct dt_host_comm *comm, const struct dtrain_error *failure)
{
    const struct dt_host_cause *cause = &comm->cause;
    uint32_t finder = cause->is_whole ? cause->rank : comm->host->env.rank;

    for (int i = 0; i < comm->linked_count; i++)
        say_why(&comm->peers[comm->linked[i]], finder,
                cause->is_whole ? cause->text : failure->text);
}

static void fail(struct dt_host_comm *comm, const char *text)
{
    comm->has_failed = true;
    dt_error_set(&comm->failure, "%s", text);
}

/* An operation may be through although the communicator was revoked beside it: the next one is not. */
void dt_host_comm_end(struct dt_host_comm *comm, const struct dtrain_error *failure)
{
    pthread_mutex_lock(&comm->lock);
    if (failure == NULL && atomic_load(&comm->is_revoked))
        failure = &comm->revocation;
    if (failure != NULL && !comm->has_failed) {
        fail(comm, failure->text);
        tell_members(comm, failure);
    }
    comm->is_running = false;
    comm->turn++;
    pthread_cond_broadcast(&comm->turn_came);
    pthread_mutex_unlock(&comm->lock);
    if (failure != NULL)
        cancel_connecting(comm);
}

/* Between turns nobody else uses the links, and with the lock held nobody begins one. */
void dt_host_comm_revoke(struct dt_host_comm *comm, const char *text)
{
    pthread_mutex_lock(&comm->lock);
    if (!comm->has_failed && !atomic_load(&comm->is_revoked)) {
        dt_error_set(&comm->revocation, "%s", text);
        if (!comm->is_running) {
            fail(comm, text);
            tell_members(comm, &comm->revocation);
        }
        atomic_store(&comm->is_revoked, true);
        eventfd_write(comm->notify_fd, 1);
    }
    pthread_mutex_unlock(&comm->lock);
    cancel_connecting(comm);
}

bool dt_host_comm_is_revoked(struct dt_host_comm *comm)
{
    return atomic_load(&comm->is_revoked);
}

bool dt_host_comm_has_failed(struct dt_host_comm *comm)
{
    bool has_failed;

    pthread_mutex_lock(&comm->lock);
    has_failed = comm->has_failed;
    pthread_mutex_unlock(&comm->lock);
    return has_failed;
}
