/* roll.h - a sentence that names ranks which did not come: the first ones, then a count. Pure. */
#ifndef DT_RUNTIME_ROLL_H
#define DT_RUNTIME_ROLL_H

#include "core/plan.h"

#define DT_ROLL_NAMED_MAX 16
#define DT_ROLL_TEXT_MAX 768

/* Zero-initialise. */
struct dt_roll {
    uint32_t n, named;
    size_t used;
    char text[DT_ROLL_TEXT_MAX]; /* "rank 5 (task 5) on n2, rank 6 (task 6) on n2 and 3 more" */
};

void dt_roll_add(struct dt_roll *roll, const struct dt_plan *plan, uint32_t rank);
/* Returns roll->text. */
const char *dt_roll_end(struct dt_roll *roll);

#endif
