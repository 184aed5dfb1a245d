/* The double of libcudart: streams, events, memory, devices, and what it calls a violation. */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_nccl.h"
#include "tap.h"

#define BYTES 4096

static void wait_for_flag(void *arg)
{
    const _Atomic int *flag = arg;

    while (!*flag)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int order(struct row_rank *rank)
{
    static _Atomic int flag;
    cudaStream_t first, second;
    cudaEvent_t event;
    unsigned char *device, host[BYTES];
    float ms;

    (void)rank;
    ROW_WANT(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) == cudaSuccess);
    ROW_WANT(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, -1) == cudaSuccess);
    ROW_WANT(cudaEventCreate(&event) == cudaSuccess);
    ROW_WANT(cudaMalloc((void **)&device, BYTES) == cudaSuccess);
    ROW_WANT(cudaEventQuery(event) == cudaSuccess); /* never recorded */
    ROW_WANT(cudaMemset(device, 1, BYTES) == cudaSuccess);
    ROW_WANT(cudaLaunchHostFunc(first, wait_for_flag, &flag) == cudaSuccess);
    ROW_WANT(cudaMemsetAsync(device, 2, BYTES, first) == cudaSuccess);
    ROW_WANT(cudaEventRecord(event, first) == cudaSuccess);
    ROW_WANT(cudaStreamQuery(first) == cudaErrorNotReady && cudaEventQuery(event) == cudaErrorNotReady);
    ROW_WANT(cudaMemcpy2DAsync(host, 64, device, 64, 64, BYTES / 64, cudaMemcpyDeviceToHost, second) == 0);
    ROW_WANT(host[0] == 1 && host[BYTES - 1] == 1); /* not ordered, and pageable: it was waited for */
    ROW_WANT(cudaStreamWaitEvent(second, event, 0) == cudaSuccess);
    flag = 1;
    ROW_WANT(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDefault, second) == cudaSuccess);
    ROW_WANT(host[0] == 2 && host[BYTES - 1] == 2);
    ROW_WANT(cudaEventSynchronize(event) == cudaSuccess && cudaEventElapsedTime(&ms, event, event) == 0);
    ROW_WANT(cudaFree(device) == cudaSuccess && cudaEventDestroy(event) == cudaSuccess);
    ROW_WANT(cudaStreamDestroy(first) == cudaSuccess && cudaStreamDestroy(second) == cudaSuccess);
    return 0;
}

