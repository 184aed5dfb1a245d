/*
 * peers.h - what a backend may ask of the world beside the data: a connection
 * to another rank, and who is dead. control implements it; tests give a double.
 */
#ifndef DT_RUNTIME_PEERS_H
#define DT_RUNTIME_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "runtime/deadline.h"

struct dt_peers {
    void *context;

    /*
     * A connected stream socket to world rank `peer`, used for `channel` only.
     * Both ranks call with the same channel, in any order; the call blocks
     * until they are connected, the peer is known dead, or the deadline. The
     * lower rank's call may return before the other's began. A peer
     * on the same node gives an AF_UNIX socket (*is_local; it carries file
     * descriptors), another an AF_INET/AF_INET6 one with TCP_NODELAY. The
     * socket is non-blocking and close-on-exec; the caller owns it. Thread-safe.
     */
    int (*connect)(void *context, uint32_t peer, uint64_t channel,
                   const struct dt_deadline *deadline, int *fd, bool *is_local,
                   struct dtrain_error *err);

    /*
     * Makes the calls of connect() for `channel` that wait, and later ones, return
     * -1 soon: its communicator failed or ends. NULL: they wait for their
     * deadline. Thread-safe.
     */
    void (*cancel)(void *context, uint64_t channel);

    /* Whether the rank is known to be dead; then err says so ("rank 5 on n2 died: ..."). Thread-safe. */
    bool (*is_dead)(void *context, uint32_t rank, struct dtrain_error *err);

    /* "rank 5 on n2", for messages. Returns buf. Thread-safe. */
    char *(*describe)(void *context, uint32_t rank, char *buf, size_t size);

    /*
     * Tells all ranks that can be reached, this one too, that the communicator
     * of `channel` was revoked; text says by whom and why. Only the first of a
     * channel counts. Does not wait. NULL: nobody is told. Thread-safe.
     */
    void (*revoke)(void *context, uint64_t channel, const char *text);

    /* Whether that came; then err is its text. NULL: never. Thread-safe. */
    bool (*is_revoked)(void *context, uint64_t channel, struct dtrain_error *err);

    /*
     * Counters that change with every death and every revocation learned, and a
     * descriptor that is readable from the first of either on (poll it beside
     * the data; look at the counters to see whether there is news).
     */
    const _Atomic uint32_t *death_count;
    const _Atomic uint32_t *revoke_count; /* NULL where revoke is */
    int death_fd;
};

#endif
