#include "draft.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"

/* "dddd:bb:dd.f" with 4 to 8 digits of a domain. */
static bool is_pci(const char *text)
{
    size_t domain = strspn(text, "0123456789abcdef");
    static const char form[] = ":xx:xx.";

    if (domain < 4 || domain > 8 || strlen(text) != domain + sizeof(form))
        return false;
    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        char c = text[domain + i];

        if (form[i] == 'x' ? !isxdigit((unsigned char)c) : c != form[i])
            return false;
    }
    return text[domain + sizeof(form) - 1] >= '0' && text[domain + sizeof(form) - 1] <= '7';
}

int dt_draft_pci(char pci[DT_TOPO_PCI_MAX], const char *text, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char lower[DT_TOPO_PCI_MAX] = "";

    for (size_t i = 0; text[i] != '\0' && i < sizeof(lower) - 1; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    if (strlen(text) >= sizeof(lower) || !is_pci(lower))
        return dt_error_set(err, "'%s' is not a PCI address: expected one such as 0000:c4:00.0",
                            dt_parse_shown(shown, text));
    memcpy(pci, lower, sizeof(lower));
    return 0;
}

struct dt_topo_gpu *dt_draft_add_gpu(struct dt_topo *topo, struct dtrain_error *err)
{
    uint32_t index = topo->gpu_count;

    if (index == DT_TOPO_GPUS_MAX) {
        dt_error_set(err, "more than %u GPUs: expected at most that many", DT_TOPO_GPUS_MAX);
        return NULL;
    }
    topo->gpu_count++;
    topo->gpus[index].part = topo->gpus[index].package = -1;
    topo->gpus[index].numa = topo->gpus[index].socket = -1;
    for (uint32_t i = 0; i < index; i++)
        dt_draft_link_gpus(topo, i, index, (struct dt_path_info){DT_PATH_UNKNOWN, 0});
    for (uint32_t i = 0; i < topo->nic_count; i++)
        topo->nic_path[index][i].path = DT_PATH_UNKNOWN;
    return &topo->gpus[index];
}

struct dt_topo_nic *dt_draft_add_nic(struct dt_topo *topo, struct dtrain_error *err)
{
    uint32_t index = topo->nic_count;

    if (index == DT_TOPO_NICS_MAX) {
        dt_error_set(err, "more than %u NICs: expected at most that many", DT_TOPO_NICS_MAX);
        return NULL;
    }
    topo->nic_count++;
    topo->nics[index].numa = topo->nics[index].socket = -1;
    topo->nics[index].is_used = true;
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        topo->nic_path[i][index].path = DT_PATH_UNKNOWN;
    return &topo->nics[index];
}

struct dt_topo_numa *dt_draft_numa(struct dt_topo *topo, uint32_t os_index, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (topo->numas[i].os_index == (int)os_index)
            return &topo->numas[i];
    if (topo->numa_count == DT_TOPO_NUMAS_MAX) {
        dt_error_set(err, "more than %u NUMA nodes: expected at most that many", DT_TOPO_NUMAS_MAX);
        return NULL;
    }
    topo->numas[topo->numa_count].os_index = (int)os_index;
    return &topo->numas[topo->numa_count++];
}

void dt_draft_link_gpus(struct dt_topo *topo, uint32_t a, uint32_t b, struct dt_path_info info)
{
    topo->gpu_path[a][b] = topo->gpu_path[b][a] = info;
}

enum dt_nic_kind dt_draft_nic_kind(const char *name)
{
    static const struct {
        const char *prefix;
        enum dt_nic_kind kind;
    } rows[] = {
        {"hsi", DT_NIC_SLINGSHOT}, {"hsn", DT_NIC_SLINGSHOT}, {"cxi", DT_NIC_SLINGSHOT},
        {"efa", DT_NIC_EFA},       {"rdmap", DT_NIC_EFA},     {"hfi", DT_NIC_OMNIPATH},
        {"bnxt_re", DT_NIC_ROCE},  {"irdma", DT_NIC_ROCE},    {"roce", DT_NIC_ROCE},
        {"ionic", DT_NIC_ROCE},    {"eth", DT_NIC_ETHERNET},  {"en", DT_NIC_ETHERNET},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strncmp(name, rows[i].prefix, strlen(rows[i].prefix)) == 0)
            return rows[i].kind;
    return DT_NIC_INFINIBAND;
}

/* The index of the GPU that shares a host bridge or a switch with the NIC, the nearest one; -1: none. */
static int find_gpu_at(const struct dt_topo *topo, uint32_t nic)
{
    int best = -1;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (topo->nic_path[i][nic].path <= DT_PATH_BRIDGE &&
            (best == -1 || topo->nic_path[i][nic].path < topo->nic_path[best][nic].path))
            best = (int)i;
    return best;
}

/* RDMA that is not Ethernet's: nothing else is then meant for the GPUs. */
static bool has_fabric(const struct dt_topo *topo)
{
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].kind != DT_NIC_ETHERNET && topo->nics[i].kind != DT_NIC_ROCE)
            return true;
    return false;
}

static bool has_nic_at(const struct dt_topo *topo, uint32_t gpu)
{
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nic_path[gpu][i].path <= DT_PATH_BRIDGE)
            return true;
    return false;
}

void dt_draft_judge_nics(struct dt_topo *topo)
{
    bool is_served = topo->gpu_count > 0;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        is_served = is_served && has_nic_at(topo, i);
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        struct dt_topo_nic *nic = &topo->nics[i];
        int gpu = find_gpu_at(topo, i);

        nic->is_used = (gpu != -1 || !is_served) && nic->kind != DT_NIC_ETHERNET &&
                       (nic->kind != DT_NIC_ROCE || !has_fabric(topo));
        if (gpu == -1 || nic->numa != -1)
            continue;
        nic->numa = topo->gpus[gpu].numa;
        nic->socket = topo->gpus[gpu].socket;
        hwloc_bitmap_copy(nic->cpus, topo->gpus[gpu].cpus);
    }
}
