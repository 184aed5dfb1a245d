/* suggest_gpu.h - what GPUs and machines can do, as their makers publish it. Data only. */
#ifndef DT_TOOLS_SUGGEST_GPU_H
#define DT_TOOLS_SUGGEST_GPU_H

#include <stddef.h>

#include "tools/suggest_model.h"

#define DT_SUGGEST_NODES_MAX 65536u

struct dt_suggest_gpu {
    const char *name;                         /* "a100-80" */
    double memory;                            /* bytes */
    double memory_bytes_s;                    /* its bandwidth */
    double flops[DT_SUGGEST_PRECISION_COUNT]; /* of dense matrices, a second */
    double link_bytes_s;                      /* one NVLink or xGMI link, one direction */
    double pcie_bytes_s;                      /* x16, one direction */
};

/* NULL: not known. */
const struct dt_suggest_gpu *dt_suggest_gpu_find(const char *name);
/* "a100-40, a100-80, ..." cut to size. */
void dt_suggest_gpu_names(char *text, size_t size);

/* What a named machine is made of; names are those of dt_import_machines(). */
struct dt_suggest_known {
    const char *machine, *gpu;
    double nic_bytes_s; /* of each NIC, one direction */
};

/* NULL: its GPUs are not known, and must be named. */
const struct dt_suggest_known *dt_suggest_known_find(const char *machine);

/* What the user says besides the topology; 0 and NULL: not given. */
struct dt_suggest_machine_request {
    const char *machine; /* the name, of a named one */
    const char *gpu;     /* a name of dt_suggest_gpu_find() */
    double memory;       /* bytes */
    double flops;
    double nic_bytes_s; /* of each NIC */
    uint32_t nodes;     /* 0: one */
    enum dt_suggest_precision precision;
};

#endif
