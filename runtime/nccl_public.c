/* dtrain_nccl.h: of libdtrain, which names NCCL's types and calls the module for the rest. */
#include "dtrain_nccl.h"

#include <stdlib.h>

#include "comm_call.h"
#include "nccl_native.h"
#include "world.h"

static const struct dt_nccl_native *native_of(const struct dt_backend *backend, const char *function,
                                              struct dtrain_error *err)
{
    if (backend->native == NULL)
        dt_error_set(err, "%s: the backend is %s: it has no handles of NCCL's", function, backend->name);
    return backend->native;
}

/* NULL for a group of one, too. */
static const struct dt_nccl_native *native_of_comm(const struct dtrain_comm *comm, const char *function,
                                                   struct dtrain_error *err)
{
    const struct dt_nccl_native *native;

    if (comm == NULL) {
        dt_error_set(err, "%s: comm is NULL: take one from dtrain_comm_get()", function);
        return NULL;
    }
    native = native_of(comm->backend, function, err);
    if (native == NULL || comm->size > 1)
        return native;
    dt_error_set(err, "%s: a group of one has no communicator of NCCL's: its operations are copies",
                 function);
    return NULL;
}

int dtrain_nccl_device(const struct dtrain_world *world)
{
    const struct dt_nccl_native *native = native_of(world->backend, "dtrain_nccl_device", NULL);

    return native != NULL ? native->device(world->backend_state) : -1;
}

int dtrain_nccl_comm(struct dtrain_comm *comm, ncclComm_t *handle, struct dtrain_error *err)
{
    const struct dt_nccl_native *native = native_of_comm(comm, "dtrain_nccl_comm", err);

    *handle = NULL;
    return native != NULL ? native->comm(comm->state, handle, err) : -1;
}

/* ---- Streams ---------------------------------------------------------------------- */

int dtrain_nccl_stream(struct dtrain_stream *stream, cudaStream_t *handle, struct dtrain_error *err)
{
    const struct dt_nccl_native *native;

    *handle = NULL;
    if (stream == NULL)
        return dt_error_set(err,
                            "dtrain_nccl_stream: stream is NULL: create one with dtrain_stream_create()");
    native = native_of(stream->backend, "dtrain_nccl_stream", err);
    if (native == NULL)
        return -1;
    native->stream(stream->state, handle);
    return 0;
}

int dtrain_nccl_stream_wrap(struct dtrain_world *world, cudaStream_t handle, struct dtrain_stream **stream,
                            struct dtrain_error *err)
{
    const struct dt_nccl_native *native = native_of(world->backend, "dtrain_nccl_stream_wrap", err);
    struct dtrain_stream *made;

    *stream = NULL;
    if (native == NULL)
        return -1;
    made = malloc(sizeof(*made));
    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a stream");
    made->backend = world->backend;
    if (native->stream_wrap(world->backend_state, handle, &made->state, err) != 0) {
        free(made);
        return -1;
    }
    *stream = made;
    return 0;
}

/* ---- Registration ------------------------------------------------------------------- */

static int check_range(const char *function, const void *buf, size_t bytes, struct dtrain_error *err)
{
    if (buf != NULL && bytes > 0)
        return 0;
    return dt_error_set(err, "%s: buf is %p and bytes is %zu: expected memory of the device", function, buf,
                        bytes);
}

int dtrain_nccl_register(struct dtrain_comm *comm, void *buf, size_t bytes, void **handle,
                         struct dtrain_error *err)
{
    const struct dt_nccl_native *native = native_of_comm(comm, "dtrain_nccl_register", err);

    *handle = NULL;
    if (native == NULL || check_range("dtrain_nccl_register", buf, bytes, err) != 0)
        return -1;
    return native->comm_register(comm->state, buf, bytes, handle, err);
}

int dtrain_nccl_deregister(struct dtrain_comm *comm, void *handle, struct dtrain_error *err)
{
    const struct dt_nccl_native *native = native_of_comm(comm, "dtrain_nccl_deregister", err);

    return native != NULL ? native->comm_deregister(comm->state, handle, err) : -1;
}

#if NCCL_VERSION_CODE >= 22700
int dtrain_nccl_window_register(struct dtrain_comm *comm, void *buf, size_t bytes, int flags,
                                ncclWindow_t *window, struct dtrain_error *err)
{
    const struct dt_nccl_native *native = native_of_comm(comm, "dtrain_nccl_window_register", err);
    void *made = NULL;
    int rc;

    *window = NULL;
    if (native == NULL || check_range("dtrain_nccl_window_register", buf, bytes, err) != 0)
        return -1;
    rc = native->window_register(comm->state, buf, bytes, flags, &made, err);
    *window = made;
    return rc;
}

int dtrain_nccl_window_deregister(struct dtrain_comm *comm, ncclWindow_t window, struct dtrain_error *err)
{
    const struct dt_nccl_native *native = native_of_comm(comm, "dtrain_nccl_window_deregister", err);

    return native != NULL ? native->window_deregister(comm->state, window, err) : -1;
}
#endif
