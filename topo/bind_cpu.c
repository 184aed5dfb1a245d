#include <stdio.h>
#include <stdlib.h>

#include "topo/bind_part.h"
#include "topo/bind_units.h"

#define PLACE_MAX 64 /* bytes of the words for where cores are */

/* A task to be given cores; sorted by its keys. */
struct taker {
    uint32_t key, second_key, task;
};

struct work {
    struct dt_binding *binding;
    const struct dt_bind_input *input;
    struct dt_bind_units units;
    uint32_t taker_count, picked_count;
    struct taker *takers;
    uint32_t *picked; /* indices of units */
    const char *others; /* words for picked units that other tasks have, too; "" for free ones */
    bool *is_done;    /* of each task */
    bool *is_taken;   /* of each unit */
};

static int work_init(struct work *work, struct dtrain_error *err)
{
    uint32_t tasks = work->binding->task_count;

    if (dt_bind_units_read(&work->units, work->input, err))
        return -1;
    work->takers = calloc(tasks, sizeof(*work->takers));
    work->is_done = calloc(tasks, sizeof(*work->is_done));
    work->picked = calloc(work->units.count + 1, sizeof(*work->picked));
    work->is_taken = calloc(work->units.count + 1, sizeof(*work->is_taken));
    if (work->takers == NULL || work->is_done == NULL || work->picked == NULL || work->is_taken == NULL)
        return dt_error_memory(err, tasks * sizeof(*work->takers), "cores of tasks");
    return 0;
}

static void work_clear(struct work *work)
{
    free(work->takers);
    free(work->is_done);
    free(work->picked);
    free(work->is_taken);
    dt_bind_units_clear(&work->units);
}

static int compare_takers(const void *a, const void *b)
{
    const struct taker *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->second_key != y->second_key)
        return x->second_key < y->second_key ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

/* Picked units from .. to - 1 for a task. */
static int give(struct work *work, uint32_t task_index, uint32_t from, uint32_t to, struct dtrain_error *err)
{
    struct dt_bind_task *task = &work->binding->tasks[task_index];

    for (uint32_t i = from; i < to; i++) {
        uint32_t unit = work->picked[i];

        if (hwloc_bitmap_or(task->cpus, task->cpus, work->units.units[unit].cpus))
            return dt_error_memory(err, DT_TOPO_NAME_MAX, "a CPU mask");
        work->is_taken[unit] = true;
    }
    task->keeps_cpus = false;
    return 0;
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* Shares `units` picked units from `first` on between takers. */
static int share(struct work *work, const struct taker *takers, uint32_t count, uint32_t first,
                 uint32_t units, const char *place, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        struct dt_bind_task *task = &work->binding->tasks[takers[i].task];
        uint32_t from, to;

        dt_bind_units_share(&from, &to, i, count, units);
        if (give(work, takers[i].task, first + from, first + to, err))
            return -1;
        if (units < count)
            dt_bind_say(task, "1 core, not its own: %u tasks share %u core%s of %s", count, units,
                        plural(units), place);
        else
            dt_bind_say(task, "%u of %u core%s of %s%s", to - from, units, plural(units), place,
                        work->others);
    }
    return 0;
}

/*
 * Where the task's GPU is, as CPUs: those of its NUMA node, or else its own; NULL: not known. A NUMA
 * node whose CPUs this machine does not show (a job's cgroup) is known, and has none to give.
 */
static hwloc_const_bitmap_t near_cpus(const struct work *work, uint32_t task_index, bool by_numa)
{
    const struct dt_topo *topo = work->input->topo;
    int gpu = work->binding->tasks[task_index].gpu;
    const struct dt_topo_numa *numa;

    if (gpu < 0 || work->is_done[task_index])
        return NULL;
    numa = dt_bind_numa(topo, topo->gpus[gpu].numa);
    if (by_numa)
        return numa != NULL && !numa->is_gpu_memory ? numa->cpus : NULL;
    return hwloc_bitmap_iszero(topo->gpus[gpu].cpus) ? NULL : topo->gpus[gpu].cpus;
}

static bool is_same_place(const struct work *work, uint32_t a, uint32_t b, bool by_numa)
{
    const struct dt_topo_gpu *x = &work->input->topo->gpus[work->binding->tasks[a].gpu];
    const struct dt_topo_gpu *y = &work->input->topo->gpus[work->binding->tasks[b].gpu];

    return by_numa ? x->numa == y->numa : hwloc_bitmap_isequal(x->cpus, y->cpus) != 0;
}

static void near_place(char place[PLACE_MAX], const struct work *work, uint32_t task_index, bool by_numa)
{
    if (by_numa)
        snprintf(place, PLACE_MAX, "its GPU's NUMA node %d",
                 work->input->topo->gpus[work->binding->tasks[task_index].gpu].numa);
    else
        snprintf(place, PLACE_MAX, "its GPU's CPUs");
}

/* The cores near there that no task has yet; all of them, if there are none. */
static void pick_near(struct work *work, hwloc_const_bitmap_t near)
{
    work->picked_count = 0;
    for (int with_taken = 0; with_taken < 2 && work->picked_count == 0; with_taken++) {
        work->others = with_taken ? ", with other tasks" : "";
        for (uint32_t i = 0; i < work->units.count; i++)
            if ((with_taken || !work->is_taken[i]) &&
                hwloc_bitmap_intersects(work->units.units[i].cpus, near))
                work->picked[work->picked_count++] = i;
    }
}

/* A GPU beside some of its NUMA node's cores (one cache's) comes where they come. */
static uint32_t first_beside(const struct work *work, const struct dt_topo_gpu *gpu)
{
    for (uint32_t i = 0; i < work->picked_count; i++)
        if (hwloc_bitmap_intersects(work->units.units[work->picked[i]].cpus, gpu->cpus))
            return i;
    return 0;
}

