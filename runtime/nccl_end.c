/* The ways in which a communicator ends: abort, revoke, destroy. */
#include <stdlib.h>

#include "nccl_abort.h"
#include "nccl_comm.h"
#include "nccl_device.h"

struct dt_deadline dt_nccl_end_deadline(const struct dt_nccl *nccl)
{
    return dt_deadline_after_ms(nccl->env.timeout_ms < DT_NCCL_END_MS ? nccl->env.timeout_ms
                                                                      : DT_NCCL_END_MS);
}

/* With comm->calls: nobody else uses it from here on. NULL: it is gone already. */
static ncclComm_t take_handle(struct dt_nccl_comm *comm)
{
    ncclComm_t handle;

    pthread_mutex_lock(&comm->lock);
    handle = comm->handle;
    comm->handle = NULL;
    pthread_mutex_unlock(&comm->lock);
    return handle;
}

static void abort_handles(const struct dt_nccl *nccl, const ncclComm_t *handles, size_t n)
{
    struct dt_deadline deadline = dt_nccl_end_deadline(nccl);
    struct dtrain_error err;

    if (dt_nccl_abort(nccl, handles, n, &deadline, &err) != 0)
        dt_log(nccl->env.log, DT_LOG_ERROR, "%zu communicators of rank %u: %s", n, nccl->env.rank, err.text);
}

/* ---- Abort ---------------------------------------------------------------------- */

void dt_nccl_comms_abort(struct dt_nccl *nccl, struct dt_nccl_comm *const *comms, size_t n)
{
    ncclComm_t *handles = malloc((n + 1) * sizeof(*handles));
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        ncclComm_t handle;

        if (comms[i] == NULL)
            continue;
        pthread_mutex_lock(&comms[i]->calls);
        handle = comms[i]->is_revoked ? NULL : take_handle(comms[i]);
        pthread_mutex_unlock(&comms[i]->calls);
        if (handle != NULL && handles != NULL)
            handles[count++] = handle;
        else if (handle != NULL) /* no memory: one after the other */
            abort_handles(nccl, &handle, 1);
    }
    abort_handles(nccl, handles, count);
    free(handles);
}

/* The communicators that failed and still have a handle; the caller frees. */
static struct dt_nccl_comm **list_failed(struct dt_nccl *nccl, size_t *n)
{
    struct dt_nccl_comm **comms;
    size_t count = 0;

    *n = 0;
    pthread_mutex_lock(&nccl->lock);
    for (struct dt_nccl_comm *i = nccl->comms; i != NULL; i = i->next)
        count++;
    comms = malloc((count + 1) * sizeof(struct dt_nccl_comm *));
    for (struct dt_nccl_comm *i = nccl->comms; i != NULL && comms != NULL; i = i->next)
        if (dt_nccl_comm_check(i, NULL) != 0)
            comms[(*n)++] = i;
    pthread_mutex_unlock(&nccl->lock);
    return comms;
}

void dt_nccl_comms_abort_failed(struct dt_nccl *nccl)
{
    size_t n;
    struct dt_nccl_comm **comms = list_failed(nccl, &n);

    dt_nccl_comms_abort(nccl, comms, n);
    free(comms);
}

/* ---- Revoke ---------------------------------------------------------------------- */

/* Whether NCCL came to rest on it. has_failed is no matter here: it is what revoking begins with. */
static bool await_rest(const struct dt_nccl *nccl, ncclComm_t handle, ncclResult_t result)
{
    struct dt_deadline deadline = dt_nccl_end_deadline(nccl);
    unsigned turns = 0;

    while (result == ncclInProgress && !dt_deadline_passed(&deadline)) {
        if (nccl->api->CommGetAsyncError(handle, &result) != ncclSuccess)
            return false;
        dt_nccl_pause(&turns);
    }
    return result == ncclSuccess;
}

/* With comm->calls. false: it cannot be revoked, only aborted. */
static bool revoke_handle(struct dt_nccl_comm *comm)
{
    const struct dt_nccl_api *api = comm->nccl->api;
    ncclResult_t state = ncclSuccess;

    if (api->CommRevoke == NULL || api->CommGetAsyncError(comm->handle, &state) != ncclSuccess ||
        state != ncclSuccess)
        return false;
    return await_rest(comm->nccl, comm->handle, api->CommRevoke(comm->handle, 0));
}

void dt_nccl_comm_revoke(struct dt_nccl_comm *comm, const char *err_text)
{
    bool is_first;
    ncclComm_t lost = NULL;

    pthread_mutex_lock(&comm->lock);
    is_first = !comm->has_failed;
    if (is_first)
        dt_error_set(&comm->failure, "%s", err_text);
    comm->has_failed = true;
    pthread_mutex_unlock(&comm->lock);
    if (!is_first || dt_nccl_device_use(comm->nccl, NULL) != 0)
        return;
    /* A call that waits on it sees the failure and gives this lock back. */
    pthread_mutex_lock(&comm->calls);
    comm->is_revoked = comm->handle != NULL && revoke_handle(comm);
    if (!comm->is_revoked)
        lost = take_handle(comm);
    pthread_mutex_unlock(&comm->calls);
    if (lost != NULL)
        abort_handles(comm->nccl, &lost, 1);
}

/* ---- Destroy ---------------------------------------------------------------------- */

/* NCCL ends it with the other members, who come here too; one that died is not waited for. */
static bool finalize(struct dt_nccl_comm *comm)
{
    struct dt_deadline deadline = dt_nccl_end_deadline(comm->nccl);
    const char *what = "ncclCommFinalize";

    if (dt_nccl_comm_look(comm, what, NULL) != 0)
        return false;
    return dt_nccl_comm_settle(comm, comm->nccl->api->CommFinalize(comm->handle), what, &deadline, NULL) == 0;
}

void dt_nccl_comm_destroy(struct dt_nccl_comm *comm)
{
    ncclComm_t handle;
    bool is_quiet;

    if (comm == NULL)
        return;
    pthread_mutex_lock(&comm->calls);
    is_quiet = comm->handle != NULL && dt_nccl_device_use(comm->nccl, NULL) == 0 &&
               (comm->is_revoked || finalize(comm));
    handle = take_handle(comm);
    pthread_mutex_unlock(&comm->calls);
    if (is_quiet)
        comm->nccl->api->CommDestroy(handle);
    else if (handle != NULL)
        abort_handles(comm->nccl, &handle, 1);
    dt_nccl_comm_free(comm);
}
