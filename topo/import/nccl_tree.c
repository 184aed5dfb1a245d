#include "nccl_tree.h"

#include <string.h>

#include "draft.h"

#define VENDOR_NVIDIA 0x10deu
#define VENDOR_AMD 0x1002u
#define VENDOR_INTEL 0x8086u
#define VENDOR_MELLANOX 0x15b3u
#define VENDOR_AMAZON 0x1d0fu
#define VENDOR_CRAY 0x17dbu
#define VENDOR_HPE 0x1590u
#define CLASS_DISPLAY 0x03u /* the high byte of a PCI class */
#define CLASS_NETWORK 0x02u
#define CLASS_VGA 0x0300u
#define CLASS_DISPLAY_OTHER 0x0380u /* AMD's accelerators; NVIDIA's are 0x0302 */
#define CLASS_ETHERNET 0x0200u

bool dt_nccl_pci_is_nic(const struct dt_nccl_pci *pci)
{
    return pci->class_code >> 16 == CLASS_NETWORK;
}

static enum dt_vendor find_vendor(const struct dt_nccl_device *gpu, const struct dt_nccl_pci *pci)
{
    if (pci->vendor == 0)
        return gpu->is_amd || pci->class_code >> 8 == CLASS_DISPLAY_OTHER ? DT_VENDOR_AMD : DT_VENDOR_NVIDIA;
    return pci->vendor == VENDOR_NVIDIA  ? DT_VENDOR_NVIDIA
           : pci->vendor == VENDOR_AMD   ? DT_VENDOR_AMD
           : pci->vendor == VENDOR_INTEL ? DT_VENDOR_INTEL
                                         : DT_VENDOR_OTHER;
}

bool dt_nccl_pci_is_gpu(const struct dt_nccl_pci *pci)
{
    const struct dt_nccl_device unmarked = {.is_gpu = true};

    if (pci->class_code >> 16 != CLASS_DISPLAY)
        return false;
    return pci->class_code >> 8 != CLASS_VGA || find_vendor(&unmarked, pci) != DT_VENDOR_OTHER;
}

static enum dt_nic_kind find_kind(const struct dt_nccl_device *nic, const struct dt_nccl_pci *pci)
{
    enum dt_nic_kind named = dt_draft_nic_kind(nic->name);

    if (pci == NULL)
        return named;
    if (pci->vendor == VENDOR_AMAZON)
        return DT_NIC_EFA;
    if (pci->vendor == VENDOR_CRAY || pci->vendor == VENDOR_HPE)
        return DT_NIC_SLINGSHOT;
    if (named != DT_NIC_INFINIBAND || pci->class_code >> 8 != CLASS_ETHERNET)
        return named;
    /* A net of NCCL that has no name of Ethernet is an RDMA device. */
    return pci->vendor == VENDOR_MELLANOX || strcmp(nic->name, pci->pci) != 0 ? DT_NIC_ROCE : DT_NIC_ETHERNET;
}

/* By domain, which may have more than four digits, bus, device, function; what sits at a CPU comes last. */
static int compare_pci(const struct dt_nccl_pci *a, const struct dt_nccl_pci *b)
{
    if (a == NULL || b == NULL)
        return (a == NULL) - (b == NULL);
    if (strlen(a->pci) != strlen(b->pci))
        return strlen(a->pci) < strlen(b->pci) ? -1 : 1;
    return strcmp(a->pci, b->pci);
}

static const struct dt_nccl_pci *find_pci(const struct dt_nccl_tree *tree, uint32_t device)
{
    int pci = tree->devices[device].pci;

    return pci == -1 ? NULL : &tree->pcis[pci];
}

