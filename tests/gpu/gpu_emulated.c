/* The CPU, which runs the kernels a thread after another (tests/fake/cuda/emulate.h). */
#include <stdlib.h>

#include "gpu.h"

const struct gpu_kind gpu_kind = {
    .backend = "tests/cuda/.libs/libdtrain_nccl.so",
    .compute = "tests/cuda/.libs/train_cuda.so",
    .most = 5000,
};

static const struct {
    const char *value, *words;
} orders[] = {
    {"forward", ", threads forward"},
    {"reverse", ", threads in reverse"},
    {"random:7", ", threads in a random order"},
};

const char *gpu_order(size_t i)
{
    if (i >= sizeof(orders) / sizeof(orders[0]))
        return NULL;
    setenv("CUDA_EMULATE_ORDER", orders[i].value, 1);
    return orders[i].words;
}
