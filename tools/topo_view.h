/* topo_view.h - what text, JSON and drawing of a node have in common. */
#ifndef DT_TOOLS_TOPO_VIEW_H
#define DT_TOOLS_TOPO_VIEW_H

#include "core/out.h"
#include "core/plan.h"
#include "topo/bind.h"

/* A node, and the tasks of one node of a plan on it. */
struct dt_topo_view {
    const struct dt_topo *topo;
    const struct dt_binding *binding; /* NULL: no tasks */
    const struct dt_plan *plan;       /* with a binding only */
    uint32_t node;                    /* of the plan */
};

#define DT_TOPO_SYMBOL_MAX 12 /* bytes with the NUL */
#define DT_TOPO_LIST_MAX 64   /* bytes of a list of CPUs or names that was cut, with the NUL */

/* "nvidia" for programs, "NVIDIA" for people. */
extern const char *const dt_topo_vendor_words[DT_VENDOR_OTHER + 1];
extern const char *const dt_topo_vendor_titles[DT_VENDOR_OTHER + 1];
extern const char *const dt_topo_nic_words[DT_NIC_ETHERNET + 1];

/* "NV4", "NVS12", "XG2", "XL1", "PIX", "PXB", "PHB", "NODE", "SOCK", "SYS", "?"; "-": itself. Returns buf. */
const char *dt_topo_symbol(char buf[DT_TOPO_SYMBOL_MAX], struct dt_path_info path);

/* Links of their own between GPUs, not PCIe. */
bool dt_topo_is_link(enum dt_path path);

/* The NICs in use whose path from the GPU is the best. Returns how many; 0: no path is known. */
uint32_t dt_topo_nearest_nics(const struct dt_topo *topo, uint32_t gpu, uint32_t nics[DT_TOPO_NICS_MAX]);
/* Their names, joined by blanks, cut. Returns buf. */
const char *dt_topo_nearest_names(char buf[DT_TOPO_LIST_MAX], const struct dt_topo *topo, uint32_t gpu);

/* "0-7,64-71", whole, or cut to fit buf. */
void dt_topo_print_cpus(struct dt_out *out, hwloc_const_bitmap_t cpus);
const char *dt_topo_cpus(char buf[DT_TOPO_LIST_MAX], hwloc_const_bitmap_t cpus);

/*
 * os index of the socket of a NUMA node, by index into topo->numas: that of its
 * devices; else where the others lie evenly, block by block, its block's. -1: not known.
 */
int dt_topo_numa_socket(const struct dt_topo *topo, uint32_t numa);

/* The source's name, of a file without its folders. */
const char *dt_topo_title(const struct dt_topo *topo);

/* "8 GPUs, 10 NICs, 8 NUMA nodes, 256 CPUs in 128 cores". Returns buf. */
#define DT_TOPO_SUMMARY_MAX 128
const char *dt_topo_summary(char buf[DT_TOPO_SUMMARY_MAX], const struct dt_topo *topo);

/* World rank of a local task, and its tensor-parallel group. */
uint32_t dt_topo_view_rank(const struct dt_topo_view *view, uint32_t task);
uint32_t dt_topo_view_group(const struct dt_topo_view *view, uint32_t task);

#endif
