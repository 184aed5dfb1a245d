/* plan_groups.h - which groups `dtrain plan` lists: "tp,dp-cp" or the usual ones. */
#ifndef DT_TOOLS_PLAN_GROUPS_H
#define DT_TOOLS_PLAN_GROUPS_H

#include "core/plan_print.h"

#define DT_PLAN_GROUPS_TEXT_MAX 512 /* bytes of one list with the NUL */

struct dt_plan_groups {
    struct dt_plan_print_groups list; /* its names point into text */
    char text[DT_GRID_COUNT][DT_PLAN_GROUPS_TEXT_MAX];
};

/*
 * Lists of sets of axes, joined by commas; NULL: the groups that Megatron-LM
 * makes; "": none. Refuses unknown axes and a set that is named twice.
 */
int dt_plan_groups_init(struct dt_plan_groups *groups, const char *const texts[DT_GRID_COUNT],
                        struct dtrain_error *err);

/* The sets that tell people something: none with an axis of size 1, none of experts that are not there. */
void dt_plan_groups_trim(struct dt_plan_groups *groups, const struct dt_plan *plan,
                         enum dt_grid grid);

#endif
