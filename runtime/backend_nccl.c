/*
 * backend_nccl.c - NCCL behind backend.h, a module of its own: processes
 * without a GPU load neither libnccl nor libcudart. Communicators are
 * non-blocking, made together in one group and polled to a deadline; past it
 * all are aborted.
 */
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/bind_choice.h"
#include "runtime/backend.h"
#include "runtime/backend_nccl.h"

#define NCCL_OLDEST 21900 /* non-blocking init inside groups, commName's predecessors */
#define POLL_NS 100000

_Static_assert(sizeof(ncclUniqueId) <= DT_BACKEND_ID_MAX, "an id fits into a card");

struct nccl_comm {
    struct nccl_state *state;
    ncclComm_t handle;
    int size;
    char name[DT_COMM_NAME_MAX];
    bool has_failed;
    struct dtrain_error first_error;
    struct nccl_comm *next;
};

struct nccl_state {
    int device;
    int timeout_ms;
    const struct dt_log *log;
    void *barrier_byte; /* on the device */
    pthread_mutex_t lock; /* of the list */
    struct nccl_comm *comms;
};

struct nccl_stream {
    struct nccl_state *state;
    cudaStream_t handle;
};

static const ncclDataType_t types[] = {
    [DTRAIN_FLOAT32] = ncclFloat32, [DTRAIN_BFLOAT16] = ncclBfloat16, [DTRAIN_FLOAT16] = ncclFloat16,
    [DTRAIN_FLOAT64] = ncclFloat64, [DTRAIN_INT32] = ncclInt32,       [DTRAIN_INT64] = ncclInt64,
    [DTRAIN_INT8] = ncclInt8,
};

static const ncclRedOp_t ops[] = {
    [DTRAIN_SUM] = ncclSum, [DTRAIN_AVG] = ncclAvg, [DTRAIN_MAX] = ncclMax, [DTRAIN_MIN] = ncclMin};

static int cuda_check(cudaError_t result, const char *what, struct dtrain_error *err)
{
    if (result == cudaSuccess)
        return 0;
    return dt_error_set(err, "%s: %s", what, cudaGetErrorString(result));
}

