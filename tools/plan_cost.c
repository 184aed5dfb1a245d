#include "tools/plan_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/table.h"

#define SUM_MAX (1ull << 60)

static const unsigned axes_of[DT_COST_AXIS_COUNT] = {
    [DT_COST_TP] = 1u << DT_TP,
    [DT_COST_DP] = 1u << DT_DP | 1u << DT_CP,
    [DT_COST_PP] = 1u << DT_PP,
};
static const enum dt_axis axis_of[DT_COST_AXIS_COUNT] = {DT_TP, DT_DP, DT_PP};

static enum dt_cost_way way_of_path(enum dt_path path)
{
    static const enum dt_cost_way ways[DT_PATH_COUNT] = {
        [DT_PATH_SELF] = DT_COST_INSIDE,   [DT_PATH_NVLINK] = DT_COST_LINK,
        [DT_PATH_NVSWITCH] = DT_COST_LINK, [DT_PATH_XGMI] = DT_COST_LINK,
        [DT_PATH_XELINK] = DT_COST_LINK,   [DT_PATH_SWITCH] = DT_COST_PCIE,
        [DT_PATH_SWITCHES] = DT_COST_PCIE, [DT_PATH_BRIDGE] = DT_COST_PCIE,
        [DT_PATH_NUMA] = DT_COST_HOST,     [DT_PATH_SOCKET] = DT_COST_HOST,
        [DT_PATH_SYSTEM] = DT_COST_HOST,   [DT_PATH_UNKNOWN] = DT_COST_INSIDE,
    };

    return ways[path];
}

/* Where a count of sends is kept while the ranks are walked, a node at a time. */
struct walk {
    struct dt_plan_cost *cost;
    const struct dt_plan_place *place;
    const struct dt_topo *topo;
    const struct dt_plan *plan;
    const struct dt_switches *switches;
    const uint32_t *leaves; /* of each node; with switches only */
    uint32_t node;
    uint64_t nic_bytes[DT_TOPO_NICS_MAX]; /* of this node */
};

static void count(struct walk *walk, enum dt_cost_axis axis, enum dt_cost_way way, uint64_t bytes)
{
    walk->cost->sends[axis][way]++;
    walk->cost->bytes[axis][way] += bytes;
}

static void add_upper(struct walk *walk, enum dt_cost_axis axis, uint32_t peer, uint64_t bytes)
{
    uint32_t there = dt_plan_rank_node(walk->plan, peer);

    if (dt_switches_meet(walk->switches, walk->leaves[walk->node], walk->leaves[there]) > 1)
        count(walk, axis, DT_COST_UPPER, bytes);
}

static void add_send(struct walk *walk, enum dt_cost_axis axis, uint32_t local, uint32_t peer, uint64_t bytes)
{
    const struct dt_binding *binding = dt_plan_place_binding(walk->place, walk->node);
    const struct dt_bind_task *task = &binding->tasks[local];
    uint32_t first = dt_plan_node_first(walk->plan, walk->node);
    enum dt_cost_way way = DT_COST_NIC;

    if (peer >= first && peer - first < dt_plan_node_tasks(walk->plan, walk->node)) {
        int to = binding->tasks[peer - first].gpu;

        way = DT_COST_INSIDE;
        if (task->gpu >= 0 && to >= 0)
            way = way_of_path(walk->topo->gpu_path[task->gpu][to].path);
    } else if (task->nic >= 0) {
        walk->nic_bytes[task->nic] += bytes;
    }
    count(walk, axis, way, bytes);
    if (way == DT_COST_NIC && walk->switches != NULL)
        add_upper(walk, axis, peer, bytes);
}

/* 2 (n - 1) / n of the bytes, rounded down, without a product that overflows. */
static uint64_t ring_bytes(uint64_t bytes, uint32_t n)
{
    return bytes / n * 2 * (n - 1) + bytes % n * 2 * (n - 1) / n;
}

static void add_rank(struct walk *walk, uint32_t local, const uint64_t bytes[DT_AXIS_COUNT])
{
    const struct dt_layout *layout = dt_plan_layout(walk->plan);
    uint32_t rank = dt_plan_node_first(walk->plan, walk->node) + local;

    for (unsigned axis = 0; axis < DT_COST_AXIS_COUNT; axis++) {
        uint32_t size = walk->cost->size[axis];
        uint32_t index = dt_group_index(layout, DT_DENSE, axes_of[axis], rank);
        uint32_t at = dt_group_rank(layout, DT_DENSE, axes_of[axis], rank);
        uint64_t volume = bytes[axis_of[axis]];

        if (axis == DT_COST_PP && at > 0)
            add_send(walk, axis, local, dt_group_member(layout, DT_DENSE, axes_of[axis], index, at - 1),
                     volume);
        if (axis == DT_COST_PP && at + 1 < size)
            add_send(walk, axis, local, dt_group_member(layout, DT_DENSE, axes_of[axis], index, at + 1),
                     volume);
        if (axis != DT_COST_PP && size > 1)
            add_send(walk, axis, local,
                     dt_group_member(layout, DT_DENSE, axes_of[axis], index, (at + 1) % size),
                     ring_bytes(volume, size));
    }
}

