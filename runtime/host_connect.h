/*
 * host_connect.h - making the connection to one peer in a thread of its own.
 *
 * Connecting blocks until the peer connects too, and the peer may first have
 * something else to do. With a thread for each connection an operation waits
 * for all of its peers at once, beside its data and the news of deaths: no
 * order of connecting can then deadlock, whatever transfers a rank groups.
 */
#ifndef DT_RUNTIME_HOST_CONNECT_H
#define DT_RUNTIME_HOST_CONNECT_H

#include <stdatomic.h>

#include "runtime/backend.h"
#include "runtime/host_link.h"

/* What all communicators and streams of an opened backend share. */
struct dt_host {
    struct dt_backend_env env;
    atomic_bool told_no_memory; /* the log has it already */
};

struct dt_host_connector;

struct dt_host_connect_request {
    struct dt_host *host;
    uint32_t peer; /* world rank */
    uint64_t channel;
    struct dt_deadline deadline;
    int cancel_fd; /* ends the attempt when it becomes readable */
    int notify_fd; /* an eventfd that is written when the attempt is over */
};

int dt_host_connector_start(struct dt_host_connector **connector,
                            const struct dt_host_connect_request *request,
                            struct dtrain_error *err);

bool dt_host_connector_is_done(const struct dt_host_connector *connector);

/* Waits for the attempt, frees it and gives its link, or -1 with the reason that it failed. */
int dt_host_connector_finish(struct dt_host_connector *connector, struct dt_host_link **link,
                             struct dtrain_error *err);

#endif
