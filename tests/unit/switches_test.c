/* The cluster's switches: what is read and refused, who meets where, the order of nodes, what crosses. */
#include <stdlib.h>

#include "core/hostlist.h"
#include "core/node_order.h"
#include "core/plan_crossings.h"
#include "core/switches.h"
#include "tap.h"

#define NAMES_MAX 512 /* bytes of a list of names in a row */

static int parse(struct dt_switches **switches, const char *text, struct dtrain_error *err)
{
    err->text[0] = '\0';
    *switches = NULL;
    return dt_switches_parse(switches, text, strlen(text), "topology.conf", err);
}

/* ---- Who meets where ---- */

#define TREE "SwitchName=s0 Nodes=n[0-2]\nSwitchName=s1 Nodes=n[3-5]\nSwitchName=s2 Switches=s[0-1]\n"
#define THREE                                                                                      \
    "SwitchName=root Switches=m[0-1]\nSwitchName=m0 Switches=l[0-1]\nSwitchName=m1 Switches=l[2-3]\n" \
    "SwitchName=l0 Nodes=a,e\nSwitchName=l1 Nodes=b,f\nSwitchName=l2 Nodes=c,g\nSwitchName=l3 Nodes=d,h\n"
#define BLOCKS                                                                                     \
    "BlockName=b1 Nodes=n[0-1]\nBlockName=b2 Nodes=n[2-3]\nBlockName=b3 Nodes=n[4-5]\n"                  \
    "BlockName=b4 Nodes=n[6-7]\nBlockName=b5 Nodes=n[8-9]\n"

static const struct {
    const char *text, *a, *b;
    uint32_t levels, level;
} levels[] = {
    {TREE, "n0", "n0", 2, 0},
    {TREE, "n0", "n2", 2, 1},
    {TREE, "n2", "n3", 2, 2},
    {TREE, "n2", "x", 2, 3},
    {TREE, "x", "y", 2, 3},
    {THREE, "a", "e", 3, 1},
    {THREE, "a", "f", 3, 2},
    {THREE, "h", "a", 3, 3},
    {"# top\nswitchname = s1 \\\n\tNODES=\"n1,n2\" LinkSpeed=100 # here, too\r\n", "n1", "n2", 1, 1},
    {"SwitchName=s1 Nodes=n1,\\\nn2,\\ # a comment behind what goes on\nn3", "n1", "n3", 1, 1},
    {"SwitchName=s1 Nodes=n1 # no comment goes on \\\nSwitchName=s2 Nodes=n2", "n1", "n2", 1, 2},
    {"SwitchName=s1 Nodes=n1 \\", "n1", "n1", 1, 0},
    {"\n\nSwitchName=S-2c5eab03 Nodes=a05-p1-c[03-04]", "a05-p1-c03", "a05-p1-c04", 1, 1},
    /* A chain of switches above one leaf, a leaf at another height, and one on its own. */
    {"SwitchName=t Switches=m,y\nSwitchName=m Switches=x\nSwitchName=x Nodes=n1\nSwitchName=y Nodes=n2\n",
     "n1", "n2", 3, 3},
    {TREE "SwitchName=alone Nodes=z", "n0", "z", 2, 3},
    /* The first leaf of a node counts, and the first switch above a switch. */
    {"SwitchName=s1 Nodes=n1,n2\nSwitchName=s2 Nodes=n2,n3\n", "n2", "n3", 1, 2},
    {"SwitchName=s1 Nodes=n1,n2\nSwitchName=s2 Nodes=n2,n3\n", "n1", "n2", 1, 1},
    {"SwitchName=p Switches=s1,s2\nSwitchName=q Switches=s2,s3\nSwitchName=s1 Nodes=n1\n"
     "SwitchName=s2 Nodes=n2\nSwitchName=s3 Nodes=n3\n",
     "n1", "n2", 2, 2},
    {BLOCKS, "n0", "n1", 1, 1},
    {BLOCKS, "n1", "n2", 1, 2},
    {BLOCKS "BlockSizes=2", "n1", "n2", 1, 2},
    {BLOCKS "BlockSizes=2,4", "n1", "n2", 2, 2},
    {BLOCKS "BlockSizes=2,4", "n3", "n4", 2, 3},
    {BLOCKS "blocksizes=1,2,8", "n3", "n4", 3, 3},
    {BLOCKS "BlockSizes=1,2,8", "n3", "n8", 3, 3},
    {BLOCKS "BlockSizes=1,2,4", "n3", "n8", 3, 4},
    {BLOCKS "BlockSizes=1,1024", "n0", "n9", 2, 2},
};

