/*
 * ps_plan.h - which server holds which elements: pure arithmetic. The parameters,
 * one after the other, are cut into as many parts of equal bytes as there are
 * servers, on borders of DT_PS_BLOCK elements of a parameter.
 */
#ifndef DT_RUNTIME_PS_PLAN_H
#define DT_RUNTIME_PS_PLAN_H

#include "dtrain_ps.h"

#define DT_PS_BLOCK 16 /* elements: at least 32 bytes, so that pieces stay aligned for wide loads */

/* Elements first .. first + count - 1 of a parameter; count > 0. */
struct dt_ps_piece {
    size_t parameter, first, count;
};

struct dt_ps_plan {
    struct dt_ps_piece *pieces; /* by server, then by parameter */
    size_t *begin;              /* [servers + 1]: server s holds begin[s] .. begin[s + 1] - 1 */
};

/* Counts and types were checked. dt_ps_plan_destroy() ends it, also after -1. */
int dt_ps_plan_create(struct dt_ps_plan *plan, const struct dtrain_ps_parameter *parameters, size_t n,
                      size_t servers, struct dtrain_error *err);
void dt_ps_plan_destroy(struct dt_ps_plan *plan);

#endif
