#include "tools/plan_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hostlist.h"
#include "core/node_order.h"
#include "core/parse.h"

#define ANONYMOUS_MAX 16 /* bytes of "node1048575" with the NUL */

struct dt_plan_step {
    uint32_t node_count;
    uint32_t world;
    struct dt_hostlist *hosts; /* NULL: anonymous */
    char *anonymous;           /* ANONYMOUS_MAX bytes a node */
    const char **names;        /* borrowed from either */
    uint32_t *tasks;
    uint32_t *procids; /* NULL: the identity */
};

static void *step_alloc(size_t n, size_t size, const char *what, struct dtrain_error *err)
{
    void *memory = calloc(n, size);

    if (memory == NULL)
        dt_error_memory(err, n * size, what);
    return memory;
}

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* ---- How many nodes, and how many tasks on each ---- */

/* Sets node_count from --nodes, and hosts where it names them; 0: not given. */
static int read_nodes(struct dt_plan_step *step, const char *nodes, struct dtrain_error *err)
{
    if (nodes == NULL)
        return 0;
    if (is_number(nodes))
        return dt_parse_u32(&step->node_count, nodes, 1, DT_PLAN_NODES_MAX, "--nodes", err);
    if (dt_hostlist_parse(&step->hosts, nodes, err) != 0)
        return dt_error_prefix(err, "--nodes");
    step->node_count = dt_hostlist_count(step->hosts);
    return 0;
}

static int fill_list(struct dt_plan_step *step, const char *text, struct dtrain_error *err)
{
    uint32_t count;

    if (dt_parse_task_counts(&step->tasks, &count, text, DT_PLAN_NODES_MAX,
                             DT_PLAN_TASKS_PER_NODE_MAX, "--ntasks-per-node", err) != 0)
        return -1;
    if (step->node_count != 0 && step->node_count != count)
        return dt_error_set(err,
                            "--ntasks-per-node=%.64s counts the tasks of %u nodes, --nodes has %u: give one "
                            "count for each node, or one for all",
                            text, count, step->node_count);
    step->node_count = count;
    return 0;
}

static int fill_same(struct dt_plan_step *step, uint32_t tasks, struct dtrain_error *err)
{
    if (step->node_count == 0)
        step->node_count = 1;
    step->tasks = step_alloc(step->node_count, sizeof(uint32_t), "task counts", err);
    for (uint32_t i = 0; step->tasks != NULL && i < step->node_count; i++)
        step->tasks[i] = tasks;
    return step->tasks != NULL ? 0 : -1;
}

/* ntasks over the nodes as evenly as it goes, the first ones get one more; limit 0: none. */
static int fill_spread(struct dt_plan_step *step, uint32_t ntasks, uint32_t limit,
                       struct dtrain_error *err)
{
    uint32_t each, more;

    if (step->node_count == 0)
        step->node_count = limit != 0 ? (ntasks + limit - 1) / limit : 1;
    each = ntasks / step->node_count;
    more = ntasks % step->node_count;
    if (each == 0)
        return dt_error_set(err, "--ntasks=%u is less than the %u nodes: use --nodes=%u, or --ntasks=%u",
                            ntasks, step->node_count, ntasks, step->node_count);
    if (limit != 0 && each + (more > 0) > limit)
        return dt_error_set(err,
                            "--ntasks=%u does not fit %u nodes of --ntasks-per-node=%u: use --nodes=%u, or "
                            "--ntasks=%llu",
                            ntasks, step->node_count, limit, (ntasks + limit - 1) / limit,
                            (unsigned long long)limit * step->node_count);
    if (each + (more > 0) > DT_PLAN_TASKS_PER_NODE_MAX)
        return dt_error_set(err,
                            "--ntasks=%u puts %u tasks on a node: expected at most %u, say how they are "
                            "spread with --nodes or --ntasks-per-node",
                            ntasks, each + (more > 0), DT_PLAN_TASKS_PER_NODE_MAX);
    if (fill_same(step, each, err) != 0)
        return -1;
    for (uint32_t i = 0; i < more; i++)
        step->tasks[i]++;
    return 0;
}

static int read_tasks(struct dt_plan_step *step, const struct dt_plan_options *options,
                      struct dtrain_error *err)
{
    const char *text = options->tasks_per_node;
    uint32_t per_node = 0;

    if (text != NULL && !is_number(text)) {
        if (options->ntasks != 0)
            return dt_error_set(err,
                                "--ntasks-per-node=%.64s says the tasks of each node already: leave "
                                "--ntasks=%u out",
                                text, options->ntasks);
        return fill_list(step, text, err);
    }
    if (text != NULL && dt_parse_u32(&per_node, text, 1, DT_PLAN_TASKS_PER_NODE_MAX,
                                     "--ntasks-per-node", err) != 0)
        return -1;
    if (options->ntasks != 0)
        return fill_spread(step, options->ntasks, per_node, err);
    return fill_same(step, per_node != 0 ? per_node : 1, err);
}

static int check_world(struct dt_plan_step *step, struct dtrain_error *err)
{
    uint64_t world = 0;

    for (uint32_t i = 0; i < step->node_count; i++)
        world += step->tasks[i];
    if (world > DT_WORLD_MAX)
        return dt_error_set(err, "%llu tasks on %u nodes are too many: expected at most %u",
                            (unsigned long long)world, step->node_count, DT_WORLD_MAX);
    step->world = (uint32_t)world;
    return 0;
}

