#include "nccl_native.h"

#include "nccl_comm.h"
#include "nccl_device.h"
#include "nccl_stream.h"

#define WINDOW_SINCE 22700

static int device(const void *state)
{
    const struct dt_nccl *nccl = state;

    return nccl->device;
}

static int comm_handle(void *opaque, ncclComm_t *handle, struct dtrain_error *err)
{
    struct dt_nccl_comm *comm = opaque;

    *handle = NULL;
    if (dt_nccl_comm_check(comm, err) != 0)
        return -1;
    *handle = comm->handle;
    return 0;
}

static void stream_handle(const void *opaque, cudaStream_t *handle)
{
    const struct dt_nccl_stream *stream = opaque;

    *handle = stream->handle;
}

static int stream_wrap(void *state, cudaStream_t handle, void **stream, struct dtrain_error *err)
{
    struct dt_nccl_stream *made;

    if (dt_nccl_stream_wrap(state, handle, &made, err) != 0)
        return -1;
    *stream = made;
    return 0;
}

/* ---- Registration ----------------------------------------------------------------- */

/* Takes comm->calls, unless the communicator or the device cannot be used. */
static int begin(struct dt_nccl_comm *comm, struct dtrain_error *err)
{
    if (dt_nccl_device_use(comm->nccl, err) != 0)
        return -1;
    pthread_mutex_lock(&comm->calls);
    if (dt_nccl_comm_check(comm, err) == 0)
        return 0;
    pthread_mutex_unlock(&comm->calls);
    return -1;
}

/* A wrong argument is no failure of the communicator; what is in progress is waited for. */
static int end(struct dt_nccl_comm *comm, ncclResult_t result, const char *what, struct dtrain_error *err)
{
    struct dt_deadline deadline = dt_deadline_after_ms(comm->nccl->env.timeout_ms);
    int rc;

    if (result == ncclInvalidArgument || result == ncclInvalidUsage)
        rc = dt_error_set(err, "%s on %s: %s", what, comm->name, comm->nccl->api->GetErrorString(result));
    else
        rc = dt_nccl_comm_settle(comm, result, what, &deadline, err);
    pthread_mutex_unlock(&comm->calls);
    /* What NCCL still has in progress may write to the caller's memory. */
    if (rc != 0 && dt_nccl_comm_check(comm, NULL) != 0)
        dt_nccl_comms_abort(comm->nccl, &comm, 1);
    return rc;
}

static int comm_register(void *opaque, void *buf, size_t bytes, void **handle, struct dtrain_error *err)
{
    struct dt_nccl_comm *comm = opaque;

    if (begin(comm, err) != 0)
        return -1;
    return end(comm, comm->nccl->api->CommRegister(comm->handle, buf, bytes, handle), "ncclCommRegister",
               err);
}

static int comm_deregister(void *opaque, void *handle, struct dtrain_error *err)
{
    struct dt_nccl_comm *comm = opaque;

    if (begin(comm, err) != 0)
        return -1;
    return end(comm, comm->nccl->api->CommDeregister(comm->handle, handle), "ncclCommDeregister", err);
}

static int window_register(void *opaque, void *buf, size_t bytes, int flags, void **window,
                           struct dtrain_error *err)
{
    struct dt_nccl_comm *comm = opaque;
    const struct dt_nccl_api *api = comm->nccl->api;

    if (api->CommWindowRegister == NULL)
        return dt_nccl_api_refuse(api, "a window", WINDOW_SINCE, err);
    if (begin(comm, err) != 0)
        return -1;
    return end(comm, api->CommWindowRegister(comm->handle, buf, bytes, window, flags),
               "ncclCommWindowRegister", err);
}

static int window_deregister(void *opaque, void *window, struct dtrain_error *err)
{
    struct dt_nccl_comm *comm = opaque;
    const struct dt_nccl_api *api = comm->nccl->api;

    if (api->CommWindowDeregister == NULL)
        return dt_nccl_api_refuse(api, "a window", WINDOW_SINCE, err);
    if (begin(comm, err) != 0)
        return -1;
    return end(comm, api->CommWindowDeregister(comm->handle, window), "ncclCommWindowDeregister", err);
}

const struct dt_nccl_native dt_nccl_native = {
    .device = device,
    .comm = comm_handle,
    .stream = stream_handle,
    .stream_wrap = stream_wrap,
    .comm_register = comm_register,
    .comm_deregister = comm_deregister,
    .window_register = window_register,
    .window_deregister = window_deregister,
};
