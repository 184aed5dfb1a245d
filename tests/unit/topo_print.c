#include "topo_print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *at;
    size_t left;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *text, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(text->at, text->left, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= text->left)
        abort();
    text->at += n;
    text->left -= (size_t)n;
}

static void put_cpus(struct text *text, hwloc_const_bitmap_t cpus)
{
    char *list = NULL;

    if (hwloc_bitmap_list_asprintf(&list, cpus) < 0)
        abort();
    put(text, " cpus=%s", list[0] == '\0' ? "-" : list);
    free(list);
}

static void put_nearest(struct text *text, const struct dt_topo *topo, uint32_t gpu)
{
    enum dt_path best = DT_PATH_COUNT;
    const char *joint = " nics=";

    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].is_used && topo->nic_path[gpu][i].path < best)
            best = topo->nic_path[gpu][i].path;
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        if (!topo->nics[i].is_used || topo->nic_path[gpu][i].path != best)
            continue;
        put(text, "%s%s", joint, topo->nics[i].name);
        joint = ",";
    }
    if (best != DT_PATH_COUNT)
        put(text, ":%s", dt_path_words[best]);
}

void topo_print_gpu(char *line, size_t size, const struct dt_topo *topo, uint32_t gpu)
{
    static const char *const vendors[] = {"nvidia", "amd", "intel", "other"};
    const struct dt_topo_gpu *it = &topo->gpus[gpu];
    struct text text = {line, size};

    put(&text, "%s %s numa=%d", it->pci[0] != '\0' ? it->pci : it->name, vendors[it->vendor], it->numa);
    if (it->socket != -1)
        put(&text, " socket=%d", it->socket);
    if (it->package != -1)
        put(&text, " package=%d", it->package);
    if (it->part != -1)
        put(&text, " part=%d", it->part);
    put_cpus(&text, it->cpus);
    put_nearest(&text, topo, gpu);
}

void topo_print_paths(char *buf, size_t size, const struct dt_topo *topo)
{
    static const char *const words[DT_PATH_COUNT] = {
        [DT_PATH_SELF] = "X",       [DT_PATH_NVLINK] = "NV",    [DT_PATH_NVSWITCH] = "SW",
        [DT_PATH_XGMI] = "XG",      [DT_PATH_XELINK] = "XE",    [DT_PATH_SWITCH] = "PIX",
        [DT_PATH_SWITCHES] = "PXB", [DT_PATH_BRIDGE] = "PHB",   [DT_PATH_NUMA] = "NODE",
        [DT_PATH_SOCKET] = "SOC",   [DT_PATH_SYSTEM] = "SYS",   [DT_PATH_UNKNOWN] = "-",
    };
    struct text text = {buf, size};

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < topo->gpu_count; j++) {
            const struct dt_path_info *info = &topo->gpu_path[i][j];

            put(&text, "%s", words[info->path]);
            if (info->count > 0)
                put(&text, "%u", info->count);
            put(&text, j + 1 == topo->gpu_count ? "\n" : " ");
        }
}

void topo_print_nics(char *buf, size_t size, const struct dt_topo *topo, bool is_used)
{
    struct text text = {buf, size};

    put(&text, "%s", "");
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].is_used == is_used)
            put(&text, "%s%s", text.at == buf ? "" : " ", topo->nics[i].name);
}
