#include <string.h>

#include "topo/bind_exact.h"
#include "topo/bind_part.h"
#include "topo/bind_ring.h"
#include "topo/bind_swap.h"

/* The node's tasks as groups 0, 1, ... in the order of their first tasks. */
struct groups {
    struct dt_bind_groups sizes;
    uint32_t task_count;
    uint8_t of_task[DT_TOPO_GPUS_MAX];
};

static void groups_read(struct groups *groups, const struct dt_bind_request *request)
{
    memset(groups, 0, sizeof(*groups));
    groups->task_count = request->task_count;
    for (uint32_t task = 0; task < request->task_count; task++) {
        uint32_t first = 0;

        while (request->group[first] != request->group[task])
            first++;
        if (first == task)
            groups->of_task[task] = (uint8_t)groups->sizes.count++;
        else
            groups->of_task[task] = groups->of_task[first];
        groups->sizes.size[groups->of_task[task]]++;
    }
}

static void links_read(struct dt_bind_links *links, const struct dt_bind_input *input)
{
    links->count = input->gpu_count;
    for (uint32_t i = 0; i < links->count; i++)
        for (uint32_t j = 0; j < links->count; j++)
            links->quality[i][j] = dt_path_quality(input->topo->gpu_path[input->gpus[i]][input->gpus[j]]);
}

/* Task i on GPU i: kept wherever nothing is better. */
static void natural_part(uint8_t part[DT_TOPO_GPUS_MAX], const struct groups *groups)
{
    memset(part, DT_BIND_IDLE, DT_TOPO_GPUS_MAX);
    memcpy(part, groups->of_task, groups->task_count);
}

static void swap_part(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links,
                      const struct groups *groups)
{
    uint8_t grown[DT_TOPO_GPUS_MAX];

    dt_bind_swap_start(grown, links, &groups->sizes);
    dt_bind_swap_improve(grown, links);
    dt_bind_swap_improve(part, links);
    if (dt_bind_links_sum(links, grown) > dt_bind_links_sum(links, part))
        memcpy(part, grown, sizeof(grown));
}

/* *is_exact: no other partition is better. */
static int best_part(uint8_t part[DT_TOPO_GPUS_MAX], bool *is_exact, const struct dt_bind_links *links,
                     const struct groups *groups, struct dtrain_error *err)
{
    uint8_t better[DT_TOPO_GPUS_MAX];
    uint64_t natural, bound = dt_bind_links_bound(links, &groups->sizes);

    natural_part(part, groups);
    natural = dt_bind_links_sum(links, part);
    *is_exact = true;
    if (natural == bound)
        return 0;
    if (links->count <= DT_BIND_EXACT_GPUS_MAX) {
        if (dt_bind_exact(better, links, &groups->sizes, err))
            return -1;
    } else {
        memcpy(better, part, sizeof(better));
        swap_part(better, links, groups);
        *is_exact = dt_bind_links_sum(links, better) == bound;
    }
    if (dt_bind_links_sum(links, better) > natural) {
        memcpy(part, better, sizeof(better));
        dt_bind_links_sort(part, links->count, &groups->sizes);
    }
    return 0;
}

/* The worst path between a member and the others; SELF for one alone. */
static struct dt_path_info worst_path(const struct dt_topo *topo, const uint32_t *gpus, uint32_t count)
{
    struct dt_path_info worst = {DT_PATH_SELF, 0};

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++) {
            struct dt_path_info path = topo->gpu_path[gpus[i]][gpus[j]];

            if (worst.path == DT_PATH_SELF || dt_path_quality(path) < dt_path_quality(worst))
                worst = path;
        }
    return worst;
}

static void say_gpu(struct dt_bind_task *task, const struct dt_topo *topo, const uint32_t *gpus,
                    uint32_t count)
{
    const struct dt_topo_gpu *gpu = &topo->gpus[task->gpu];
    struct dt_path_info worst = worst_path(topo, gpus, count);
    const char *pci = gpu->pci[0] != '\0' ? gpu->pci : gpu->name;

    if (count == 1)
        dt_bind_say(task, "GPU %s, alone in its group", pci);
    else if (worst.count > 0)
        dt_bind_say(task, "GPU %s, one of %u whose worst link is %s x%u", pci, count,
                    dt_path_words[worst.path], worst.count);
    else
        dt_bind_say(task, "GPU %s, one of %u whose worst link is %s", pci, count,
                    dt_path_words[worst.path]);
}

static void give_group(struct dt_binding *binding, const struct dt_bind_input *input,
                       const struct groups *groups, uint8_t group, uint32_t *members)
{
    uint32_t count = groups->sizes.size[group], next = 0;

    for (uint32_t i = 0; i < count; i++)
        members[i] = input->gpus[members[i]];
    for (uint32_t i = 0; i < groups->task_count; i++) {
        if (groups->of_task[i] != group)
            continue;
        binding->tasks[i].gpu = (int)members[next++];
        say_gpu(&binding->tasks[i], input->topo, members, count);
    }
}

static void give_gpus(struct dt_binding *binding, const struct dt_bind_input *input,
                      const struct groups *groups, const struct dt_bind_links *links,
                      const uint8_t part[DT_TOPO_GPUS_MAX])
{
    for (uint32_t group = 0; group < groups->sizes.count; group++) {
        uint32_t members[DT_TOPO_GPUS_MAX], count = 0;

        for (uint32_t gpu = 0; gpu < links->count; gpu++)
            if (part[gpu] == group)
                members[count++] = gpu;
        dt_bind_ring(members, count, links);
        give_group(binding, input, groups, (uint8_t)group, members);
    }
}

static void say_too_few(struct dt_binding *binding, uint32_t gpu_count)
{
    if (gpu_count == 0)
        return;
    for (uint32_t i = 0; i < binding->task_count; i++)
        dt_bind_say(&binding->tasks[i], "no GPU: %u tasks share %u", binding->task_count, gpu_count);
}

int dt_bind_gpu(struct dt_binding *binding, const struct dt_bind_input *input, struct dtrain_error *err)
{
    struct dt_bind_links links;
    struct groups groups;
    uint8_t part[DT_TOPO_GPUS_MAX];

    if (input->gpu_count < binding->task_count) {
        say_too_few(binding, input->gpu_count);
        return 0;
    }
    groups_read(&groups, input->request);
    links_read(&links, input);
    if (best_part(part, &binding->is_exact, &links, &groups, err))
        return -1;
    binding->quality = dt_bind_links_sum(&links, part);
    give_gpus(binding, input, &groups, &links, part);
    return 0;
}
