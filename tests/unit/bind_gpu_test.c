/* Which GPUs a node's groups get: on known machines, and against brute force on any. */
#include <stdlib.h>

#include "bind_node.h"
#include "tap.h"

#include "topo/bind_exact.h"
#include "topo/bind_ring.h"
#include "topo/bind_swap.h"


static const struct machine_row {
    const char *name;
    struct dt_topo *(*create)(void);
    uint32_t tasks, size;
    uint32_t gpus[8], gpu_count; /* none: all */
    const char *expected;
} machine_rows[] = {
    {"NVSwitch, tp=8", node_dgx_a100, 8, 8, {0}, 0, "0 1 2 3 4 5 6 7"},
    {"NVSwitch, tp=2", node_dgx_a100, 8, 2, {0}, 0, "0 1 2 3 4 5 6 7"},
    {"NVSwitch, tp=1", node_dgx_a100, 8, 1, {0}, 0, "0 1 2 3 4 5 6 7"},
    {"NVSwitch, half of the tasks", node_dgx_a100, 4, 2, {0}, 0, "0 1 2 3"},
    {"NVSwitch, the upper half allowed", node_dgx_a100, 4, 4, {7, 5, 4, 6}, 4, "4 5 6 7"},
    {"cube mesh, tp=4: the quads with all six links", node_dgx_1v, 8, 4, {0}, 0, "0 1 2 3 4 5 6 7"},
    {"cube mesh, tp=2: pairs with two links", node_dgx_1v, 8, 2, {0}, 0, "0 3 1 2 4 7 5 6"},
    {"cube mesh, one quad", node_dgx_1v, 4, 4, {0}, 0, "0 1 2 3"},
    {"cube mesh, one pair of three GPUs", node_dgx_1v, 2, 2, {1, 4, 5}, 3, "1 5"},
    {"cube mesh, tp=1", node_dgx_1v, 8, 1, {0}, 0, "0 1 2 3 4 5 6 7"},
    {"bridged pairs, tp=2", node_pcie_pairs, 8, 2, {0}, 0, "0 5 1 2 3 4 6 7"},
    {"bridged pairs, one group", node_pcie_pairs, 2, 2, {0}, 0, "0 5"},
    {"bridged pairs, two whole ones of five GPUs", node_pcie_pairs, 4, 2, {0, 1, 3, 4, 2}, 5, "1 2 3 4"},
    {"bridged pairs, tp=4: rings over two bridges", node_pcie_pairs, 8, 4, {0}, 0, "0 1 2 5 3 4 6 7"},
    {"bridged pairs, tp=1", node_pcie_pairs, 8, 1, {0}, 0, "0 1 2 3 4 5 6 7"},
    {"modules, tp=2", node_mi250x, 8, 2, {0}, 0, "0 1 2 3 4 5 6 7"},
    {"modules, tp=2, from the odd GCD on", node_mi250x, 4, 2, {1, 2, 3, 6, 7}, 5, "2 3 6 7"},
    {"modules, tp=8: a ring over links only", node_mi250x, 8, 8, {0}, 0, "0 1 3 2 4 5 7 6"},
};

static void test_machine(const struct machine_row *row)
{
    struct dt_topo *topo = row->create();
    struct dt_binding *binding =
        node_bind(topo, row->tasks, row->size, NULL, row->gpu_count ? row->gpus : NULL, row->gpu_count);

    if (tap_ok(binding != NULL && binding->is_exact, "%s is bound", row->name))
        tap_ok(node_is(node_gpus(binding), row->expected), "%s", row->name);
    dt_binding_destroy(binding);
    dt_topo_destroy(topo);
}

