/*
 * host_link.h - a connection to one peer for one communicator, as a pipe of
 * bytes each way that never blocks. Two kinds: rings in memory that both
 * processes map (host_shm), and a socket (host_tcp). Used by one thread at a
 * time: the one whose operation is at its turn on the communicator.
 */
#ifndef DT_RUNTIME_HOST_LINK_H
#define DT_RUNTIME_HOST_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "core/error.h"

/* Instead of events to poll for: there is something to do now. */
#define DT_HOST_LINK_READY (-1)

struct dt_host_link;

struct dt_host_link_kind {
    bool shares_memory;

    /* Bytes taken or given, 0 when none can be now; -1 only for a connection that is damaged. */
    ssize_t (*write)(struct dt_host_link *link, const struct iovec *pieces, int n,
                     struct dtrain_error *err);
    ssize_t (*read)(struct dt_host_link *link, void *buf, size_t size, struct dtrain_error *err);

    /*
     * Before poll(): the events to wait for on fd, or DT_HOST_LINK_READY.
     * After it: what poll() said, 0 when it was not called.
     */
    int (*arm)(struct dt_host_link *link, bool wants_read, bool wants_write);
    void (*disarm)(struct dt_host_link *link, int events);

    void (*destroy)(struct dt_host_link *link);
};

struct dt_host_link {
    const struct dt_host_link_kind *kind;
    int fd;    /* owned */
    bool left; /* the peer closed its side; what it wrote before can still be read */
};

/* Tells the peer that nothing more will be written. */
void dt_host_link_shutdown(struct dt_host_link *link);

/* NULL allowed. */
void dt_host_link_destroy(struct dt_host_link *link);

#endif