/* All tasks whose GPUs are where the GPU of `first` is. */
static void take_near(struct work *work, uint32_t first, bool by_numa)
{
    work->taker_count = 0;
    for (uint32_t task = first; task < work->binding->task_count; task++) {
        int gpu = work->binding->tasks[task].gpu;

        if (near_cpus(work, task, by_numa) == NULL || !is_same_place(work, first, task, by_numa))
            continue;
        work->takers[work->taker_count++] =
            (struct taker){.key = first_beside(work, &work->input->topo->gpus[gpu]),
                           .second_key = (uint32_t)gpu,
                           .task = task};
    }
    qsort(work->takers, work->taker_count, sizeof(*work->takers), compare_takers);
    for (uint32_t i = 0; i < work->taker_count; i++)
        work->is_done[work->takers[i].task] = true;
}

static void keep_all(struct work *work, const char *place)
{
    for (uint32_t i = 0; i < work->taker_count; i++)
        dt_bind_say(&work->binding->tasks[work->takers[i].task],
                    "Slurm's cores kept: none of them is of %s", place);
}

static int bind_near(struct work *work, bool by_numa, struct dtrain_error *err)
{
    for (uint32_t task = 0; task < work->binding->task_count; task++) {
        hwloc_const_bitmap_t near = near_cpus(work, task, by_numa);
        char place[PLACE_MAX];

        if (near == NULL)
            continue;
        near_place(place, work, task, by_numa);
        pick_near(work, near);
        take_near(work, task, by_numa);
        if (work->picked_count == 0)
            keep_all(work, place);
        else if (share(work, work->takers, work->taker_count, 0, work->picked_count, place, err))
            return -1;
    }
    return 0;
}

static int numa_of_picked(const struct work *work, uint32_t i)
{
    return work->units.units[work->picked[i]].numa;
}

/* The first picked unit after i that is of another NUMA node. */
static uint32_t block_end(const struct work *work, uint32_t i)
{
    uint32_t end = i + 1;

    while (end < work->picked_count && numa_of_picked(work, end) == numa_of_picked(work, i))
        end++;
    return end;
}

static void block_place(char place[PLACE_MAX], int numa)
{
    if (numa >= 0)
        snprintf(place, PLACE_MAX, "NUMA node %d", numa);
    else
        snprintf(place, PLACE_MAX, "this node");
}

/* At least as many tasks as NUMA nodes: each task on one, in proportion to its cores. */
static int spread_in_blocks(struct work *work, struct dtrain_error *err)
{
    uint32_t taker = 0;

    for (uint32_t first = 0, end; first < work->picked_count; first = end) {
        uint32_t from = taker;
        char place[PLACE_MAX];

        end = block_end(work, first);
        while (taker < work->taker_count &&
               (2 * (uint64_t)taker + 1) * work->picked_count < 2 * (uint64_t)work->taker_count * end)
            taker++;
        block_place(place, numa_of_picked(work, first));
        if (share(work, work->takers + from, taker - from, first, end - first, place, err))
            return -1;
    }
    return 0;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* An even cut, moved to the nearest border of a NUMA node if that is within a quarter of a share. */
static uint32_t cut_at(const struct work *work, uint32_t i)
{
    uint32_t even = (uint32_t)((uint64_t)i * work->picked_count / work->taker_count);
    uint32_t quarter = work->picked_count / work->taker_count / 4, nearest = 0;

    for (uint32_t border = 0; border < work->picked_count; border = block_end(work, border))
        if (distance(border, even) < distance(nearest, even))
            nearest = border;
    return distance(nearest, even) <= quarter ? nearest : even;
}

/* Fewer tasks than NUMA nodes: stretches of whole ones where that is nearly even. */
static int spread_over_blocks(struct work *work, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < work->taker_count; i++) {
        struct dt_bind_task *task = &work->binding->tasks[work->takers[i].task];
        uint32_t from = cut_at(work, i);
        uint32_t to = i + 1 < work->taker_count ? cut_at(work, i + 1) : work->picked_count;

        if (give(work, work->takers[i].task, from, to, err))
            return -1;
        dt_bind_say(task, "%u of %u cores of several NUMA nodes%s", to - from, work->picked_count,
                    work->others);
    }
    return 0;
}

static uint32_t count_blocks(const struct work *work)
{
    uint32_t blocks = 0;

    for (uint32_t i = 0; i < work->picked_count; i = block_end(work, i))
        blocks++;
    return blocks;
}

/* Tasks that no GPU places, group by group. */
static int bind_spread(struct work *work, struct dtrain_error *err)
{
    work->taker_count = 0;
    for (uint32_t task = 0; task < work->binding->task_count; task++)
        if (!work->is_done[task])
            work->takers[work->taker_count++] =
                (struct taker){.key = work->input->request->group[task], .task = task};
    if (work->taker_count == 0)
        return 0;
    qsort(work->takers, work->taker_count, sizeof(*work->takers), compare_takers);
    pick_near(work, work->input->cpus);
    if (work->picked_count == 0) {
        keep_all(work, "this topology");
        return 0;
    }
    if (work->taker_count < count_blocks(work))
        return spread_over_blocks(work, err);
    return spread_in_blocks(work, err);
}

int dt_bind_cpu(struct dt_binding *binding, const struct dt_bind_input *input, struct dtrain_error *err)
{
    struct work work = {.binding = binding, .input = input};
    int rc = -1;

    if (work_init(&work, err))
        goto out;
    if (bind_near(&work, true, err) || bind_near(&work, false, err))
        goto out;
    rc = bind_spread(&work, err);
out:
    work_clear(&work);
    return rc;
}
