#include "rendezvous.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random.h"

struct dt_arrival {
    struct dt_source source; /* first: epoll gives it back */
    struct dt_arrival *next;
    struct dt_deadline deadline; /* of the greeting */
    bool is_local;
    unsigned char bytes[DT_GREETING_SIZE];
    size_t got;
    struct dt_greeting greeting;
};

static void arrival_destroy(struct dt_arrival *arrival)
{
    if (arrival->source.fd >= 0)
        close(arrival->source.fd);
    free(arrival);
}

static void list_remove(struct dt_arrival **list, struct dt_arrival *arrival)
{
    while (*list != arrival)
        list = &(*list)->next;
    *list = arrival->next;
}

static void refuse(struct dt_rendezvous *rendezvous, struct dt_arrival *arrival, const char *why)
{
    dt_log(rendezvous->log, DT_LOG_DEBUG, "closed an incoming connection: %s", why);
    arrival_destroy(arrival);
}

/* Of two for one rank and channel the newer counts: the older one's sender gave up and tried again. */
static void park(struct dt_rendezvous *rendezvous, struct dt_arrival *arrival)
{
    struct dt_arrival **at = &rendezvous->parked;

    while (*at != NULL) {
        struct dt_arrival *old = *at;

        if (rendezvous->has_world_token && old->greeting.rank == arrival->greeting.rank &&
            old->greeting.channel == arrival->greeting.channel) {
            *at = old->next;
            arrival_destroy(old);
        } else {
            at = &old->next;
        }
    }
    arrival->next = rendezvous->parked;
    rendezvous->parked = arrival;
}

static void data_arrived(struct dt_rendezvous *rendezvous, struct dt_arrival *arrival)
{
    if (rendezvous->has_world_token) {
        rendezvous->unproven--;
        if (!dt_token_equals(arrival->greeting.token, rendezvous->world_token)) {
            refuse(rendezvous, arrival, "it does not know this world's token");
            return;
        }
    }
    park(rendezvous, arrival);
}

static void control_arrived(struct dt_rendezvous *rendezvous, struct dt_arrival *arrival)
{
    int fd = arrival->source.fd;

    rendezvous->unproven--;
    if (!dt_token_equals(arrival->greeting.token, rendezvous->token)) {
        refuse(rendezvous, arrival, "it does not know this rank's token");
        return;
    }
    arrival->source.fd = -1;
    rendezvous->adopt(rendezvous->adopt_context, fd, &arrival->greeting);
    arrival_destroy(arrival);
}

static void greeted(struct dt_rendezvous *rendezvous, struct dt_arrival *arrival)
{
    list_remove(&rendezvous->greeting, arrival);
    dt_source_forget(&arrival->source, rendezvous->epoll_fd);
    if (!dt_greeting_decode(&arrival->greeting, arrival->bytes)) {
        rendezvous->unproven--;
        refuse(rendezvous, arrival, "it does not speak this protocol");
    } else if (arrival->greeting.purpose == DT_PURPOSE_CONTROL ||
               arrival->greeting.purpose == DT_PURPOSE_CALL) {
        control_arrived(rendezvous, arrival);
    } else if (arrival->greeting.purpose == DT_PURPOSE_DATA) {
        data_arrived(rendezvous, arrival);
    } else {
        rendezvous->unproven--;
        refuse(rendezvous, arrival, "its purpose is not known");
    }
}

static void drop_greeting(struct dt_rendezvous *rendezvous, struct dt_arrival *arrival, const char *why)
{
    list_remove(&rendezvous->greeting, arrival);
    rendezvous->unproven--;
    refuse(rendezvous, arrival, why);
}

static void arrival_ready(struct dt_source *source)
{
    struct dt_arrival *arrival = (struct dt_arrival *)source;
    struct dt_rendezvous *rendezvous = source->context;
    ssize_t n = recv(source->fd, arrival->bytes + arrival->got, DT_GREETING_SIZE - arrival->got, 0);

    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (n <= 0) {
        drop_greeting(rendezvous, arrival, "it ended before its greeting did");
        return;
    }
    arrival->got += (size_t)n;
    if (arrival->got == DT_GREETING_SIZE)
        greeted(rendezvous, arrival);
}

