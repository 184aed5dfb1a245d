/*
 * control_branch.h - one rank's place in the tree of those that survived: every
 * rank is below the first of its node, the first rank of the i-th node below that
 * of node (i - 1) / DT_CONTROL_FANOUT, counting nodes that have survivors. Pure.
 */
#ifndef DT_RUNTIME_CONTROL_BRANCH_H
#define DT_RUNTIME_CONTROL_BRANCH_H

#include "core/plan.h"

struct dt_branch {
    uint32_t parent;    /* DT_RANK_NONE: the root */
    uint32_t *children; /* not NULL, also without any */
    uint32_t child_count;
    uint32_t height, depth; /* levels below and above */
};

/* survivors: n world ranks, ascending; rank is one of them. The caller frees branch->children. */
int dt_branch_create(struct dt_branch *branch, const struct dt_plan *plan, const uint32_t *survivors,
                     uint32_t n, uint32_t rank, struct dtrain_error *err);

#endif
