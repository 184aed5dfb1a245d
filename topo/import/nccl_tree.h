/*
 * nccl_tree.h - what NCCL's topology XML says: CPUs with their NUMA node, PCI functions below them as
 * a tree, GPUs and nets at functions, NVLink or xGMI lines of GPUs. nccl_xml.c fills it, nccl_tree.c makes
 * a topology of it.
 */
#ifndef DT_TOPO_IMPORT_NCCL_TREE_H
#define DT_TOPO_IMPORT_NCCL_TREE_H

#include "topo/topo.h"

#define DT_NCCL_CPUS_MAX 64u
#define DT_NCCL_PCIS_MAX 1024u
#define DT_NCCL_LINKS_MAX 4096u
#define DT_NCCL_DEVICES_MAX (DT_TOPO_GPUS_MAX + DT_TOPO_NICS_MAX)

struct dt_nccl_cpu {
    int numa; /* -1: not known */
    hwloc_bitmap_t cpus; /* owned by the tree */
};

struct dt_nccl_pci {
    char pci[DT_TOPO_PCI_MAX];
    uint32_t class_code, vendor; /* 0: not said */
    int parent; /* index of a function; -1: the CPU itself */
    int cpu;
};

struct dt_nccl_device {
    bool is_gpu;
    bool is_amd; /* of a GPU: RCCL's marks */
    char name[DT_TOPO_NAME_MAX];
    int pci; /* -1: at the CPU */
    int cpu;
    int index; /* in the topology */
};

struct dt_nccl_link {
    int gpu; /* index of a device */
    bool is_xgmi, is_to_switch;
    uint16_t count;
    char target[DT_TOPO_PCI_MAX];
};

struct dt_nccl_tree {
    uint32_t cpu_count, pci_count, device_count, link_count;
    struct dt_nccl_cpu cpus[DT_NCCL_CPUS_MAX];
    struct dt_nccl_pci pcis[DT_NCCL_PCIS_MAX];
    struct dt_nccl_device devices[DT_NCCL_DEVICES_MAX];
    struct dt_nccl_link links[DT_NCCL_LINKS_MAX];
};

/* What a function without <gpu> or <net> is by its class; a server's graphics card is no GPU. */
bool dt_nccl_pci_is_gpu(const struct dt_nccl_pci *pci);
bool dt_nccl_pci_is_nic(const struct dt_nccl_pci *pci);

/* The text to an empty tree. DOCTYPEs are refused, so there are no entities; nothing is opened or fetched. */
int dt_nccl_tree_parse(struct dt_nccl_tree *tree, const char *text, size_t size, struct dtrain_error *err);

/* Adds what the tree has to the topology; orders its devices by PCI address. */
int dt_nccl_tree_fill(struct dt_topo *topo, struct dt_nccl_tree *tree, struct dtrain_error *err);

#endif
