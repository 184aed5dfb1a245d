/* plan_print.h - a plan for people (a table) and for programs (JSON). Pure: text goes to a dt_out. */
#ifndef DT_CORE_PLAN_PRINT_H
#define DT_CORE_PLAN_PRINT_H

#include "out.h"
#include "plan.h"

#define DT_PLAN_PRINT_GROUPS_MAX 32

/* Sets of axes to list: in JSON under the names given, for instance "dp-cp". */
struct dt_plan_print_groups {
    uint32_t n[DT_GRID_COUNT];
    unsigned axes[DT_GRID_COUNT][DT_PLAN_PRINT_GROUPS_MAX];
    const char *names[DT_GRID_COUNT][DT_PLAN_PRINT_GROUPS_MAX]; /* borrowed */
};

/* Whether experts were asked for: text leaves their grid out otherwise. */
bool dt_plan_print_has_experts(const struct dt_plan *plan);

/*
 * Who is where: for each axis whether its groups stay inside a node, then a
 * line a node with its ranks and their coordinates.
 */
void dt_plan_print_text(struct dt_out *out, const struct dt_plan *plan);

/*
 * {"world", "axes": {"tp", ...}, "order", "ranks": [{"rank", "procid", "node", "local_rank", "tp",
 * ...}], "groups": {"tp": [[0, 1], ...], ...}, "expert_groups": {...}}; the key
 * and list order of groups is that of Megatron-LM's RankGenerator.
 */
void dt_plan_print_json(struct dt_out *out, const struct dt_plan *plan,
                        const struct dt_plan_print_groups *groups);

/* The same without its closing brace, so that more can follow. */
void dt_plan_print_json_open(struct dt_out *out, const struct dt_plan *plan,
                             const struct dt_plan_print_groups *groups);

/* One element of "ranks", without its closing brace, so that more can follow. */
void dt_plan_print_json_rank(struct dt_out *out, const struct dt_plan *plan, uint32_t node,
                             uint32_t local);

#endif
