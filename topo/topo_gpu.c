#include "topo_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCI_BASE_DISPLAY 0x03u
#define PCI_CLASS_ACCELERATOR 0x1200u
#define PCI_NVIDIA 0x10deu
#define PCI_AMD 0x1002u
#define PCI_INTEL 0x8086u
/* AMD's compute devices; below are server graphics (ES1000, Rage XL) and parts of CPUs, above too. */
#define AMD_FIRST 0x6600u
#define AMD_LAST 0x7fffu

/* Two GCDs on one module. */
#define AMD_MI250X_A 0x7408u
#define AMD_MI250X_B 0x740cu

static const char *const unit_prefixes[] = {"rsmi", "cuda", "ze", "nvml", "renderD"};
#define UNIT_PREFIXES (sizeof(unit_prefixes) / sizeof(unit_prefixes[0]))
/* renderD names a GPU but never splits one. */
#define UNIT_SPLITTERS 3u

/* Graphics inside an Intel CPU is always here. */
static bool is_in_cpu(const struct hwloc_pcidev_attr_s *pci)
{
    return pci->domain == 0 && pci->bus == 0 && pci->dev == 2;
}

static bool is_gpu(const struct hwloc_pcidev_attr_s *pci)
{
    bool is_display = pci->class_id >> 8 == PCI_BASE_DISPLAY;

    if (pci->vendor_id == PCI_NVIDIA)
        return is_display;
    if (pci->vendor_id == PCI_AMD)
        return (is_display || pci->class_id == PCI_CLASS_ACCELERATOR) && pci->device_id >= AMD_FIRST &&
               pci->device_id <= AMD_LAST;
    return pci->vendor_id == PCI_INTEL && is_display && !is_in_cpu(pci);
}

static enum dt_vendor vendor_of(const struct hwloc_pcidev_attr_s *pci)
{
    switch (pci->vendor_id) {
    case PCI_NVIDIA:
        return DT_VENDOR_NVIDIA;
    case PCI_AMD:
        return DT_VENDOR_AMD;
    case PCI_INTEL:
        return DT_VENDOR_INTEL;
    default:
        return DT_VENDOR_OTHER;
    }
}

/* "ze1", not "ze1.0": a number and nothing more behind the prefix. */
static bool is_unit(hwloc_obj_t os, const char *prefix)
{
    size_t length = strlen(prefix);

    return os->type == HWLOC_OBJ_OS_DEVICE && os->name != NULL && strncmp(os->name, prefix, length) == 0 &&
           os->name[length] != '\0' && strspn(os->name + length, "0123456789") == strlen(os->name + length);
}

static unsigned unit_number(hwloc_obj_t os, const char *prefix)
{
    return (unsigned)strtoul(os->name + strlen(prefix), NULL, 10);
}

/* The part-th os device of a kind below a PCI device, by its number; NULL: there are fewer. */
static hwloc_obj_t find_unit(hwloc_obj_t pci, const char *prefix, unsigned part)
{
    for (hwloc_obj_t os = pci->io_first_child; os != NULL; os = os->next_sibling) {
        unsigned before = 0;

        if (!is_unit(os, prefix))
            continue;
        for (hwloc_obj_t other = pci->io_first_child; other != NULL; other = other->next_sibling)
            before += is_unit(other, prefix) && unit_number(other, prefix) < unit_number(os, prefix);
        if (before == part)
            return os;
    }
    return NULL;
}

static unsigned count_parts(hwloc_obj_t pci)
{
    unsigned parts = 1;

    for (unsigned i = 0; i < UNIT_SPLITTERS; i++)
        while (parts < DT_TOPO_GPUS_MAX + 1 && find_unit(pci, unit_prefixes[i], parts) != NULL)
            parts++;
    return parts;
}

static void name_gpu(struct dt_topo_gpu *gpu, hwloc_obj_t pci, unsigned part)
{
    for (unsigned i = 0; i < UNIT_PREFIXES; i++) {
        hwloc_obj_t os = find_unit(pci, unit_prefixes[i], part);

        if (os != NULL) {
            snprintf(gpu->name, sizeof(gpu->name), "%s", os->name);
            return;
        }
    }
}

