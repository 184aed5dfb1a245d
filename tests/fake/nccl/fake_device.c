/* fake_device.c - devices, versions, errors; the end of the process. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

#define CUDA_VERSION_FAKED 13000
#define FIRST_BUS 0x10
#define MEMORY_MIB 4096

pthread_mutex_t fake_cuda_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_cuda_changed = PTHREAD_COND_INITIALIZER;

static _Thread_local cudaError_t last_error = cudaSuccess;
static _Thread_local int current_device;

cudaError_t fake_cuda_result(cudaError_t result)
{
    if (result != cudaSuccess && result != cudaErrorNotReady)
        last_error = result;
    return result;
}

cudaError_t fake_cuda_enter(const char *function)
{
    struct fake_fault fault = fake_fault_take(function);

    return fault.kind == FAKE_FAULT_NONE ? cudaSuccess : fake_cuda_result((cudaError_t)fault.result);
}

/* The physical ordinals that CUDA_VISIBLE_DEVICES shows, up to the first that is none, as CUDA does it. */
static int visible_devices(int physical[FAKE_DEVICES_MAX])
{
    int all = fake_env_int("FAKE_CUDA_DEVICES", 8), count = 0;
    const char *text = getenv("CUDA_VISIBLE_DEVICES");

    all = all < 0 ? 0 : all > FAKE_DEVICES_MAX ? FAKE_DEVICES_MAX : all;
    if (text == NULL) {
        for (int i = 0; i < all; i++)
            physical[i] = i;
        return all;
    }
    while (count < FAKE_DEVICES_MAX) {
        char *end;
        long one = strtol(text, &end, 10);

        if (end == text || one < 0 || one >= all)
            break;
        physical[count++] = (int)one;
        if (*end != ',')
            break;
        text = end + 1;
    }
    return count;
}

int fake_device_count(void)
{
    int physical[FAKE_DEVICES_MAX];

    return visible_devices(physical);
}

int fake_device_physical(int device)
{
    int physical[FAKE_DEVICES_MAX];

    return device >= 0 && device < visible_devices(physical) ? physical[device] : -1;
}

int fake_device_current(void)
{
    return current_device;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    FAKE_CUDA_ENTER();
    *count = fake_device_count();
    return fake_cuda_result(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    FAKE_CUDA_ENTER();
    if (device < 0 || device >= fake_device_count())
        return fake_cuda_result(cudaErrorInvalidDevice);
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    FAKE_CUDA_ENTER();
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    int physical = fake_device_physical(device);

    FAKE_CUDA_ENTER();
    if (physical < 0)
        return fake_cuda_result(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof(*prop));
    snprintf(prop->name, sizeof(prop->name), "Fake GPU");
    memset(prop->uuid.bytes, physical + 1, sizeof(prop->uuid.bytes));
    prop->totalGlobalMem = (size_t)fake_env_int("FAKE_CUDA_MEMORY_MIB", MEMORY_MIB) << 20;
    prop->major = 9;
    prop->multiProcessorCount = 132;
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = 1024;
    prop->pciBusID = FIRST_BUS + physical;
    prop->unifiedAddressing = prop->managedMemory = prop->streamPrioritiesSupported = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    FAKE_CUDA_ENTER();
    if (fake_device_physical(device) < 0)
        return fake_cuda_result(cudaErrorInvalidDevice);
    switch (attr) {
    case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = 132;
        return cudaSuccess;
    default:
        return fake_cuda_result(cudaErrorInvalidValue);
    }
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device)
{
    int physical = fake_device_physical(device);

    FAKE_CUDA_ENTER();
    if (physical < 0 || text == NULL || size < 13)
        return fake_cuda_result(physical < 0 ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    snprintf(text, (size_t)size, "0000:%02X:00.0", (unsigned)(FIRST_BUS + physical) & 0xff);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    FAKE_CUDA_ENTER();
    fake_stream_wait_device(current_device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    FAKE_CUDA_ENTER();
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    FAKE_CUDA_ENTER();
    *version = CUDA_VERSION_FAKED;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    FAKE_CUDA_ENTER();
    *version = CUDA_VERSION_FAKED;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t result = last_error;

    last_error = cudaSuccess;
    return result;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].error == error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].error == error)
            return errors[i].text;
    return "unrecognized error code";
}

/* After libnccl's own, which is unloaded first. */
__attribute__((destructor)) static void check_at_exit(void)
{
    fake_stream_check_leaks();
    fake_event_check_leaks();
    fake_memory_check_leaks();
    fake_report_end();
}
