#include "nccl_device.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/bind_choice.h"

int dt_nccl_cuda_check(cudaError_t result, const char *what, struct dtrain_error *err)
{
    if (result == cudaSuccess)
        return 0;
    return dt_error_set(err, "%s: %s (%s)", what, cudaGetErrorName(result), cudaGetErrorString(result));
}

bool dt_nccl_device_is_there(char *why, size_t size)
{
    int devices = 0;
    cudaError_t result = cudaGetDeviceCount(&devices);

    if (result == cudaSuccess && devices > 0)
        return true;
    snprintf(why, size, "no CUDA device: %s",
             result == cudaSuccess ? "none is visible" : cudaGetErrorString(result));
    return false;
}

/* The step was asked to show each task its own device only. */
static bool sees_own_only(void)
{
    const char *text = getenv(DT_BIND_CHOICE_NAME);
    struct dt_bind_choice choice;

    return text != NULL && dt_bind_choice_decode(&choice, text, NULL) == 0 &&
           choice.visible == DT_VISIBLE_OWN && (choice.items & 1u << DT_BIND_ITEM_GPU) != 0;
}

int dt_nccl_device_find(int *device, int local_rank, struct dtrain_error *err)
{
    int devices = 0;

    if (dt_nccl_cuda_check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount", err) != 0)
        return -1;
    *device = devices == 1 && sees_own_only() ? 0 : local_rank;
    if (*device < devices)
        return 0;
    return dt_error_set(err,
                        "local rank %d has no GPU: %d visible; use --gpus-per-node=N (not --gpus-per-task, "
                        "which hides the node's other GPUs)",
                        local_rank, devices);
}

int dt_nccl_device_name(int local_rank, char *name, size_t size, struct dtrain_error *err)
{
    int device;

    if (dt_nccl_device_find(&device, local_rank, err) != 0)
        return -1;
    return dt_nccl_cuda_check(cudaDeviceGetPCIBusId(name, (int)size, device), "cudaDeviceGetPCIBusId", err);
}

int dt_nccl_device_use(const struct dt_nccl *nccl, struct dtrain_error *err)
{
    return dt_nccl_cuda_check(cudaSetDevice(nccl->device), "cudaSetDevice", err);
}
