#include "plan.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const dt_span_words[2] = {[DT_SPAN_NODE] = "node", [DT_SPAN_ANY] = "any"};
const char *const dt_backend_words[3] = {
    [DT_BACKEND_AUTO] = "auto", [DT_BACKEND_NCCL] = "nccl", [DT_BACKEND_HOST] = "host"};

struct dt_plan {
    struct dt_layout layout;
    enum dt_span tp_span;
    enum dt_backend_choice backend;
    uint32_t node_count;
    char *names;           /* all names, NUL-terminated, one after the other */
    uint32_t *name_offset; /* into names */
    uint32_t *first;       /* first world rank of each node; first[node_count] is the world */
    uint32_t *procids;     /* of each world rank; NULL: the identity */
    uint32_t *ranks;       /* of each procid; NULL: the identity */
    char master_addr[DT_PLAN_ADDR_MAX];
    uint16_t master_port;
};

static void *plan_alloc(size_t n, size_t size, const char *what, struct dtrain_error *err)
{
    void *memory = calloc(n, size);

    if (memory == NULL)
        dt_error_memory(err, n * size, what);
    return memory;
}

static int names_copy(struct dt_plan *plan, const char *const *nodes, struct dtrain_error *err)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < plan->node_count; i++)
        bytes += strlen(nodes[i]) + 1;
    if (bytes > UINT32_MAX)
        return dt_error_set(err, "the names of %u nodes take %zu bytes: expected less than 4 GiB",
            plan->node_count, bytes);
    plan->names = plan_alloc(bytes, 1, "node names", err);
    plan->name_offset = plan_alloc(plan->node_count, sizeof(uint32_t), "node names", err);
    if (plan->names == NULL || plan->name_offset == NULL)
        return -1;
    bytes = 0;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        plan->name_offset[i] = (uint32_t)bytes;
        strcpy(plan->names + bytes, nodes[i]);
        bytes += strlen(nodes[i]) + 1;
    }
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names_differ(const struct dt_plan *plan, struct dtrain_error *err)
{
    const char **sorted = plan_alloc(plan->node_count, sizeof(*sorted), "node names", err);
    const char *twice = NULL;

    if (sorted == NULL)
        return -1;
    for (uint32_t i = 0; i < plan->node_count; i++)
        sorted[i] = dt_plan_node_name(plan, i);
    qsort(sorted, plan->node_count, sizeof(*sorted), compare_names);
    for (uint32_t i = 1; i < plan->node_count && twice == NULL; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            twice = sorted[i];
    free(sorted);
    if (twice != NULL)
        return dt_error_set(err, "node %.64s stands twice in the list of nodes: name each once", twice);
    return 0;
}

static int first_init(struct dt_plan *plan, uint64_t *world, const uint32_t *tasks,
                      struct dtrain_error *err)
{
    *world = 0;
    plan->first = plan_alloc((size_t)plan->node_count + 1, sizeof(uint32_t), "nodes", err);
    if (plan->first == NULL)
        return -1;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        if (tasks[i] < 1 || tasks[i] > DT_PLAN_TASKS_PER_NODE_MAX)
            return dt_error_set(err, "%u tasks on %.64s are not possible: expected 1 to %u", tasks[i],
                                dt_plan_node_name(plan, i), DT_PLAN_TASKS_PER_NODE_MAX);
        *world += tasks[i];
        if (*world > DT_WORLD_MAX)
            return dt_error_set(err, "more than %u tasks: expected at most that many in one step",
                DT_WORLD_MAX);
        plan->first[i + 1] = (uint32_t)*world;
    }
    return 0;
}

static bool is_identity(const uint32_t *procids, uint32_t n)
{
    for (uint32_t rank = 0; rank < n; rank++)
        if (procids[rank] != rank)
            return false;
    return true;
}

