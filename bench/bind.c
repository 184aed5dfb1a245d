/*
 * bind.c - how long grouping GPUs and binding a node take, and how good the
 * groups are: against brute force up to 8 GPUs, and exchanges (used above 16
 * GPUs) against the exact best up to 16; random links.
 *
 *     bench/bind [FILE.xml ...]    hwloc's topologies to read and bind, too
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../tests/unit/bind_node.h"
#include "topo/bind_exact.h"
#include "topo/bind_swap.h"
#include "topo/topo_hwloc.h"

#define ROUNDS 21
#define LINK_KINDS 5

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void random_links(struct dt_bind_links *links, uint32_t count)
{
    links->count = count;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < a; b++)
            links->quality[a][b] = links->quality[b][a] = (uint32_t)(rand() % LINK_KINDS) * 100;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_times(const char *name, double times[ROUNDS])
{
    qsort(times, ROUNDS, sizeof(*times), compare_times);
    printf("%-44s median %8.3f ms  most %8.3f ms\n", name, times[ROUNDS / 2], times[ROUNDS - 1]);
}

static const struct grouping {
    const char *name;
    uint32_t gpus;
    struct dt_bind_groups groups;
} groupings[] = {
    {"8 GPUs, groups of 2", 8, {4, {2, 2, 2, 2}}},
    {"8 GPUs, groups of 4", 8, {2, {4, 4}}},
    {"16 GPUs, groups of 2", 16, {8, {2, 2, 2, 2, 2, 2, 2, 2}}},
    {"16 GPUs, groups of 3", 16, {5, {3, 3, 3, 3, 3}}},
    {"16 GPUs, groups of 4", 16, {4, {4, 4, 4, 4}}},
    {"16 GPUs, groups of 5", 16, {3, {5, 5, 5}}},
    {"16 GPUs, groups of 6", 16, {2, {6, 6}}},
    {"16 GPUs, groups of 8", 16, {2, {8, 8}}},
    {"16 GPUs, groups of 5, 5, 6", 16, {3, {5, 5, 6}}},
    {"16 GPUs, groups of 4, 4, 3, 3, 2", 16, {5, {4, 4, 3, 3, 2}}},
    {"16 GPUs, groups of 2, 3, 4, 5", 16, {4, {2, 3, 4, 5}}},
};

static void time_exact(const struct grouping *row)
{
    double times[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        struct dt_bind_links links;
        uint8_t part[DT_TOPO_GPUS_MAX];

        random_links(&links, row->gpus);
        times[round] = now_ms();
        dt_bind_exact(part, &links, &row->groups, NULL);
        times[round] = now_ms() - times[round];
    }
    print_times(row->name, times);
}

/* The sum of exchanges over the sum of the exact best, over all rounds. */
static void compare_swap(const struct grouping *row)
{
    uint64_t best = 0, swapped = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct dt_bind_links links;
        uint8_t part[DT_TOPO_GPUS_MAX];

        random_links(&links, row->gpus);
        dt_bind_exact(part, &links, &row->groups, NULL);
        best += dt_bind_links_sum(&links, part);
        dt_bind_swap_start(part, &links, &row->groups);
        dt_bind_swap_improve(part, &links);
        swapped += dt_bind_links_sum(&links, part);
    }
    printf("%-44s %.4f of the best\n", row->name, (double)swapped / (double)best);
}

/* Every way to give GPU `gpu` and those after it a group; all GPUs are used. */
static uint64_t brute_force(uint8_t part[DT_TOPO_GPUS_MAX], uint32_t gpu, const struct dt_bind_links *links,
                            struct dt_bind_groups *left)
{
    uint64_t best = 0;

    if (gpu == links->count)
        return dt_bind_links_sum(links, part);
    for (uint32_t group = 0; group < left->count; group++) {
        uint64_t sum;

        if (left->size[group] == 0)
            continue;
        part[gpu] = (uint8_t)group;
        left->size[group]--;
        sum = brute_force(part, gpu + 1, links, left);
        left->size[group]++;
        if (sum > best)
            best = sum;
    }
    return best;
}

