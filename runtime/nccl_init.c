#include "nccl_init.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_comm.h"
#include "nccl_device.h"
#include "nccl_stream.h"

#define INIT "ncclCommInitRankConfig"
#define WARM_UP "the first all-reduce"

int dt_nccl_ranks_per_id(const struct dt_nccl_api *api)
{
    return api->CommInitRankScalable != NULL ? DT_NCCL_RANKS_PER_ID : INT_MAX;
}

/* ---- One of them -------------------------------------------------------------- */

/* Warned once, by the first rank of the group. */
static void say_shared(const struct dt_nccl *nccl, const struct dt_comm_request *request)
{
    static const enum dt_comm_field fields[] = {DT_COMM_SPLIT_SHARE, DT_COMM_SHRINK_SHARE};
    size_t count;
    const struct dt_comm_field_row *rows = dt_comm_field_rows(&count);

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (request->rank == 0 && request->config.values[fields[i]] != 0)
            dt_log(nccl->env.log, DT_LOG_WARN,
                   "%s: %s is on: a failure of a communicator made from it reaches all that share with it",
                   request->name, rows[fields[i]].name);
}

static ncclResult_t init(const struct dt_nccl_api *api, ncclComm_t *handle,
                         const struct dt_comm_request *request, struct dt_nccl_config *config)
{
    ncclUniqueId id;

    memcpy(&id, request->ids[0], sizeof(id));
    if (request->id_count == 1)
        return api->CommInitRankConfig(handle, request->size, id, request->rank, config);
    return api->CommInitRankScalable(handle, request->size, request->rank, request->id_count,
                                     (ncclUniqueId *)(void *)request->ids, config);
}

/* Inside the group. */
static int start(struct dt_nccl_comm *comm, const struct dt_comm_request *request, struct dtrain_error *err)
{
    const struct dt_nccl_api *api = comm->nccl->api;
    struct dt_nccl_config config;
    ncclResult_t result;

    if (dt_nccl_config_fill(&config, api, comm->name, &comm->config, err) != 0)
        return -1;
    say_shared(comm->nccl, request);
    result = init(api, &comm->handle, request, &config);
    if (result == ncclInProgress)
        return 0;
    return dt_nccl_comm_settle(comm, result, INIT, NULL, err);
}

/* ---- All of them ------------------------------------------------------------------ */

/* Group calls are balanced, whatever fails between them. */
static int start_all(struct dt_nccl *nccl, const struct dt_comm_request *requests, size_t n,
                     struct dt_nccl_comm **comms, struct dtrain_error *err)
{
    ncclResult_t result = nccl->api->GroupStart();
    int rc = result == ncclSuccess
                 ? 0
                 : dt_error_set(err, "ncclGroupStart: %s", nccl->api->GetErrorString(result));

    if (rc != 0)
        return -1;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = dt_nccl_comm_create(&comms[i], nccl, &requests[i], err);
        if (rc == 0)
            rc = start(comms[i], &requests[i], err);
    }
    result = nccl->api->GroupEnd();
    if (rc == 0 && result != ncclSuccess && result != ncclInProgress)
        rc = dt_nccl_comm_settle(comms[0], result, INIT, NULL, err);
    return rc;
}

/* A rank that does not come is not known to NCCL; who failed is known to the world. */
static int settle_all(struct dt_nccl_comm **comms, size_t n, const struct dt_deadline *deadline,
                      struct dtrain_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (dt_nccl_comm_settle(comms[i], ncclInProgress, INIT, deadline, err) != 0)
            return -1;
    return 0;
}

static int compare_channels(const void *a, const void *b)
{
    const struct dt_nccl_comm *const *x = a, *const *y = b;

    return ((*x)->channel > (*y)->channel) - ((*x)->channel < (*y)->channel);
}

static int warm_up(struct dt_nccl_comm *comm, const struct dt_deadline *deadline, struct dtrain_error *err)
{
    const struct dt_nccl *nccl = comm->nccl;
    ncclResult_t result = nccl->api->AllReduce(nccl->cell, nccl->cell, 1, ncclInt8, ncclMax, comm->handle,
                                               nccl->stream.handle);

    if (dt_nccl_comm_settle(comm, result, WARM_UP, deadline, err) != 0)
        return -1;
    return dt_nccl_stream_await(&nccl->stream, comm, WARM_UP, deadline, err);
}

/* Connections and memory are made by the first use: not between two kernels that wait for each other. */
static int warm_up_all(struct dt_nccl_comm **comms, size_t n, const struct dt_deadline *deadline,
                       struct dtrain_error *err)
{
    struct dt_nccl_comm **sorted = malloc(n * sizeof(struct dt_nccl_comm *));
    int rc = 0;

    if (sorted == NULL)
        return dt_error_memory(err, n * sizeof(struct dt_nccl_comm *), "the order of communicators");
    memcpy(sorted, comms, n * sizeof(struct dt_nccl_comm *));
    qsort(sorted, n, sizeof(struct dt_nccl_comm *), compare_channels);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = warm_up(sorted[i], deadline, err);
    free(sorted);
    return rc;
}

/* "..., on rank 3 on n1", after what failed there. */
static int say_where(const struct dt_nccl *nccl, struct dtrain_error *err)
{
    const struct dt_peers *peers = nccl->env.peers;
    struct dtrain_error why;
    char who[160] = "";

    if (err == NULL || peers == NULL)
        return -1;
    why = *err;
    return dt_error_set(err, "%s, on %s", why.text,
                        peers->describe(peers->context, nccl->env.rank, who, sizeof(who)));
}

static void destroy_all(struct dt_nccl *nccl, struct dt_nccl_comm **comms, size_t n)
{
    dt_nccl_comms_abort(nccl, comms, n);
    for (size_t i = 0; i < n; i++)
        if (comms[i] != NULL)
            dt_nccl_comm_free(comms[i]);
}

int dt_nccl_comms_create(struct dt_nccl *nccl, const struct dt_comm_request *requests, size_t n, void **comms,
                         const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dt_nccl_comm **made;

    if (n == 0)
        return 0;
    made = calloc(n, sizeof(struct dt_nccl_comm *));
    if (made == NULL)
        return dt_error_memory(err, n * sizeof(struct dt_nccl_comm *), "communicators");
    if (dt_nccl_device_use(nccl, err) != 0 || start_all(nccl, requests, n, made, err) != 0 ||
        settle_all(made, n, deadline, err) != 0 || warm_up_all(made, n, deadline, err) != 0) {
        destroy_all(nccl, made, n);
        memset(comms, 0, n * sizeof(*comms));
        free(made);
        return say_where(nccl, err);
    }
    for (size_t i = 0; i < n; i++)
        comms[i] = made[i];
    free(made);
    return 0;
}
