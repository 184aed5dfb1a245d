#include "tools/suggest_gpu.h"

#include <stdio.h>
#include <string.h>

#define GIB 1073741824.0
#define GBIT_S 1.25e8 /* bytes */

/* Bytes; then GB/s; TFLOP/s of bf16, fp16 and fp32; GB/s of a link and of PCIe. */
#define GPU(gpu, bytes, memory_gb, bf16, fp16, fp32, link_gb, pcie_gb)                                       \
    {                                                                                                        \
        .name = (gpu), .memory = (bytes), .memory_bytes_s = (memory_gb)*1e9,                                 \
        .flops = {(bf16)*1e12, (fp16)*1e12, (fp32)*1e12}, .link_bytes_s = (link_gb)*1e9,                     \
        .pcie_bytes_s = (pcie_gb)*1e9                                                                        \
    }

/*
 * As remembered from data sheets, to be checked against them: dense rates, never those of sparsity. fp32 is TF32,
 * or AMD's matrix rate, where there is one. An mi250x is one of a module's two dies.
 */
static const struct dt_suggest_gpu gpus[] = {
    GPU("v100-16", 16 * GIB, 900, 0, 125, 15.7, 25, 16),
    GPU("v100-32", 32 * GIB, 900, 0, 125, 15.7, 25, 16),
    GPU("a100-40", 40 * GIB, 1555, 312, 312, 156, 25, 32),
    GPU("a100-80", 80 * GIB, 2039, 312, 312, 156, 25, 32),
    GPU("h100", 80 * GIB, 3350, 989, 989, 494, 25, 64),
    GPU("h200", 141e9, 4800, 989, 989, 494, 25, 64),
    GPU("gh200", 96e9, 4000, 989, 989, 494, 25, 64),
    GPU("mi250x", 64 * GIB, 1638, 191.5, 191.5, 47.9, 50, 32),
    GPU("mi300a", 128 * GIB, 5300, 980.6, 980.6, 122.6, 64, 64),
    GPU("mi300x", 192 * GIB, 5300, 1307.4, 1307.4, 163.4, 64, 64),
};

static const struct dt_suggest_known known[] = {
    {"dgx-a100", "a100-80", 200 * GBIT_S},       {"dgx-h100", "h100", 400 * GBIT_S},
    {"dgx-1v", "v100-32", 100 * GBIT_S},         {"dgx-2", "v100-32", 100 * GBIT_S},
    {"mi250x", "mi250x", 200 * GBIT_S},          {"mi300x", "mi300x", 400 * GBIT_S},
    {"mi300a", "mi300a", 200 * GBIT_S},          {"p4d", "a100-40", 100 * GBIT_S},
    {"ndv4", "a100-40", 200 * GBIT_S},           {"gh200", "gh200", 200 * GBIT_S},
    {"juwels-booster", "a100-40", 200 * GBIT_S}, {"perlmutter", "a100-40", 200 * GBIT_S},
    {"summit", "v100-16", 50 * GBIT_S}, /* four ports of two dual-port cards: each card's PCIe holds 100 */
};

const struct dt_suggest_gpu *dt_suggest_gpu_find(const char *name)
{
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++)
        if (strcmp(gpus[i].name, name) == 0)
            return &gpus[i];
    return NULL;
}

void dt_suggest_gpu_names(char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", gpus[i].name);
}

const struct dt_suggest_known *dt_suggest_known_find(const char *machine)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].machine, machine) == 0)
            return &known[i];
    return NULL;
}
