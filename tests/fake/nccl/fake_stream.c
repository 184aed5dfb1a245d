/*
 * fake_stream.c - a thread for each stream runs what is queued, in order. The
 * legacy default stream waits for the blocking ones of its device, and they
 * for it. Handles are kept for the life of the process, so that the use of a
 * destroyed one is recognised.
 */
#include <stdlib.h>

#include "fake_cuda.h"

struct item {
    struct item *next;
    bool (*is_ready)(void *arg);
    void (*run)(void *arg);
    void *arg;
};

struct CUstream_st {
    struct CUstream_st *next; /* of all that were made */
    int device, priority;
    unsigned flags;
    bool is_live, is_default;
    int pending; /* launches that NCCL has not done yet */
    struct item *head, **tail;
    uint64_t queued, done; /* items */
};

/* An item that waits for what another stream had queued. */
struct join {
    const struct CUstream_st *from;
    uint64_t queued;
};

static struct CUstream_st *streams;
static struct CUstream_st *defaults[FAKE_DEVICES_MAX];

static void item_run(struct CUstream_st *stream, struct item *item)
{
    while (item->is_ready != NULL && !item->is_ready(item->arg))
        pthread_cond_wait(&fake_cuda_changed, &fake_cuda_lock);
    pthread_mutex_unlock(&fake_cuda_lock);
    if (item->run != NULL)
        item->run(item->arg);
    pthread_mutex_lock(&fake_cuda_lock);
    stream->head = item->next;
    if (stream->head == NULL)
        stream->tail = &stream->head;
    stream->done++;
    free(item);
    pthread_cond_broadcast(&fake_cuda_changed);
}

static void *stream_main(void *arg)
{
    struct CUstream_st *stream = arg;

    pthread_mutex_lock(&fake_cuda_lock);
    while (stream->is_live || stream->head != NULL) {
        if (stream->head != NULL)
            item_run(stream, stream->head);
        else
            pthread_cond_wait(&fake_cuda_changed, &fake_cuda_lock);
    }
    pthread_mutex_unlock(&fake_cuda_lock);
    return NULL;
}

static struct CUstream_st *stream_new(int device, unsigned flags, int priority)
{
    struct CUstream_st *new = calloc(1, sizeof(*new));
    pthread_t thread;

    if (new == NULL)
        return NULL;
    new->device = device;
    new->flags = flags;
    new->priority = priority;
    new->is_live = true;
    new->tail = &new->head;
    if (pthread_create(&thread, NULL, stream_main, new) != 0) {
        free(new);
        return NULL;
    }
    pthread_detach(thread);
    new->next = streams;
    streams = new;
    return new;
}

static struct CUstream_st *default_stream(int device)
{
    if (fake_device_physical(device) < 0)
        return NULL;
    if (defaults[device] == NULL) {
        defaults[device] = stream_new(device, cudaStreamDefault, 0);
        if (defaults[device] != NULL)
            defaults[device]->is_default = true;
    }
    return defaults[device];
}

struct CUstream_st *fake_stream_find(cudaStream_t stream)
{
    struct CUstream_st *one = streams;

    if (stream == NULL || stream == cudaStreamLegacy)
        return default_stream(fake_device_current());
    while (one != NULL && one != stream)
        one = one->next;
    return one != NULL && one->is_live ? one : NULL;
}

static bool append(struct CUstream_st *stream, bool (*is_ready)(void *), void (*run)(void *), void *arg)
{
    struct item *item = malloc(sizeof(*item));

    if (item == NULL)
        return false;
    *item = (struct item){NULL, is_ready, run, arg};
    *stream->tail = item;
    stream->tail = &item->next;
    stream->queued++;
    pthread_cond_broadcast(&fake_cuda_changed);
    return true;
}

static bool join_is_ready(void *arg)
{
    const struct join *join = arg;

    return join->from->done >= join->queued;
}