static int procids_copy(struct dt_plan *plan, const uint32_t *procids, struct dtrain_error *err)
{
    uint32_t world = plan->layout.world;

    if (procids == NULL || is_identity(procids, world))
        return 0;
    plan->procids = plan_alloc(world, sizeof(uint32_t), "task ids", err);
    plan->ranks = plan_alloc(world, sizeof(uint32_t), "task ids", err);
    if (plan->procids == NULL || plan->ranks == NULL)
        return -1;
    memset(plan->ranks, 0xff, (size_t)world * sizeof(uint32_t));
    for (uint32_t rank = 0; rank < world; rank++) {
        uint32_t procid = procids[rank];

        if (procid >= world || plan->ranks[procid] != UINT32_MAX)
            return dt_error_set(err, "task id %u of rank %u is %s: expected each of 0 to %u once", procid,
                rank,
                                procid >= world ? "out of range" : "taken twice", world - 1);
        plan->procids[rank] = procid;
        plan->ranks[procid] = rank;
    }
    return 0;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The largest size of tensor-parallel groups, at most tp, that every node can hold whole. */
static uint32_t fitting_tp(const struct dt_plan *plan, uint32_t tp)
{
    for (uint32_t node = 0; node < plan->node_count; node++)
        tp = gcd(tp, dt_plan_node_tasks(plan, node));
    return tp;
}

static int refuse_crossing(const struct dt_plan *plan, enum dt_grid grid, uint32_t low, uint32_t high,
                           struct dtrain_error *err)
{
    uint32_t tp = plan->layout.size[grid][DT_TP], node = dt_plan_rank_node(plan, low);
    uint32_t mean = (plan->layout.world + plan->node_count - 1) / plan->node_count;
    const char *name = grid == DT_DENSE ? "tp" : "etp";
    char order[DT_ORDER_MAX];

    if (fitting_tp(plan, tp) == tp)
        return dt_error_set(err,
                            "the %s group of ranks %u to %u would cross from %.64s to %.64s, since the "
                            "order is %s: put tp "
                            "first in --dtrain-order, or use --dtrain-tp-span=any",
                            name, low, high, dt_plan_node_name(plan, node),
                            dt_plan_node_name(plan, dt_plan_rank_node(plan, high)),
                            dt_layout_order_text(&plan->layout, order));
    while (dt_plan_node_tasks(plan, node) % tp == 0)
        node = node + 1 < plan->node_count ? node + 1 : 0;
    return dt_error_set(err,
                        "%u tasks on %.64s cannot hold groups of %s=%u: use --ntasks-per-node=%u or "
                        "--dtrain-%s=%u, or "
                        "let the groups cross nodes with --dtrain-tp-span=any",
                        dt_plan_node_tasks(plan, node), dt_plan_node_name(plan, node), name, tp,
                        (mean + tp - 1) / tp * tp, name, fitting_tp(plan, tp));
}

/* Ranks are node-major, so a group lies in one node exactly if its first and last member do. */
static int check_tp_inside_nodes(const struct dt_plan *plan, enum dt_grid grid,
                                 struct dtrain_error *err)
{
    const struct dt_layout *layout = &plan->layout;
    uint32_t reach = layout->stride[grid][DT_TP] * (layout->size[grid][DT_TP] - 1), node = 0;

    for (uint32_t low = 0; reach && low < layout->world; low++) {
        while (low >= plan->first[node + 1])
            node++;
        if (dt_layout_coord(layout, grid, DT_TP, low) == 0 && low + reach >= plan->first[node + 1])
            return refuse_crossing(plan, grid, low, low + reach, err);
    }
    return 0;
}

static int check_gpus(const struct dt_plan *plan, uint32_t gpus, struct dtrain_error *err)
{
    for (uint32_t node = 0; node < plan->node_count; node++) {
        uint32_t tasks = dt_plan_node_tasks(plan, node);

        if (tasks > gpus)
            return dt_error_set(err,
                                "%u tasks on %.64s are more than the %u GPUs a node that the step asks "
                                "for: use "
                                "--ntasks-per-node=%u, --gpus-per-node=%u, or --dtrain-backend=host",
                                tasks, dt_plan_node_name(plan, node), gpus, gpus, tasks);
    }
    return 0;
}

static int master_copy(struct dt_plan *plan, const char *addr, uint16_t port,
                       struct dtrain_error *err)
{
    struct in6_addr parsed;

    plan->master_port = port;
    if (addr == NULL || addr[0] == '\0')
        return 0;
    if (strlen(addr) >= sizeof(plan->master_addr) ||
        (inet_pton(AF_INET, addr, &parsed) != 1 && inet_pton(AF_INET6, addr, &parsed) != 1))
        return dt_error_set(err, "master address '%.64s' is not numeric: expected an IPv4 or IPv6 address",
            addr);
    strcpy(plan->master_addr, addr);
    return 0;
}

static int plan_init(struct dt_plan *plan, const struct dt_plan_inputs *inputs,
                     struct dtrain_error *err)
{
    uint64_t world;

    plan->tp_span = inputs->tp_span;
    plan->backend = inputs->backend;
    plan->node_count = inputs->node_count;
    if (names_copy(plan, inputs->nodes, err) || check_names_differ(plan, err))
        return -1;
    if (first_init(plan, &world, inputs->tasks, err))
        return -1;
    if (dt_layout_init(&plan->layout, (uint32_t)world, &inputs->request, err))
        return -1;
    if (procids_copy(plan, inputs->procids, err))
        return -1;
    if (plan->tp_span == DT_SPAN_NODE &&
        (check_tp_inside_nodes(plan, DT_DENSE, err) || check_tp_inside_nodes(plan, DT_EXPERT, err)))
        return -1;
    if (inputs->gpus_per_node && plan->backend != DT_BACKEND_HOST &&
        check_gpus(plan, inputs->gpus_per_node, err))
        return -1;
    return master_copy(plan, inputs->master_addr, inputs->master_port, err);
}

int dt_plan_create(struct dt_plan **plan, const struct dt_plan_inputs *inputs,
                   struct dtrain_error *err)
{
    *plan = NULL;
    if (inputs->node_count < 1 || inputs->node_count > DT_PLAN_NODES_MAX)
        return dt_error_set(err, "a step on %u nodes is not possible: expected 1 to %u", inputs->node_count,
                            DT_PLAN_NODES_MAX);
    *plan = plan_alloc(1, sizeof(**plan), "the plan", err);
    if (*plan == NULL)
        return -1;
    if (plan_init(*plan, inputs, err)) {
        dt_plan_destroy(*plan);
        *plan = NULL;
        return -1;
    }
    return 0;
}

void dt_plan_destroy(struct dt_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->names);
    free(plan->name_offset);
    free(plan->first);
    free(plan->procids);
    free(plan->ranks);
    free(plan);
}

