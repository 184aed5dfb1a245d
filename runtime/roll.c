#include "roll.h"

#include <stdio.h>
#include <string.h>

#define MORE_MAX 32 /* bytes of " and 4294967295 more" */

void dt_roll_add(struct dt_roll *roll, const struct dt_plan *plan, uint32_t rank)
{
    char one[128];
    int n;

    roll->n++;
    if (roll->n > DT_ROLL_NAMED_MAX || roll->named + 1 < roll->n)
        return;
    n = snprintf(one, sizeof(one), "%srank %u (task %u) on %.64s", roll->n > 1 ? ", " : "", rank,
                 dt_plan_rank_procid(plan, rank), dt_plan_node_name(plan, dt_plan_rank_node(plan, rank)));
    if (roll->used + (size_t)n + MORE_MAX > sizeof(roll->text))
        return;
    memcpy(roll->text + roll->used, one, (size_t)n + 1);
    roll->used += (size_t)n;
    roll->named++;
}

const char *dt_roll_end(struct dt_roll *roll)
{
    if (roll->n > roll->named)
        snprintf(roll->text + roll->used, sizeof(roll->text) - roll->used, " and %u more",
                 roll->n - roll->named);
    return roll->text;
}