static bool append_join(struct CUstream_st *to, const struct CUstream_st *from)
{
    struct join *join;

    if (to == from || from->done == from->queued)
        return true;
    join = malloc(sizeof(*join));
    if (join == NULL)
        return false;
    *join = (struct join){from, from->queued};
    return append(to, join_is_ready, free, join);
}

/* The rule of the legacy default stream. */
static bool join_default(struct CUstream_st *stream)
{
    bool ok = true;

    if (stream->flags & cudaStreamNonBlocking)
        return true;
    if (!stream->is_default)
        return defaults[stream->device] == NULL || append_join(stream, defaults[stream->device]);
    for (const struct CUstream_st *one = streams; one != NULL; one = one->next)
        if (one->device == stream->device && !(one->flags & cudaStreamNonBlocking))
            ok = append_join(stream, one) && ok;
    return ok;
}

static cudaError_t enqueue(cudaStream_t handle, bool (*is_ready)(void *), void (*run)(void *), void *arg)
{
    struct CUstream_st *stream;
    cudaError_t result = cudaErrorMemoryAllocation;

    pthread_mutex_lock(&fake_cuda_lock);
    stream = fake_stream_find(handle);
    if (stream == NULL)
        result = cudaErrorInvalidResourceHandle;
    else if (join_default(stream) && append(stream, is_ready, run, arg))
        result = cudaSuccess;
    pthread_mutex_unlock(&fake_cuda_lock);
    return fake_cuda_result(result);
}

cudaError_t fake_stream_enqueue(cudaStream_t stream, void (*run)(void *arg), void *arg)
{
    return enqueue(stream, NULL, run, arg);
}

/* NULL when the stream lives; only calls that need its device ask for that. */
static const char *stream_fault(cudaStream_t handle, bool on_device)
{
    const struct CUstream_st *stream;
    const char *fault = NULL;

    pthread_mutex_lock(&fake_cuda_lock);
    stream = fake_stream_find(handle);
    if (stream == NULL)
        fault = "a stream that was destroyed or never created";
    else if (stream->pending > 0)
        fault = "a stream on which NCCL has not launched yet: its communicator is in progress";
    else if (on_device && stream->device != fake_device_current())
        fault = "a stream of another device than this thread's current one";
    pthread_mutex_unlock(&fake_cuda_lock);
    return fault;
}

static cudaError_t stream_check(const char *function, cudaStream_t stream, bool on_device)
{
    const char *fault = stream_fault(stream, on_device);

    if (fault == NULL)
        return cudaSuccess;
    fake_violation("%s on %s", function, fault);
    return fake_cuda_result(cudaErrorInvalidResourceHandle);
}

cudaError_t fake_stream_push(const char *function, cudaStream_t stream, bool (*is_ready)(void *),
                             void (*run)(void *), void *arg)
{
    cudaError_t result = stream_check(function, stream, true);

    return result == cudaSuccess ? enqueue(stream, is_ready, run, arg) : result;
}

int fake_stream_device(cudaStream_t handle, int *device)
{
    const struct CUstream_st *stream;

    pthread_mutex_lock(&fake_cuda_lock);
    stream = fake_stream_find(handle);
    if (stream != NULL)
        *device = stream->device;
    pthread_mutex_unlock(&fake_cuda_lock);
    return stream != NULL ? 0 : -1;
}

void fake_stream_join(cudaStream_t to, cudaStream_t from)
{
    struct CUstream_st *first, *other;

    pthread_mutex_lock(&fake_cuda_lock);
    first = fake_stream_find(to);
    other = fake_stream_find(from);
    if (first != NULL && other != NULL)
        append_join(first, other);
    pthread_mutex_unlock(&fake_cuda_lock);
}

void fake_stream_pend(cudaStream_t handle, int change)
{
    struct CUstream_st *stream;

    pthread_mutex_lock(&fake_cuda_lock);
    stream = fake_stream_find(handle);
    if (stream != NULL)
        stream->pending += change;
    pthread_mutex_unlock(&fake_cuda_lock);
}

