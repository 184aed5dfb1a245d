#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"

int dt_facts_check_size(const struct dt_boot_facts *facts, const struct dt_plan *plan,
                        struct dtrain_error *err)
{
    uint32_t world = dt_plan_world(plan);

    if (facts->task_count != world)
        return dt_error_set(err,
                            "task %u: the plan has %u ranks, PMIx says that this step has %u tasks: "
                            "SLURM_DTRAIN_PLAN is not this step's",
                            facts->task, world, facts->task_count);
    if (facts->task >= world)
        return dt_error_set(err, "PMIx says that this is task %u of a step with tasks 0 to %u", facts->task,
                            world - 1);
    return 0;
}

static int differ(uint32_t rank, uint32_t task, const char *what, uint32_t plan, uint32_t launcher,
                  struct dtrain_error *err)
{
    return dt_error_set(err,
                        "rank %u (task %u): the plan says %s %u, PMIx says %u: SLURM_DTRAIN_PLAN is not this "
                        "step's",
                        rank, task, what, plan, launcher);
}

int dt_facts_check_place(const struct dt_boot_facts *facts, const struct dt_plan *plan,
                         struct dtrain_error *err)
{
    uint32_t rank = dt_plan_procid_rank(plan, facts->task), node = dt_plan_rank_node(plan, rank);
    const char *host = dt_plan_node_name(plan, node);

    if (facts->host[0] != '\0' && strcmp(host, facts->host) != 0)
        return dt_error_set(err,
                            "rank %u (task %u): the plan puts it on %s, PMIx says that this is %s: "
                            "SLURM_DTRAIN_PLAN is not this step's",
                            rank, facts->task, host, facts->host);
    if (facts->node_count != dt_plan_node_count(plan))
        return differ(rank, facts->task, "that the number of nodes is", dt_plan_node_count(plan),
                      facts->node_count, err);
    if (facts->local_size != dt_plan_node_tasks(plan, node))
        return differ(rank, facts->task, "that the number of tasks on its node is",
                      dt_plan_node_tasks(plan, node), facts->local_size, err);
    if (facts->local_rank != dt_plan_rank_local(plan, rank))
        return differ(rank, facts->task, "that its local rank is", dt_plan_rank_local(plan, rank),
                      facts->local_rank, err);
    return 0;
}

int dt_facts_check_variables(const struct dt_settings *settings, const struct dt_plan *plan, uint32_t rank,
                             struct dtrain_error *err)
{
    const uint32_t expected[DT_RANK_VARIABLES] = {
        [DT_RANK] = rank,
        [DT_WORLD_SIZE] = dt_plan_world(plan),
        [DT_LOCAL_RANK] = dt_plan_rank_local(plan, rank),
        [DT_LOCAL_WORLD_SIZE] = dt_plan_node_tasks(plan, dt_plan_rank_node(plan, rank)),
    };

    for (int i = 0; i < DT_RANK_VARIABLES; i++) {
        const char *text = settings->rank_variables[i];
        char want[DT_SETTINGS_VALUE_MAX], shown[DT_PARSE_SHOWN_MAX + 4];

        snprintf(want, sizeof(want), "%u", expected[i]);
        if (text[0] != '\0' && strcmp(text, want) != 0)
            return dt_error_set(
                err,
                "rank %u (task %u): %s=%s in the environment, the plan says %s: unset it, or leave "
                "it as srun set it",
                rank, dt_plan_rank_procid(plan, rank), dt_rank_variable_names[i], dt_parse_shown(shown, text),
                want);
    }
    return 0;
}

/* Node of a task in the mapping, -1 when the text is in another form or has no such task. */
static int64_t mapping_node(const char *mapping, uint32_t task)
{
    uint64_t before = 0;
    int used = 0;

    if (strncmp(mapping, "(vector", 7) != 0)
        return -1;
    for (const char *at = mapping + 7; *at == ','; at += used) {
        unsigned first, nodes, tasks;

        if (sscanf(at, ",(%7u,%7u,%7u)%n", &first, &nodes, &tasks, &used) != 3 || tasks == 0)
            return -1;
        if (task < before + (uint64_t)nodes * tasks)
            return (int64_t)(first + (task - before) / tasks);
        before += (uint64_t)nodes * tasks;
    }
    return -1;
}

int dt_facts_check_mapping(const char *mapping, const struct dt_plan *plan, uint32_t rank,
                           struct dtrain_error *err)
{
    uint32_t node = dt_plan_rank_node(plan, rank), first = dt_plan_node_first(plan, node);
    uint32_t task = dt_plan_rank_procid(plan, rank);
    int64_t mine = mapping_node(mapping, task);

    if (mine < 0)
        return 0;
    for (uint32_t i = first; i < first + dt_plan_node_tasks(plan, node); i++) {
        uint32_t other = dt_plan_rank_procid(plan, i);

        if (mapping_node(mapping, other) != mine)
            return dt_error_set(
                err,
                "rank %u (task %u): the plan puts task %u on its node %s, SLURM_PMIX_MAPPING_SERV "
                "on another: SLURM_DTRAIN_PLAN is not this step's",
                rank, task, other, dt_plan_node_name(plan, node));
    }
    return 0;
}
