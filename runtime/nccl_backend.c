/*
 * nccl_backend.c - NCCL behind backend.h: the one symbol of the module, which is
 * loaded on demand, so that processes without a GPU load neither libnccl nor
 * libcudart. What it does is in its neighbours.
 */
#include <stdio.h>
#include <stdlib.h>

#include "backend_nccl.h"
#include "nccl_batch.h"
#include "nccl_comm.h"
#include "nccl_device.h"
#include "nccl_init.h"
#include "nccl_math.h"
#include "nccl_memory.h"
#include "nccl_native.h"
#include "nccl_op.h"
#include "nccl_stream.h"

_Static_assert(sizeof(ncclUniqueId) == DT_BACKEND_ID_MAX, "an id fits into a card, and ids lie side by side");

static bool is_available(char *why, size_t size)
{
    struct dtrain_error err;

    if (!dt_nccl_device_is_there(why, size))
        return false;
    if (dt_nccl_api(&err) != NULL)
        return true;
    snprintf(why, size, "%s", err.text);
    return false;
}

static const char *version(void)
{
    const struct dt_nccl_api *api = dt_nccl_api(NULL);

    return api != NULL ? api->version_text : "?";
}

static int ranks_per_id(void)
{
    return dt_nccl_ranks_per_id(dt_nccl_api(NULL));
}

static int id_create(void *id, struct dtrain_error *err)
{
    const struct dt_nccl_api *api = dt_nccl_api(err);
    ncclResult_t result;

    if (api == NULL)
        return -1;
    result = api->GetUniqueId(id);
    if (result == ncclSuccess)
        return 0;
    return dt_error_set(err, "ncclGetUniqueId: %s (%s)", api->GetErrorString(result),
                        api->GetLastError(NULL));
}

/* ---- Open and close --------------------------------------------------------------- */

static void close_state(void *state)
{
    struct dt_nccl *nccl = state;

    if (nccl == NULL)
        return;
    dt_nccl_stream_close(&nccl->stream);
    if (nccl->cell != NULL && dt_nccl_device_use(nccl, NULL) == 0)
        cudaFree(nccl->cell);
    pthread_mutex_destroy(&nccl->lock);
    free(nccl);
}

static int open_device(struct dt_nccl *nccl, struct dtrain_error *err)
{
    if (dt_nccl_device_find(&nccl->device, nccl->env.local_rank, err) != 0 ||
        dt_nccl_stream_open(&nccl->stream, nccl, err) != 0)
        return -1;
    return dt_nccl_cuda_check(cudaMalloc(&nccl->cell, 1), "cudaMalloc of 1 byte", err);
}

static int open_state(void **state, const struct dt_backend_env *env, struct dtrain_error *err)
{
    const struct dt_nccl_api *api = dt_nccl_api(err);
    struct dt_nccl *nccl;

    if (api == NULL)
        return -1;
    nccl = calloc(1, sizeof(*nccl));
    if (nccl == NULL)
        return dt_error_memory(err, sizeof(*nccl), "the NCCL backend");
    nccl->api = api;
    nccl->env = *env;
    pthread_mutex_init(&nccl->lock, NULL);
    if (open_device(nccl, err) != 0) {
        close_state(nccl);
        return -1;
    }
    dt_log(env->log, DT_LOG_INFO, "NCCL %s of %s%s, device %d", api->version_text, api->path,
           api->was_loaded ? ", which the process had loaded" : "", nccl->device);
    *state = nccl;
    return 0;
}

/* ---- backend.h's opaque pointers ------------------------------------------------- */

static int comms_create(void *state, const struct dt_comm_request *requests, size_t n, void **comms,
                        const struct dt_deadline *deadline, struct dtrain_error *err)
{
    return dt_nccl_comms_create(state, requests, n, comms, deadline, err);
}

static void comm_destroy(void *comm)
{
    dt_nccl_comm_destroy(comm);
}

static void comm_revoke(void *comm, const char *err_text)
{
    dt_nccl_comm_revoke(comm, err_text);
}

static bool comm_has_failed(void *comm)
{
    return dt_nccl_comm_check(comm, NULL) != 0;
}

static int stream_create(void *state, void **stream, struct dtrain_error *err)
{
    struct dt_nccl_stream *made;

    if (dt_nccl_stream_create(state, &made, err) != 0)
        return -1;
    *stream = made;
    return 0;
}

static void stream_destroy(void *stream)
{
    dt_nccl_stream_destroy(stream);
}

static int stream_synchronize(void *stream, struct dtrain_error *err)
{
    return dt_nccl_stream_synchronize(stream, err);
}

static int stream_query(void *stream, bool *done, struct dtrain_error *err)
{
    return dt_nccl_stream_query(stream, done, err);
}

static int stream_wait(void *stream, void *other, struct dtrain_error *err)
{
    return dt_nccl_stream_wait(stream, other, err);
}

static int memory_alloc(void *state, size_t bytes, void **memory, struct dtrain_error *err)
{
    return dt_nccl_memory_alloc(state, bytes, memory, err);
}

static void memory_free(void *state, void *memory)
{
    dt_nccl_memory_free(state, memory);
}

static int batch_begin(void *state, struct dtrain_error *err)
{
    return dt_nccl_batch_begin(state, err);
}

static int batch_end(void *state, struct dtrain_error *err)
{
    return dt_nccl_batch_end(state, err);
}

static int enqueue(void *comm, const struct dt_operation *operation, void *stream, struct dtrain_error *err)
{
    return dt_nccl_op_enqueue(comm, operation, stream, err);
}

static int enqueue_copy(void *to, const void *from, size_t bytes, void *stream, struct dtrain_error *err)
{
    return dt_nccl_memory_copy(to, from, bytes, stream, err);
}

static int enqueue_math(const struct dt_math *math, void *stream, struct dtrain_error *err)
{
    const struct dt_nccl_stream *on = stream;

    return dt_nccl_device_use(on->nccl, err) != 0 ? -1 : dt_nccl_math_enqueue(math, on->handle, err);
}

const struct dt_backend dt_backend_nccl = {
    .name = "nccl",
    .id_size = sizeof(ncclUniqueId),
    .native = &dt_nccl_native,
    .is_available = is_available,
    .version = version,
    .device = dt_nccl_device_name,
    .ranks_per_id = ranks_per_id,
    .id_create = id_create,
    .open = open_state,
    .close = close_state,
    .comms_create = comms_create,
    .comm_destroy = comm_destroy,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_query = stream_query,
    .stream_wait = stream_wait,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .batch_begin = batch_begin,
    .batch_end = batch_end,
    .enqueue = enqueue,
    .enqueue_copy = enqueue_copy,
    .enqueue_math = enqueue_math,
    .comm_revoke = comm_revoke,
    .comm_has_failed = comm_has_failed,
};
