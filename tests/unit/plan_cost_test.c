/* A plan on nodes of one kind: who shares a binding, what each axis sends and by which way. */
#include <stdlib.h>

#include "bind_node.h"
#include "tap.h"
#include "tools/plan_cost.h"

#define NODES_MAX 4u

/* Nodes n0, n1, ... with `tasks` tasks each, the last with `last`. */
static struct dt_plan *plan_of(uint32_t nodes, uint32_t tasks, uint32_t last, uint32_t tp, uint32_t cp,
                               uint32_t pp)
{
    static const char *const names[NODES_MAX] = {"n0", "n1", "n2", "n3"};
    uint32_t counts[NODES_MAX] = {tasks, tasks, tasks, tasks};
    struct dt_plan_inputs inputs = {.request = {.tp = tp, .cp = cp, .pp = pp},
                                    .tp_span = DT_SPAN_ANY,
                                    .node_count = nodes,
                                    .nodes = names,
                                    .tasks = counts};
    struct dt_plan *plan = NULL;
    struct dtrain_error err;

    counts[nodes - 1] = last;
    if (dt_plan_create(&plan, &inputs, &err) != 0)
        printf("# %s\n", err.text);
    return plan;
}

static const struct row {
    const char *name;
    struct dt_topo *(*node)(void);
    uint32_t nodes, tasks, tp, cp, pp;
    uint64_t bytes[DT_AXIS_COUNT];
    enum dt_cost_axis axis;
    enum dt_cost_way way;
    uint64_t sends, sum;
} rows[] = {
    {"a tp ring on NVSwitch",
     node_dgx_a100, 1, 8, 8, 1, 1, {[DT_TP] = 800}, DT_COST_TP, DT_COST_LINK, 8, 11200},
    {"two tp rings of four",
     node_dgx_a100, 1, 8, 4, 1, 1, {[DT_TP] = 800}, DT_COST_TP, DT_COST_LINK, 8, 9600},
    {"a ring of two sends half of it twice",
     node_pcie_pairs, 1, 8, 2, 1, 1, {[DT_TP] = 100}, DT_COST_TP, DT_COST_LINK, 8, 800},
    {"dp between bridged pairs goes through the host",
     node_pcie_pairs, 1, 8, 2, 1, 1, {[DT_DP] = 100}, DT_COST_DP, DT_COST_LINK, 0, 0},
    {"dp over two nodes: half in a node",
     node_dgx_a100, 2, 8, 4, 1, 1, {[DT_DP] = 400}, DT_COST_DP, DT_COST_LINK, 8, 4800},
    {"dp over two nodes: half by NIC",
     node_dgx_a100, 2, 8, 4, 1, 1, {[DT_DP] = 400}, DT_COST_DP, DT_COST_NIC, 8, 4800},
    {"cp shares dp's ring",
     node_dgx_a100, 1, 8, 2, 4, 1, {[DT_DP] = 400}, DT_COST_DP, DT_COST_LINK, 8, 4800},
    {"stages send both ways, the ends one",
     node_dgx_a100, 4, 8, 8, 1, 4, {[DT_PP] = 10}, DT_COST_PP, DT_COST_NIC, 48, 480},
    {"tp over nodes",
     node_dgx_a100, 2, 8, 16, 1, 1, {[DT_TP] = 16}, DT_COST_TP, DT_COST_NIC, 2, 60},
    {"an axis of one sends nothing",
     node_dgx_a100, 1, 8, 8, 1, 1, {[DT_DP] = 400}, DT_COST_DP, DT_COST_LINK, 0, 0},
    {"bytes are rounded down to whole ones",
     node_dgx_a100, 1, 3, 3, 1, 1, {[DT_TP] = 10}, DT_COST_TP, DT_COST_LINK, 3, 39},
    {"no GPU for all: by ways that are not known",
     node_dgx_a100, 1, 10, 2, 1, 1, {[DT_TP] = 10}, DT_COST_TP, DT_COST_INSIDE, 10, 100},
};

