/* The order of a step's nodes in srun, by the switches of a double of Slurm. */
#include <stdlib.h>
#include <unistd.h>

#include "core/plan_wire.h"
#include "tap.h"
#include "tests/fake/spank.h"

static const topo_info_t tree[] = {
    {.level = 0, .name = (char *)"s0", .nodes = (char *)"n[1,3]"},
    {.level = 0, .name = (char *)"s1", .nodes = (char *)"n[2,4]"},
    /* Slurm gives a switch above leaves the nodes of all of them. */
    {.level = 1, .name = (char *)"top", .nodes = (char *)"n[1-4]", .switches = (char *)"s[0-1]"},
};
static const topo_info_t childless[] = {{.level = 1, .name = (char *)"top", .switches = (char *)"s0"}};
static const topo_info_t nameless[] = {{.level = 0}};

static char conf[] = "/tmp/dtrain-order-XXXXXX";

static const struct {
    const char *name;
    const char *nodes; /* of the step, a task each */
    uint32_t count;
    const topo_info_t *switches;
    uint32_t switch_count;
    bool is_silent, has_conf;
    const char *plan;  /* words of it */
    const char *words; /* of what is said; NULL: nothing of switches */
} rows[] = {
    {"two leaves in turn", "n[1-4]", 4, tree, 3, false, false,
     "nodes=n[1,3,2,4];tasks=1(x4);procids=0+2:2/2:1;",
     "dtrain: the nodes are in the order of the cluster's switches: n[1,3,2,4]"},
    {"nodes that are in order", "n[3,1,4,2]", 4, tree, 3, false, false,
     "nodes=n[3,1,4,2];tasks=1(x4);procids=0+4:1;", NULL},
    {"a node that no switch has", "n1,x,n3", 3, tree, 3, false, false,
     "nodes=n[1,3],x;tasks=1(x3);procids=0+2:2,1;", "n[1,3],x"},
    {"two nodes, with nothing between", "n[1-2]", 2, childless, 1, false, false, "nodes=n[1-2];", NULL},
    {"no topology", "n[1-4]", 4, tree, 0, false, false, "nodes=n[1-4];", NULL},
    {"switches that are none", "n[1-4]", 4, childless, 1, false, false, "nodes=n[1-4];",
     "the order of the nodes stays Slurm's: switch top has s0 below it, which is no switch"},
    {"a switch without a name", "n[1-4]", 4, nameless, 1, false, false, "nodes=n[1-4];",
     "the order of the nodes stays Slurm's: a switch's name"},
    {"a controller that does not say them", "127.0.0.[1-4]", 4, tree, 3, true, false, "nodes=127.0.0.[1-4];",
     "the order of the nodes stays Slurm's: the controller does not say its switches"},
    {"node_order = slurm", "n[1-4]", 4, tree, 3, false, true, "nodes=n[1-4];", NULL},
};

static void set_step(size_t row)
{
    fake_reset(S_CTX_LOCAL);
    fake.job_id = 7;
    fake.nodes = rows[row].count;
    fake.all_tasks = rows[row].count;
    fake.node_list = rows[row].nodes;
    fake.node_address = "10.0.0.1";
    for (uint32_t node = 0; node < rows[row].count; node++) {
        fake.layout_tasks[node] = 1;
        fake.layout_ids[node][0] = node;
    }
    fake.switches = rows[row].switches;
    fake.switch_count = rows[row].switch_count;
    fake.is_silent = rows[row].is_silent;
}

static void test_row(size_t row)
{
    char argument[64];
    char *argv[] = {argument};
    int argc = rows[row].has_conf;
    const char *plan;

    snprintf(argument, sizeof(argument), "conf=%s", conf);
    set_step(row);
    unsetenv(DT_PLAN_WIRE_NAME);
    tap_ok(slurm_spank_init(NULL, argc, argv) == 0 && fake_option("dtrain", "on") == 0 &&
               slurm_spank_local_user_init(NULL, argc, argv) == 0,
           "%s: the step starts", rows[row].name);
    plan = getenv(DT_PLAN_WIRE_NAME);
    tap_holds(plan != NULL ? plan : "", rows[row].plan, "... with this order");
    if (rows[row].words != NULL)
        tap_holds(fake.said, rows[row].words, "... and says why");
    else
        tap_ok(strstr(fake.said, "switch") == NULL && strstr(fake.said, "stays") == NULL,
               "... and says nothing of it");
}

int main(void)
{
    int fd = mkstemp(conf);

    tap_ok(fd >= 0 && write(fd, "node_order = slurm\n", 19) == 19, "a dtrain.conf");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        test_row(i);
    close(fd);
    unlink(conf);
    return tap_done();
}
