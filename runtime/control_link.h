/*
 * control_link.h - one connection of the control tree: frames in, frames out,
 * never blocking. Not thread-safe: the owner holds its lock.
 */
#ifndef DT_RUNTIME_CONTROL_LINK_H
#define DT_RUNTIME_CONTROL_LINK_H

#include "runtime/control_message.h"
#include "runtime/source.h"

enum dt_link_role {
    DT_LINK_PARENT = 1 << 0,
    DT_LINK_CHILD = 1 << 1,
    DT_LINK_STRANGER = 1 << 2, /* holds the token, but is no child in this rank's plan */
    DT_LINK_CALLED = 1 << 3,   /* a child that this rank called; DT_LINK_CHILD once it took the call */
    DT_LINK_RETIRED = 1 << 4,  /* of a tree that was rebuilt: what the other end still says is dropped */
};

#define DT_LINK_TREE (DT_LINK_PARENT | DT_LINK_CHILD)

struct dt_link {
    struct dt_source source; /* first: epoll gives it back */
    struct dt_link *next;
    enum dt_link_role role;
    uint32_t rank; /* at the other end */
    bool said_hello;
    bool said_ready;
    bool said_bye;
    struct dt_buffer out;
    size_t sent; /* bytes of out that are gone */
    unsigned char header[DT_FRAME_HEADER];
    size_t header_got;
    unsigned char *payload;
    size_t payload_size;
    size_t payload_got;
};

/* Owns fd from here on; NULL when memory ran out, then fd is closed. The caller watches link->source. */
struct dt_link *dt_link_create(int fd, enum dt_link_role role, uint32_t rank);
void dt_link_destroy(struct dt_link *link);

/* Sends what the socket takes; the rest goes when epoll says so. -1: the connection is broken. */
int dt_link_flush(struct dt_link *link, int epoll_fd);
bool dt_link_is_flushed(const struct dt_link *link);

/* 1: a frame (*kind, *payload until the next call), 0: none now, -1: closed, broken, or too long. */
int dt_link_receive(struct dt_link *link, uint32_t world, uint32_t *kind, struct dt_reader *payload);

#endif