static void test_levels(void)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        struct dtrain_error err;
        struct dt_switches *switches;
        uint32_t level = UINT32_MAX, tiers = 0;

        if (parse(&switches, levels[i].text, &err) == 0) {
            level = dt_switches_level(switches, levels[i].a, levels[i].b);
            tiers = dt_switches_levels(switches);
        }
        if (!tap_ok(level == levels[i].level && tiers == levels[i].levels,
                    "row %zu: %s and %s meet at level %u of %u", i, levels[i].a, levels[i].b, levels[i].level,
                    levels[i].levels))
            printf("# level %u of %u: %s\n", level, tiers, err.text);
        dt_switches_destroy(switches);
    }
}

/* ---- What is refused ---- */

static const struct {
    const char *text, *words;
} refused[] = {
    {"", "topology.conf:1: the file names no switch and no block"},
    {"\n# nothing\n\n", "the file names no switch and no block"},
    {"SwitchName=s1\n",
     "topology.conf:1: switch s1 has nothing below it: expected one of Nodes and Switches"},
    {"\n\nSwitchName=s1 Nodes=n1 Switches=s2\n", "topology.conf:3: switch s1 has both"},
    {"SwitchName= Nodes=n1", "topology.conf:1: switch Nodes=n1 has nothing below it"},
    {"SwitchName", "topology.conf:1: 'SwitchName' is not understood: expected KEY=VALUE"},
    {"SwitchName=s1 Nodes=", "topology.conf:1: Nodes has no value"},
    {"SwitchName=s1 Nodes=\"\"", "topology.conf:1: Nodes has no value"},
    {"SwitchName=s1 Nodes=\"n1", "the value of Nodes has no closing '\"'"},
    {"SwitchName=s1 Nodes=\"n1\"n2", "goes on behind its closing '\"'"},
    {"SwitchName=s1 Nodes=n1 Nodes=n2", "topology.conf:1: Nodes stands twice in the line"},
    {"SwitchName=s1 Nodes=n1 Speed=4", "topology.conf:1: key: 'Speed' is not known: expected SwitchName"},
    {"SwitchName=s1 Nodes=n1 LinkSpeed=fast", "topology.conf:1: LinkSpeed: 'fast' is not a number"},
    {"SwitchName=s1 Nodes=n[1-", "topology.conf:1: switch s1: hostlist 'n[1-'"},
    {"SwitchName=s1 Nodes=n[1-99999999]", "topology.conf:1: switch s1: hostlist"},
    {"SwitchName=s[1-2] Nodes=n1", "topology.conf:1: 's[1-2]' names 2 switches"},
    {"SwitchName=s1 Nodes=n1\n\nSwitchName=s1 Nodes=n2\n", "topology.conf:3: switch s1 is given again"},
    {"SwitchName=s1 Nodes=n1\n# x\nSwitchName=s2 Switches=s[1-3]\n",
     "topology.conf:3: switch s2 has s2 below it"},
    {"SwitchName=s2 Switches=s1,s3\nSwitchName=s1 Nodes=n1\n",
     "topology.conf:1: switch s2 has s3 below it, which is no switch"},
    {"SwitchName=a Switches=a\n", "topology.conf:1: switch a has a below it, which is above it, too"},
    {"SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a\n",
     "topology.conf:3: switch c has a below it, which is above it, too: expected a tree"},
    {"Nodes=n1\n", "topology.conf:1: the line names nothing"},
    {"Include other.conf\n", "topology.conf:1: 'Include other.conf' is not understood"},
    {"switch: s1\n", "topology.conf:1: 'switch: s1' is not understood"},
    {"SwitchName=s1 Nodes=n1 ]\n", "topology.conf:1: ']' is not understood"},
    {"SwitchName=\x1b[31m Nodes=n1\n", "topology.conf:1: a switch's name: hostlist '?[31m'"},
    {"BlockName=b1\n", "topology.conf:1: block b1 has no Nodes"},
    {"BlockName=b1 Switches=s1\n", "topology.conf:1: Switches does not go with BlockName"},
    {"SwitchName=s1 BlockName=b1 Nodes=n1\n", "BlockName does not go with SwitchName"},
    {"BlockName=b1 Nodes=n1\nSwitchName=s1 Nodes=n2\n",
     "topology.conf:2: SwitchName in a file with BlockName in line 1"},
    {"SwitchName=s1 Nodes=n2\nBlockName=b1 Nodes=n1\n",
     "topology.conf:2: BlockName in a file with SwitchName in line 1"},
    {"SwitchName=s1 Nodes=n2\nBlockSizes=2\n",
     "topology.conf:2: BlockSizes in a file with SwitchName in line 1"},
    {BLOCKS "BlockSizes=0", "topology.conf:6: BlockSizes: '0' is too small"},
    {BLOCKS "BlockSizes=2,", "topology.conf:6: BlockSizes: '' is empty"},
    {BLOCKS "BlockSizes=2,x", "topology.conf:6: BlockSizes: 'x' is not a number"},
    {BLOCKS "BlockSizes=2,3", "topology.conf:6: BlockSizes: 3 comes after 2: expected a multiple of it"},
    {BLOCKS "BlockSizes=4,2", "BlockSizes: 2 comes after 4"},
    {BLOCKS "BlockSizes=2,2", "BlockSizes: 2 comes after 2"},
    {BLOCKS "BlockSizes=2\nBlockSizes=2", "topology.conf:7: BlockSizes is given again, after line 6"},
    {BLOCKS "BlockSizes=2 Nodes=n1", "Nodes does not go with BlockSizes"},
};

