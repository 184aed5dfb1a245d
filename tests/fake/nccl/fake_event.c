/* fake_event.c - events: the number of recordings asked for, and of those that came. */
#include <stdlib.h>

#include "fake_cuda.h"

struct CUevent_st {
    struct CUevent_st *next; /* of all that were made */
    int device;
    unsigned flags;
    bool is_live;
    uint64_t recorded, reached;
    int64_t at_ns; /* of the last one reached */
};

/* One recording, or the wait for one. */
struct mark {
    struct CUevent_st *event;
    uint64_t number;
};

static struct CUevent_st *events;

static struct CUevent_st *find(const struct CUevent_st *event)
{
    struct CUevent_st *one = events;

    while (one != NULL && one != event)
        one = one->next;
    return one != NULL && one->is_live ? one : NULL;
}

static cudaError_t event_check(const char *function, cudaEvent_t event)
{
    bool is_live;

    pthread_mutex_lock(&fake_cuda_lock);
    is_live = find(event) != NULL;
    pthread_mutex_unlock(&fake_cuda_lock);
    if (is_live)
        return cudaSuccess;
    fake_violation("%s on an event that was destroyed or never created", function);
    return fake_cuda_result(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    struct CUevent_st *new;

    FAKE_CUDA_ENTER();
    if (event == NULL ||
        (flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)))
        return fake_cuda_result(cudaErrorInvalidValue);
    new = calloc(1, sizeof(*new));
    if (new == NULL)
        return fake_cuda_result(cudaErrorMemoryAllocation);
    new->device = fake_device_current();
    new->flags = flags;
    new->is_live = true;
    pthread_mutex_lock(&fake_cuda_lock);
    new->next = events;
    events = new;
    pthread_mutex_unlock(&fake_cuda_lock);
    *event = new;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    FAKE_CUDA_ENTER();
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    FAKE_CUDA_ENTER();
    if (event_check("cudaEventDestroy", event) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    pthread_mutex_lock(&fake_cuda_lock);
    event->is_live = false;
    pthread_mutex_unlock(&fake_cuda_lock);
    return cudaSuccess;
}

static void mark_reach(void *arg)
{
    struct mark *mark = arg;

    pthread_mutex_lock(&fake_cuda_lock);
    if (mark->event->reached < mark->number) {
        mark->event->reached = mark->number;
        mark->event->at_ns = fake_now_ns();
    }
    pthread_cond_broadcast(&fake_cuda_changed);
    pthread_mutex_unlock(&fake_cuda_lock);
    free(mark);
}

static bool mark_is_reached(void *arg)
{
    const struct mark *mark = arg;

    return mark->event->reached >= mark->number;
}

static struct mark *mark_new(struct CUevent_st *event, int step)
{
    struct mark *mark = malloc(sizeof(*mark));

    if (mark == NULL)
        return NULL;
    pthread_mutex_lock(&fake_cuda_lock);
    event->recorded += (uint64_t)step;
    *mark = (struct mark){event, event->recorded};
    pthread_mutex_unlock(&fake_cuda_lock);
    return mark;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct mark *mark;
    cudaError_t result;
    int device;

    FAKE_CUDA_ENTER();
    if (event_check("cudaEventRecord", event) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    if (fake_stream_device(stream, &device) == 0 && device != event->device) {
        fake_violation("cudaEventRecord of an event of device %d on a stream of device %d", event->device,
                       device);
        return fake_cuda_result(cudaErrorInvalidResourceHandle);
    }
    mark = mark_new(event, 1);
    if (mark == NULL)
        return fake_cuda_result(cudaErrorMemoryAllocation);
    result = fake_stream_push("cudaEventRecord", stream, NULL, mark_reach, mark);
    if (result != cudaSuccess)
        mark_reach(mark);
    return result;
}

/* An event that was never recorded holds nothing up. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    struct mark *mark;
    cudaError_t result;

    FAKE_CUDA_ENTER();
    if (flags != 0)
        return fake_cuda_result(cudaErrorInvalidValue);
    if (event_check("cudaStreamWaitEvent", event) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    mark = mark_new(event, 0);
    if (mark == NULL)
        return fake_cuda_result(cudaErrorMemoryAllocation);
    result = fake_stream_push("cudaStreamWaitEvent", stream, mark_is_reached, free, mark);
    if (result != cudaSuccess)
        free(mark);
    return result;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    bool is_reached;

    FAKE_CUDA_ENTER();
    if (event_check("cudaEventQuery", event) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    pthread_mutex_lock(&fake_cuda_lock);
    is_reached = event->reached >= event->recorded;
    pthread_mutex_unlock(&fake_cuda_lock);
    return is_reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    uint64_t recorded;

    FAKE_CUDA_ENTER();
    if (event_check("cudaEventSynchronize", event) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    pthread_mutex_lock(&fake_cuda_lock);
    recorded = event->recorded;
    while (event->reached < recorded)
        pthread_cond_wait(&fake_cuda_changed, &fake_cuda_lock);
    pthread_mutex_unlock(&fake_cuda_lock);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t result = cudaSuccess;

    FAKE_CUDA_ENTER();
    if (event_check("cudaEventElapsedTime", start) != cudaSuccess ||
        event_check("cudaEventElapsedTime", end) != cudaSuccess)
        return cudaErrorInvalidResourceHandle;
    pthread_mutex_lock(&fake_cuda_lock);
    if ((start->flags | end->flags) & cudaEventDisableTiming || !start->recorded || !end->recorded)
        result = cudaErrorInvalidResourceHandle;
    else if (start->reached < start->recorded || end->reached < end->recorded)
        result = cudaErrorNotReady;
    else
        *ms = (float)((double)(end->at_ns - start->at_ns) / 1e6);
    pthread_mutex_unlock(&fake_cuda_lock);
    return fake_cuda_result(result);
}

void fake_event_check_leaks(void)
{
    int count = 0;

    pthread_mutex_lock(&fake_cuda_lock);
    for (const struct CUevent_st *one = events; one != NULL; one = one->next)
        count += one->is_live;
    pthread_mutex_unlock(&fake_cuda_lock);
    if (count > 0)
        fake_violation("leak: %d events were not destroyed", count);
}