static void compare_exact(const struct grouping *row)
{
    uint64_t best = 0, found = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct dt_bind_groups left = row->groups;
        struct dt_bind_links links;
        uint8_t part[DT_TOPO_GPUS_MAX];

        random_links(&links, row->gpus);
        best += brute_force(part, 0, &links, &left);
        dt_bind_exact(part, &links, &row->groups, NULL);
        found += dt_bind_links_sum(&links, part);
    }
    printf("%-44s %.4f of the best\n", row->name, (double)found / (double)best);
}

static struct dt_topo *mi300x_cpx(void)
{
    struct dt_topo *topo = node_create(2, 96);

    for (uint32_t i = 0; i < DT_TOPO_GPUS_MAX; i++)
        node_add_gpu(topo, i < 32 ? 0 : 1);
    for (uint32_t a = 0; a < DT_TOPO_GPUS_MAX; a++)
        for (uint32_t b = 0; b < a; b++)
            node_link(topo, a, b, DT_PATH_XGMI, a / 8 == b / 8 ? 4 : 1);
    return topo;
}

static const struct node_row {
    const char *name;
    struct dt_topo *(*create)(void);
    uint32_t tasks, size;
} node_rows[] = {
    {"whole node: 8 GPUs, NVSwitch, 256 CPUs, tp=8", node_dgx_a100, 8, 8},
    {"whole node: 8 GPUs, cube mesh, tp=2", node_dgx_1v, 8, 2},
    {"whole node: 8 GPUs, modules, tp=4", node_mi250x, 8, 4},
    {"whole node: 64 GPUs, tp=8", mi300x_cpx, 64, 8},
    {"whole node: 64 GPUs, tp=3", mi300x_cpx, 63, 3},
};

static void time_node(const struct node_row *row)
{
    struct dt_topo *topo = row->create();
    double times[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        struct dt_binding *binding;

        times[round] = now_ms();
        binding = node_bind(topo, row->tasks, row->size, NULL, NULL, 0);
        times[round] = now_ms() - times[round];
        dt_binding_destroy(binding);
    }
    print_times(row->name, times);
    dt_topo_destroy(topo);
}

/* One task a GPU (without GPUs: a core), all in one group. */
static void time_file(const char *path)
{
    double reads[ROUNDS], binds[ROUNDS];
    char *text = malloc(DT_TOPO_XML_MAX);
    FILE *file = fopen(path, "r");
    size_t size = file != NULL ? fread(text, 1, DT_TOPO_XML_MAX, file) : 0;
    struct dtrain_error err = {""};

    if (file != NULL)
        fclose(file);
    for (int round = 0; round < ROUNDS; round++) {
        struct dt_topo *topo;
        struct dt_binding *binding;
        uint32_t tasks;

        reads[round] = now_ms();
        if (dt_topo_from_xml(&topo, text, size, path, &err)) {
            printf("%s\n", err.text);
            free(text);
            return;
        }
        binds[round] = now_ms();
        reads[round] = binds[round] - reads[round];
        tasks = topo->gpu_count > 0 ? topo->gpu_count : topo->core_count;
        binding = node_bind(topo, tasks, tasks, NULL, NULL, 0);
        binds[round] = now_ms() - binds[round];
        dt_binding_destroy(binding);
        dt_topo_destroy(topo);
    }
    free(text);
    printf("%s\n", path);
    print_times("  read", reads);
    print_times("  bound", binds);
}

int main(int argc, char **argv)
{
    srand(1);
    printf("time of the exact best\n");
    for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++)
        time_exact(&groupings[i]);
    printf("time of a binding\n");
    for (size_t i = 0; i < sizeof(node_rows) / sizeof(node_rows[0]); i++)
        time_node(&node_rows[i]);
    printf("quality of the exact best, by brute force\n");
    for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++)
        if (groupings[i].gpus <= 8)
            compare_exact(&groupings[i]);
    printf("quality of exchanges\n");
    for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++)
        compare_swap(&groupings[i]);
    for (int i = 1; i < argc; i++)
        time_file(argv[i]);
    return 0;
}
