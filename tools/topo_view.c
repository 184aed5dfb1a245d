#include "tools/topo_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE "..."

const char *const dt_topo_vendor_words[DT_VENDOR_OTHER + 1] = {"nvidia", "amd", "intel", "other"};
const char *const dt_topo_vendor_titles[DT_VENDOR_OTHER + 1] = {"NVIDIA", "AMD", "Intel", "other"};
const char *const dt_topo_nic_words[DT_NIC_ETHERNET + 1] = {"InfiniBand", "RoCE",     "Slingshot",
                                                            "EFA",        "OmniPath", "Ethernet"};

const char *dt_topo_symbol(char buf[DT_TOPO_SYMBOL_MAX], struct dt_path_info path)
{
    static const struct {
        const char *text;
        bool has_count;
    } symbols[DT_PATH_COUNT] = {
        [DT_PATH_SELF] = {"-", false},      [DT_PATH_NVLINK] = {"NV", true},
        [DT_PATH_NVSWITCH] = {"NVS", true}, [DT_PATH_XGMI] = {"XG", true},
        [DT_PATH_XELINK] = {"XL", true},    [DT_PATH_SWITCH] = {"PIX", false},
        [DT_PATH_SWITCHES] = {"PXB", false}, [DT_PATH_BRIDGE] = {"PHB", false},
        [DT_PATH_NUMA] = {"NODE", false},   [DT_PATH_SOCKET] = {"SOCK", false},
        [DT_PATH_SYSTEM] = {"SYS", false},  [DT_PATH_UNKNOWN] = {"?", false},
    };
    bool has_count = symbols[path.path].has_count && path.count > 0;

    if (has_count)
        snprintf(buf, DT_TOPO_SYMBOL_MAX, "%s%u", symbols[path.path].text, path.count);
    else
        snprintf(buf, DT_TOPO_SYMBOL_MAX, "%s", symbols[path.path].text);
    return buf;
}

bool dt_topo_is_link(enum dt_path path)
{
    return path == DT_PATH_NVLINK || path == DT_PATH_NVSWITCH || path == DT_PATH_XGMI ||
           path == DT_PATH_XELINK;
}

uint32_t dt_topo_nearest_nics(const struct dt_topo *topo, uint32_t gpu, uint32_t nics[DT_TOPO_NICS_MAX])
{
    enum dt_path best = DT_PATH_UNKNOWN;
    uint32_t count = 0;

    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].is_used && topo->nic_path[gpu][i].path < best)
            best = topo->nic_path[gpu][i].path;
    for (uint32_t i = 0; best != DT_PATH_UNKNOWN && i < topo->nic_count; i++)
        if (topo->nics[i].is_used && topo->nic_path[gpu][i].path == best)
            nics[count++] = i;
    return count;
}

/* The end of a text that was cut says so. */
static void mark_cut(char *buf, size_t size)
{
    strcpy(buf + size - sizeof(MORE), MORE);
}

const char *dt_topo_nearest_names(char buf[DT_TOPO_LIST_MAX], const struct dt_topo *topo, uint32_t gpu)
{
    uint32_t nics[DT_TOPO_NICS_MAX], count = dt_topo_nearest_nics(topo, gpu, nics);
    size_t used = 0;

    buf[0] = '\0';
    for (uint32_t i = 0; i < count && used < DT_TOPO_LIST_MAX; i++)
        used += (size_t)snprintf(buf + used, DT_TOPO_LIST_MAX - used, "%s%s", i > 0 ? " " : "",
                                 topo->nics[nics[i]].name);
    if (used >= DT_TOPO_LIST_MAX)
        mark_cut(buf, DT_TOPO_LIST_MAX);
    return buf;
}

void dt_topo_print_cpus(struct dt_out *out, hwloc_const_bitmap_t cpus)
{
    int last = hwloc_bitmap_last(cpus);
    const char *comma = "";

    for (int first = hwloc_bitmap_first(cpus); first >= 0 && last >= 0;) {
        int end = hwloc_bitmap_next_unset(cpus, first) - 1;

        dt_out_printf(out, "%s%d", comma, first);
        if (end > first)
            dt_out_printf(out, "-%d", end);
        comma = ",";
        first = hwloc_bitmap_next(cpus, end);
    }
}

