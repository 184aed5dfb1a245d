#include <stdlib.h>

#include "core/error.h"
#include "ps.h"

/* Place of the rank among those of its node, in the plan. */
static uint32_t seat_of(const struct dtrain_ps *ps, int rank)
{
    const struct dt_plan *plan = ps->world->plan;

    return (uint32_t)rank - dt_plan_node_first(plan, dt_plan_rank_node(plan, (uint32_t)rank));
}

static bool is_member(const struct dtrain_comm *comm, int rank)
{
    for (int i = 0; i < dtrain_comm_size(comm); i++)
        if (dtrain_comm_member(comm, i) == rank)
            return true;
    return false;
}

static bool is_server(const struct dtrain_ps *ps, int rank)
{
    for (size_t i = 0; i < ps->server_count; i++)
        if (ps->servers[i] == rank)
            return true;
    return false;
}

static int take_list(struct dtrain_ps *ps, const struct dtrain_comm *comm, struct dtrain_error *err)
{
    const struct dtrain_ps_options *o = &ps->options;

    for (size_t i = 0; i < o->server_count; i++) {
        int rank = o->servers[i];

        if (!is_member(comm, rank))
            return dt_error_set(
                err, "dtrain_ps_create: servers[%zu] is %d: no rank of this world of %d that is alive", i,
                rank, dtrain_size(ps->world));
        if (is_server(ps, rank))
            return dt_error_set(err, "dtrain_ps_create: servers[%zu] is %d, which is a server already", i,
                                rank);
        ps->servers[ps->server_count++] = rank;
    }
    return 0;
}

/* Over the nodes in turn, since each server uses its node's network. wanted 0: one for each node. */
static void spread(struct dtrain_ps *ps, const struct dtrain_comm *comm, size_t wanted)
{
    int size = dtrain_comm_size(comm), last_node = -1;

    for (int i = 0; i < size && wanted == 0; i++) {
        int rank = dtrain_comm_member(comm, i);
        int node = (int)dt_plan_rank_node(ps->world->plan, (uint32_t)rank);

        if (node != last_node)
            ps->servers[ps->server_count++] = rank;
        last_node = node;
    }
    for (uint32_t seat = 0; ps->server_count < wanted; seat++)
        for (int i = 0; i < size && ps->server_count < wanted; i++)
            if (seat_of(ps, dtrain_comm_member(comm, i)) == seat)
                ps->servers[ps->server_count++] = dtrain_comm_member(comm, i);
}

/* The order of sums; a communicator's is that of the axes. */
static int compare_ranks(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

static size_t place_of(const int *ranks, size_t n, int rank)
{
    size_t i = 0;

    while (i < n && ranks[i] != rank)
        i++;
    return i;
}

static void take_workers(struct dtrain_ps *ps, const struct dtrain_comm *comm)
{
    int self = dtrain_rank(ps->world);

    for (int i = 0; i < dtrain_comm_size(comm); i++)
        if (!is_server(ps, dtrain_comm_member(comm, i)))
            ps->workers[ps->worker_count++] = dtrain_comm_member(comm, i);
    qsort(ps->workers, ps->worker_count, sizeof(*ps->workers), compare_ranks);
    ps->is_server = is_server(ps, self);
    ps->self = ps->is_server ? place_of(ps->servers, ps->server_count, self)
                             : place_of(ps->workers, ps->worker_count, self);
}

int dt_ps_roles(struct dtrain_ps *ps, const struct dtrain_comm *comm, struct dtrain_error *err)
{
    const struct dtrain_ps_options *o = &ps->options;
    size_t size = (size_t)dtrain_comm_size(comm);

    if (o->server_count > size)
        return dt_error_set(err, "dtrain_ps_create: server_count is %zu, but only %zu ranks are alive",
                            o->server_count, size);
    ps->servers = calloc(size, sizeof(*ps->servers));
    ps->workers = calloc(size, sizeof(*ps->workers));
    if (ps->servers == NULL || ps->workers == NULL)
        return dt_error_memory(err, size * sizeof(*ps->servers), "the servers and workers");
    if (o->servers != NULL && take_list(ps, comm, err) < 0)
        return -1;
    if (o->servers == NULL)
        spread(ps, comm, o->server_count);
    ps->options.servers = NULL;
    take_workers(ps, comm);
    if (ps->worker_count == 0)
        return dt_error_set(
            err,
            "dtrain_ps_create: all %zu ranks are servers: there is no worker; start more tasks, "
            "or give a smaller server_count",
            size);
    return 0;
}
