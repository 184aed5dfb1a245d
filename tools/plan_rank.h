/* plan_rank.h - one rank of a plan: where it is, its coordinates and its groups. */
#ifndef DT_TOOLS_PLAN_RANK_H
#define DT_TOOLS_PLAN_RANK_H

#include "core/plan_print.h"

/* Constant in time and memory: a long group's members are cut. */
void dt_plan_rank_print_text(struct dt_out *out, const struct dt_plan *plan,
                             const struct dt_plan_print_groups *groups, uint32_t rank);

/*
 * The rank as in "ranks" of the whole plan, with "groups" and "expert_groups":
 * {"tp": {"index", "count", "rank", "size", "members": [...]}, ...}.
 */
void dt_plan_rank_print_json(struct dt_out *out, const struct dt_plan *plan,
                             const struct dt_plan_print_groups *groups, uint32_t rank);

#endif