static void test_reasons(void)
{
    struct dt_topo *topo = node_pcie_pairs();
    struct dt_binding *binding = node_bind(topo, 8, 2, NULL, NULL, 0);

    tap_holds(binding->tasks[1].reason, "GPU 0000:15:00.0, one of 2 whose worst link is NVLink x12",
              "a GPU of a pair says so");
    dt_binding_destroy(binding);
    binding = node_bind(topo, 3, 1, NULL, NULL, 0);
    tap_holds(binding->tasks[2].reason, "GPU 0000:12:00.0, alone in its group", "a GPU alone says so");
    dt_binding_destroy(binding);
    binding = node_bind(topo, 9, 1, NULL, NULL, 0);
    tap_ok(node_is(node_gpus(binding), "-1 -1 -1 -1 -1 -1 -1 -1 -1"), "nine tasks get none of eight GPUs");
    tap_holds(binding->tasks[8].reason, "no GPU: 9 tasks share 8", "and the reason says why");
    dt_binding_destroy(binding);
    dt_topo_destroy(topo);
}

static void test_interleaved_groups(void)
{
    static const uint32_t group[] = {7, 3, 7, 3, 7, 3, 7, 3};
    struct dt_bind_request request = {.task_count = 8, .group = group, .what = DT_BIND_GPU};
    struct dt_topo *topo = node_dgx_a100();
    struct dt_binding *binding = NULL;

    dt_bind(&binding, topo, &request, NULL);
    tap_ok(node_is(node_gpus(binding), "0 1 2 3 4 5 6 7"), "interleaved groups on a symmetric machine");
    dt_binding_destroy(binding);
    dt_topo_destroy(topo);
    topo = node_dgx_1v();
    dt_bind(&binding, topo, &request, NULL);
    tap_ok(node_is(node_gpus(binding), "0 4 1 5 2 6 3 7"), "and on a cube mesh");
    tap_ok(binding->tasks[0].keeps_cpus && binding->tasks[0].nic == -1 && binding->tasks[0].numa == -1,
           "what is not asked for is left alone");
    dt_binding_destroy(binding);
    dt_topo_destroy(topo);
}

static const struct bad_row {
    uint32_t tasks, gpus[2], gpu_count;
    const char *words;
} bad_rows[] = {
    {0, {0}, 0, "0 tasks to bind: expected 1 to 65536"},
    {65537, {0}, 0, "65537 tasks to bind"},
    {1, {8, 0}, 2, "GPU 8 is allowed, but a test's node has 8: expected the topology of this node"},
    {1, {3, 3}, 2, "GPU 3 is allowed twice"},
    {1, {0}, 9, "9 GPUs are allowed, but a test's node has 8"},
};

static void test_bad(const struct bad_row *row)
{
    static const uint32_t group[1] = {0};
    struct dt_bind_request request = {.task_count = row->tasks, .group = group, .gpu_count = row->gpu_count};
    struct dt_topo *topo = node_dgx_1v();
    struct dt_binding *binding = NULL;
    struct dtrain_error err = {""};

    request.gpus = row->gpus;
    tap_ok(dt_bind(&binding, topo, &request, &err) == -1 && binding == NULL, "a bad request is refused");
    tap_holds(err.text, row->words, "and says why");
    dt_topo_destroy(topo);
}

static uint64_t seed = 1;

static uint32_t chance(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

static void random_links(struct dt_bind_links *links, uint32_t count, uint32_t kinds)
{
    links->count = count;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < a; b++)
            links->quality[a][b] = links->quality[b][a] = chance(kinds) * 100;
}

static void random_groups(struct dt_bind_groups *groups, uint32_t gpus)
{
    uint32_t left = gpus - chance(2) * chance(gpus);

    memset(groups, 0, sizeof(*groups));
    while (left > 0) {
        uint32_t size = 1 + chance(left < 5 ? left : 5);

        groups->size[groups->count++] = size;
        left -= size;
    }
}

/* Every way to give GPU `gpu` and those after it a group or none. */
static uint64_t brute_force(uint8_t part[DT_TOPO_GPUS_MAX], uint32_t gpu, const struct dt_bind_links *links,
                            struct dt_bind_groups *left)
{
    uint64_t best = 0;
    uint32_t tasks = 0;