static void test_costs(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct dt_topo *topo = row->node();
        struct dt_plan *plan = plan_of(row->nodes, row->tasks, row->tasks, row->tp, row->cp, row->pp);
        struct dt_plan_place *place = NULL;
        struct dt_plan_cost cost = {.has_switches = true};
        struct dtrain_error err = {""};
        bool ok = dt_plan_place_create(&place, topo, plan, &err) == 0 &&
                  dt_plan_cost_init(&cost, place, row->bytes, NULL, &err) == 0;

        tap_ok(ok && cost.sends[row->axis][row->way] == row->sends &&
                   cost.bytes[row->axis][row->way] == row->sum,
               "%s", row->name);
        if (cost.sends[row->axis][row->way] != row->sends || cost.bytes[row->axis][row->way] != row->sum)
            printf("# %llu sends of %llu bytes, expected %llu of %llu; %s\n",
                   (unsigned long long)cost.sends[row->axis][row->way],
                   (unsigned long long)cost.bytes[row->axis][row->way], (unsigned long long)row->sends,
                   (unsigned long long)row->sum, err.text);
        dt_plan_place_destroy(place);
        dt_plan_destroy(plan);
        dt_topo_destroy(topo);
    }
}

static void test_shapes(void)
{
    struct dt_topo *topo = node_dgx_a100();
    struct dt_plan *plan = plan_of(4, 8, 4, 4, 1, 1);
    struct dt_plan_place *place = NULL;

    tap_ok(dt_plan_place_create(&place, topo, plan, NULL) == 0, "a plan is placed on uneven nodes");
    tap_ok(dt_plan_place_binding(place, 0) == dt_plan_place_binding(place, 2),
           "nodes that are alike share a binding");
    tap_ok(dt_plan_place_binding(place, 3)->task_count == 4, "a node with fewer tasks has its own");
    dt_plan_place_destroy(place);
    dt_plan_destroy(plan);
    plan = plan_of(3, 8, 8, 3, 1, 1);
    tap_ok(dt_plan_place_create(&place, topo, plan, NULL) == 0, "groups may go on in the next node");
    tap_ok(dt_plan_place_binding(place, 0) != dt_plan_place_binding(place, 1),
           "nodes that cut them elsewhere differ");
    dt_plan_place_destroy(place);
    dt_plan_destroy(plan);
    dt_topo_destroy(topo);
}

static void test_refusal(void)
{
    const uint64_t bytes[DT_AXIS_COUNT] = {[DT_PP] = UINT64_MAX};
    struct dt_topo *topo = node_dgx_a100();
    struct dt_plan *plan = plan_of(1, 8, 8, 8, 1, 1);
    struct dt_plan_place *place = NULL;
    struct dt_plan_cost cost;
    struct dtrain_error err = {""};

    dt_plan_place_create(&place, topo, plan, &err);
    tap_ok(dt_plan_cost_init(&cost, place, bytes, NULL, &err) != 0, "sums that overflow are refused");
    tap_holds(err.text, "--bytes-pp=18446744073709551615 is too much for 8 ranks", "and the option is named");
    dt_plan_place_destroy(place);
    dt_plan_destroy(plan);
    dt_topo_destroy(topo);
}

static void test_units(void)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } units[] = {{0, "0 B"},           {999, "999 B"},         {1000, "1.00 kB"},
                 {9994, "9.99 kB"},    {9996, "10.0 kB"},      {999499, "999 kB"},
                 {999500, "1.00 MB"},  {17179869184, "17.2 GB"}, {1500000000000, "1.50 TB"},
                 {UINT64_MAX, "18.4 EB"}};
    char buf[DT_COST_BYTES_MAX];

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        tap_holds(dt_plan_cost_bytes(buf, units[i].bytes), units[i].text, units[i].text);
}

int main(void)
{
    test_costs();
    test_shapes();
    test_refusal();
    test_units();
    return tap_done();
}