static void test_refused(void)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct dtrain_error err;
        struct dt_switches *switches;

        tap_ok(parse(&switches, refused[i].text, &err) == -1 && switches == NULL, "row %zu is refused", i);
        tap_holds(err.text, refused[i].words, "... and the error says why");
        dt_switches_destroy(switches);
    }
}

/* ---- Bounds ---- */

/* A chain: the lowest is a leaf, each further one has the one before below it. */
static char *write_chain(uint32_t tiers, bool is_reversed)
{
    char *text = malloc(64 * (size_t)tiers + 1), *to = text;

    to += sprintf(to, "SwitchName=s1 Nodes=n1\n");
    for (uint32_t i = 2; i <= tiers; i++) {
        uint32_t own = is_reversed ? tiers + 2 - i : i;

        to += sprintf(to, "SwitchName=s%u Switches=s%u\n", own, own - 1);
    }
    return text;
}

static void test_tiers(bool is_reversed)
{
    const char *way = is_reversed ? "from the top" : "from the leaf";
    char *text = write_chain(DT_SWITCHES_LEVELS_MAX, is_reversed);
    struct dt_switches *switches;
    struct dtrain_error err;

    tap_ok(parse(&switches, text, &err) == 0 && dt_switches_levels(switches) == DT_SWITCHES_LEVELS_MAX,
           "the highest tree, %s: %s", way, err.text);
    dt_switches_destroy(switches);
    free(text);
    text = write_chain(DT_SWITCHES_LEVELS_MAX + 1, is_reversed);
    tap_ok(parse(&switches, text, &err) == -1, "one tier more is refused, %s", way);
    tap_holds(err.text, "is in a tree of more than 32 tiers", "... with the reason");
    free(text);
}

static void test_file_size(void)
{
    char *text = malloc(DT_SWITCHES_FILE_MAX + 1);
    struct dt_switches *switches = NULL;
    struct dtrain_error err = {""};
    static const char leaf[] = "SwitchName=s1 Nodes=n1\n";

    memset(text, ' ', DT_SWITCHES_FILE_MAX + 1);
    memcpy(text, leaf, sizeof(leaf) - 1);
    tap_ok(dt_switches_parse(&switches, text, DT_SWITCHES_FILE_MAX, "f", &err) == 0, "the largest file %s",
           err.text);
    dt_switches_destroy(switches);
    tap_ok(dt_switches_parse(&switches, text, DT_SWITCHES_FILE_MAX + 1, "f", &err) == -1 && switches == NULL,
           "one byte more is refused");
    tap_holds(err.text, "f:1: the file has 16777217 bytes: expected at most 16777216", "... with the reason");
    memcpy(text, "\n\nSwitch\0", 9);
    tap_ok(dt_switches_parse(&switches, text, 9, "f", &err) == -1, "a NUL byte is refused");
    tap_holds(err.text, "f:3: the line has a NUL byte", "... with its line");
    free(text);
}

