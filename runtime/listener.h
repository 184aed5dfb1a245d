/*
 * listener.h - where a rank can be reached: one TCP port on the interface that
 * leads to the step's first node, one abstract Unix socket with a name that
 * cannot be guessed for the ranks of the same node; and reaching another.
 */
#ifndef DT_RUNTIME_LISTENER_H
#define DT_RUNTIME_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "runtime/deadline.h"
#include "runtime/wire.h"

struct dt_address {
    uint16_t family; /* 4, 6; 0: none */
    uint16_t port;
    uint64_t nonce;       /* of the Unix socket's name */
    unsigned char ip[16]; /* the first 4 bytes for family 4 */
};

#define DT_ADDRESS_WIRE 28 /* bytes of one in a message */
#define DT_ADDRESS_TEXT 64 /* "10.0.0.1:40123" */

void dt_address_write(struct dt_buffer *buffer, const struct dt_address *address);
/* A family that is neither 4 nor 6, or port 0, breaks the reader. */
void dt_address_read(struct dt_reader *reader, struct dt_address *address);
char *dt_address_text(const struct dt_address *address, char text[DT_ADDRESS_TEXT]);

struct dt_listener {
    int tcp_fd;
    int unix_fd; /* -1: this machine has none; then TCP is used inside the node too */
    struct dt_address address;
};

/*
 * toward: numeric address whose route chooses the interface, "" or NULL for
 * loopback. ifname: an interface by name instead, NULL or "" for none. Both
 * descriptors are non-blocking and close-on-exec.
 */
int dt_listener_open(struct dt_listener *listener, const char *toward, const char *ifname,
                     struct dtrain_error *err);
void dt_listener_close(struct dt_listener *listener);

/* A non-blocking connection, or -1 when there is none or it came from another user. */
int dt_listener_accept(const struct dt_listener *listener, bool is_local);

/*
 * One attempt at a connection: a non-blocking socket in *fd. -1 with errno when
 * it failed (ETIMEDOUT: the deadline), for the caller to retry or to report.
 */
int dt_address_dial(int *fd, const struct dt_address *address, bool is_local,
                    const struct dt_deadline *deadline);

/* A peer whose machine vanished is noticed after about DT_KEEPALIVE_MS. No effect on Unix sockets. */
#define DT_KEEPALIVE_MS 10000
void dt_socket_keep_alive(int fd);

#endif
