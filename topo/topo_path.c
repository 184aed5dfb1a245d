#include "topo_path.h"

#include "topo_board.h"
#include "topo_link.h"

void dt_topo_path_set(struct dt_topo *topo, uint32_t a, uint32_t b, enum dt_path path, unsigned count)
{
    struct dt_path_info info = {path, (uint16_t)count};

    topo->gpu_path[a][b] = topo->gpu_path[b][a] = info;
}

static bool is_bridge(hwloc_obj_t obj)
{
    return obj->type == HWLOC_OBJ_BRIDGE;
}

static bool is_host_bridge(hwloc_obj_t obj)
{
    return is_bridge(obj) && obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

static bool is_above(hwloc_obj_t above, hwloc_obj_t obj)
{
    while (obj != NULL && obj != above)
        obj = obj->parent;
    return obj == above;
}

static hwloc_obj_t find_common(hwloc_obj_t a, hwloc_obj_t b)
{
    while (a != NULL && !is_above(a, b))
        a = a->parent;
    return a;
}

static unsigned count_bridges_below(hwloc_obj_t above, hwloc_obj_t obj)
{
    unsigned count = 0;

    for (obj = obj->parent; obj != NULL && obj != above; obj = obj->parent)
        count++;
    return count;
}

/* Below one bridge: of one switch each device has at most its downstream port. */
static enum dt_path classify_switches(hwloc_obj_t common, hwloc_obj_t a, hwloc_obj_t b)
{
    if (!is_bridge(common))
        return DT_PATH_SWITCH;
    return count_bridges_below(common, a) <= 1 && count_bridges_below(common, b) <= 1 ? DT_PATH_SWITCH
                                                                                      : DT_PATH_SWITCHES;
}

struct place {
    hwloc_obj_t pci;
    int numa, socket;
};

static enum dt_path classify(const struct place *a, const struct place *b)
{
    hwloc_obj_t common = find_common(a->pci, b->pci);

    if (common == NULL)
        return DT_PATH_UNKNOWN;
    if (is_host_bridge(common))
        return DT_PATH_BRIDGE;
    if (is_bridge(common) || common->type == HWLOC_OBJ_PCI_DEVICE)
        return classify_switches(common, a->pci, b->pci);
    if (a->numa >= 0 && a->numa == b->numa)
        return DT_PATH_NUMA;
    if (a->socket >= 0 && b->socket >= 0)
        return a->socket == b->socket ? DT_PATH_SOCKET : DT_PATH_SYSTEM;
    return a->numa >= 0 && b->numa >= 0 ? DT_PATH_SYSTEM : DT_PATH_UNKNOWN;
}

static struct place gpu_place(const struct dt_topo *topo, const struct dt_topo_devices *devices, uint32_t i)
{
    return (struct place){devices->gpus[i], topo->gpus[i].numa, topo->gpus[i].socket};
}

static struct place nic_place(const struct dt_topo *topo, const struct dt_topo_devices *devices, uint32_t i)
{
    return (struct place){devices->nics[i], topo->nics[i].numa, topo->nics[i].socket};
}

static void find_tree_paths(struct dt_topo *topo, const struct dt_topo_devices *devices)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        struct place gpu = gpu_place(topo, devices, i);

        dt_topo_path_set(topo, i, i, DT_PATH_SELF, 0);
        for (uint32_t j = 0; j < i; j++) {
            struct place other = gpu_place(topo, devices, j);

            dt_topo_path_set(topo, i, j, classify(&gpu, &other), 0);
        }
        for (uint32_t j = 0; j < topo->nic_count; j++) {
            struct place nic = nic_place(topo, devices, j);

            topo->nic_path[i][j] = (struct dt_path_info){classify(&gpu, &nic), 0};
        }
    }
}

void dt_topo_path_find(struct dt_topo *topo, const struct dt_topo_devices *devices)
{
    find_tree_paths(topo, devices);
    dt_topo_board_link_packages(topo, devices);
    if (!dt_topo_link_nvlink(topo, devices) && dt_topo_board_link(topo, devices))
        return;
    dt_topo_link_others(topo, devices);
}
