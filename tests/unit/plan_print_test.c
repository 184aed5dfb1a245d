/* Plans as text and as JSON against goldens, and every group against dt_group_member(). */
#include <stdlib.h>

#include "core/plan_print.h"
#include "core/walk.h"
#include "tap.h"

#define NODES_MAX 4
#define SINK_MAX (1u << 16)

static char sink_text[SINK_MAX];
static size_t sink_used;

static int sink_write(void *context, const char *text, size_t n)
{
    (void)context;
    if (sink_used + n >= SINK_MAX)
        return -1;
    memcpy(sink_text + sink_used, text, n);
    sink_used += n;
    sink_text[sink_used] = '\0';
    return 0;
}

struct row {
    const char *name;
    struct dt_layout_request request;
    uint32_t node_count, tasks[NODES_MAX];
    const uint32_t *procids;
    const char *addr;
    const char *text;
};

static const struct row rows[] = {
    {"the main job", {.tp = 8, .pp = 2}, 2, {8, 8}, NULL, NULL,
     "16 ranks on 2 nodes, order tp-cp-ep-dp-pp (the first varies fastest)\n"
     "  tp  8      inside a node (2 groups)\n"
     "  pp  2      across 2 nodes (8 groups)\n"
     "\n"
     "  node  rank  tp   pp\n"
     "  n1    0-7   0-7  0\n"
     "  n2    8-15  0-7  1\n"},
    {"one rank", {.tp = 1}, 1, {1}, NULL, NULL,
     "1 rank on 1 node, order tp-cp-ep-dp-pp (the first varies fastest)\n"
     "\n"
     "  node  rank\n"
     "  n1    0\n"},
    {"four axes in another order, with an address", {.tp = 2, .cp = 2, .pp = 2, .order = "cp-tp-dp-pp"},
     4, {4, 4, 4, 4}, NULL, "10.0.0.1",
     "16 ranks on 4 nodes, order cp-tp-dp-pp-ep (the first varies fastest)\n"
     "MASTER_ADDR=10.0.0.1 MASTER_PORT=20001\n"
     "  cp  2      inside a node (8 groups)\n"
     "  tp  2      inside a node (8 groups)\n"
     "  dp  2      across 2 nodes (8 groups)\n"
     "  pp  2      across 2 nodes (8 groups)\n"
     "\n"
     "  node  rank   cp   tp   dp  pp\n"
     "  n1    0-3    0-1  0-1  0   0\n"
     "  n2    4-7    0-1  0-1  1   0\n"
     "  n3    8-11   0-1  0-1  0   1\n"
     "  n4    12-15  0-1  0-1  1   1\n"},
    {"uneven nodes, a group of which some split", {.tp = 2}, 3, {5, 2, 1}, NULL, NULL,
     "8 ranks on 3 nodes, order tp-cp-ep-dp-pp (the first varies fastest)\n"
     "  tp  2      on 1 to 2 nodes, 1 to 2 members on each (4 groups)\n"
     "  dp  4      on 2 to 3 nodes, 1 to 3 members on each (2 groups)\n"
     "\n"
     "  node  rank  tp   dp\n"
     "  n1    0-3   0-1  0-1\n"
     "  n1    4     0    2\n"
     "  n2    5     1    2\n"
     "  n2    6     0    3\n"
     "  n3    7     1    3\n"},
    {"cyclic task ids", {.tp = 2}, 2, {8, 8},
     (const uint32_t[]){0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15}, NULL,
     "16 ranks on 2 nodes, order tp-cp-ep-dp-pp (the first varies fastest)\n"
     "  tp  2      inside a node (8 groups)\n"
     "  dp  8      across 2 nodes, 4 members on each (2 groups)\n"
     "\n"
     "  node  rank  SLURM_PROCID      tp   dp\n"
     "  n1    0-7   0,2,4,6,8,10,...  0-1  0-3\n"
     "  n2    8-15  1,3,5,7,9,11,...  0-1  4-7\n"},
    {"nodes in another order than the tasks", {.tp = 2}, 2, {2, 2}, (const uint32_t[]){2, 3, 0, 1}, NULL,
     "4 ranks on 2 nodes, order tp-cp-ep-dp-pp (the first varies fastest)\n"
     "  tp  2      inside a node (2 groups)\n"
     "  dp  2      across 2 nodes (2 groups)\n"
     "\n"
     "  node  rank  SLURM_PROCID  tp   dp\n"
     "  n1    0-1   2-3           0-1  0\n"
     "  n2    2-3   0-1           0-1  1\n"},
    {"experts", {.tp = 2, .pp = 2, .ep = 4, .etp = 1}, 2, {8, 8}, NULL, NULL,
     "16 ranks on 2 nodes, order tp-cp-ep-dp-pp (the first varies fastest)\n"
     "  tp  2      inside a node (8 groups)\n"
     "  dp  4      inside a node (4 groups)\n"
     "  pp  2      across 2 nodes (8 groups)\n"
     "\n"
     "  node  rank  tp   dp   pp\n"
     "  n1    0-7   0-1  0-3  0\n"
     "  n2    8-15  0-1  0-3  1\n"
     "\n"
     "The grid of the experts, over the same ranks\n"
     "  ep  4      inside a node (4 groups)\n"
     "  edp 2      inside a node (8 groups)\n"
     "  pp  2      across 2 nodes (8 groups)\n"
     "\n"
     "  node  rank  ep   edp  pp\n"
     "  n1    0-7   0-3  0-1  0\n"
     "  n2    8-15  0-3  0-1  1\n"},
};

