#include "topo_nic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCI_CLASS_INFINIBAND 0x0207u
#define PCI_CRAY 0x17dbu
#define PCI_CASSINI_HPE 0x1590u
#define PCI_AMAZON 0x1d0fu
#define PCI_EFA_MASK 0xfff0u
#define PCI_EFA 0xefa0u

static bool is_fabric(hwloc_obj_t os)
{
    return os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

static bool has_fabric(hwloc_obj_t pci)
{
    for (hwloc_obj_t os = pci->io_first_child; os != NULL; os = os->next_sibling)
        if (os->type == HWLOC_OBJ_OS_DEVICE && is_fabric(os))
            return true;
    return false;
}

/* One for each RDMA device; a network interface only where its card has no RDMA device. */
static bool is_nic(hwloc_obj_t os, hwloc_obj_t pci)
{
    if (pci == NULL || os->name == NULL)
        return false;
    return is_fabric(os) || (os->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK && !has_fabric(pci));
}

static bool is_slingshot(hwloc_obj_t os, const struct hwloc_pcidev_attr_s *pci)
{
    return pci->vendor_id == PCI_CRAY || (os->subtype != NULL && strcmp(os->subtype, "Slingshot") == 0) ||
           (pci->vendor_id == PCI_CASSINI_HPE && strncmp(os->name, "hsi", 3) == 0);
}

/* An InfiniBand port that is up has a local id; RoCE has none. */
static bool has_lid(hwloc_obj_t os)
{
    const char *lid = hwloc_obj_get_info_by_name(os, "Port1LID");

    return lid != NULL && strtoul(lid, NULL, 16) != 0;
}

static enum dt_nic_kind kind_of(hwloc_obj_t os, hwloc_obj_t device)
{
    const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;

    if (is_slingshot(os, pci))
        return DT_NIC_SLINGSHOT;
    if (pci->vendor_id == PCI_AMAZON && (pci->device_id & PCI_EFA_MASK) == PCI_EFA)
        return DT_NIC_EFA;
    if (strncmp(os->name, "hfi1", 4) == 0 || strncmp(os->name, "opa", 3) == 0)
        return DT_NIC_OMNIPATH;
    if (!is_fabric(os))
        return DT_NIC_ETHERNET;
    return pci->class_id == PCI_CLASS_INFINIBAND || has_lid(os) ? DT_NIC_INFINIBAND : DT_NIC_ROCE;
}

static int add_nic(struct dt_topo *topo, struct dt_topo_devices *devices, hwloc_obj_t os, hwloc_obj_t pci,
                   struct dtrain_error *err)
{
    struct dt_topo_nic *nic = &topo->nics[topo->nic_count];

    if (topo->nic_count == DT_TOPO_NICS_MAX)
        return dt_error_set(err, "%s has more than %u NICs: expected at most that many", topo->source,
                            DT_TOPO_NICS_MAX);
    snprintf(nic->name, sizeof(nic->name), "%s", os->name);
    dt_topo_device_pci(nic->pci, pci);
    nic->kind = kind_of(os, pci);
    dt_topo_device_place(&nic->numa, &nic->socket, nic->cpus, devices->hwloc, pci);
    devices->nics[topo->nic_count++] = pci;
    return 0;
}

int dt_topo_nic_find(struct dt_topo *topo, struct dt_topo_devices *devices, struct dtrain_error *err)
{
    for (hwloc_obj_t os = NULL; (os = hwloc_get_next_osdev(devices->hwloc, os));) {
        hwloc_obj_t pci = dt_topo_device_above(os);

        if (is_nic(os, pci) && add_nic(topo, devices, os, pci, err))
            return -1;
    }
    return 0;
}

static bool has_kind(const struct dt_topo *topo, enum dt_nic_kind kind)
{
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].kind == kind)
            return true;
    return false;
}

static bool is_at_switch(const struct dt_topo *topo, uint32_t gpu, uint32_t nic)
{
    return topo->nic_path[gpu][nic].path <= DT_PATH_SWITCHES;
}

static bool gpu_has_nic_at_switch(const struct dt_topo *topo, uint32_t gpu)
{
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].is_used && is_at_switch(topo, gpu, i))
            return true;
    return false;
}

static bool nic_is_at_a_switch(const struct dt_topo *topo, uint32_t nic)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (is_at_switch(topo, i, nic))
            return true;
    return false;
}

static bool all_gpus_have_nics(const struct dt_topo *topo)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (!gpu_has_nic_at_switch(topo, i))
            return false;
    return topo->gpu_count > 0;
}

void dt_topo_nic_choose(struct dt_topo *topo)
{
    bool has_other = has_kind(topo, DT_NIC_INFINIBAND) || has_kind(topo, DT_NIC_SLINGSHOT) ||
                     has_kind(topo, DT_NIC_EFA) || has_kind(topo, DT_NIC_OMNIPATH);
    bool switches_have_all;

    for (uint32_t i = 0; i < topo->nic_count; i++)
        topo->nics[i].is_used =
            topo->nics[i].kind != DT_NIC_ETHERNET && (topo->nics[i].kind != DT_NIC_ROCE || !has_other);
    switches_have_all = all_gpus_have_nics(topo);
    for (uint32_t i = 0; switches_have_all && i < topo->nic_count; i++)
        topo->nics[i].is_used &= nic_is_at_a_switch(topo, i);
}
