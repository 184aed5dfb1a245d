/*
 * topo.h - what a binder must know of one node: its GPUs, NICs and NUMA nodes,
 * where each is, and how they are linked. Data only; immutable once its source
 * filled it (topo_hwloc.c: this machine or an hwloc XML; import/: other texts).
 */
#ifndef DT_TOPO_TOPO_H
#define DT_TOPO_TOPO_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#define DT_TOPO_GPUS_MAX 64u
#define DT_TOPO_NICS_MAX 64u
#define DT_TOPO_NUMAS_MAX 256u
#define DT_TOPO_NAME_MAX 64 /* bytes of a name with the NUL */
#define DT_TOPO_PCI_MAX 16  /* "0000:c4:00.0" with the NUL */

enum dt_vendor { DT_VENDOR_NVIDIA, DT_VENDOR_AMD, DT_VENDOR_INTEL, DT_VENDOR_OTHER };

/* How two devices are linked, best first. Words: dt_path_words. */
enum dt_path {
    DT_PATH_SELF,
    DT_PATH_NVLINK, /* direct; count = number of links */
    DT_PATH_NVSWITCH, /* over switches; count = links of each GPU into them, 0: not known */
    DT_PATH_XGMI,   /* direct; count = number of links, 0: not known */
    DT_PATH_XELINK, /* Intel's */
    DT_PATH_SWITCH, /* one PCIe switch (PIX) */
    DT_PATH_SWITCHES, /* several PCIe switches (PXB) */
    DT_PATH_BRIDGE, /* one host bridge (PHB) */
    DT_PATH_NUMA,   /* one NUMA node (NODE) */
    DT_PATH_SOCKET, /* one socket, over several NUMA nodes */
    DT_PATH_SYSTEM, /* across sockets (SYS) */
    DT_PATH_UNKNOWN,
    DT_PATH_COUNT,
};
extern const char *const dt_path_words[DT_PATH_COUNT];

struct dt_path_info {
    enum dt_path path;
    uint16_t count;
};

struct dt_topo_gpu {
    char pci[DT_TOPO_PCI_MAX];    /* "" when the source does not know it */
    char name[DT_TOPO_NAME_MAX];  /* "cuda0", "rsmi3", "GPU0", ...; "" for a bare PCI device */
    enum dt_vendor vendor;
    int part;     /* which of several GPUs behind one function (CPX, MIG, tiles); -1: the only one */
    int package;  /* GCDs of one module share it; -1: not known or alone */
    int numa;     /* os index of the NUMA node it sits at, never GPU memory; -1: not known */
    int socket;   /* os index; -1: not known */
    hwloc_bitmap_t cpus; /* os indices; empty: not known. Owned */
};

enum dt_nic_kind {
    DT_NIC_INFINIBAND,
    DT_NIC_ROCE,
    DT_NIC_SLINGSHOT,
    DT_NIC_EFA,
    DT_NIC_OMNIPATH,
    DT_NIC_ETHERNET,
};

struct dt_topo_nic {
    char name[DT_TOPO_NAME_MAX]; /* "mlx5_0", "hsi0" */
    char pci[DT_TOPO_PCI_MAX];
    enum dt_nic_kind kind;
    bool is_used; /* false: storage, management, plain Ethernet, or RoCE beside InfiniBand */
    int numa, socket;
    hwloc_bitmap_t cpus;
};

struct dt_topo_numa {
    int os_index;
    bool is_gpu_memory; /* of a device: no CPUs of its own, and nothing to bind to */
    hwloc_bitmap_t cpus;
};

struct dt_topo {
    char source[128]; /* for messages: "this machine", a file's name */
    uint32_t gpu_count, nic_count, numa_count;
    struct dt_topo_gpu gpus[DT_TOPO_GPUS_MAX]; /* by PCI id, then part */
    struct dt_topo_nic nics[DT_TOPO_NICS_MAX];
    struct dt_topo_numa numas[DT_TOPO_NUMAS_MAX];
    struct dt_path_info gpu_path[DT_TOPO_GPUS_MAX][DT_TOPO_GPUS_MAX]; /* symmetric */
    struct dt_path_info nic_path[DT_TOPO_GPUS_MAX][DT_TOPO_NICS_MAX]; /* from a GPU to a NIC */
    hwloc_bitmap_t cpus;  /* all of the node. Owned */
    hwloc_bitmap_t *cores; /* cpuset of each core, in logical order. Owned */
    uint32_t core_count;
};

/* Zeroed, with its bitmaps; NULL with the error set. The caller frees with dt_topo_destroy(). */
struct dt_topo *dt_topo_create(const char *source, struct dtrain_error *err);
void dt_topo_destroy(struct dt_topo *topo);

/*
 * What every source must keep: counts in bounds, gpu_path symmetric with SELF on
 * the diagonal, no two GPUs with the same pci and part, numas that exist. An
 * importer calls it last; a failure names the source.
 */
int dt_topo_check(const struct dt_topo *topo, struct dtrain_error *err);

/*
 * Relative quality of a path, higher is better: what tensor-parallel groups add
 * up. Monotone in enum dt_path and count; any link counts for more than the sum
 * of what PCIe paths differ by.
 */
uint32_t dt_path_quality(struct dt_path_info path);

#endif