/* Indices of the devices by PCI address; equal ones stay in the order of the text. */
static void order_devices(uint32_t order[DT_NCCL_DEVICES_MAX], const struct dt_nccl_tree *tree)
{
    for (uint32_t i = 0; i < tree->device_count; i++) {
        uint32_t at = i;

        for (; at > 0 && compare_pci(find_pci(tree, i), find_pci(tree, order[at - 1])) < 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Several GPUs behind one function are its parts. */
static int find_part(const struct dt_nccl_tree *tree, uint32_t gpu)
{
    int before = 0;
    int all = 0;

    for (uint32_t i = 0; i < tree->device_count; i++) {
        bool is_here = tree->devices[i].is_gpu && tree->devices[i].pci == tree->devices[gpu].pci;

        all += is_here;
        before += is_here && i < gpu;
    }
    return all > 1 ? before : -1;
}

static int add_gpu(struct dt_topo *topo, struct dt_nccl_tree *tree, uint32_t index, struct dtrain_error *err)
{
    struct dt_nccl_device *device = &tree->devices[index];
    const struct dt_nccl_pci *pci = find_pci(tree, index);
    struct dt_topo_gpu *gpu = dt_draft_add_gpu(topo, err);

    if (gpu == NULL)
        return -1;
    device->index = (int)topo->gpu_count - 1;
    memcpy(gpu->pci, pci->pci, sizeof(gpu->pci));
    gpu->vendor = find_vendor(device, pci);
    gpu->part = find_part(tree, index);
    gpu->numa = tree->cpus[device->cpu].numa;
    hwloc_bitmap_copy(gpu->cpus, tree->cpus[device->cpu].cpus);
    return 0;
}

static int add_nic(struct dt_topo *topo, struct dt_nccl_tree *tree, uint32_t index, struct dtrain_error *err)
{
    struct dt_nccl_device *device = &tree->devices[index];
    const struct dt_nccl_pci *pci = find_pci(tree, index);
    struct dt_topo_nic *nic = dt_draft_add_nic(topo, err);

    if (nic == NULL)
        return -1;
    device->index = (int)topo->nic_count - 1;
    if (pci != NULL)
        memcpy(nic->pci, pci->pci, sizeof(nic->pci));
    memcpy(nic->name, device->name, sizeof(nic->name));
    nic->kind = find_kind(device, pci);
    nic->numa = tree->cpus[device->cpu].numa;
    hwloc_bitmap_copy(nic->cpus, tree->cpus[device->cpu].cpus);
    return 0;
}

/* Whether the function is at or below the ancestor. */
static bool is_below(const struct dt_nccl_tree *tree, int pci, int ancestor)
{
    while (pci != -1 && pci != ancestor)
        pci = tree->pcis[pci].parent;
    return pci == ancestor;
}

static enum dt_path find_pci_path(const struct dt_nccl_tree *tree, const struct dt_nccl_device *a,
                                  const struct dt_nccl_device *b)
{
    int parent = a->pci == -1 ? -1 : tree->pcis[a->pci].parent;
    int common = a->pci;

    if (a->cpu != b->cpu)
        return DT_PATH_SYSTEM;
    if (a->pci == -1 || b->pci == -1)
        return DT_PATH_NUMA;
    while (common != -1 && !is_below(tree, b->pci, common))
        common = tree->pcis[common].parent;
    if (common == -1)
        return DT_PATH_NUMA;
    return a->pci == b->pci || parent == tree->pcis[b->pci].parent ? DT_PATH_SWITCH : DT_PATH_SWITCHES;
}

struct links {
    uint32_t direct, switched; /* numbers of links */
    bool is_xgmi;
};

/* The links of one GPU that lead to another, or into switches. */
static struct links count_links(const struct dt_nccl_tree *tree, uint32_t from, const char *to)
{
    struct links links = {0, 0, false};

    for (uint32_t i = 0; i < tree->link_count; i++) {
        const struct dt_nccl_link *link = &tree->links[i];

        if (link->gpu != (int)from)
            continue;
        if (link->is_to_switch)
            links.switched += link->count;
        else if (strcmp(link->target, to) == 0)
            links.direct += link->count;
        links.is_xgmi |= link->is_xgmi;
    }
    return links;
}

static struct dt_path_info find_gpu_path(const struct dt_nccl_tree *tree, uint32_t a, uint32_t b)
{
    struct links there = count_links(tree, a, find_pci(tree, b)->pci);
    struct links back = count_links(tree, b, find_pci(tree, a)->pci);
    uint32_t direct = there.direct > back.direct ? there.direct : back.direct;
    uint32_t switched = there.switched < back.switched ? there.switched : back.switched;

    if (direct > 0)
        return (struct dt_path_info){there.is_xgmi || back.is_xgmi ? DT_PATH_XGMI : DT_PATH_NVLINK,
                                     (uint16_t)(direct < UINT16_MAX ? direct : UINT16_MAX)};
    if (switched > 0)
        return (struct dt_path_info){DT_PATH_NVSWITCH,
                                     (uint16_t)(switched < UINT16_MAX ? switched : UINT16_MAX)};
    return (struct dt_path_info){find_pci_path(tree, &tree->devices[a], &tree->devices[b]), 0};
}

static void set_paths(struct dt_topo *topo, const struct dt_nccl_tree *tree)
{
    for (uint32_t i = 0; i < tree->device_count; i++)
        for (uint32_t j = 0; j < tree->device_count; j++) {
            const struct dt_nccl_device *a = &tree->devices[i];
            const struct dt_nccl_device *b = &tree->devices[j];

            if (!a->is_gpu)
                continue;
            if (!b->is_gpu)
                topo->nic_path[a->index][b->index].path = find_pci_path(tree, a, b);
            else if (i < j)
                dt_draft_link_gpus(topo, (uint32_t)a->index, (uint32_t)b->index, find_gpu_path(tree, i, j));
        }
}

static int add_numas(struct dt_topo *topo, const struct dt_nccl_tree *tree, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < tree->cpu_count; i++) {
        struct dt_topo_numa *numa;

        if (tree->cpus[i].numa == -1)
            continue;
        numa = dt_draft_numa(topo, (uint32_t)tree->cpus[i].numa, err);
        if (numa == NULL)
            return -1;
        hwloc_bitmap_copy(numa->cpus, tree->cpus[i].cpus);
    }
    return 0;
}

int dt_nccl_tree_fill(struct dt_topo *topo, struct dt_nccl_tree *tree, struct dtrain_error *err)
{
    uint32_t order[DT_NCCL_DEVICES_MAX];

    if (add_numas(topo, tree, err) != 0)
        return -1;
    order_devices(order, tree);
    for (uint32_t i = 0; i < tree->device_count; i++) {
        bool is_gpu = tree->devices[order[i]].is_gpu;

        if ((is_gpu ? add_gpu : add_nic)(topo, tree, order[i], err) != 0)
            return -1;
    }
    if (topo->gpu_count == 0)
        return dt_error_set(err, "no GPU: expected <gpu>, or a <pci> of a display's class");
    set_paths(topo, tree);
    dt_draft_judge_nics(topo);
    return 0;
}