static void test_counts(void)
{
    static const char half[] = "[0-65535]";
    char *text = malloc(64 * (size_t)DT_SWITCHES_MAX + 128), *to = text;
    struct dt_switches *switches;
    struct dtrain_error err;

    for (uint32_t i = 0; i < DT_SWITCHES_MAX; i++)
        to += sprintf(to, "SwitchName=s%u Nodes=n%u\n", i, i);
    tap_ok(parse(&switches, text, &err) == 0 && dt_switches_level(switches, "n1", "n65535") == 2,
           "as many switches as there may be: %s", err.text);
    dt_switches_destroy(switches);
    sprintf(to, "SwitchName=top Switches=s1");
    tap_ok(parse(&switches, text, &err) == -1, "one more is refused");
    tap_holds(err.text, "topology.conf:65537: more than 65536 switches are too many", "... with its line");
    to = text;
    for (int i = 0; i < 17; i++)
        to += sprintf(to, "SwitchName=s%d Nodes=n%s%s", i, half, i < 16 ? "\n" : "");
    tap_ok(parse(&switches, text, &err) == -1, "too many nodes are refused");
    tap_holds(err.text, "topology.conf:17: more than 1048576 nodes are too many", "... with the line");
    free(text);
}

/* ---- The controller's records ---- */

static void test_records(void)
{
    /* As Slurm has them: a switch above leaves has the nodes of all of them, too. */
    static const struct dt_switches_record records[] = {
        {"s0", 0, "n[1,3]", NULL},
        {"s1", 0, "n[2,4]", ""},
        {"top", 1, "n[1-4]", "s[0-1]"},
    };
    static const struct dt_switches_record wrong[] = {{"s0", 0, "n1", NULL}, {"top", 1, "n1", "s1"}};
    struct dt_switches *switches = NULL;
    struct dtrain_error err = {""};

    tap_ok(dt_switches_create(&switches, records, 3, &err) == 0 && dt_switches_levels(switches) == 2 &&
               dt_switches_level(switches, "n1", "n3") == 1 && dt_switches_level(switches, "n1", "n2") == 2,
           "the controller's records (%s)", err.text);
    dt_switches_destroy(switches);
    tap_ok(dt_switches_create(&switches, wrong, 2, &err) == -1 && switches == NULL, "wrong ones are refused");
    tap_holds(err.text, "switch top has s1 below it, which is no switch", "... with the reason");
    tap_ok(dt_switches_create(&switches, wrong, 0, &err) == 0 && dt_switches_levels(switches) == 0 &&
               dt_switches_level(switches, "n1", "n2") == 1,
           "no record: no tier, all meet outside");
    dt_switches_destroy(switches);
    dt_switches_destroy(NULL);
}

/* ---- Order ---- */

static const struct {
    const char *text, *given, *expected;
} orders[] = {
    {TREE, "n[0-5]", "n0 n1 n2 n3 n4 n5"},
    {TREE, "n0,n3,n1,n4,n2,n5", "n0 n1 n2 n3 n4 n5"},
    {TREE, "n[5,1,4,0,3,2]", "n5 n4 n3 n1 n0 n2"},
    {TREE, "n5", "n5"},
    {TREE, "n3,x,n0,y,n4,n1", "n3 n4 n0 n1 x y"},
    {TREE, "x,n3,y,n0,n4", "x n3 n4 n0 y"},
    {THREE, "a,b,c,d,e,f,g,h", "a e b f c g d h"},
    {THREE, "h,a,g,b", "h g a b"},
    {THREE, "a,c,b", "a b c"},
    {BLOCKS "BlockSizes=2,4", "n[8,0,4,2,6,1]", "n8 n0 n1 n2 n4 n6"},
    {TREE "SwitchName=alone Nodes=z[1-2]", "z1,n0,z2,n5", "z1 z2 n0 n5"},
};

/* Each node's tasks and task ids follow it: node i of those given has i+1 tasks from id 100*i on. */
static bool follows(const struct dt_node_order *step, const struct dt_hostlist *given)
{
    const uint32_t *procid = step->procids;
    bool ok = true;

    for (uint32_t i = 0; i < step->node_count; i++) {
        uint32_t from = 0;

        while (dt_hostlist_name(given, from) != step->nodes[i])
            from++;
        ok = ok && step->tasks[i] == from + 1;
        for (uint32_t k = 0; k < step->tasks[i]; k++)
            ok = ok && *procid++ == 100 * from + k;
    }
    return ok;
}

