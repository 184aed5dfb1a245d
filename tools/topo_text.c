#include "tools/topo_text.h"

#include <stdio.h>
#include <string.h>

#include "tools/console.h"
#include "tools/table.h"

#define MATRIX_GPUS_MAX 16u /* what fits 100 columns */
#define WHY_WIDTH 10        /* columns of "  0-7" before a reason */
#define RANGE_MAX 24        /* bytes of "65534-65535" with the NUL */

static int print_gpus(struct dt_out *out, const struct dt_topo *topo, struct dtrain_error *err)
{
    static const char *const titles[] = {"GPU",  "PCI",    "part", "vendor", "name",
                                         "NUMA", "socket", "CPUs", "NICs",   NULL};
    char cpus[DT_TOPO_LIST_MAX], nics[DT_TOPO_LIST_MAX];
    struct dt_table table;

    dt_table_init(&table, titles);
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        const struct dt_topo_gpu *gpu = &topo->gpus[i];

        dt_table_add(&table, "%u", i);
        dt_table_add(&table, "%s", gpu->pci);
        dt_table_add_index(&table, gpu->part);
        dt_table_add(&table, "%s", dt_topo_vendor_titles[gpu->vendor]);
        dt_table_add(&table, "%s", gpu->name);
        dt_table_add_index(&table, gpu->numa);
        dt_table_add_index(&table, gpu->socket);
        dt_table_add(&table, "%s", dt_topo_cpus(cpus, gpu->cpus));
        dt_table_add(&table, "%s", dt_topo_nearest_names(nics, topo, i));
    }
    return dt_table_print(&table, out, err);
}

static int print_nics(struct dt_out *out, const struct dt_topo *topo, struct dtrain_error *err)
{
    static const char *const titles[] = {"NIC", "PCI", "kind", "NUMA", "socket", "use", NULL};
    struct dt_table table;

    if (topo->nic_count == 0)
        return 0;
    dt_out_text(out, "\n");
    dt_table_init(&table, titles);
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        const struct dt_topo_nic *nic = &topo->nics[i];

        dt_table_add(&table, "%s", nic->name);
        dt_table_add(&table, "%s", nic->pci);
        dt_table_add(&table, "%s", dt_topo_nic_words[nic->kind]);
        dt_table_add_index(&table, nic->numa);
        dt_table_add_index(&table, nic->socket);
        dt_table_add(&table, "%s", nic->is_used ? "yes" : "no: storage, management or plain Ethernet");
    }
    return dt_table_print(&table, out, err);
}

/* "0 1 5" of those that are at the NUMA node. */
static void add_devices_of(struct dt_table *table, const struct dt_topo *topo, int os_index)
{
    char text[DT_TABLE_CELL_MAX] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (topo->gpus[i].numa == os_index && used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", used > 0 ? " " : "", i);
    dt_table_add(table, "%s", text);
    text[0] = '\0';
    used = 0;
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].numa == os_index && used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? " " : "",
                                     topo->nics[i].name);
    dt_table_add(table, "%s", text);
}

static int print_numas(struct dt_out *out, const struct dt_topo *topo, struct dtrain_error *err)
{
    static const char *const titles[] = {"NUMA", "socket", "CPUs", "GPUs", "NICs", NULL};
    char cpus[DT_TOPO_LIST_MAX];
    struct dt_table table;
    uint32_t memories = 0;

    if (topo->numa_count == 0)
        return 0;
    dt_out_text(out, "\n");
    dt_table_init(&table, titles);
    for (uint32_t i = 0; i < topo->numa_count; i++) {
        const struct dt_topo_numa *numa = &topo->numas[i];

        memories += numa->is_gpu_memory;
        if (numa->is_gpu_memory)
            continue;
        dt_table_add(&table, "%d", numa->os_index);
        dt_table_add_index(&table, dt_topo_numa_socket(topo, i));
        dt_table_add(&table, "%s", dt_topo_cpus(cpus, numa->cpus));
        add_devices_of(&table, topo, numa->os_index);
    }
    if (dt_table_print(&table, out, err) != 0)
        return -1;
    if (memories > 0)
        dt_out_printf(out, "  and %u NUMA node%s without CPUs: memory of GPUs\n", memories,
                      memories == 1 ? "" : "s");
    return 0;
}