/* The default stream waits for blocking streams, and they for it. */
static int default_stream(struct row_rank *rank)
{
    static _Atomic int flag;
    cudaStream_t blocking, other;
    unsigned char *device, host;

    (void)rank;
    ROW_WANT(cudaStreamCreate(&blocking) == cudaSuccess);
    ROW_WANT(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
    ROW_WANT(cudaMallocAsync((void **)&device, BYTES, blocking) == cudaSuccess);
    ROW_WANT(cudaLaunchHostFunc(blocking, wait_for_flag, &flag) == cudaSuccess);
    ROW_WANT(cudaMemsetAsync(device, 3, BYTES, 0) == cudaSuccess);
    ROW_WANT(cudaStreamQuery(0) == cudaErrorNotReady && cudaStreamQuery(other) == cudaSuccess);
    flag = 1;
    ROW_WANT(cudaMemcpyAsync(&host, device + BYTES - 1, 1, cudaMemcpyDeviceToHost, blocking) == cudaSuccess);
    ROW_WANT(host == 3);
    ROW_WANT(cudaFreeAsync(device, blocking) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    ROW_WANT(cudaStreamDestroy(blocking) == cudaSuccess && cudaStreamDestroy(other) == cudaSuccess);
    return 0;
}

static int memory(struct row_rank *rank)
{
    struct cudaPointerAttributes attributes;
    size_t before, after, total;
    void *device, *host, *managed;
    float nan;

    ROW_WANT(cudaMemGetInfo(&before, &total) == cudaSuccess && total == (size_t)16 << 20);
    ROW_WANT(cudaMalloc(&device, BYTES) == cudaSuccess);
    ROW_WANT(cudaHostAlloc(&host, BYTES, cudaHostAllocDefault) == cudaSuccess);
    ROW_WANT(cudaMallocManaged(&managed, BYTES, cudaMemAttachGlobal) == cudaSuccess);
    ROW_WANT(cudaMemGetInfo(&after, &total) == cudaSuccess && before - after == 2 * BYTES);
    ROW_WANT(cudaPointerGetAttributes(&attributes, (char *)device + 5) == cudaSuccess);
    ROW_WANT(attributes.type == cudaMemoryTypeDevice && attributes.device == rank->rank);
    ROW_WANT(cudaPointerGetAttributes(&attributes, host) == cudaSuccess);
    ROW_WANT(attributes.type == cudaMemoryTypeHost);
    ROW_WANT(cudaPointerGetAttributes(&attributes, &nan) == cudaSuccess);
    ROW_WANT(attributes.type == cudaMemoryTypeUnregistered);
    memcpy(&nan, managed, sizeof(nan));
    ROW_WANT(nan != nan);
    ROW_WANT(cudaMalloc(&managed, (size_t)17 << 20) == cudaErrorMemoryAllocation && managed == NULL);
    ROW_WANT(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    ROW_WANT(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
    ROW_WANT(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
    ROW_WANT(cudaFree(device) == cudaSuccess && cudaFreeHost(host) == cudaSuccess && cudaFree(NULL) == 0);
    return 0; /* managed memory was lost: a leak */
}

static int devices(struct row_rank *rank)
{
    struct cudaDeviceProp prop;
    char id[16];
    int count, version;

    (void)rank;
    ROW_WANT(cudaGetDeviceCount(&count) == cudaSuccess && count == 2);
    ROW_WANT(cudaDeviceGetPCIBusId(id, sizeof(id), 0) == cudaSuccess && strcmp(id, "0000:13:00.0") == 0);
    ROW_WANT(cudaDeviceGetPCIBusId(id, sizeof(id), 1) == cudaSuccess && strcmp(id, "0000:11:00.0") == 0);
    ROW_WANT(cudaGetDeviceProperties(&prop, 1) == cudaSuccess && prop.pciBusID == 0x11);
    ROW_WANT(cudaSetDevice(2) == cudaErrorInvalidDevice && cudaSetDevice(-1) == cudaErrorInvalidDevice);
    ROW_WANT(cudaRuntimeGetVersion(&version) == cudaSuccess && version == 13000);
    ROW_WANT(cudaDriverGetVersion(&version) == cudaSuccess && version == 13000);
    return 0;
}

/* One broken rule each, named by the row's argument. */
static int broken(struct row_rank *rank)
{
    const char *what = rank->argument;
    cudaStream_t stream;
    cudaEvent_t event;
    char *device, host[BYTES];

    ROW_WANT(cudaStreamCreate(&stream) == cudaSuccess && cudaEventCreate(&event) == cudaSuccess);
    ROW_WANT(cudaMalloc((void **)&device, BYTES) == cudaSuccess);
    if (strcmp(what, "past") == 0)
        ROW_WANT(cudaMemcpyAsync(host, device + 1, BYTES, cudaMemcpyDeviceToHost, stream) == 1);
    else if (strcmp(what, "host as device") == 0)
        ROW_WANT(cudaMemcpy(host, device, BYTES, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    else if (strcmp(what, "twice") == 0)
        ROW_WANT(cudaFree(device) == cudaSuccess && cudaFree(device) == cudaErrorInvalidValue);
    else if (strcmp(what, "wrong free") == 0)
        ROW_WANT(cudaFreeHost(device) == cudaErrorInvalidValue);
    else if (strcmp(what, "other device") == 0)
        ROW_WANT(cudaSetDevice(1) == 0 && cudaMemsetAsync(device, 0, 1, stream) != cudaSuccess);
    else if (strcmp(what, "event's device") == 0)
        ROW_WANT(cudaSetDevice(1) == 0 && cudaEventRecord(event, 0) != cudaSuccess);
    else if (strcmp(what, "dead stream") == 0)
        ROW_WANT(cudaStreamDestroy(stream) == 0 && cudaStreamSynchronize(stream) != cudaSuccess);
    else if (strcmp(what, "dead event") == 0)
        ROW_WANT(cudaEventDestroy(event) == 0 && cudaEventRecord(event, stream) != cudaSuccess);
    else if (strcmp(what, "kernel") == 0)
        ROW_WANT(cudaLaunchKernel(host, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, stream) != cudaSuccess);
    return 0;
}

static const struct row rows[] = {
    {"events order streams, and nothing else does", 1, order, NULL, NULL, NULL},
    {"the default stream waits for the blocking ones", 1, default_stream, NULL, NULL, NULL},
    {"memory is counted, and of one kind", 2, memory, "leak: 1 allocations of 4096 bytes",
     "FAKE_CUDA_MEMORY_MIB=16", NULL},
    {"CUDA_VISIBLE_DEVICES permutes", 2, devices, NULL, "CUDA_VISIBLE_DEVICES=3,1", NULL},
    {"a copy past an allocation", 1, broken, "is not inside an allocation", NULL, "past"},
    {"a host's address as device's", 1, broken, "is not inside an allocation", NULL, "host as device"},
    {"memory freed twice", 1, broken, "never made, or released before", NULL, "twice"},
    {"memory freed by the wrong function", 1, broken, "which cudaFree releases", NULL, "wrong free"},
    {"a stream of another device", 1, broken, "cudaMemsetAsync on a stream of another device", NULL,
     "other device"},
    {"an event of another device", 1, broken, "an event of device 0 on a stream of device 1", NULL,
     "event's device"},
    {"a destroyed stream", 1, broken, "a stream that was destroyed", NULL, "dead stream"},
    {"a destroyed event", 1, broken, "an event that was destroyed", NULL, "dead event"},
    {"a kernel", 1, broken, "a kernel was launched", NULL, "kernel"},
    {"leaks: streams", 1, broken, "leak: 1 streams", NULL, "nothing"},
    {"leaks: events", 1, broken, "leak: 1 events", NULL, "nothing"},
    {"reported only", 1, broken, "leak: 1 events", "FAKE_NCCL_VIOLATIONS=report", "nothing"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(row_run(&rows[i]), "%s", rows[i].name);
    return tap_done();
}