static void test_order(const char *text, const char *given, const char *expected)
{
    const char *nodes[16];
    uint32_t tasks[16], procids[16 * 16], used = 0;
    struct dt_node_order step = {.nodes = nodes, .tasks = tasks, .procids = procids};
    char got[NAMES_MAX] = "";
    struct dtrain_error err;
    struct dt_switches *switches;
    struct dt_hostlist *hosts = NULL;
    bool is_changed = false, is_as_given = true;

    if (parse(&switches, text, &err) != 0 || dt_hostlist_parse(&hosts, given, &err) != 0) {
        tap_ok(false, "%s: %s", given, err.text);
        return;
    }
    step.node_count = dt_hostlist_count(hosts);
    for (uint32_t i = 0; i < step.node_count; i++) {
        nodes[i] = dt_hostlist_name(hosts, i);
        tasks[i] = i + 1;
        for (uint32_t k = 0; k <= i; k++)
            procids[used++] = 100 * i + k;
    }
    tap_ok(dt_node_order_apply(&is_changed, &step, switches, &err) == 0, "%s can be ordered", given);
    for (uint32_t i = 0; i < step.node_count; i++) {
        sprintf(got + strlen(got), "%s%s", i > 0 ? " " : "", nodes[i]);
        is_as_given = is_as_given && nodes[i] == dt_hostlist_name(hosts, i);
    }
    tap_ok(strcmp(got, expected) == 0, "%s becomes %s (%s)", given, expected, got);
    tap_ok(is_changed == !is_as_given && follows(&step, hosts), "... its tasks with it, and it is said");
    dt_switches_destroy(switches);
    dt_hostlist_destroy(hosts);
}

/* ---- Crossings ---- */

/* A plan of one task a node, or more, on the nodes given. */
static struct dt_plan *make_plan(const char *nodes, uint32_t tasks, const struct dt_layout_request *request)
{
    const char *names[16];
    uint32_t counts[16];
    struct dt_hostlist *hosts = NULL;
    struct dt_plan *plan = NULL;
    struct dtrain_error err = {""};
    struct dt_plan_inputs inputs = {.request = *request, .nodes = names, .tasks = counts};

    if (dt_hostlist_parse(&hosts, nodes, &err) != 0)
        return NULL;
    inputs.node_count = dt_hostlist_count(hosts);
    for (uint32_t i = 0; i < inputs.node_count; i++) {
        names[i] = dt_hostlist_name(hosts, i);
        counts[i] = tasks;
    }
    if (dt_plan_create(&plan, &inputs, &err) != 0)
        printf("# %s\n", err.text);
    dt_hostlist_destroy(hosts);
    return plan;
}

static const struct {
    const char *text; /* NULL: no switches */
    const char *nodes;
    uint32_t tasks;
    struct dt_layout_request request;
    enum dt_grid grid;
    enum dt_axis axis;
    uint64_t edges[4];
} crossings[] = {
    /* One ring of six nodes: in turn over both leaves all edges go up, in order two do. */
    {TREE, "n0,n3,n1,n4,n2,n5", 1, {.tp = 1}, DT_DENSE, DT_DP, {0, 0, 6, 0}},
    {TREE, "n[0-5]", 1, {.tp = 1}, DT_DENSE, DT_DP, {0, 4, 2, 0}},
    /* Pipelines are no rings. */
    {TREE, "n[0-5]", 1, {.pp = 6}, DT_DENSE, DT_PP, {0, 4, 1, 0}},
    {TREE, "n0,n3,n1,n4,n2,n5", 1, {.pp = 6}, DT_DENSE, DT_PP, {0, 0, 5, 0}},
    {TREE, "n[0-1],x,y", 1, {.pp = 4}, DT_DENSE, DT_PP, {0, 1, 0, 2}},
    {NULL, "n[0-5]", 1, {.pp = 6}, DT_DENSE, DT_PP, {0, 5, 0, 0}},
    {TREE, "n0,n3", 4, {.tp = 2, .pp = 2}, DT_DENSE, DT_TP, {8, 0, 0, 0}},
    {TREE, "n0,n3", 4, {.tp = 2, .pp = 2}, DT_DENSE, DT_DP, {8, 0, 0, 0}},
    {TREE, "n0,n3", 4, {.tp = 2, .pp = 2}, DT_DENSE, DT_PP, {0, 0, 4, 0}},
    {TREE, "n0,n3", 4, {.tp = 2, .pp = 2}, DT_DENSE, DT_CP, {0, 0, 0, 0}},
    {TREE, "n0,n1,n3,n4", 2, {.ep = 4}, DT_EXPERT, DT_EP, {4, 4, 0, 0}},
    {TREE, "n0,n3,n1,n4", 2, {.ep = 4}, DT_EXPERT, DT_EP, {4, 0, 4, 0}},
    {TREE, "n0,n1,n3,n4", 2, {.ep = 4}, DT_EXPERT, DT_DP, {0, 0, 8, 0}},
};