static void welcome(struct dt_rendezvous *rendezvous, int fd, bool is_local)
{
    struct dt_arrival *arrival = NULL;

    if (rendezvous->unproven < DT_ARRIVALS_UNPROVEN_MAX)
        arrival = calloc(1, sizeof(*arrival));
    if (arrival == NULL) {
        close(fd);
        return;
    }
    arrival->source = (struct dt_source){.fd = fd, .ready = arrival_ready, .context = rendezvous};
    arrival->is_local = is_local;
    arrival->deadline = dt_deadline_after_ms(DT_GREETING_TIMEOUT_MS);
    if (dt_source_watch(&arrival->source, rendezvous->epoll_fd, EPOLLIN) < 0) {
        refuse(rendezvous, arrival, "epoll refused it");
        return;
    }
    rendezvous->unproven++;
    arrival->next = rendezvous->greeting;
    rendezvous->greeting = arrival;
}

static void listener_ready(struct dt_source *source)
{
    struct dt_rendezvous *rendezvous = source->context;
    bool is_local = source == &rendezvous->local;
    int fd = dt_listener_accept(&rendezvous->listener, is_local);

    if (fd >= 0)
        welcome(rendezvous, fd, is_local);
}

int dt_rendezvous_open(struct dt_rendezvous *rendezvous, const char *toward, const char *ifname,
                       struct dtrain_error *err)
{
    rendezvous->listener = (struct dt_listener){.tcp_fd = -1, .unix_fd = -1};
    rendezvous->epoll_fd = -1;
    if (dt_random_fill(rendezvous->token, DT_TOKEN_SIZE, err) < 0)
        return -1;
    return dt_listener_open(&rendezvous->listener, toward, ifname, err);
}

int dt_rendezvous_watch(struct dt_rendezvous *rendezvous, int epoll_fd, struct dtrain_error *err)
{
    const struct dt_listener *listener = &rendezvous->listener;

    rendezvous->epoll_fd = epoll_fd;
    rendezvous->tcp = (struct dt_source){listener->tcp_fd, listener_ready, rendezvous};
    rendezvous->local = (struct dt_source){listener->unix_fd, listener_ready, rendezvous};
    if (dt_source_watch(&rendezvous->tcp, epoll_fd, EPOLLIN) < 0 ||
        (listener->unix_fd >= 0 && dt_source_watch(&rendezvous->local, epoll_fd, EPOLLIN) < 0))
        return dt_error_set(err, "epoll: %s", strerror(errno));
    return 0;
}

static void list_destroy(struct dt_arrival **list)
{
    while (*list != NULL) {
        struct dt_arrival *arrival = *list;

        *list = arrival->next;
        arrival_destroy(arrival);
    }
}

void dt_rendezvous_close(struct dt_rendezvous *rendezvous)
{
    list_destroy(&rendezvous->greeting);
    list_destroy(&rendezvous->parked);
    dt_listener_close(&rendezvous->listener);
}

void dt_rendezvous_set_world_token(struct dt_rendezvous *rendezvous, const unsigned char token[DT_TOKEN_SIZE])
{
    struct dt_arrival *arrivals = rendezvous->parked;

    memcpy(rendezvous->world_token, token, DT_TOKEN_SIZE);
    rendezvous->has_world_token = true;
    rendezvous->parked = NULL;
    while (arrivals != NULL) {
        struct dt_arrival *arrival = arrivals;

        arrivals = arrival->next;
        data_arrived(rendezvous, arrival);
    }
}

int dt_rendezvous_claim(struct dt_rendezvous *rendezvous, uint32_t rank, uint64_t channel, bool *is_local)
{
    if (!rendezvous->has_world_token)
        return -1;
    for (struct dt_arrival *i = rendezvous->parked; i != NULL; i = i->next) {
        int fd = i->source.fd;

        if (i->greeting.rank != rank || i->greeting.channel != channel)
            continue;
        *is_local = i->is_local;
        list_remove(&rendezvous->parked, i);
        i->source.fd = -1;
        arrival_destroy(i);
        return fd;
    }
    return -1;
}

bool dt_rendezvous_expire(struct dt_rendezvous *rendezvous)
{
    struct dt_arrival *next;

    for (struct dt_arrival *i = rendezvous->greeting; i != NULL; i = next) {
        next = i->next;
        if (dt_deadline_passed(&i->deadline))
            drop_greeting(rendezvous, i, "no greeting in time");
    }
    return rendezvous->greeting != NULL;
}
