#include "host_wait.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "runtime/host_peer.h"

#define NAMED_MAX 8        /* peers that an error names */
#define NEWS_SLICE_MS 100 /* the descriptor stays readable after the first death: look by time */

/* ---- Reasons to stop ---------------------------------------------------- */

static uint32_t count_news(const struct dt_peers *peers)
{
    uint32_t revoked = peers->revoke_count != NULL ? atomic_load(peers->revoke_count) : 0;

    return atomic_load(peers->death_count) + revoked;
}

int dt_host_check_news(struct dt_host_call *call, struct dtrain_error *err)
{
    struct dt_host_comm *comm = call->comm;
    const struct dt_peers *peers = comm->host->env.peers;
    uint32_t news = count_news(peers);
    char text[DT_HOST_CALL_TEXT_MAX];

    if (news == comm->news_seen)
        return 0;
    if (peers->is_revoked != NULL && peers->is_revoked(peers->context, comm->channel, err))
        return dt_error_prefix(err, "%s", dt_host_call_text(call, text));
    for (int i = 0; i < comm->size; i++) {
        if (i != comm->rank && peers->is_dead(peers->context, comm->peers[i].rank, err))
            return dt_error_prefix(err, "%s", dt_host_call_text(call, text));
    }
    comm->news_seen = news;
    return 0;
}

char *dt_host_awaited_text(const struct dt_host_call *call, char *buf, size_t size)
{
    const struct dt_host_comm *comm = call->comm;
    char name[DT_HOST_PEER_TEXT_MAX];
    size_t used = 0;

    buf[0] = '\0';
    for (int i = 0; i < comm->busy_count && i < NAMED_MAX && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 dt_host_comm_peer_text(comm, comm->busy[i], name));
    if (comm->busy_count > NAMED_MAX && used < size)
        snprintf(buf + used, size - used, " and %d more", comm->busy_count - NAMED_MAX);
    return buf;
}

int dt_host_report_deadline(const struct dt_host_call *call, struct dtrain_error *err)
{
    char text[DT_HOST_CALL_TEXT_MAX], names[DTRAIN_ERROR_MAX / 2];

    return dt_error_set(err, "%s waited %g s for %s", dt_host_call_text(call, text),
                        call->deadline.timeout_ms / 1000.0,
                        dt_host_awaited_text(call, names, sizeof(names)));
}

/* Messages of peers that this step does not wait for tell of other operations and of failures. */
static int look_at_others(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_host_comm *comm = call->comm;

    for (int i = 0; i < comm->linked_count; i++) {
        int peer = comm->linked[i];

        if (comm->peers[peer].receives.head == NULL && dt_host_peer_pull(call, peer, err) < 0)
            return -1;
    }
    return 0;
}

/*
 * The end of a connection is seen before the news of a death, and before the
 * reason of a peer that gave up comes by way of others: these are better errors.
 */
static int check_left(struct dt_host_call *call, struct dtrain_error *err)
{
    const struct dt_host_comm *comm = call->comm;
    char text[DT_HOST_CALL_TEXT_MAX], name[DT_HOST_PEER_TEXT_MAX];

    for (int i = 0; i < comm->linked_count && call->grace_at_ns == 0; i++) {
        if (comm->peers[comm->linked[i]].link->left) {
            call->left = comm->linked[i];
            call->grace_at_ns = dt_now_ns() + DT_HOST_GRACE_MS * INT64_C(1000000);
        }
    }
    if (call->grace_at_ns == 0 || dt_now_ns() < call->grace_at_ns)
        return 0;
    return dt_error_set(err, "%s: %s closed its connection before the operation was done: it failed "
                        "or ended, see its own messages", dt_host_call_text(call, text),
                        dt_host_comm_peer_text(comm, call->left, name));
}

static int check(struct dt_host_call *call, struct dtrain_error *err)
{
    if (dt_host_check_news(call, err) != 0 || look_at_others(call, err) != 0 ||
        check_left(call, err) != 0)
        return -1;
    return dt_deadline_passed(&call->deadline) ? dt_host_report_deadline(call, err) : 0;
}

/* ---- Sleeping ----------------------------------------------------------- */

static int sleep_ms(const struct dt_host_call *call)
{
    int ms = dt_deadline_left_ms(&call->deadline);
    const struct dt_deadline grace = {.at_ns = call->grace_at_ns};

    if (call->grace_at_ns != 0 && dt_deadline_left_ms(&grace) < ms)
        ms = dt_deadline_left_ms(&grace);
    if (call->comm->news_seen != 0 && ms > NEWS_SLICE_MS)
        ms = NEWS_SLICE_MS;
    return ms;
}

/* Fills the communicator's polls; *n entries, those of links from *first on. False: do not sleep. */
static bool arm(struct dt_host_call *call, nfds_t *first, nfds_t *n)
{
    struct dt_host_comm *comm = call->comm;
    bool may_sleep = true;

    *n = 0;
    comm->polls[(*n)++] = (struct pollfd){.fd = comm->notify_fd, .events = POLLIN};
    if (comm->news_seen == 0)
        comm->polls[(*n)++] = (struct pollfd){.fd = comm->host->env.peers->death_fd, .events = POLLIN};
    *first = *n;
    for (int i = 0; i < comm->linked_count; i++) {
        struct dt_host_peer *it = &comm->peers[comm->linked[i]];
        bool wants_read = it->receives.head != NULL || it->in_used < sizeof(it->in);
        int events;

        /* An entry for each link, so that they can be told apart; poll() skips those below 0. */
        comm->polls[*n] = (struct pollfd){.fd = -1};
        if (!it->link->left) {
            events = it->link->kind->arm(it->link, wants_read, it->sends.head != NULL);
            may_sleep = may_sleep && events != DT_HOST_LINK_READY;
            comm->polls[*n] = (struct pollfd){.fd = it->link->fd, .events = (short)events};
        }
        (*n)++;
    }
    return may_sleep;
}

static void disarm(struct dt_host_comm *comm, nfds_t first)
{
    for (int i = 0; i < comm->linked_count; i++) {
        struct dt_host_link *link = comm->peers[comm->linked[i]].link;

        if (!link->left)
            link->kind->disarm(link, comm->polls[first + (nfds_t)i].revents);
    }
}

int dt_host_wait(struct dt_host_call *call, struct dtrain_error *err)
{
    struct dt_host_comm *comm = call->comm;
    eventfd_t ignored;
    nfds_t first, n;
    int rc = 0;

    if (check(call, err) != 0)
        return -1;
    if (arm(call, &first, &n) && poll(comm->polls, n, sleep_ms(call)) < 0 && errno != EINTR)
        rc = dt_error_set(err, "cannot wait for the peers of %s: %m", comm->name);
    disarm(comm, first);
    eventfd_read(comm->notify_fd, &ignored);
    return rc;
}