/* ---- Links ---- */

static void print_legend(struct dt_out *out, const struct dt_topo *topo)
{
    static const char *const help[DT_PATH_COUNT] = {
        [DT_PATH_NVLINK] = "NV# links of NVLink",
        [DT_PATH_NVSWITCH] = "NVS# links of each to NVSwitch",
        [DT_PATH_XGMI] = "XG# links of xGMI",
        [DT_PATH_XELINK] = "XL# Xe links",
        [DT_PATH_SWITCH] = "PIX one PCIe switch",
        [DT_PATH_SWITCHES] = "PXB several",
        [DT_PATH_BRIDGE] = "PHB host bridge",
        [DT_PATH_NUMA] = "NODE one NUMA node",
        [DT_PATH_SOCKET] = "SOCK one socket",
        [DT_PATH_SYSTEM] = "SYS across sockets",
        [DT_PATH_UNKNOWN] = "? not known",
    };
    bool has[DT_PATH_COUNT] = {false};
    char text[512];
    size_t used = 0;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < topo->gpu_count; j++)
            has[topo->gpu_path[i][j].path] = true;
    for (unsigned path = 0; path < DT_PATH_COUNT; path++)
        if (has[path] && help[path] != NULL)
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? ", " : "", help[path]);
    dt_console_entry(out, 2, "", text);
}

static int print_matrix(struct dt_out *out, const struct dt_topo *topo, struct dtrain_error *err)
{
    char symbol[DT_TOPO_SYMBOL_MAX];
    struct dt_table table;

    dt_table_init_bare(&table, topo->gpu_count + 1);
    table.gap = topo->gpu_count > 12 ? 1 : 2;
    dt_table_add(&table, "GPU");
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        dt_table_add(&table, "%u", i);
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        dt_table_add(&table, "%u", i);
        for (uint32_t j = 0; j < topo->gpu_count; j++)
            dt_table_add(&table, "%s", dt_topo_symbol(symbol, topo->gpu_path[i][j]));
    }
    return dt_table_print(&table, out, err);
}

static bool is_same_path(struct dt_path_info a, struct dt_path_info b)
{
    return a.path == b.path && a.count == b.count;
}

/* The first GPU, from `from` on, whose path from GPU i is new in its row; gpu_count: none. */
static uint32_t next_kind(const struct dt_topo *topo, uint32_t i, uint32_t from)
{
    for (uint32_t j = from; j < topo->gpu_count; j++) {
        bool is_new = j != i;

        for (uint32_t k = 0; k < j && is_new; k++)
            is_new = k == i || !is_same_path(topo->gpu_path[i][k], topo->gpu_path[i][j]);
        if (is_new)
            return j;
    }
    return topo->gpu_count;
}

/* "PIX 1-3,5  SYS 8-15": for more GPUs than a matrix has columns. */
static int print_rows(struct dt_out *out, const struct dt_topo *topo, struct dtrain_error *err)
{
    char symbol[DT_TOPO_SYMBOL_MAX], title[RANGE_MAX], list[DT_TOPO_LIST_MAX], text[1024];
    hwloc_bitmap_t peers = hwloc_bitmap_alloc();

    if (peers == NULL)
        return dt_error_memory(err, sizeof(peers), "a list of GPUs");
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        size_t used = 0;

        text[0] = '\0';
        for (uint32_t j = next_kind(topo, i, 0); j < topo->gpu_count; j = next_kind(topo, i, j + 1)) {
            hwloc_bitmap_zero(peers);
            for (uint32_t k = j; k < topo->gpu_count; k++)
                if (k != i && is_same_path(topo->gpu_path[i][k], topo->gpu_path[i][j]))
                    hwloc_bitmap_set(peers, k);
            if (used < sizeof(text))
                used +=
                    (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", used > 0 ? "; " : "",
                                     dt_topo_symbol(symbol, topo->gpu_path[i][j]), dt_topo_cpus(list, peers));
        }
        snprintf(title, sizeof(title), "GPU %u", i);
        dt_console_entry(out, WHY_WIDTH, title, text);
    }
    hwloc_bitmap_free(peers);
    return 0;
}

