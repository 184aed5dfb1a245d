#include "host_connect.h"

#include <stdlib.h>
#include <sys/eventfd.h>

#include "runtime/host_shm.h"
#include "runtime/host_tcp.h"
#include "runtime/thread.h"

struct dt_host_connector {
    struct dt_host_connect_request request;
    pthread_t thread;
    atomic_bool is_done;
    struct dt_host_link *link; /* NULL: failed, see err */
    struct dtrain_error err;
};

static void tell_no_memory(struct dt_host *host, const struct dt_host_link *link, uint32_t peer)
{
    char name[64];

    if (link->kind->shares_memory || atomic_exchange(&host->told_no_memory, true))
        return;
    dt_log(host->env.log, DT_LOG_INFO,
           "host backend: cannot share memory with %s: data inside the node goes through sockets",
           host->env.peers->describe(host->env.peers->context, peer, name, sizeof(name)));
}

static int connect_peer(struct dt_host_connector *connector)
{
    const struct dt_host_connect_request *request = &connector->request;
    struct dt_host *host = request->host;
    const struct dt_peers *peers = host->env.peers;
    struct dtrain_error *err = &connector->err;
    bool is_local = false;
    int fd = -1;

    if (peers->connect(peers->context, request->peer, request->channel, &request->deadline, &fd,
                       &is_local, err) != 0)
        return -1;
    if (!is_local)
        return dt_host_tcp_create(&connector->link, fd, err);
    if (dt_host_shm_create(&connector->link, fd, host->env.rank < request->peer,
                           request->cancel_fd, &request->deadline, err) != 0)
        return -1;
    tell_no_memory(host, connector->link, request->peer);
    return 0;
}

static void *run(void *argument)
{
    struct dt_host_connector *connector = argument;

    if (connect_peer(connector) != 0)
        connector->link = NULL;
    atomic_store(&connector->is_done, true);
    eventfd_write(connector->request.notify_fd, 1);
    return NULL;
}

int dt_host_connector_start(struct dt_host_connector **connector,
                            const struct dt_host_connect_request *request,
                            struct dtrain_error *err)
{
    struct dt_host_connector *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "connecting to a peer");
    made->request = *request;
    if (dt_thread_start(&made->thread, run, made, "a thread that connects to a peer", err) != 0) {
        free(made);
        return -1;
    }
    *connector = made;
    return 0;
}

bool dt_host_connector_is_done(const struct dt_host_connector *connector)
{
    return atomic_load(&connector->is_done);
}

int dt_host_connector_finish(struct dt_host_connector *connector, struct dt_host_link **link,
                             struct dtrain_error *err)
{
    int rc = 0;

    pthread_join(connector->thread, NULL);
    *link = connector->link;
    if (*link == NULL)
        rc = dt_error_set(err, "%s", connector->err.text);
    free(connector);
    return rc;
}
