#include <stdlib.h>
#include <string.h>

#include "topo/bind_part.h"

/* How far a NIC is from a task without GPU. */
enum { FAR = 1, BESIDE_CORES, SAME_NUMA };

/* A task and how many NICs are nearest to it. */
struct chooser {
    uint32_t candidates, order, task;
};

static uint32_t nearness(const struct dt_topo *topo, const struct dt_bind_task *task, uint32_t nic_index)
{
    const struct dt_topo_nic *nic = &topo->nics[nic_index];

    if (task->gpu >= 0)
        return dt_path_quality(topo->nic_path[task->gpu][nic_index]);
    if (hwloc_bitmap_iszero(task->cpus) || !hwloc_bitmap_intersects(task->cpus, nic->cpus))
        return FAR;
    return hwloc_bitmap_isincluded(task->cpus, nic->cpus) ? SAME_NUMA : BESIDE_CORES;
}

/* The nearness of the nearest NIC in use, and how many are as near. */
static uint32_t count_nearest(uint32_t *count, const struct dt_topo *topo, const struct dt_bind_task *task)
{
    uint32_t best = 0;

    *count = 0;
    for (uint32_t nic = 0; nic < topo->nic_count; nic++) {
        uint32_t near = nearness(topo, task, nic);

        if (!topo->nics[nic].is_used || (*count > 0 && near < best))
            continue;
        *count = *count > 0 && near == best ? *count + 1 : 1;
        best = near;
    }
    return best;
}

static void say_nic(struct dt_bind_task *task, const struct dt_topo *topo, uint32_t candidates)
{
    const char *name = topo->nics[task->nic].name;
    const char *path = task->gpu >= 0 ? dt_path_words[topo->nic_path[task->gpu][task->nic].path] : NULL;

    if (path != NULL && candidates > 1)
        dt_bind_say(task, "NIC %s (%s), least used of %u as near", name, path, candidates);
    else if (path != NULL)
        dt_bind_say(task, "NIC %s (%s), the nearest", name, path);
    else
        dt_bind_say(task, "NIC %s, least used of %u as near its cores", name, candidates);
}

static void choose(struct dt_bind_task *task, const struct dt_topo *topo, uint32_t users[DT_TOPO_NICS_MAX])
{
    uint32_t candidates, best = count_nearest(&candidates, topo, task);

    for (uint32_t nic = 0; nic < topo->nic_count; nic++) {
        if (!topo->nics[nic].is_used || nearness(topo, task, nic) != best)
            continue;
        if (task->nic < 0 || users[nic] < users[task->nic])
            task->nic = (int)nic;
    }
    if (task->nic < 0)
        return;
    users[task->nic]++;
    say_nic(task, topo, candidates);
}

static int compare_choosers(const void *a, const void *b)
{
    const struct chooser *x = a, *y = b;

    if (x->candidates != y->candidates)
        return x->candidates < y->candidates ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

/* Who has least choice goes first, so that the others leave its NIC alone; then by the GPUs' order. */
int dt_bind_nic(struct dt_binding *binding, const struct dt_bind_input *input, struct dtrain_error *err)
{
    uint32_t users[DT_TOPO_NICS_MAX] = {0};
    struct chooser *choosers = calloc(binding->task_count, sizeof(*choosers));

    if (choosers == NULL)
        return dt_error_memory(err, binding->task_count * sizeof(*choosers), "NICs of tasks");
    for (uint32_t i = 0; i < binding->task_count; i++) {
        const struct dt_bind_task *task = &binding->tasks[i];

        count_nearest(&choosers[i].candidates, input->topo, task);
        choosers[i].order = task->gpu >= 0 ? (uint32_t)task->gpu : i;
        choosers[i].task = i;
    }
    qsort(choosers, binding->task_count, sizeof(*choosers), compare_choosers);
    for (uint32_t i = 0; i < binding->task_count; i++)
        choose(&binding->tasks[choosers[i].task], input->topo, users);
    free(choosers);
    return 0;
}