static struct dt_plan *plan_of(const struct row *row)
{
    static const char *const names[NODES_MAX] = {"n1", "n2", "n3", "n4"};
    struct dt_plan_inputs inputs = {
        .request = row->request,
        .tp_span = DT_SPAN_ANY,
        .node_count = row->node_count,
        .nodes = names,
        .tasks = row->tasks,
        .procids = row->procids,
        .master_addr = row->addr,
        .master_port = 20001,
    };
    struct dtrain_error err;
    struct dt_plan *plan;

    if (dt_plan_create(&plan, &inputs, &err) == 0)
        return plan;
    printf("Bail out! %s: %s\n", row->name, err.text);
    exit(1);
}

static void start(struct dt_out *out)
{
    sink_used = 0;
    sink_text[0] = '\0';
    dt_out_init(out, sink_write, NULL);
}

static void is_golden(struct dt_out *out, const char *golden, const char *name)
{
    bool ok = dt_out_flush(out, NULL) == 0 && strcmp(sink_text, golden) == 0;

    if (!tap_ok(ok, "%s", name))
        printf("# got:\n%s# expected:\n%s", sink_text, golden);
}

static void test_text(struct dt_out *out)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_plan *plan = plan_of(&rows[i]);

        start(out);
        dt_plan_print_text(out, plan);
        is_golden(out, rows[i].text, rows[i].name);
        dt_plan_destroy(plan);
    }
}

static void test_json(struct dt_out *out)
{
    static const uint32_t procids[] = {2, 3, 0, 1};
    const struct row row = {
        .name = "json",
        .request = {.tp = 2, .ep = 2, .etp = 1},
        .node_count = 2,
        .tasks = {2, 2},
        .procids = procids,
    };
    const struct dt_plan_print_groups groups = {
        .n = {2, 1},
        .axes = {{1u << DT_TP, 1u << DT_DP | 1u << DT_CP}, {1u << DT_EP}},
        .names = {{"tp", "dp-cp"}, {"ep"}},
    };
    struct dt_plan *plan = plan_of(&row);

    start(out);
    dt_plan_print_json(out, plan, &groups);
    is_golden(out,
              "{\"world\": 4,\n"
              "\"axes\": {\"tp\": 2, \"cp\": 1, \"ep\": 2, \"dp\": 2, \"pp\": 1, \"etp\": 1, \"edp\": 2},\n"
              "\"order\": \"tp-cp-ep-dp-pp\",\n"
              "\"ranks\": [\n"
              " {\"rank\": 0, \"procid\": 2, \"node\": \"n1\", \"local_rank\": 0, "
              "\"tp\": 0, \"cp\": 0, \"ep\": 0, \"dp\": 0, \"pp\": 0, \"etp\": 0, \"edp\": 0},\n"
              " {\"rank\": 1, \"procid\": 3, \"node\": \"n1\", \"local_rank\": 1, "
              "\"tp\": 1, \"cp\": 0, \"ep\": 1, \"dp\": 0, \"pp\": 0, \"etp\": 0, \"edp\": 0},\n"
              " {\"rank\": 2, \"procid\": 0, \"node\": \"n2\", \"local_rank\": 0, "
              "\"tp\": 0, \"cp\": 0, \"ep\": 0, \"dp\": 1, \"pp\": 0, \"etp\": 0, \"edp\": 1},\n"
              " {\"rank\": 3, \"procid\": 1, \"node\": \"n2\", \"local_rank\": 1, "
              "\"tp\": 1, \"cp\": 0, \"ep\": 1, \"dp\": 1, \"pp\": 0, \"etp\": 0, \"edp\": 1}],\n"
              "\"groups\": {\n"
              " \"tp\": [[0, 1], [2, 3]],\n"
              " \"dp-cp\": [[0, 2], [1, 3]]},\n"
              "\"expert_groups\": {\n"
              " \"ep\": [[0, 1], [2, 3]]}}\n",
              "JSON");
    dt_plan_destroy(plan);
}

/* The walk and dt_group_member() are two ways to the same groups. */
static bool walk_agrees(const struct dt_layout *layout, enum dt_grid grid, unsigned axes)
{
    struct dt_walk firsts = dt_walk_start(layout, grid, ~axes);
    struct dt_walk members = dt_walk_start(layout, grid, axes);
    uint32_t index = 0, i;

    do {
        i = 0;
        do {
            if (dt_group_member(layout, grid, axes, index, i++) != firsts.value + members.value)
                return false;
        } while (dt_walk_step(&members));
        if (i != dt_group_size(layout, grid, axes))
            return false;
        index++;
    } while (dt_walk_step(&firsts));
    return index == dt_group_count(layout, grid, axes);
}

static void test_walk(void)
{
    static const char *const orders[] = {
        "tp-cp-ep-dp-pp",
        "dp-pp-tp-ep-cp",
        "pp-dp-cp-ep-tp",
        "ep-tp-dp-cp-pp",
    };

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct dt_layout_request request = {
            .tp = 2, .cp = 3, .ep = 6, .etp = 1, .pp = 5, .order = orders[i]};
        struct dt_layout layout;
        bool ok = dt_layout_init(&layout, 2 * 3 * 4 * 5, &request, NULL) == 0;

        for (unsigned axes = 1; axes < 1u << DT_AXIS_COUNT; axes++)
            ok = ok && walk_agrees(&layout, DT_DENSE, axes) && walk_agrees(&layout, DT_EXPERT, axes);
        tap_ok(ok, "groups of every set of axes, order %s", orders[i]);
    }
}

int main(void)
{
    struct dt_out *out = malloc(sizeof(*out));

    test_text(out);
    test_json(out);
    test_walk();
    free(out);
    return tap_done();
}
