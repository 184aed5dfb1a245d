#define _GNU_SOURCE
#include "host_tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Whether the call failed because the connection is over; -1 with another errno is not expected. */
static bool is_over(int error)
{
    return error == EPIPE || error == ECONNRESET || error == ETIMEDOUT || error == EHOSTUNREACH ||
           error == ENETUNREACH || error == ENETDOWN || error == ENETRESET;
}

static ssize_t nothing_done(struct dt_host_link *link, const char *what, struct dtrain_error *err)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return 0;
    if (!is_over(errno))
        return dt_error_set(err, "cannot %s a connection: %m", what);
    link->left = true;
    return 0;
}

static ssize_t tcp_write(struct dt_host_link *link, const struct iovec *pieces, int n,
                         struct dtrain_error *err)
{
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)n};
    ssize_t written = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

    return written >= 0 ? written : nothing_done(link, "write to", err);
}

static ssize_t tcp_read(struct dt_host_link *link, void *buf, size_t size, struct dtrain_error *err)
{
    ssize_t got = recv(link->fd, buf, size, MSG_DONTWAIT);

    if (got == 0)
        link->left = true;
    return got >= 0 ? got : nothing_done(link, "read from", err);
}

static int tcp_arm(struct dt_host_link *link, bool wants_read, bool wants_write)
{
    (void)link;
    return POLLRDHUP | (wants_read ? POLLIN : 0) | (wants_write ? POLLOUT : 0);
}

static void tcp_disarm(struct dt_host_link *link, int events)
{
    if ((events & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
        link->left = true;
}

static void tcp_destroy(struct dt_host_link *link)
{
    close(link->fd);
    free(link);
}

static const struct dt_host_link_kind tcp_kind = {
    .write = tcp_write,
    .read = tcp_read,
    .arm = tcp_arm,
    .disarm = tcp_disarm,
    .destroy = tcp_destroy,
};

int dt_host_tcp_create(struct dt_host_link **link, int fd, struct dtrain_error *err)
{
    *link = malloc(sizeof(**link));
    if (*link == NULL) {
        close(fd);
        return dt_error_memory(err, sizeof(**link), "a connection");
    }
    **link = (struct dt_host_link){.kind = &tcp_kind, .fd = fd};
    return 0;
}
