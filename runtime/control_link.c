#include "control_link.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct dt_link *dt_link_create(int fd, enum dt_link_role role, uint32_t rank)
{
    struct dt_link *link = calloc(1, sizeof(*link));

    if (link == NULL) {
        close(fd);
        return NULL;
    }
    link->source.fd = fd;
    link->role = role;
    link->rank = rank;
    dt_socket_keep_alive(fd);
    return link;
}

void dt_link_destroy(struct dt_link *link)
{
    if (link == NULL)
        return;
    close(link->source.fd);
    dt_buffer_free(&link->out);
    free(link->payload);
    free(link);
}

bool dt_link_is_flushed(const struct dt_link *link)
{
    return link->sent == link->out.size;
}

int dt_link_flush(struct dt_link *link, int epoll_fd)
{
    if (link->out.is_broken)
        return -1;
    while (link->sent < link->out.size) {
        ssize_t n =
            send(link->source.fd, link->out.data + link->sent, link->out.size - link->sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return dt_source_change(&link->source, epoll_fd, EPOLLIN | EPOLLOUT);
        if (n < 0)
            return -1;
        link->sent += (size_t)n;
    }
    link->out.size = 0;
    link->sent = 0;
    return dt_source_change(&link->source, epoll_fd, EPOLLIN);
}

/* 1: all size bytes are there, 0: not yet, -1: the connection ended. */
static int fill(int fd, unsigned char *bytes, size_t size, size_t *got)
{
    while (*got < size) {
        ssize_t n = recv(fd, bytes + *got, size - *got, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n <= 0)
            return -1;
        *got += (size_t)n;
    }
    return 1;
}

static int begin_payload(struct dt_link *link, uint32_t world, uint32_t kind, uint32_t size)
{
    if (size > dt_message_max(kind, world))
        return -1;
    free(link->payload);
    link->payload = malloc(size > 0 ? size : 1);
    link->payload_size = size;
    link->payload_got = 0;
    return link->payload != NULL ? 0 : -1;
}

int dt_link_receive(struct dt_link *link, uint32_t world, uint32_t *kind, struct dt_reader *payload)
{
    struct dt_reader header = {.data = link->header, .left = DT_FRAME_HEADER};
    bool is_new = link->header_got < DT_FRAME_HEADER;
    int rc = fill(link->source.fd, link->header, DT_FRAME_HEADER, &link->header_got);
    uint32_t size;

    if (rc <= 0)
        return rc;
    size = dt_reader_u32(&header);
    *kind = dt_reader_u32(&header);
    if (is_new && begin_payload(link, world, *kind, size) < 0)
        return -1;
    rc = fill(link->source.fd, link->payload, link->payload_size, &link->payload_got);
    if (rc <= 0)
        return rc;
    link->header_got = 0;
    *payload = (struct dt_reader){.data = link->payload, .left = link->payload_size};
    return 1;
}
