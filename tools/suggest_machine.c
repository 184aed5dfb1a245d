#include "tools/suggest_machine.h"

#include <stdio.h>
#include <string.h>

#include "topo/bind.h"

#define NAMES_MAX 160
/* Of one message, assumed. */
#define LINK_LATENCY_S 3e-6 /* NVLink, xGMI */
#define PCIE_LATENCY_S 6e-6
#define NIC_LATENCY_S 8e-6
#define HOST_SHARE 0.5 /* of PCIe's rate that is left where memory or sockets are crossed */

static bool is_link(enum dt_path path)
{
    return path == DT_PATH_NVLINK || path == DT_PATH_NVSWITCH || path == DT_PATH_XGMI ||
           path == DT_PATH_XELINK;
}

/* Links between one of the GPUs and the others; a switch's are the GPU's own, once. */
static uint32_t links_of(const struct dt_topo *topo, const uint32_t *gpus, uint32_t count, uint32_t i)
{
    uint32_t sum = 0;

    for (uint32_t j = 0; j < count; j++) {
        struct dt_path_info info = topo->gpu_path[gpus[i]][gpus[j]];

        if (j == i || !is_link(info.path))
            continue;
        if (info.path == DT_PATH_NVSWITCH)
            return info.count > 0 ? info.count : 1;
        sum += info.count > 0 ? info.count : 1;
    }
    return sum;
}

/* Whether links alone lead from the first to all others. */
static bool is_joined(const struct dt_topo *topo, const uint32_t *gpus, uint32_t count)
{
    bool reached[DT_TOPO_GPUS_MAX] = {true};
    uint32_t found = 1;

    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t j = 0; reached[i] && j < count; j++) {
                if (reached[j] || !is_link(topo->gpu_path[gpus[i]][gpus[j]].path))
                    continue;
                reached[j] = is_new = true;
                found++;
            }
        }
    }
    return found == count;
}

static struct dt_suggest_link slowest_pair(const struct dt_topo *topo, const uint32_t *gpus, uint32_t count,
                                           const struct dt_suggest_gpu *kind)
{
    struct dt_suggest_link link = {kind->pcie_bytes_s, PCIE_LATENCY_S, DT_PATH_SELF};

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (topo->gpu_path[gpus[i]][gpus[j]].path > link.path)
                link.path = topo->gpu_path[gpus[i]][gpus[j]].path;
    if (link.path > DT_PATH_SWITCHES)
        link.bytes_s *= HOST_SHARE;
    return link;
}

struct dt_suggest_link dt_suggest_machine_link(const struct dt_topo *topo, const uint32_t *gpus,
                                               uint32_t count, const struct dt_suggest_gpu *kind)
{
    struct dt_suggest_link link = {0, LINK_LATENCY_S, DT_PATH_SELF};
    uint32_t links = UINT32_MAX;

    if (count < 2)
        return (struct dt_suggest_link){kind->memory_bytes_s, 0, DT_PATH_SELF};
    if (!is_joined(topo, gpus, count))
        return slowest_pair(topo, gpus, count, kind);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own = links_of(topo, gpus, count, i);

        links = own < links ? own : links;
        for (uint32_t j = 0; j < count; j++)
            if (is_link(topo->gpu_path[gpus[i]][gpus[j]].path))
                link.path = topo->gpu_path[gpus[i]][gpus[j]].path;
    }
    link.bytes_s = links * kind->link_bytes_s;
    return link;
}

/* Groups of tp tasks where the binder puts them; the slowest of them counts. */
static int find_tp_link(struct dt_suggest_machine *machine, const struct dt_topo *topo, uint32_t tp,
                        const struct dt_suggest_gpu *kind, struct dtrain_error *err)
{
    struct dt_suggest_link *link = &machine->tp[tp];
    struct dt_binding *binding = NULL;
    uint32_t groups[DT_TOPO_GPUS_MAX], gpus[DT_TOPO_GPUS_MAX];
    struct dt_bind_request request = {.task_count = topo->gpu_count, .group = groups, .what = DT_BIND_GPU};

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        groups[i] = i / tp;
    if (dt_bind(&binding, topo, &request, err) != 0)
        return -1;
    for (uint32_t first = 0; first < topo->gpu_count; first += tp) {
        struct dt_suggest_link own;

        for (uint32_t i = 0; i < tp; i++)
            gpus[i] = (uint32_t)binding->tasks[first + i].gpu;
        own = dt_suggest_machine_link(topo, gpus, tp, kind);
        if (first == 0 || own.bytes_s < link->bytes_s)
            *link = own;
    }
    dt_binding_destroy(binding);
    return 0;
}