    for (uint32_t group = 0; group < left->count; group++)
        tasks += left->size[group];
    if (gpu == links->count)
        return dt_bind_links_sum(links, part);
    for (uint32_t group = 0; group <= left->count; group++) {
        bool is_idle = group == left->count;
        uint64_t sum;

        if (is_idle ? tasks >= links->count - gpu : left->size[group] == 0)
            continue;
        part[gpu] = is_idle ? DT_BIND_IDLE : (uint8_t)group;
        if (!is_idle)
            left->size[group]--;
        sum = brute_force(part, gpu + 1, links, left);
        if (!is_idle)
            left->size[group]++;
        if (sum > best)
            best = sum;
    }
    return best;
}

/* Every group has its size, and no GPU is in two: part holds one group a GPU. */
static bool has_sizes(const uint8_t part[DT_TOPO_GPUS_MAX], uint32_t gpus,
                      const struct dt_bind_groups *groups)
{
    uint32_t size[DT_TOPO_GPUS_MAX] = {0};

    for (uint32_t gpu = 0; gpu < gpus; gpu++)
        if (part[gpu] != DT_BIND_IDLE)
            size[part[gpu]]++;
    return memcmp(size, groups->size, sizeof(size)) == 0;
}

static void test_brute_force(void)
{
    enum { ROUNDS = 150 };
    uint32_t best = 0, sized = 0, swap_sized = 0, swap_below = 0;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct dt_bind_links links;
        struct dt_bind_groups groups;
        uint8_t part[DT_TOPO_GPUS_MAX];
        uint64_t most, found;

        random_links(&links, 2 + chance(7), 2 + chance(6));
        random_groups(&groups, links.count);
        most = brute_force(part, 0, &links, &groups);
        if (dt_bind_exact(part, &links, &groups, NULL))
            continue;
        found = dt_bind_links_sum(&links, part);
        best += found == most && most <= dt_bind_links_bound(&links, &groups);
        sized += has_sizes(part, links.count, &groups);
        dt_bind_swap_start(part, &links, &groups);
        dt_bind_swap_improve(part, &links);
        swap_sized += has_sizes(part, links.count, &groups);
        swap_below += dt_bind_links_sum(&links, part) <= most;
    }
    tap_ok(best == ROUNDS, "groups of random links are the best there are (%u of %u)", best, ROUNDS);
    tap_ok(sized == ROUNDS, "and of their sizes");
    tap_ok(swap_sized == ROUNDS && swap_below == ROUNDS, "exchanges keep the sizes");
}

/* Sixteen GPUs whose best groups are known because they were hidden there. */
static void test_hidden_groups(const uint32_t *sizes, uint32_t count, uint32_t gpus, const char *name)
{
    struct dt_bind_links links = {.count = gpus};
    struct dt_bind_groups groups = {.count = count};
    uint8_t hidden[DT_TOPO_GPUS_MAX], part[DT_TOPO_GPUS_MAX];
    uint32_t used = 0;

    memset(hidden, DT_BIND_IDLE, sizeof(hidden));
    for (uint32_t group = 0; group < count; group++) {
        groups.size[group] = sizes[group];
        for (uint32_t i = 0; i < sizes[group]; i++, used++)
            hidden[used * 7 % gpus] = (uint8_t)group;
    }
    for (uint32_t a = 0; a < gpus; a++)
        for (uint32_t b = 0; b < gpus; b++)
            links.quality[a][b] = hidden[a] == hidden[b] && hidden[a] != DT_BIND_IDLE ? 40200 : 10;
    if (gpus <= DT_BIND_EXACT_GPUS_MAX) {
        dt_bind_exact(part, &links, &groups, NULL);
    } else {
        dt_bind_swap_start(part, &links, &groups);
        dt_bind_swap_improve(part, &links);
    }
    tap_ok(dt_bind_links_sum(&links, part) == dt_bind_links_sum(&links, hidden) &&
               has_sizes(part, gpus, &groups),
           "hidden groups are found: %s", name);
}