static void add_node(struct walk *walk, const uint64_t bytes[DT_AXIS_COUNT])
{
    memset(walk->nic_bytes, 0, sizeof(walk->nic_bytes));
    for (uint32_t local = 0; local < dt_plan_node_tasks(walk->plan, walk->node); local++)
        add_rank(walk, local, bytes);
    for (uint32_t i = 0; i < walk->topo->nic_count; i++) {
        if (walk->nic_bytes[i] <= walk->cost->busiest_bytes)
            continue;
        walk->cost->busiest_bytes = walk->nic_bytes[i];
        walk->cost->busiest_node = walk->node;
        walk->cost->busiest_nic = (int)i;
    }
}

/* The leaf switch of each node; malloc'd. */
static int find_leaves(uint32_t **leaves, const struct dt_plan *plan, const struct dt_switches *switches,
                       struct dtrain_error *err)
{
    uint32_t nodes = dt_plan_node_count(plan);

    *leaves = NULL;
    if (switches == NULL)
        return 0;
    *leaves = malloc(nodes * sizeof(**leaves));
    if (*leaves == NULL)
        return dt_error_memory(err, nodes * sizeof(**leaves), "the switches of nodes");
    for (uint32_t node = 0; node < nodes; node++)
        (*leaves)[node] = dt_switches_leaf(switches, dt_plan_node_name(plan, node));
    return 0;
}

static int check_sums(const struct dt_plan *plan, const uint64_t bytes[DT_AXIS_COUNT],
                      struct dtrain_error *err)
{
    for (unsigned axis = 0; axis < DT_COST_AXIS_COUNT; axis++)
        if (bytes[axis_of[axis]] > SUM_MAX / dt_plan_world(plan))
            return dt_error_set(err, "--bytes-%s=%llu is too much for %u ranks: expected at most %llu",
                                dt_axis_name(axis_of[axis]), (unsigned long long)bytes[axis_of[axis]],
                                dt_plan_world(plan), SUM_MAX / dt_plan_world(plan));
    return 0;
}

int dt_plan_cost_init(struct dt_plan_cost *cost, const struct dt_plan_place *place,
                      const uint64_t bytes[DT_AXIS_COUNT], const struct dt_switches *switches,
                      struct dtrain_error *err)
{
    const struct dt_plan *plan = dt_plan_place_plan(place);
    struct walk walk = {
        .cost = cost, .place = place, .topo = dt_plan_place_topo(place), .plan = plan, .switches = switches};
    uint32_t *leaves;

    *cost = (struct dt_plan_cost){.has_switches = switches != NULL, .busiest_nic = -1};
    if (check_sums(plan, bytes, err) != 0 || find_leaves(&leaves, plan, switches, err) != 0)
        return -1;
    for (unsigned axis = 0; axis < DT_COST_AXIS_COUNT; axis++)
        cost->size[axis] = dt_group_size(dt_plan_layout(plan), DT_DENSE, axes_of[axis]);
    walk.leaves = leaves;
    for (walk.node = 0; walk.node < dt_plan_node_count(plan); walk.node++)
        add_node(&walk, bytes);
    free(leaves);
    return 0;
}

/* ---- Text ---- */

const char *dt_plan_cost_bytes(char buf[DT_COST_BYTES_MAX], uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes / 1000;
    unsigned unit = 0;

    if (bytes < 1000) {
        snprintf(buf, DT_COST_BYTES_MAX, "%u B", (unsigned)bytes);
        return buf;
    }
    while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    snprintf(buf, DT_COST_BYTES_MAX, "%.*f %s", (value < 9.995) + (value < 99.95), value, units[unit]);
    return buf;
}

/* dp's ring runs over cp, too, where there is cp. */
static const char *axis_title(const struct dt_plan_place *place, unsigned axis)
{
    const struct dt_layout *layout = dt_plan_layout(dt_plan_place_plan(place));

    return axis == DT_COST_DP && layout->size[DT_DENSE][DT_CP] > 1 ? "dp-cp" : dt_axis_name(axis_of[axis]);
}

static bool has_bytes(const struct dt_plan_cost *cost)
{
    for (unsigned axis = 0; axis < DT_COST_AXIS_COUNT; axis++)
        for (unsigned way = 0; way < DT_COST_WAY_COUNT; way++)
            if (cost->bytes[axis][way] != 0)
                return true;
    return false;
}

/* Whether a zero of this way tells something. */
static bool is_shown(const struct dt_plan_cost *cost, unsigned way)
{
    return way == DT_COST_UPPER ? cost->has_switches : way != DT_COST_INSIDE;
}

static void add_row(struct dt_table *table, const struct dt_plan_cost *cost, unsigned axis, bool is_bytes)
{
    char text[DT_COST_BYTES_MAX];

    for (unsigned way = 0; way < DT_COST_WAY_COUNT; way++) {
        if (cost->sends[axis][way] == 0)
            dt_table_add(table, "%s", is_shown(cost, way) ? "-" : "");
        else if (is_bytes)
            dt_table_add(table, "%s", dt_plan_cost_bytes(text, cost->bytes[axis][way]));
        else
            dt_table_add(table, "%llu", (unsigned long long)cost->sends[axis][way]);
    }
}

