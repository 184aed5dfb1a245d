/*
 * draft.h - filling a struct dt_topo from another tool's text: bounded lists of
 * CPUs, devices added one by one, and what the text leaves to be concluded.
 */
#ifndef DT_TOPO_IMPORT_DRAFT_H
#define DT_TOPO_IMPORT_DRAFT_H

#include "topo/topo.h"

#define DT_DRAFT_CPUS_MAX 8192u
#define DT_DRAFT_NUMA_OS_MAX 4095u /* largest os index of a NUMA node */

/* "0-15,128-143", with or without blanks around it, added to the set. */
int dt_draft_cpus_list(hwloc_bitmap_t cpus, const char *text, struct dtrain_error *err);

/* Linux's masks "000000ff,ffff0000": words of 32 bits, the highest first. */
int dt_draft_cpus_mask(hwloc_bitmap_t cpus, const char *text, struct dtrain_error *err);

/* "0000:c4:00.0" in lower case; anything else is refused. */
int dt_draft_pci(char pci[DT_TOPO_PCI_MAX], const char *text, struct dtrain_error *err);

/* The next one, with nothing known yet (indices -1); NULL with the error set when there is no room. */
struct dt_topo_gpu *dt_draft_add_gpu(struct dt_topo *topo, struct dtrain_error *err);
struct dt_topo_nic *dt_draft_add_nic(struct dt_topo *topo, struct dtrain_error *err);

/* The NUMA node of that os index, added when it is new. */
struct dt_topo_numa *dt_draft_numa(struct dt_topo *topo, uint32_t os_index, struct dtrain_error *err);

void dt_draft_link_gpus(struct dt_topo *topo, uint32_t a, uint32_t b, struct dt_path_info info);

/* What a NIC's name says of its kind; InfiniBand when nothing else. */
enum dt_nic_kind dt_draft_nic_kind(const char *name);

/*
 * For texts without NUMA nodes of NICs or their purpose. A NIC that shares a host bridge with a GPU is
 * where the GPU is. A NIC at no GPU's bridge, although every GPU has one, is for storage or management;
 * so is plain Ethernet, and RoCE beside another fabric.
 */
void dt_draft_judge_nics(struct dt_topo *topo);

/* One core of `threads` CPUs after the other; the CPUs as a list in the order of the text. */
int dt_draft_add_core(struct dt_topo *topo, const unsigned *cpus, uint32_t threads, struct dtrain_error *err);

/*
 * Last: all CPUs, NUMA nodes in order, cores when none were added, and dt_topo_check(). Cores come from
 * Linux's usual numbers: "0-15,128-143" at one device and "16-31,144-159" at another are two threads a core;
 * else each CPU is one.
 */
int dt_draft_finish(struct dt_topo *topo, struct dtrain_error *err);

/*
 * A whole reader of a terminal's text: a topology, a zeroed state of that size and a copy of plain.h are
 * made, fill() gets all three, the topology is finished. Errors of fill() get the source in front.
 */
struct dt_draft_reader {
    size_t state_size;
    int (*fill)(struct dt_topo *topo, void *state, char *plain, struct dtrain_error *err);
};
int dt_draft_read(struct dt_topo **topo, const struct dt_draft_reader *reader, const char *text, size_t size,
                  const char *source, struct dtrain_error *err);

#endif