static int find_links(struct dt_suggest_machine *machine, const struct dt_topo *topo,
                      const struct dt_suggest_gpu *kind, struct dtrain_error *err)
{
    uint32_t all[DT_TOPO_GPUS_MAX];

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        all[i] = i;
    machine->node = dt_suggest_machine_link(topo, all, topo->gpu_count, kind);
    for (uint32_t tp = 1; tp <= topo->gpu_count; tp++)
        if (topo->gpu_count % tp == 0 && find_tp_link(machine, topo, tp, kind, err) != 0)
            return -1;
    return 0;
}

static int find_kind(const struct dt_suggest_gpu **kind, const struct dt_suggest_machine_request *request,
                     const struct dt_suggest_known *known, const char *source, struct dtrain_error *err)
{
    const char *name = request->gpu != NULL ? request->gpu : known != NULL ? known->gpu : NULL;
    char names[NAMES_MAX];

    dt_suggest_gpu_names(names, sizeof(names));
    if (name == NULL)
        return dt_error_set(err, "%s does not say what its GPUs can do: name their kind with --gpu: %s",
                            source, names);
    *kind = dt_suggest_gpu_find(name);
    if (*kind == NULL)
        return dt_error_set(err,
                            "--gpu=%.64s is not known: expected one of %s; --memory and --tflops change it",
                            name, names);
    return 0;
}

static void find_nics(struct dt_suggest_machine *machine, const struct dt_topo *topo,
                      const struct dt_suggest_machine_request *request, const struct dt_suggest_known *known)
{
    double each = request->nic_bytes_s != 0 ? request->nic_bytes_s
                  : known != NULL           ? known->nic_bytes_s
                                            : DT_SUGGEST_NIC_ASSUMED;

    for (uint32_t i = 0; i < topo->nic_count; i++)
        machine->nics += topo->nics[i].is_used;
    machine->is_nic_assumed = request->nic_bytes_s == 0 && known == NULL && machine->nodes > 1;
    machine->nic = (struct dt_suggest_link){machine->nics * each, NIC_LATENCY_S, DT_PATH_UNKNOWN};
}

int dt_suggest_machine_init(struct dt_suggest_machine *machine, const struct dt_topo *topo,
                            const struct dt_suggest_machine_request *request, struct dtrain_error *err)
{
    const struct dt_suggest_known *known =
        request->machine != NULL ? dt_suggest_known_find(request->machine) : NULL;
    const struct dt_suggest_gpu *kind = NULL;

    memset(machine, 0, sizeof(*machine));
    snprintf(machine->source, sizeof(machine->source), "%s", topo->source);
    machine->gpus = topo->gpu_count;
    machine->nodes = request->nodes != 0 ? request->nodes : 1;
    if (machine->gpus == 0)
        return dt_error_set(err, "%s has no GPUs: name a machine with --machine, or a --topology with GPUs",
                            topo->source);
    if (find_kind(&kind, request, known, topo->source, err) != 0)
        return -1;
    machine->memory = request->memory != 0 ? request->memory : kind->memory;
    machine->memory_bytes_s = kind->memory_bytes_s;
    machine->flops = request->flops != 0 ? request->flops : kind->flops[request->precision];
    if (machine->flops == 0)
        return dt_error_set(err, "%s has no %s: use --precision=fp16, or say its rate with --tflops",
                            kind->name, dt_suggest_precision_words[request->precision]);
    find_nics(machine, topo, request, known);
    if (machine->nodes > 1 && machine->nics == 0)
        return dt_error_set(err,
                            "%s has no NIC in use, and --nodes=%u need one: use --nodes=1, or a --topology "
                            "with its NICs",
                            topo->source, machine->nodes);
    return find_links(machine, topo, kind, err);
}