const struct dt_layout *dt_plan_layout(const struct dt_plan *plan)
{
    return &plan->layout;
}

uint32_t dt_plan_world(const struct dt_plan *plan)
{
    return plan->layout.world;
}

enum dt_span dt_plan_tp_span(const struct dt_plan *plan)
{
    return plan->tp_span;
}

enum dt_backend_choice dt_plan_backend(const struct dt_plan *plan)
{
    return plan->backend;
}

const char *dt_plan_master_addr(const struct dt_plan *plan)
{
    return plan->master_addr;
}

uint16_t dt_plan_master_port(const struct dt_plan *plan)
{
    return plan->master_port;
}

uint32_t dt_plan_node_count(const struct dt_plan *plan)
{
    return plan->node_count;
}

const char *dt_plan_node_name(const struct dt_plan *plan, uint32_t node)
{
    assert(node < plan->node_count);
    return plan->names + plan->name_offset[node];
}

uint32_t dt_plan_node_tasks(const struct dt_plan *plan, uint32_t node)
{
    assert(node < plan->node_count);
    return plan->first[node + 1] - plan->first[node];
}

uint32_t dt_plan_node_first(const struct dt_plan *plan, uint32_t node)
{
    assert(node < plan->node_count);
    return plan->first[node];
}

int64_t dt_plan_node_find(const struct dt_plan *plan, const char *name)
{
    for (uint32_t node = 0; node < plan->node_count; node++)
        if (strcmp(dt_plan_node_name(plan, node), name) == 0)
            return node;
    return -1;
}

uint32_t dt_plan_rank_node(const struct dt_plan *plan, uint32_t rank)
{
    uint32_t low = 0, high = plan->node_count;

    assert(rank < plan->layout.world);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (plan->first[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t dt_plan_rank_local(const struct dt_plan *plan, uint32_t rank)
{
    return rank - plan->first[dt_plan_rank_node(plan, rank)];
}

uint32_t dt_plan_rank_procid(const struct dt_plan *plan, uint32_t rank)
{
    assert(rank < plan->layout.world);
    return plan->procids ? plan->procids[rank] : rank;
}

uint32_t dt_plan_procid_rank(const struct dt_plan *plan, uint32_t procid)
{
    assert(procid < plan->layout.world);
    return plan->ranks ? plan->ranks[procid] : procid;
}

bool dt_plan_is_identity(const struct dt_plan *plan)
{
    return plan->procids == NULL;
}