static void print_busiest(struct dt_out *out, const struct dt_plan_cost *cost,
                          const struct dt_plan_place *place)
{
    char text[DT_COST_BYTES_MAX];

    if (cost->busiest_nic < 0)
        return;
    dt_out_printf(out, "\n  The busiest NIC, %s on %s, sends %s a step.\n",
                  dt_plan_place_topo(place)->nics[cost->busiest_nic].name,
                  dt_plan_node_name(dt_plan_place_plan(place), cost->busiest_node),
                  dt_plan_cost_bytes(text, cost->busiest_bytes));
}

int dt_plan_cost_print_text(struct dt_out *out, const struct dt_plan_cost *cost,
                            const struct dt_plan_place *place, struct dtrain_error *err)
{
    static const char *const titles[] = {"axis", "size", "NVLink, xGMI", "PCIe", "host, sockets", "not known",
                                         "NIC",  "of it above leaf switches", NULL};
    bool is_bytes = has_bytes(cost);
    struct dt_table table;

    dt_out_printf(out, "\n%s, by what they cross\n",
                  is_bytes ? "Bytes that all ranks send in a step"
                           : "Sends of ranks to the next of a ring, and to the stages beside them");
    dt_table_init(&table, titles);
    for (unsigned axis = 0; axis < DT_COST_AXIS_COUNT; axis++) {
        if (cost->size[axis] == 1)
            continue;
        dt_table_add(&table, "%s", axis_title(place, axis));
        dt_table_add(&table, "%u", cost->size[axis]);
        add_row(&table, cost, axis, is_bytes);
    }
    if (dt_table_print(&table, out, err) != 0)
        return -1;
    print_busiest(out, cost, place);
    return 0;
}

static const char *const way_words[DT_COST_WAY_COUNT] = {"NVLink or xGMI", "PCIe", "host and sockets",
                                                        "paths not known", "NIC",
                                                        "switches above the leaves"};

void dt_plan_cost_line(char *text, size_t size, const struct dt_plan_cost *cost,
                       const struct dt_plan_place *place, enum dt_cost_axis axis)
{
    bool is_bytes = has_bytes(cost);
    char bytes[DT_COST_BYTES_MAX];
    const char *comma = "";
    size_t used = (size_t)snprintf(text, size, "%s %u: ", axis_title(place, axis), cost->size[axis]);

    for (unsigned way = 0; way < DT_COST_WAY_COUNT; way++) {
        if (cost->sends[axis][way] == 0 || used >= size)
            continue;
        if (is_bytes)
            used += (size_t)snprintf(text + used, size - used, "%s%s a step by %s", comma,
                                     dt_plan_cost_bytes(bytes, cost->bytes[axis][way]), way_words[way]);
        else
            used += (size_t)snprintf(text + used, size - used, "%s%llu sends by %s", comma,
                                     (unsigned long long)cost->sends[axis][way], way_words[way]);
        comma = ", ";
    }
}

/* ---- JSON ---- */

static void json_ways(struct dt_out *out, const char *key, const uint64_t values[DT_COST_WAY_COUNT],
                      bool has_switches)
{
    static const char *const names[DT_COST_WAY_COUNT] = {"link", "pcie",    "host",
                                                         "unknown", "nic", "upper_switches"};

    dt_out_printf(out, "\"%s\": {", key);
    for (unsigned way = 0; way < (has_switches ? DT_COST_WAY_COUNT : DT_COST_UPPER); way++) {
        dt_out_printf(out, "%s\"%s\": ", way > 0 ? ", " : "", names[way]);
        dt_out_u64(out, values[way]);
    }
    dt_out_text(out, "}");
}

void dt_plan_cost_print_json(struct dt_out *out, const struct dt_plan_cost *cost,
                             const struct dt_plan_place *place)
{
    dt_out_text(out, "{");
    for (unsigned axis = 0; axis < DT_COST_AXIS_COUNT; axis++) {
        dt_out_printf(out, "\n \"%s\": {\"size\": %u, ", dt_axis_name(axis_of[axis]), cost->size[axis]);
        json_ways(out, "sends", cost->sends[axis], cost->has_switches);
        dt_out_text(out, ", ");
        json_ways(out, "bytes", cost->bytes[axis], cost->has_switches);
        dt_out_text(out, "},");
    }
    if (cost->busiest_nic < 0) {
        dt_out_text(out, "\n \"busiest_nic\": null}");
        return;
    }
    dt_out_text(out, "\n \"busiest_nic\": {\"node\": ");
    dt_out_json(out, dt_plan_node_name(dt_plan_place_plan(place), cost->busiest_node));
    dt_out_text(out, ", \"nic\": ");
    dt_out_json(out, dt_plan_place_topo(place)->nics[cost->busiest_nic].name);
    dt_out_text(out, ", \"bytes\": ");
    dt_out_u64(out, cost->busiest_bytes);
    dt_out_text(out, "}}");
}
