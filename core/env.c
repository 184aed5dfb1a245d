#include "env.h"

#include <stdio.h>
#include <string.h>

static bool put_u32(char value[DT_ENV_VALUE_MAX], uint32_t number)
{
    snprintf(value, DT_ENV_VALUE_MAX, "%u", number);
    return true;
}

static bool put_text(char value[DT_ENV_VALUE_MAX], const char *text)
{
    return text[0] != '\0' && snprintf(value, DT_ENV_VALUE_MAX, "%s", text) < DT_ENV_VALUE_MAX;
}

static bool value_rank(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    (void)plan;
    return put_u32(value, rank);
}

static bool value_world(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    (void)rank;
    return put_u32(value, dt_plan_world(plan));
}

static bool value_local(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    return put_u32(value, dt_plan_rank_local(plan, rank));
}

static bool value_local_world(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan,
                              uint32_t rank)
{
    return put_u32(value, dt_plan_node_tasks(plan, dt_plan_rank_node(plan, rank)));
}

static bool value_node(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    return put_u32(value, dt_plan_rank_node(plan, rank));
}

static bool value_nodes(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    (void)rank;
    return put_u32(value, dt_plan_node_count(plan));
}

static bool value_addr(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    (void)rank;
    return put_text(value, dt_plan_master_addr(plan));
}

static bool value_port(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    (void)rank;
    return dt_plan_master_port(plan) && put_u32(value, dt_plan_master_port(plan));
}

static bool value_order(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    char order[DT_ORDER_MAX];

    (void)rank;
    return put_text(value, dt_layout_order_text(dt_plan_layout(plan), order));
}

static bool value_backend(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank)
{
    (void)rank;
    return put_text(value, dt_backend_words[dt_plan_backend(plan)]);
}

/* DTRAIN_<NAME>_SIZE and DTRAIN_<NAME>_RANK: an axis' size and this rank's coordinate on it. */
#define AXIS_VALUES(name, grid, axis)                                                              \
    static bool value_##name##_size(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan,      \
                                    uint32_t rank)                                                 \
    {                                                                                              \
        (void)rank;                                                                                \
        return put_u32(value, dt_plan_layout(plan)->size[grid][axis]);                             \
    }                                                                                              \
    static bool value_##name##_rank(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan,      \
                                    uint32_t rank)                                                 \
    {                                                                                              \
        return put_u32(value, dt_layout_coord(dt_plan_layout(plan), grid, axis, rank));            \
    }

AXIS_VALUES(tp, DT_DENSE, DT_TP)
AXIS_VALUES(cp, DT_DENSE, DT_CP)
AXIS_VALUES(dp, DT_DENSE, DT_DP)
AXIS_VALUES(pp, DT_DENSE, DT_PP)
AXIS_VALUES(etp, DT_EXPERT, DT_TP)
AXIS_VALUES(ep, DT_EXPERT, DT_EP)
AXIS_VALUES(edp, DT_EXPERT, DT_DP)

#define AXIS_ROWS(name, NAME, text)                                                                \
    {"DTRAIN_" NAME "_SIZE", "size of the " text " groups", false, value_##name##_size},           \
    {"DTRAIN_" NAME "_RANK", "this task's rank in its " text " group", false, value_##name##_rank}

static const struct dt_env_var vars[] = {
    {"RANK", "world rank, 0 to WORLD_SIZE-1, node by node", false, value_rank},
    {"WORLD_SIZE", "tasks of the step", false, value_world},
    {"LOCAL_RANK", "rank among the tasks of this node; index of the own GPU in CUDA_VISIBLE_DEVICES", false,
     value_local},
    {"LOCAL_WORLD_SIZE", "tasks of the step on this node", false, value_local_world},
    {"GROUP_RANK", "index of this node in the plan's order", false, value_node},
    {"GROUP_WORLD_SIZE", "nodes of the step", false, value_nodes},
    {"NODE_RANK", "the same as GROUP_RANK, the name that Lightning reads", false, value_node},
    {"ROLE_RANK", "the same as RANK; torchrun's name, one role", false, value_rank},
    {"ROLE_WORLD_SIZE", "the same as WORLD_SIZE; torchrun's name, one role", false, value_world},
    {"MASTER_ADDR", "address of the node of rank 0, as Slurm knows it; a value of the user's own stays",
     true, value_addr},
    {"MASTER_PORT", "port for rank 0 to listen on, by job, step and restart; a value of the user's own "
                    "stays", true, value_port},
    AXIS_ROWS(tp, "TP", "tensor-parallel"),
    AXIS_ROWS(cp, "CP", "context-parallel"),
    AXIS_ROWS(dp, "DP", "data-parallel"),
    AXIS_ROWS(pp, "PP", "pipeline"),
    AXIS_ROWS(etp, "ETP", "expert-tensor-parallel"),
    AXIS_ROWS(ep, "EP", "expert-parallel"),
    AXIS_ROWS(edp, "EDP", "expert-data-parallel"),
    {"DTRAIN_ORDER", "the order of the axes, fastest first", false, value_order},
    {"DTRAIN_BACKEND", "auto, nccl or host, as asked for", false, value_backend},
};

static const struct dt_env_input inputs[] = {
    {"SLURM_DTRAIN_PLAN", "", "the step's plan; set by srun's plugin, read by libdtrain, not for people"},
    {"DTRAIN_LOG", "warn", "error, warn, info or debug: what libdtrain says on stderr; info prints the "
                           "times of the bring-up"},
    {"DTRAIN_INIT_TIMEOUT", "120", "seconds until dtrain_init() names who is missing"},
    {"DTRAIN_TIMEOUT", "600", "seconds until an operation names whom it waits for"},
    {"SLURM_DTRAIN_NCCL_CONFIG", "", "keys of the axes in dtrain.conf; set by srun's plugin, not for people"},
    {"DTRAIN_NCCL_CONFIG", "", "how NCCL builds the communicators: keys of dtrain.conf(5) as "
                               "tp.max_ctas=8,all.split_share=0, which win over the site's"},
    {"DTRAIN_SOCKET_IFNAME", "", "network interface for connections between nodes; by default the one that "
                                 "leads to MASTER_ADDR"},
    {"DTRAIN_LIBRARY", "", "path of libdtrain for the Python package; by default the loader finds it"},
};

const struct dt_env_var *dt_env_vars(size_t *count)
{
    *count = sizeof(vars) / sizeof(vars[0]);
    return vars;
}

const struct dt_env_input *dt_env_inputs(size_t *count)
{
    *count = sizeof(inputs) / sizeof(inputs[0]);
    return inputs;
}
