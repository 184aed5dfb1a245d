#include "tools/topo_json.h"

static void json_index(struct dt_out *out, const char *key, int index)
{
    if (index < 0)
        dt_out_printf(out, "\"%s\": null", key);
    else
        dt_out_printf(out, "\"%s\": %d", key, index);
}

static void json_text(struct dt_out *out, const char *key, const char *text)
{
    dt_out_printf(out, "\"%s\": ", key);
    dt_out_json(out, text);
}

static void json_cpus(struct dt_out *out, hwloc_const_bitmap_t cpus)
{
    dt_out_text(out, "\"cpus\": \"");
    dt_topo_print_cpus(out, cpus);
    dt_out_text(out, "\"");
}

static void json_nearest(struct dt_out *out, const struct dt_topo *topo, uint32_t gpu)
{
    uint32_t nics[DT_TOPO_NICS_MAX], count = dt_topo_nearest_nics(topo, gpu, nics);

    dt_out_text(out, "\"nics\": [");
    for (uint32_t i = 0; i < count; i++) {
        dt_out_text(out, i > 0 ? ", " : "");
        dt_out_json(out, topo->nics[nics[i]].name);
    }
    dt_out_text(out, "]");
}

static void json_links(struct dt_out *out, const struct dt_topo *topo, uint32_t gpu)
{
    const char *comma = "\n   ";

    dt_out_text(out, "\"links\": [");
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        struct dt_path_info path = topo->gpu_path[gpu][i];

        if (i == gpu)
            continue;
        dt_out_printf(out, "%s{\"peer\": %u, ", comma, i);
        json_text(out, "pci", topo->gpus[i].pci);
        dt_out_printf(out, ", \"kind\": \"%s\", \"count\": %u}", dt_path_words[path.path], path.count);
        comma = ",\n   ";
    }
    dt_out_text(out, "]");
}

static void json_gpu(struct dt_out *out, const struct dt_topo *topo, uint32_t i)
{
    const struct dt_topo_gpu *gpu = &topo->gpus[i];

    dt_out_printf(out, "%s {\"index\": %u, ", i > 0 ? ",\n" : "\n", i);
    json_text(out, "pci", gpu->pci);
    dt_out_printf(out, ", \"vendor\": \"%s\", ", dt_topo_vendor_words[gpu->vendor]);
    json_text(out, "name", gpu->name);
    dt_out_text(out, ", ");
    json_index(out, "part", gpu->part);
    dt_out_text(out, ", ");
    json_index(out, "package", gpu->package);
    dt_out_text(out, ", ");
    json_index(out, "numa", gpu->numa);
    dt_out_text(out, ", ");
    json_index(out, "socket", gpu->socket);
    dt_out_text(out, ",\n  ");
    json_cpus(out, gpu->cpus);
    dt_out_text(out, ", ");
    json_nearest(out, topo, i);
    dt_out_text(out, ",\n  ");
    json_links(out, topo, i);
    dt_out_text(out, "}");
}

static void json_nic(struct dt_out *out, const struct dt_topo *topo, uint32_t i)
{
    const struct dt_topo_nic *nic = &topo->nics[i];

    dt_out_text(out, i > 0 ? ",\n {" : "\n {");
    json_text(out, "name", nic->name);
    dt_out_text(out, ", ");
    json_text(out, "pci", nic->pci);
    dt_out_printf(out, ", \"kind\": \"%s\", \"is_used\": %s, ", dt_topo_nic_words[nic->kind],
                  nic->is_used ? "true" : "false");
    json_index(out, "numa", nic->numa);
    dt_out_text(out, ", ");
    json_index(out, "socket", nic->socket);
    dt_out_text(out, ", ");
    json_cpus(out, nic->cpus);
    dt_out_text(out, "}");
}

static void json_numa(struct dt_out *out, const struct dt_topo *topo, uint32_t i)
{
    const struct dt_topo_numa *numa = &topo->numas[i];

    dt_out_printf(out, "%s {\"numa\": %d, ", i > 0 ? ",\n" : "\n", numa->os_index);
    json_index(out, "socket", dt_topo_numa_socket(topo, i));
    dt_out_printf(out, ", \"is_gpu_memory\": %s, ", numa->is_gpu_memory ? "true" : "false");
    json_cpus(out, numa->cpus);
    dt_out_text(out, "}");
}

static void json_task(struct dt_out *out, const struct dt_topo_view *view, uint32_t i)
{
    const struct dt_bind_task *task = &view->binding->tasks[i];

    dt_out_printf(out, "%s {\"task\": %u, \"rank\": %u, \"tp_group\": %u, ", i > 0 ? ",\n" : "\n", i,
                  dt_topo_view_rank(view, i), dt_topo_view_group(view, i));
    json_index(out, "gpu", task->gpu);
    dt_out_text(out, ", ");
    if (task->gpu >= 0)
        json_text(out, "pci", view->topo->gpus[task->gpu].pci);
    else
        dt_out_text(out, "\"pci\": null");
    dt_out_text(out, ", ");
    if (task->keeps_cpus)
        dt_out_text(out, "\"cpus\": null");
    else
        json_cpus(out, task->cpus);
    dt_out_text(out, ", ");
    json_index(out, "numa", task->numa);
    dt_out_text(out, ", ");
    if (task->nic >= 0)
        json_text(out, "nic", view->topo->nics[task->nic].name);
    else
        dt_out_text(out, "\"nic\": null");
    dt_out_text(out, ",\n  ");
    json_text(out, "reason", task->reason);
    dt_out_text(out, "}");
}

void dt_topo_json_tasks(struct dt_out *out, const struct dt_topo_view *view)
{
    dt_out_text(out, "[");
    for (uint32_t i = 0; i < view->binding->task_count; i++)
        json_task(out, view, i);
    dt_out_text(out, "]");
}

static void json_list(struct dt_out *out, const char *key, const struct dt_topo *topo, uint32_t count,
                      void (*print)(struct dt_out *, const struct dt_topo *, uint32_t))
{
    dt_out_printf(out, "\"%s\": [", key);
    for (uint32_t i = 0; i < count; i++)
        print(out, topo, i);
    dt_out_text(out, "],\n");
}

void dt_topo_json_print(struct dt_out *out, const struct dt_topo_view *view)
{
    const struct dt_topo *topo = view->topo;

    dt_out_text(out, "{");
    json_text(out, "source", topo->source);
    dt_out_text(out, ",\n");
    json_list(out, "gpus", topo, topo->gpu_count, json_gpu);
    json_list(out, "nics", topo, topo->nic_count, json_nic);
    json_list(out, "numas", topo, topo->numa_count, json_numa);
    json_cpus(out, topo->cpus);
    dt_out_printf(out, ", \"cores\": %u", topo->core_count);
    if (view->binding != NULL) {
        dt_out_text(out, ",\n\"tasks\": ");
        dt_topo_json_tasks(out, view);
        dt_out_printf(out, ",\n\"quality\": %llu, \"is_exact\": %s",
                      (unsigned long long)view->binding->quality, view->binding->is_exact ? "true" : "false");
    }
    dt_out_text(out, "}\n");
}