void fake_stream_wait_device(int device)
{
    pthread_mutex_lock(&fake_cuda_lock);
    for (const struct CUstream_st *one = streams; one != NULL; one = one->next) {
        uint64_t queued = one->queued;

        while (one->device == device && one->done < queued)
            pthread_cond_wait(&fake_cuda_changed, &fake_cuda_lock);
    }
    pthread_mutex_unlock(&fake_cuda_lock);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    FAKE_CUDA_ENTER();
    if (stream == NULL || (flags != cudaStreamDefault && flags != cudaStreamNonBlocking))
        return fake_cuda_result(cudaErrorInvalidValue);
    if (fake_device_physical(fake_device_current()) < 0)
        return fake_cuda_result(cudaErrorNoDevice);
    pthread_mutex_lock(&fake_cuda_lock);
    *stream = stream_new(fake_device_current(), flags, priority);
    pthread_mutex_unlock(&fake_cuda_lock);
    return fake_cuda_result(*stream != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    FAKE_CUDA_ENTER();
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    FAKE_CUDA_ENTER();
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    const struct CUstream_st *one;

    FAKE_CUDA_ENTER();
    if (stream_check("cudaStreamGetPriority", stream, false) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    pthread_mutex_lock(&fake_cuda_lock);
    one = fake_stream_find(stream);
    *priority = one != NULL ? one->priority : 0;
    pthread_mutex_unlock(&fake_cuda_lock);
    return cudaSuccess;
}

/* What is queued still runs; the thread ends after it. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    FAKE_CUDA_ENTER();
    if (stream == NULL || stream == cudaStreamLegacy)
        return fake_cuda_result(cudaErrorInvalidResourceHandle);
    if (stream_check("cudaStreamDestroy", stream, false) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    pthread_mutex_lock(&fake_cuda_lock);
    stream->is_live = false;
    pthread_cond_broadcast(&fake_cuda_changed);
    pthread_mutex_unlock(&fake_cuda_lock);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    const struct CUstream_st *stream;
    uint64_t queued;

    FAKE_CUDA_ENTER();
    if (stream_check("cudaStreamSynchronize", handle, false) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    pthread_mutex_lock(&fake_cuda_lock);
    stream = fake_stream_find(handle);
    queued = stream->queued;
    while (stream->done < queued)
        pthread_cond_wait(&fake_cuda_changed, &fake_cuda_lock);
    pthread_mutex_unlock(&fake_cuda_lock);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    const struct CUstream_st *stream;
    bool is_done;

    FAKE_CUDA_ENTER();
    if (stream_check("cudaStreamQuery", handle, false) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    pthread_mutex_lock(&fake_cuda_lock);
    stream = fake_stream_find(handle);
    is_done = stream->done == stream->queued;
    pthread_mutex_unlock(&fake_cuda_lock);
    return is_done ? cudaSuccess : cudaErrorNotReady;
}

struct host_call {
    cudaHostFn_t run;
    void *data;
};

static void host_call_run(void *arg)
{
    struct host_call *call = arg;

    call->run(call->data);
    free(call);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t run, void *data)
{
    struct host_call *call;
    cudaError_t result;

    FAKE_CUDA_ENTER();
    call = malloc(sizeof(*call));
    if (call == NULL || run == NULL) {
        free(call);
        return fake_cuda_result(run == NULL ? cudaErrorInvalidValue : cudaErrorMemoryAllocation);
    }
    *call = (struct host_call){run, data};
    result = fake_stream_push("cudaLaunchHostFunc", stream, NULL, host_call_run, call);
    if (result != cudaSuccess)
        free(call);
    return result;
}

void fake_stream_check_leaks(void)
{
    int count = 0;

    pthread_mutex_lock(&fake_cuda_lock);
    for (const struct CUstream_st *one = streams; one != NULL; one = one->next)
        count += one->is_live && !one->is_default;
    pthread_mutex_unlock(&fake_cuda_lock);
    if (count > 0)
        fake_violation("leak: %d streams were not destroyed", count);
}