const char *dt_topo_cpus(char buf[DT_TOPO_LIST_MAX], hwloc_const_bitmap_t cpus)
{
    if (hwloc_bitmap_list_snprintf(buf, DT_TOPO_LIST_MAX, cpus) >= DT_TOPO_LIST_MAX)
        mark_cut(buf, DT_TOPO_LIST_MAX);
    return buf;
}

/* ---- Sockets ---- */

/* What the devices of a NUMA node say; -1: nothing. */
static int socket_by_devices(const struct dt_topo *topo, int os_index)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (topo->gpus[i].numa == os_index && topo->gpus[i].socket >= 0)
            return topo->gpus[i].socket;
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].numa == os_index && topo->nics[i].socket >= 0)
            return topo->nics[i].socket;
    return -1;
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* The sockets that devices name, ascending. */
static uint32_t list_sockets(const struct dt_topo *topo, int sockets[DT_TOPO_GPUS_MAX + DT_TOPO_NICS_MAX])
{
    uint32_t count = 0, kept = 0;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (topo->gpus[i].socket >= 0)
            sockets[count++] = topo->gpus[i].socket;
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].socket >= 0)
            sockets[count++] = topo->nics[i].socket;
    qsort(sockets, count, sizeof(*sockets), compare_ints);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || sockets[kept - 1] != sockets[i])
            sockets[kept++] = sockets[i];
    return kept;
}

/* Place among the NUMA nodes with CPUs, by os index. */
static uint32_t numa_place(const struct dt_topo *topo, uint32_t numa)
{
    uint32_t place = 0;

    for (uint32_t i = 0; i < topo->numa_count; i++)
        place += !topo->numas[i].is_gpu_memory && topo->numas[i].os_index < topo->numas[numa].os_index;
    return place;
}

static uint32_t numa_with_cpus_count(const struct dt_topo *topo)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < topo->numa_count; i++)
        count += !topo->numas[i].is_gpu_memory;
    return count;
}

int dt_topo_numa_socket(const struct dt_topo *topo, uint32_t numa)
{
    int sockets[DT_TOPO_GPUS_MAX + DT_TOPO_NICS_MAX];
    uint32_t socket_count = list_sockets(topo, sockets), numa_count = numa_with_cpus_count(topo);
    int known = socket_by_devices(topo, topo->numas[numa].os_index);

    if (known >= 0 || topo->numas[numa].is_gpu_memory)
        return known;
    if (socket_count == 0 || numa_count % socket_count != 0)
        return -1;
    for (uint32_t i = 0; i < topo->numa_count; i++) {
        int other = socket_by_devices(topo, topo->numas[i].os_index);

        if (other >= 0 && !topo->numas[i].is_gpu_memory &&
            other != sockets[numa_place(topo, i) * socket_count / numa_count])
            return -1;
    }
    return sockets[numa_place(topo, numa) * socket_count / numa_count];
}

/* ---- Words ---- */

const char *dt_topo_title(const struct dt_topo *topo)
{
    const char *slash = strrchr(topo->source, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : topo->source;
}

const char *dt_topo_summary(char buf[DT_TOPO_SUMMARY_MAX], const struct dt_topo *topo)
{
    uint32_t numas = numa_with_cpus_count(topo);
    int cpus = hwloc_bitmap_weight(topo->cpus);
    int n = snprintf(buf, DT_TOPO_SUMMARY_MAX, "%u GPU%s, %u NIC%s, %u NUMA node%s", topo->gpu_count,
                     topo->gpu_count == 1 ? "" : "s", topo->nic_count, topo->nic_count == 1 ? "" : "s", numas,
                     numas == 1 ? "" : "s");

    if (cpus > 0)
        n += snprintf(buf + n, DT_TOPO_SUMMARY_MAX - (size_t)n, ", %d CPU%s", cpus, cpus == 1 ? "" : "s");
    if (cpus > 0 && topo->core_count > 0)
        snprintf(buf + n, DT_TOPO_SUMMARY_MAX - (size_t)n, " in %u core%s", topo->core_count,
                 topo->core_count == 1 ? "" : "s");
    return buf;
}

uint32_t dt_topo_view_rank(const struct dt_topo_view *view, uint32_t task)
{
    return dt_plan_node_first(view->plan, view->node) + task;
}

uint32_t dt_topo_view_group(const struct dt_topo_view *view, uint32_t task)
{
    return dt_group_index(dt_plan_layout(view->plan), DT_DENSE, 1u << DT_TP, dt_topo_view_rank(view, task));
}