static int add_gpu(struct dt_topo *topo, struct dt_topo_devices *devices, hwloc_obj_t pci, unsigned part,
                   unsigned parts, struct dtrain_error *err)
{
    struct dt_topo_gpu *gpu = &topo->gpus[topo->gpu_count];

    if (topo->gpu_count == DT_TOPO_GPUS_MAX)
        return dt_error_set(err, "%s has more than %u GPUs: expected at most that many", topo->source,
                            DT_TOPO_GPUS_MAX);
    dt_topo_device_pci(gpu->pci, pci);
    name_gpu(gpu, pci, part);
    gpu->vendor = vendor_of(&pci->attr->pcidev);
    gpu->part = parts > 1 ? (int)part : -1;
    gpu->package = -1;
    dt_topo_device_place(&gpu->numa, &gpu->socket, gpu->cpus, devices->hwloc, pci);
    devices->gpus[topo->gpu_count++] = pci;
    return 0;
}

static int compare_pci(hwloc_obj_t a, hwloc_obj_t b)
{
    const struct hwloc_pcidev_attr_s *x = &a->attr->pcidev, *y = &b->attr->pcidev;

    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    if (x->bus != y->bus)
        return x->bus < y->bus ? -1 : 1;
    return (x->dev << 8 | x->func) - (y->dev << 8 | y->func);
}

/* The GPU with the lowest PCI id above `last`; the order in which they are found is not that of the ids. */
static hwloc_obj_t next_by_pci(hwloc_topology_t hwloc, hwloc_obj_t last)
{
    hwloc_obj_t best = NULL;

    for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(hwloc, pci));)
        if (is_gpu(&pci->attr->pcidev) && (last == NULL || compare_pci(pci, last) > 0) &&
            (best == NULL || compare_pci(pci, best) < 0))
            best = pci;
    return best;
}

static bool is_gcd(hwloc_obj_t pci)
{
    unsigned id = pci->attr->pcidev.device_id;

    return pci->attr->pcidev.vendor_id == PCI_AMD && (id == AMD_MI250X_A || id == AMD_MI250X_B);
}

static const char *serial_of(hwloc_obj_t pci)
{
    hwloc_obj_t os = find_unit(pci, "rsmi", 0);

    return os != NULL ? hwloc_obj_get_info_by_name(os, "AMDSerial") : NULL;
}

/* Parts of one function; else two GCDs with one serial number; else neighbours in PCI order at one place. */
static bool share_package(const struct dt_topo *topo, const struct dt_topo_devices *devices, uint32_t a,
                          uint32_t b)
{
    const char *serial_a, *serial_b;

    if (devices->gpus[a] == devices->gpus[b])
        return true;
    if (!is_gcd(devices->gpus[a]) || !is_gcd(devices->gpus[b]))
        return false;
    serial_a = serial_of(devices->gpus[a]);
    serial_b = serial_of(devices->gpus[b]);
    if (serial_a != NULL && serial_b != NULL)
        return strcmp(serial_a, serial_b) == 0;
    return a / 2 == b / 2 && topo->gpus[a].numa == topo->gpus[b].numa;
}

static void find_packages(struct dt_topo *topo, const struct dt_topo_devices *devices)
{
    int next = 0;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (share_package(topo, devices, i, j)) {
                if (topo->gpus[j].package == -1)
                    topo->gpus[j].package = next++;
                topo->gpus[i].package = topo->gpus[j].package;
                break;
            }
}

int dt_topo_gpu_find(struct dt_topo *topo, struct dt_topo_devices *devices, struct dtrain_error *err)
{
    for (hwloc_obj_t pci = NULL; (pci = next_by_pci(devices->hwloc, pci));) {
        unsigned parts = count_parts(pci);

        for (unsigned part = 0; part < parts; part++)
            if (add_gpu(topo, devices, pci, part, parts, err))
                return -1;
    }
    find_packages(topo, devices);
    return 0;
}