static int name_nodes(struct dt_plan_step *step, struct dtrain_error *err)
{
    step->names = step_alloc(step->node_count, sizeof(*step->names), "node names", err);
    if (step->names == NULL)
        return -1;
    if (step->hosts == NULL) {
        step->anonymous = step_alloc(step->node_count, ANONYMOUS_MAX, "node names", err);
        if (step->anonymous == NULL)
            return -1;
    }
    for (uint32_t i = 0; i < step->node_count; i++) {
        if (step->hosts != NULL) {
            step->names[i] = dt_hostlist_name(step->hosts, i);
            continue;
        }
        step->names[i] = step->anonymous + (size_t)i * ANONYMOUS_MAX;
        snprintf(step->anonymous + (size_t)i * ANONYMOUS_MAX, ANONYMOUS_MAX, "node%u", i);
    }
    return 0;
}

/* ---- Slurm's number of each task ---- */

/* The size of the blocks that go round the nodes; 0: one block a node. */
static int read_distribution(uint32_t *plane, const char *text, struct dtrain_error *err)
{
    size_t n;

    *plane = 0;
    if (text == NULL)
        return 0;
    /* What follows, for instance in block:cyclic, is about sockets and cores. */
    n = strcspn(text, ":,");
    if ((n == 5 && strncmp(text, "block", n) == 0) || (n == 1 && text[0] == '*'))
        return 0;
    if (n == 6 && strncmp(text, "cyclic", n) == 0) {
        *plane = 1;
        return 0;
    }
    if (strncmp(text, "plane=", 6) == 0)
        return dt_parse_u32(plane, text + 6, 1, DT_WORLD_MAX, "--distribution=plane", err);
    if (n == 9 && strncmp(text, "arbitrary", n) == 0)
        return dt_error_set(err, "--distribution=arbitrary follows a file of hosts that only srun reads: use "
                                 "srun's --dtrain-report");
    return dt_error_set(err, "--distribution=%.64s is not known: expected block, cyclic or plane=SIZE", text);
}

/* A node's ranks that have no number yet. */
struct unnumbered {
    uint32_t next, end;
};

/* One turn: each node with room numbers the next `plane` of its tasks. Returns how many still have room. */
static uint32_t number_turn(struct dt_plan_step *step, struct unnumbered *nodes, uint32_t n,
                            uint32_t plane, uint32_t *procid)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct unnumbered node = nodes[i];

        for (uint32_t k = 0; k < plane && node.next < node.end; k++)
            step->procids[node.next++] = (*procid)++;
        if (node.next < node.end)
            nodes[left++] = node;
    }
    return left;
}

static int number_tasks(struct dt_plan_step *step, uint32_t plane, struct dtrain_error *err)
{
    struct unnumbered *nodes = step_alloc(step->node_count, sizeof(*nodes), "task ids", err);
    uint32_t first = 0, procid = 0, n = step->node_count;

    if (nodes == NULL)
        return -1;
    step->procids = step_alloc(step->world, sizeof(uint32_t), "task ids", err);
    if (step->procids == NULL) {
        free(nodes);
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = (struct unnumbered){first, first + step->tasks[i]};
        first += step->tasks[i];
    }
    while (n > 0)
        n = number_turn(step, nodes, n, plane, &procid);
    free(nodes);
    return 0;
}

/* ---- The step ---- */

static int step_init(struct dt_plan_step *step, const struct dt_plan_options *options,
                     struct dtrain_error *err)
{
    uint32_t plane;

    if (read_distribution(&plane, options->distribution, err) != 0)
        return -1;
    if (read_nodes(step, options->nodes, err) != 0)
        return -1;
    if (read_tasks(step, options, err) != 0)
        return -1;
    if (check_world(step, err) != 0)
        return -1;
    if (name_nodes(step, err) != 0)
        return -1;
    return plane != 0 ? number_tasks(step, plane, err) : 0;
}

int dt_plan_step_create(struct dt_plan_step **step, const struct dt_plan_options *options,
                        struct dtrain_error *err)
{
    *step = step_alloc(1, sizeof(**step), "the step", err);
    if (*step == NULL)
        return -1;
    if (step_init(*step, options, err) == 0)
        return 0;
    dt_plan_step_destroy(*step);
    *step = NULL;
    return -1;
}

void dt_plan_step_destroy(struct dt_plan_step *step)
{
    if (step == NULL)
        return;
    dt_hostlist_destroy(step->hosts);
    free(step->anonymous);
    free(step->names);
    free(step->tasks);
    free(step->procids);
    free(step);
}

bool dt_plan_step_is_anonymous(const struct dt_plan_step *step)
{
    return step->hosts == NULL;
}

int dt_plan_step_order(struct dt_plan_step *step, const struct dt_switches *switches,
                       struct dtrain_error *err)
{
    struct dt_node_order order = {step->node_count, step->names, step->tasks, step->procids};
    bool is_changed;

    /* One block a node: the numbers go with the nodes. */
    if (step->procids == NULL && number_tasks(step, DT_WORLD_MAX, err) != 0)
        return -1;
    order.procids = step->procids;
    return dt_node_order_apply(&is_changed, &order, switches, err);
}

void dt_plan_step_inputs(const struct dt_plan_step *step, struct dt_plan_inputs *inputs)
{
    inputs->node_count = step->node_count;
    inputs->nodes = step->names;
    inputs->tasks = step->tasks;
    inputs->procids = step->procids;
}

int dt_plan_step_plan(struct dt_plan **plan, const struct dt_plan_step *step,
                      const struct dt_plan_options *options, struct dtrain_error *err)
{
    struct dt_plan_inputs inputs = {
        .request = dt_request_layout(&options->request),
        .tp_span = options->request.tp_span,
        .backend = options->request.backend,
        .gpus_per_node = options->gpus_per_node,
    };

    if (options->request.is_off)
        return dt_error_set(err, "--dtrain=off asks for a step without a plan: leave it out");
    dt_plan_step_inputs(step, &inputs);
    return dt_plan_create(plan, &inputs, err);
}
