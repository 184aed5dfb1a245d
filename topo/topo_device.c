#include "topo_device.h"

#include <stdio.h>
#include <string.h>

void dt_topo_device_pci(char pci[DT_TOPO_PCI_MAX], hwloc_obj_t device)
{
    const struct hwloc_pcidev_attr_s *attr = &device->attr->pcidev;

    snprintf(pci, DT_TOPO_PCI_MAX, "%04x:%02x:%02x.%01x", (unsigned)attr->domain, attr->bus, attr->dev,
             attr->func);
}

hwloc_obj_t dt_topo_device_above(hwloc_obj_t device)
{
    while (device != NULL && device->type != HWLOC_OBJ_PCI_DEVICE)
        device = device->parent;
    return device;
}

static hwloc_obj_t package_above(hwloc_obj_t obj)
{
    while (obj != NULL && obj->type != HWLOC_OBJ_PACKAGE)
        obj = obj->parent;
    return obj;
}

/* A NUMA node whose CPUs a cgroup hides: nothing beside it has CPUs, but it is a socket's or has devices. */
static bool has_hidden_cpus(hwloc_obj_t numa)
{
    hwloc_obj_t parent = numa->parent;

    return parent != NULL && parent->cpuset != NULL && hwloc_bitmap_iszero(parent->cpuset) &&
           (package_above(parent) != NULL || parent->io_first_child != NULL);
}

bool dt_topo_device_owns_memory(hwloc_obj_t numa)
{
    if (numa->subtype != NULL && strcmp(numa->subtype, "GPUMemory") == 0)
        return true;
    if (hwloc_obj_get_info_by_name(numa, "PCIBusID") != NULL)
        return true;
    return hwloc_bitmap_iszero(numa->cpuset) && !has_hidden_cpus(numa);
}

/* Main memory before what is faster or farther: MCDRAM, HBM, NVM, CXL. */
static bool is_main_memory(hwloc_obj_t numa)
{
    return numa->subtype == NULL || strcmp(numa->subtype, "DRAM") == 0;
}

/* The one NUMA node of a place; NULL when there are several, with CPUs that differ. */
static hwloc_obj_t find_numa(hwloc_topology_t hwloc, hwloc_obj_t place)
{
    hwloc_obj_t found = NULL;

    for (hwloc_obj_t numa = NULL; (numa = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, numa));) {
        if (!hwloc_bitmap_isset(place->nodeset, numa->os_index) || dt_topo_device_owns_memory(numa))
            continue;
        if (found == NULL)
            found = numa;
        else if (!hwloc_bitmap_isequal(found->cpuset, numa->cpuset))
            return NULL;
        else if (!is_main_memory(found) && is_main_memory(numa))
            found = numa;
    }
    return found;
}

static bool is_below(hwloc_obj_t obj, hwloc_obj_t above)
{
    while (obj != NULL && obj != above)
        obj = obj->parent;
    return obj != NULL;
}

/* The socket that holds a place, or the only one that a place holds. */
static hwloc_obj_t find_socket(hwloc_topology_t hwloc, hwloc_obj_t place)
{
    hwloc_obj_t found = package_above(place);

    if (found != NULL)
        return found;
    for (hwloc_obj_t package = NULL;
         (package = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, package));) {
        if (!is_below(package, place))
            continue;
        if (found != NULL)
            return NULL;
        found = package;
    }
    return found;
}

void dt_topo_device_place(int *numa, int *socket, hwloc_bitmap_t cpus, hwloc_topology_t hwloc,
                          hwloc_obj_t device)
{
    hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(hwloc, device);
    hwloc_obj_t node, package;

    *numa = *socket = -1;
    hwloc_bitmap_zero(cpus);
    if (place == NULL)
        return;
    node = find_numa(hwloc, place);
    package = find_socket(hwloc, place);
    *numa = node != NULL ? (int)node->os_index : -1;
    *socket = package != NULL ? (int)package->os_index : -1;
    if (place->cpuset != NULL && (place != hwloc_get_root_obj(hwloc) || node != NULL))
        hwloc_bitmap_copy(cpus, place->cpuset);
}
