#include "bound.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_TEXT_MAX 256

struct dt_bound *dt_bound_create(uint32_t task_count, unsigned items, struct dtrain_error *err)
{
    struct dt_bound *bound = calloc(1, sizeof(*bound));

    if (bound != NULL) {
        bound->task_count = task_count;
        bound->items = items;
        bound->groups = calloc(task_count, sizeof(*bound->groups));
        bound->cpus = hwloc_bitmap_alloc();
    }
    if (bound != NULL && bound->groups != NULL && bound->cpus != NULL)
        return bound;
    dt_bound_destroy(bound);
    dt_error_memory(err, sizeof(*bound) + task_count * sizeof(*bound->groups), "the node's binding");
    return NULL;
}

void dt_bound_destroy(struct dt_bound *bound)
{
    if (bound == NULL)
        return;
    dt_binding_destroy(bound->binding);
    hwloc_bitmap_free(bound->cpus);
    free(bound->groups);
    free(bound);
}

int dt_bound_entry(const struct dt_bound *bound, uint32_t local)
{
    int gpu = bound->binding->tasks[local].gpu;

    for (uint32_t i = 0; gpu >= 0 && bound->list != NULL && i < bound->list->visible.count; i++)
        if (bound->gpus[i] == (uint32_t)gpu)
            return (int)i;
    return -1;
}

/* ---- Words ---- */

static void DT_PRINTF(3, 4) add(char *text, size_t size, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
}

static void add_gpu(char text[DT_BOUND_LINE_MAX], const struct dt_topo *topo, int gpu)
{
    if (gpu < 0)
        add(text, DT_BOUND_LINE_MAX, "no GPU");
    else if (topo->gpus[gpu].pci[0] == '\0')
        add(text, DT_BOUND_LINE_MAX, "GPU %d", gpu);
    else
        add(text, DT_BOUND_LINE_MAX, "GPU %s", topo->gpus[gpu].pci);
    if (gpu >= 0 && topo->gpus[gpu].part >= 0)
        add(text, DT_BOUND_LINE_MAX, " part %d", topo->gpus[gpu].part);
}

static void add_cpus(char text[DT_BOUND_LINE_MAX], const struct dt_bind_task *task, unsigned items)
{
    char list[CPUS_TEXT_MAX];

    if (!(items & DT_BIND_CPU) || task->keeps_cpus) {
        add(text, DT_BOUND_LINE_MAX, ", CPUs left to Slurm");
        return;
    }
    if (hwloc_bitmap_list_snprintf(list, sizeof(list), task->cpus) >= (int)sizeof(list))
        strcpy(list + sizeof(list) - 4, "...");
    add(text, DT_BOUND_LINE_MAX, ", CPUs %s", list);
}

void dt_bound_describe(char text[DT_BOUND_LINE_MAX], const struct dt_bound *bound, const struct dt_topo *topo,
                       uint32_t local)
{
    const struct dt_bind_task *task = &bound->binding->tasks[local];

    text[0] = '\0';
    if (bound->items & DT_BIND_GPU)
        add_gpu(text, topo, task->gpu);
    else
        add(text, DT_BOUND_LINE_MAX, "GPUs left to Slurm");
    add_cpus(text, task, bound->items);
    if (bound->items & DT_BIND_NIC && task->nic >= 0)
        add(text, DT_BOUND_LINE_MAX, ", NIC %s", topo->nics[task->nic].name);
    if (bound->items & DT_BIND_MEM && task->numa >= 0)
        add(text, DT_BOUND_LINE_MAX, ", memory of NUMA node %d", task->numa);
}

static const char *kept_words(unsigned kept)
{
    if (kept & DT_BIND_CPU)
        return kept & DT_BIND_GPU ? "; --cpu-bind and --gpu-bind win" : "; --cpu-bind wins";
    if (kept & DT_BIND_GPU)
        return "; --gpu-bind wins";
    return kept & DT_BIND_MEM ? "; --mem-bind wins" : "";
}

void dt_bound_say_task(const struct dt_bound *bound, const struct dt_topo *topo,
                       const struct dt_bind_choice *choice, const struct dt_task *task)
{
    const char *reason = bound->binding->tasks[task->local].reason;
    char text[DT_BOUND_LINE_MAX];

    dt_bound_describe(text, bound, topo, task->local);
    slurm_spank_log("dtrain: rank %u, local %u on %s: %s%s%s%s%s", task->rank, task->local,
                    dt_plan_node_name(task->plan, task->node), text, reason[0] ? ": " : "", reason,
                    bound->cpus_kept ? bound->cpus_kept : "",
                    kept_words(choice->kept));
}

void dt_bound_say_node(const struct dt_bound *bound, const struct dt_topo *topo, const struct dt_task *task)
{
    char *line = calloc(1, DT_BOUND_NODE_MAX);
    char text[DT_BOUND_LINE_MAX];

    if (line == NULL)
        return;
    for (uint32_t i = 0; i < bound->task_count && strlen(line) + 1 < DT_BOUND_NODE_MAX; i++) {
        dt_bound_describe(text, bound, topo, i);
        add(line, DT_BOUND_NODE_MAX, "%slocal %u: %s", i ? "; " : "", i, text);
    }
    if (strlen(line) + 1 == DT_BOUND_NODE_MAX)
        strcpy(line + DT_BOUND_NODE_MAX - 4, "...");
    slurm_spank_log("dtrain: %s: %s", dt_plan_node_name(task->plan, task->node), line);
    free(line);
}