static int print_links(struct dt_out *out, const struct dt_topo *topo, struct dtrain_error *err)
{
    int rc;

    if (topo->gpu_count < 2)
        return 0;
    dt_out_text(out, "\n");
    rc = topo->gpu_count <= MATRIX_GPUS_MAX ? print_matrix(out, topo, err) : print_rows(out, topo, err);
    print_legend(out, topo);
    return rc;
}

/* ---- Tasks ---- */

static void add_task(struct dt_table *table, const struct dt_topo_view *view, uint32_t i)
{
    const struct dt_bind_task *task = &view->binding->tasks[i];
    char cpus[DT_TOPO_LIST_MAX];

    dt_table_add(table, "%u", i);
    dt_table_add(table, "%u", dt_topo_view_rank(view, i));
    dt_table_add(table, "%u", dt_topo_view_group(view, i));
    dt_table_add_index(table, task->gpu);
    dt_table_add(table, "%s", task->gpu >= 0 ? view->topo->gpus[task->gpu].pci : "");
    dt_table_add(table, "%s", task->keeps_cpus ? "as Slurm says" : dt_topo_cpus(cpus, task->cpus));
    dt_table_add_index(table, task->numa);
    dt_table_add(table, "%s", task->nic >= 0 ? view->topo->nics[task->nic].name : "");
}

/* Neighbours with the same reason share a line. */
static void print_reasons(struct dt_out *out, const struct dt_binding *binding)
{
    for (uint32_t first = 0, next; first < binding->task_count; first = next) {
        char range[RANGE_MAX];

        for (next = first + 1; next < binding->task_count; next++)
            if (strcmp(binding->tasks[next].reason, binding->tasks[first].reason) != 0)
                break;
        if (next - first > 1)
            snprintf(range, sizeof(range), "%u-%u", first, next - 1);
        else
            snprintf(range, sizeof(range), "%u", first);
        dt_console_entry(out, WHY_WIDTH, range, binding->tasks[first].reason);
    }
}

int dt_topo_text_tasks(struct dt_out *out, const struct dt_topo_view *view, struct dtrain_error *err)
{
    static const char *const titles[] = {"task", "rank",   "tp group", "GPU", "PCI",
                                         "CPUs", "memory", "NIC",      NULL};
    struct dt_table table;

    dt_table_init(&table, titles);
    for (uint32_t i = 0; i < view->binding->task_count; i++)
        add_task(&table, view, i);
    if (dt_table_print(&table, out, err) != 0)
        return -1;
    dt_out_text(out, "\n  why\n");
    print_reasons(out, view->binding);
    return 0;
}

int dt_topo_text_print(struct dt_out *out, const struct dt_topo_view *view, struct dtrain_error *err)
{
    const char *title = dt_topo_title(view->topo);
    char summary[DT_TOPO_SUMMARY_MAX];

    dt_topo_summary(summary, view->topo);
    dt_out_printf(out, "%s:%s%s\n", title,
                  strlen(title) + strlen(summary) + 2 > DT_TABLE_COLUMNS ? "\n  " : " ", summary);
    if (view->topo->gpu_count > 0)
        dt_out_text(out, "\n");
    if (view->topo->gpu_count > 0 && print_gpus(out, view->topo, err) != 0)
        return -1;
    if (print_links(out, view->topo, err) != 0 || print_nics(out, view->topo, err) != 0 ||
        print_numas(out, view->topo, err) != 0)
        return -1;
    if (view->binding == NULL)
        return 0;
    dt_out_text(out, "\n");
    return dt_topo_text_tasks(out, view, err);
}