/* The thread that calls may have another device current. */
static int device_use(const struct nccl_state *state, struct dtrain_error *err)
{
    return cuda_check(cudaSetDevice(state->device), "cudaSetDevice", err);
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

static bool nccl_is_available(char *why, size_t size)
{
    int devices = 0;
    cudaError_t result = cudaGetDeviceCount(&devices);

    if (result == cudaSuccess && devices > 0)
        return true;
    snprintf(why, size, "no CUDA device: %s",
             result == cudaSuccess ? "none is visible" : cudaGetErrorString(result));
    return false;
}

static int nccl_id_create(void *id, struct dtrain_error *err)
{
    ncclResult_t result = ncclGetUniqueId(id);

    if (result != ncclSuccess)
        return dt_error_set(err, "ncclGetUniqueId: %s", ncclGetErrorString(result));
    return 0;
}

static int check_version(struct dtrain_error *err)
{
    int version = 0;

    if (ncclGetVersion(&version) != ncclSuccess || version < NCCL_OLDEST)
        return dt_error_set(err, "NCCL %d.%d is too old: expected 2.19 or newer", version / 10000,
            version / 100 % 100);
    return 0;
}

/* The step was asked to show each task its own device only. */
static bool sees_own_only(void)
{
    const char *text = getenv(DT_BIND_CHOICE_NAME);
    struct dt_bind_choice choice;

    return text != NULL && dt_bind_choice_decode(&choice, text, NULL) == 0 &&
           choice.visible == DT_VISIBLE_OWN && choice.items & 1u << DT_BIND_ITEM_GPU;
}

static int nccl_open(void **state, const struct dt_backend_env *env, struct dtrain_error *err)
{
    struct nccl_state *new;
    int devices, device = env->local_rank;

    if (check_version(err) || cuda_check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount", err))
        return -1;
    if (devices == 1 && sees_own_only())
        device = 0;
    if (device >= devices)
        return dt_error_set(err,
                            "local rank %d has no GPU: %d visible; use --gpus-per-node=N (not "
                            "--gpus-per-task, which hides "
                            "the node's other GPUs)",
                            env->local_rank, devices);
    new = calloc(1, sizeof(*new));
    if (new == NULL)
        return dt_error_memory(err, sizeof(*new), "the NCCL backend");
    new->device = device;
    new->timeout_ms = env->timeout_ms;
    new->log = env->log;
    if (device_use(new, err) || cuda_check(cudaMalloc(&new->barrier_byte, 1), "cudaMalloc", err)) {
        free(new);
        return -1;
    }
    pthread_mutex_init(&new->lock, NULL);
    *state = new;
    return 0;
}

static void nccl_close(void *opaque)
{
    struct nccl_state *state = opaque;

    if (state == NULL)
        return;
    if (device_use(state, NULL) == 0)
        cudaFree(state->barrier_byte);
    pthread_mutex_destroy(&state->lock);
    free(state);
}

/* ---- Communicators ------------------------------------------------------ */

static int comm_fail(struct nccl_comm *comm, ncclResult_t result, const char *what,
                     struct dtrain_error *err)
{
    if (!comm->has_failed) {
        comm->has_failed = true;
        dt_error_set(&comm->first_error, "%s on %s: %s (%s)", what, comm->name,
                     ncclGetErrorString(result), ncclGetLastError(comm->handle));
    }
    return dt_error_set(err, "%s", comm->first_error.text);
}

/* Waits until the communicator is no longer in progress: no call is allowed on it before. */
static int comm_settle(struct nccl_comm *comm, ncclResult_t result, const char *what,
                       const struct dt_deadline *deadline, struct dtrain_error *err)
{
    while (result == ncclInProgress) {
        ncclResult_t asked = ncclCommGetAsyncError(comm->handle, &result);

        if (asked != ncclSuccess)
            return comm_fail(comm, asked, what, err);
        if (result != ncclInProgress)
            break;
        if (dt_deadline_passed(deadline))
            return dt_error_set(err, "%s on %s did not end within %.1f s", what, comm->name,
                                deadline->timeout_ms / 1000.0);
        pause_briefly();
    }
    return result == ncclSuccess ? 0 : comm_fail(comm, result, what, err);
}

static struct nccl_comm *comm_new(struct nccl_state *state, const struct dt_comm_request *request)
{
    struct nccl_comm *comm = calloc(1, sizeof(*comm));

    if (comm == NULL)
        return NULL;
    comm->state = state;
    comm->size = request->size;
    memcpy(comm->name, request->name, sizeof(comm->name));
    pthread_mutex_lock(&state->lock);
    comm->next = state->comms;
    state->comms = comm;
    pthread_mutex_unlock(&state->lock);
    return comm;
}

static void comm_unlink(struct nccl_comm *comm)
{
    struct nccl_comm **link;

    pthread_mutex_lock(&comm->state->lock);
    for (link = &comm->state->comms; *link != comm;)
        link = &(*link)->next;
    *link = comm->next;
    pthread_mutex_unlock(&comm->state->lock);
}

static void comms_abort(void **comms, size_t n)
{
    ncclGroupStart();
    for (size_t i = 0; i < n; i++) {
        struct nccl_comm *comm = comms[i];

        if (comm != NULL && comm->handle != NULL)
            ncclCommAbort(comm->handle);
    }
    ncclGroupEnd();
    for (size_t i = 0; i < n; i++) {
        if (comms[i] == NULL)
            continue;
        comm_unlink(comms[i]);
        free(comms[i]);
        comms[i] = NULL;
    }
}

static int comm_start(struct nccl_comm *comm, const struct dt_comm_request *request,
                      struct dtrain_error *err)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclResult_t result;

    memcpy(&id, request->id, sizeof(id));
    config.blocking = 0;
    config.commName = comm->name;
    result = ncclCommInitRankConfig(&comm->handle, request->size, id, request->rank, &config);
    if (result != ncclSuccess && result != ncclInProgress)
        return comm_fail(comm, result, "ncclCommInitRankConfig", err);
    return 0;
}

static int nccl_comms_create(void *opaque, const struct dt_comm_request *requests, size_t n,
                             void **comms, const struct dt_deadline *deadline,
                             struct dtrain_error *err)
{
    struct nccl_state *state = opaque;
    ncclResult_t result;
    int rc = -1;

    memset(comms, 0, n * sizeof(*comms));
    if (device_use(state, err))
        return -1;
    ncclGroupStart();
    for (size_t i = 0; i < n; i++) {
        comms[i] = comm_new(state, &requests[i]);
        if (comms[i] == NULL) {
            dt_error_memory(err, sizeof(struct nccl_comm), "a communicator");
            break;
        }
        if (comm_start(comms[i], &requests[i], err))
            break;
        rc = i + 1 == n ? 0 : -1;
    }
    result = ncclGroupEnd();
    if (n == 0)
        return 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = comm_settle(comms[i], result == ncclSuccess ? ncclSuccess : ncclInProgress,
                         "ncclCommInitRankConfig", deadline, err);
    if (rc)
        comms_abort(comms, n);
    return rc;
}

static void nccl_comm_destroy(void *opaque)
{
    struct nccl_comm *comm = opaque;
    struct dt_deadline deadline;

    if (comm == NULL)
        return;
    if (comm->has_failed || device_use(comm->state, NULL)) {
        comms_abort((void *[]){comm}, 1);
        return;
    }
    deadline = dt_deadline_after_ms(comm->state->timeout_ms);
    if (comm_settle(comm, ncclCommFinalize(comm->handle), "ncclCommFinalize", &deadline, NULL)) {
        comms_abort((void *[]){comm}, 1);
        return;
    }
    ncclCommDestroy(comm->handle);
    comm_unlink(comm);
    free(comm);
}

/* ---- Streams ------------------------------------------------------------ */

static int nccl_stream_create(void *state, void **stream, struct dtrain_error *err)
{
    struct nccl_stream *new = calloc(1, sizeof(*new));

    if (new == NULL)
        return dt_error_memory(err, sizeof(*new), "a stream");
    new->state = state;
    if (device_use(state, err) ||
        cuda_check(cudaStreamCreateWithFlags(&new->handle, cudaStreamNonBlocking),
            "cudaStreamCreateWithFlags", err)) {
        free(new);
        return -1;
    }
    *stream = new;
    return 0;
}

static int nccl_stream_query(void *opaque, bool *done, struct dtrain_error *err)
{
    struct nccl_stream *stream = opaque;
    cudaError_t result;
    int rc = 0;

    *done = false;
    if (device_use(stream->state, err))
        return -1;
    result = cudaStreamQuery(stream->handle);
    *done = result == cudaSuccess;
    if (result != cudaSuccess && result != cudaErrorNotReady)
        return cuda_check(result, "cudaStreamQuery", err);
    /* What NCCL found out by itself: a stream that waits for a dead peer is never ready. */
    pthread_mutex_lock(&stream->state->lock);
    for (struct nccl_comm *comm = stream->state->comms; comm != NULL && rc == 0; comm = comm->next) {
        ncclResult_t found = ncclSuccess;

        if (comm->has_failed)
            rc = dt_error_set(err, "%s", comm->first_error.text);
        else if (ncclCommGetAsyncError(comm->handle, &found) == ncclSuccess &&
                 found != ncclSuccess && found != ncclInProgress)
            rc = comm_fail(comm, found, "an operation", err);
    }
    pthread_mutex_unlock(&stream->state->lock);
    return rc;
}

static int nccl_stream_synchronize(void *opaque, struct dtrain_error *err)
{
    struct nccl_stream *stream = opaque;
    struct dt_deadline deadline = dt_deadline_after_ms(stream->state->timeout_ms);
    bool done = false;

    while (!done) {
        if (nccl_stream_query(stream, &done, err))
            return -1;
        if (!done && dt_deadline_passed(&deadline))
            return dt_error_set(err, "a stream of device %d did not become ready within %.1f s",
                                stream->state->device, deadline.timeout_ms / 1000.0);
        if (!done)
            pause_briefly();
    }
    return 0;
}

static void nccl_stream_destroy(void *opaque)
{
    struct nccl_stream *stream = opaque;

    if (stream == NULL)
        return;
    nccl_stream_synchronize(stream, NULL);
    if (device_use(stream->state, NULL) == 0)
        cudaStreamDestroy(stream->handle);
    free(stream);
}

/* ---- Operations --------------------------------------------------------- */

static ncclResult_t start_all_to_all(const struct nccl_comm *comm, const struct dt_operation *op,
                                     cudaStream_t stream)
{
    size_t bytes = op->count * dtrain_type_size(op->type);

    ncclGroupStart();
    for (int peer = 0; peer < comm->size; peer++) {
        ncclSend((const char *)op->send + (size_t)peer * bytes, op->count, types[op->type], peer,
                 comm->handle, stream);
        ncclRecv((char *)op->recv + (size_t)peer * bytes, op->count, types[op->type], peer,
                 comm->handle, stream);
    }
    return ncclGroupEnd();
}

static ncclResult_t start_transfers(const struct nccl_comm *comm, const struct dt_operation *op,
                                    cudaStream_t stream)
{
    ncclGroupStart();
    for (size_t i = 0; i < op->transfer_count; i++) {
        const struct dtrain_transfer *t = &op->transfers[i];

        if (t->is_send)
            ncclSend(t->buf, t->count, types[t->type], t->peer, comm->handle, stream);
        else
            ncclRecv(t->buf, t->count, types[t->type], t->peer, comm->handle, stream);
    }
    return ncclGroupEnd();
}

static ncclResult_t start(const struct nccl_comm *comm, const struct dt_operation *op,
                          cudaStream_t stream)
{
    ncclDataType_t type = types[op->type];

    switch (op->kind) {
    case DT_ALL_REDUCE:
        return ncclAllReduce(op->send, op->recv, op->count, type, ops[op->op], comm->handle, stream);
    case DT_ALL_GATHER:
        return ncclAllGather(op->send, op->recv, op->count, type, comm->handle, stream);
    case DT_REDUCE_SCATTER:
        return ncclReduceScatter(op->send, op->recv, op->count, type, ops[op->op], comm->handle, stream);
    case DT_BROADCAST:
        return ncclBroadcast(op->send, op->recv, op->count, type, op->root, comm->handle, stream);
    case DT_ALL_TO_ALL:
        return start_all_to_all(comm, op, stream);
    case DT_TRANSFER:
        return start_transfers(comm, op, stream);
    case DT_BARRIER:
        return ncclAllReduce(comm->state->barrier_byte, comm->state->barrier_byte, 1, ncclInt8, ncclMax,
                             comm->handle, stream);
    }
    return ncclInvalidArgument;
}

static int nccl_enqueue(void *opaque, const struct dt_operation *operation, void *stream,
                        struct dtrain_error *err)
{
    struct nccl_comm *comm = opaque;
    struct nccl_stream *on = stream;
    struct dt_deadline deadline = dt_deadline_after_ms(comm->state->timeout_ms);

    if (comm->has_failed)
        return dt_error_set(err, "%s", comm->first_error.text);
    if (device_use(comm->state, err))
        return -1;
    return comm_settle(comm, start(comm, operation, on->handle), "an operation", &deadline, err);
}

static int nccl_enqueue_copy(void *to, const void *from, size_t bytes, void *stream,
                             struct dtrain_error *err)
{
    struct nccl_stream *on = stream;

    if (device_use(on->state, err))
        return -1;
    return cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on->handle), "cudaMemcpyAsync",
        err);
}

const struct dt_backend dt_backend_nccl = {
    .name = "nccl",
    .id_size = sizeof(ncclUniqueId),
    .is_available = nccl_is_available,
    .id_create = nccl_id_create,
    .open = nccl_open,
    .close = nccl_close,
    .comms_create = nccl_comms_create,
    .comm_destroy = nccl_comm_destroy,
    .stream_create = nccl_stream_create,
    .stream_destroy = nccl_stream_destroy,
    .stream_synchronize = nccl_stream_synchronize,
    .stream_query = nccl_stream_query,
    .enqueue = nccl_enqueue,
    .enqueue_copy = nccl_enqueue_copy,
};