static void test_hidden(void)
{
    test_hidden_groups((const uint32_t[]){4, 4, 4, 4}, 4, 16, "4 of 4");
    test_hidden_groups((const uint32_t[]){2, 2, 2, 2, 2, 2, 2, 2}, 8, 16, "8 of 2");
    test_hidden_groups((const uint32_t[]){8, 8}, 2, 16, "2 of 8");
    test_hidden_groups((const uint32_t[]){5, 5, 6}, 3, 16, "5, 5 and 6");
    test_hidden_groups((const uint32_t[]){2, 3, 4, 5, 1}, 5, 16, "all sizes that fit");
    test_hidden_groups((const uint32_t[]){3, 1, 3}, 3, 16, "most GPUs idle");
    test_hidden_groups((const uint32_t[]){16}, 1, 16, "one of all");
    test_hidden_groups((const uint32_t[]){8, 8, 8, 8}, 4, 64, "4 of 8 among 64");
}

static void test_too_many_for_exact(void)
{
    struct dt_bind_links links = {.count = DT_BIND_EXACT_GPUS_MAX + 1};
    struct dt_bind_groups groups = {.count = 1, .size = {2}};
    uint8_t part[DT_TOPO_GPUS_MAX];
    struct dtrain_error err = {""};

    tap_ok(dt_bind_exact(part, &links, &groups, &err) == -1, "17 GPUs are not tried in all ways");
    tap_holds(err.text, "17 GPUs are too many", "and says why");
}

/* Pairs (i, 63 - i) of 64 GPUs. */
static void test_large(void)
{
    struct dt_topo *topo = node_create(2, 64);
    struct dt_binding *binding;
    bool is_paired = true;

    for (uint32_t i = 0; i < DT_TOPO_GPUS_MAX; i++)
        node_add_gpu(topo, i < 32 ? 0 : 1);
    for (uint32_t i = 0; i < 32; i++)
        node_link(topo, i, 63 - i, DT_PATH_NVLINK, 4);
    binding = node_bind(topo, 64, 2, NULL, NULL, 0);
    for (uint32_t i = 0; i < 64; i += 2)
        is_paired = is_paired && binding->tasks[i].gpu == (int)i / 2 &&
                    binding->tasks[i + 1].gpu == 63 - (int)i / 2;
    tap_ok(is_paired && binding->is_exact, "64 GPUs in hidden pairs, and known to be the best");
    dt_binding_destroy(binding);
    dt_topo_destroy(topo);
}

static uint64_t ring_sum(const uint32_t *gpus, uint32_t count, const struct dt_bind_links *links)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += links->quality[gpus[i]][gpus[(i + 1) % count]];
    return sum;
}

static void test_ring(uint32_t count)
{
    struct dt_bind_links links = {.count = count};
    uint32_t gpus[DT_TOPO_GPUS_MAX], natural[DT_TOPO_GPUS_MAX];

    for (uint32_t i = 0; i < count; i++)
        gpus[i] = natural[i] = i;
    dt_bind_ring(gpus, count, &links);
    tap_ok(memcmp(gpus, natural, count * sizeof(*gpus)) == 0, "%u equal GPUs keep their order", count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = i * 5 % count, b = (i + 1) * 5 % count;

        links.quality[a][b] = links.quality[b][a] = 7;
    }
    dt_bind_ring(gpus, count, &links);
    tap_ok(gpus[0] == 0 && ring_sum(gpus, count, &links) > ring_sum(natural, count, &links),
           "%u GPUs follow the links better than before", count);
    if (count <= DT_BIND_RING_EXACT_MAX)
        tap_ok(ring_sum(gpus, count, &links) == 7 * (uint64_t)count, "and find the ring hidden there");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(machine_rows) / sizeof(machine_rows[0]); i++)
        test_machine(&machine_rows[i]);
    test_reasons();
    test_interleaved_groups();
    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++)
        test_bad(&bad_rows[i]);
    test_brute_force();
    test_hidden();
    test_too_many_for_exact();
    test_large();
    test_ring(7);
    test_ring(8);
    test_ring(16);
    return tap_done();
}