static void test_crossings(size_t row)
{
    struct dt_switches *switches = NULL;
    struct dtrain_error err = {""};
    struct dt_plan_crossings got;
    struct dt_plan *plan = make_plan(crossings[row].nodes, crossings[row].tasks, &crossings[row].request);
    const uint64_t *edges = got.edges[crossings[row].grid][crossings[row].axis];

    if (plan == NULL || (crossings[row].text != NULL && parse(&switches, crossings[row].text, &err) != 0) ||
        dt_plan_crossings(&got, plan, switches, &err) != 0)
        tap_ok(false, "crossings %zu: %s", row, err.text);
    else if (!tap_ok(memcmp(edges, crossings[row].edges, sizeof(crossings[row].edges)) == 0,
                     "crossings %zu on %s", row, crossings[row].nodes))
        printf("# got %u %u %u %u\n", (unsigned)edges[0], (unsigned)edges[1], (unsigned)edges[2],
               (unsigned)edges[3]);
    dt_plan_destroy(plan);
    dt_switches_destroy(switches);
}

/* ---- Files of other programs and sites ---- */

static const struct {
    const char *file, *a, *b;
    uint32_t levels, level;
} files[] = {
    {"azure_cyclecloud_slurm_topology.topology.conf", "hpcbench-hpc-36", "hpcbench-hpc-42", 2, 1},
    {"azure_cyclecloud_slurm_topology.topology.conf", "hpcbench-hpc-36", "hpcbench-hpc-48", 2, 2},
    {"slurm_133_1_tc1.topology.conf", "peta10000", "peta10019", 4, 1},
    {"slurm_133_1_tc1.topology.conf", "peta10000", "peta10020", 4, 2},
    {"slurm_133_1_tc1.topology.conf", "peta10399", "peta10400", 4, 3},
    {"slurm_man_topology_block.conf", "node1", "node32", 2, 1},
    {"slurm_man_topology_block.conf", "node32", "node97", 2, 2},
    {"slurm_man_topology_tree.conf", "dev0", "dev5", 2, 1},
    {"slurm_man_topology_tree.conf", "dev5", "dev6", 2, 2},
    {"topograph_sample_02.topology.conf", "alpha", "beta", 1, 2},
    {"topograph_sample_05.topology.conf", "a05-p1-dgx-01-c03", "a05-p1-dgx-01-c04", 3, 1},
    {"topograph_sample_05.topology.conf", "a05-p1-dgx-01-c03", "b05-p1-dgx-05-c18", 3, 2},
    {"topograph_sample_10.topology.conf", "node11", "node22", 3, 2},
    {"topograph_sample_15.topology.conf", "node11", "node21", 2, 2},
    {"topograph_sample_15.topology.conf", "node11", "node31", 2, 3},
};

static void test_file(size_t row)
{
    const char *top = getenv("DT_SRCDIR") != NULL ? getenv("DT_SRCDIR") : ".";
    char path[4096], *text = malloc(DT_SWITCHES_FILE_MAX);
    struct dt_switches *switches = NULL;
    struct dtrain_error err = {""};
    uint32_t level = UINT32_MAX;
    FILE *file;

    snprintf(path, sizeof(path), "%s/../shared/switches/%s", top, files[row].file);
    file = fopen(path, "r");
    if (file == NULL) {
        tap_skip(files[row].file, "no ../shared/switches");
    } else {
        if (dt_switches_parse(&switches, text, fread(text, 1, DT_SWITCHES_FILE_MAX, file), files[row].file,
                              &err) == 0)
            level = dt_switches_level(switches, files[row].a, files[row].b);
        if (!tap_ok(level == files[row].level && dt_switches_levels(switches) == files[row].levels,
                    "%s: %s and %s meet at level %u of %u", files[row].file, files[row].a, files[row].b,
                    files[row].level, files[row].levels))
            printf("# level %u: %s\n", level, err.text);
        fclose(file);
    }
    dt_switches_destroy(switches);
    free(text);
}

int main(void)
{
    test_levels();
    test_refused();
    test_tiers(false);
    test_tiers(true);
    test_file_size();
    test_counts();
    test_records();
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        test_order(orders[i].text, orders[i].given, orders[i].expected);
    for (size_t i = 0; i < sizeof(crossings) / sizeof(crossings[0]); i++)
        test_crossings(i);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        test_file(i);
    return tap_done();
}
