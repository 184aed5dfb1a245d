/*
 * plan_cost.h - what each axis of a plan sends in a step, by what it crosses.
 *
 * tp and dp all-reduce V bytes on each rank by a ring in the order of the
 * group: each of its n members sends 2 (n - 1) / n V to the next. dp's ring
 * runs over dp and cp, whose ranks share their weights. pp sends V to the next
 * stage and, of the gradients, V to the one before; there is no ring.
 */
#ifndef DT_TOOLS_PLAN_COST_H
#define DT_TOOLS_PLAN_COST_H

#include "core/switches.h"
#include "tools/plan_place.h"

enum dt_cost_way {
    DT_COST_LINK,   /* NVLink, NVSwitch, xGMI, Xe Link */
    DT_COST_PCIE,   /* inside one host bridge */
    DT_COST_HOST,   /* through the socket, or to the other one */
    DT_COST_INSIDE, /* inside a node, by a path that is not known */
    DT_COST_NIC,    /* to another node */
    DT_COST_UPPER,  /* of those, what goes above the leaf switches; counted only where switches are known */
    DT_COST_WAY_COUNT,
};

enum dt_cost_axis { DT_COST_TP, DT_COST_DP, DT_COST_PP, DT_COST_AXIS_COUNT };

struct dt_plan_cost {
    uint32_t size[DT_COST_AXIS_COUNT]; /* of a group */
    bool has_switches;
    uint64_t sends[DT_COST_AXIS_COUNT][DT_COST_WAY_COUNT]; /* from a rank to a neighbour */
    uint64_t bytes[DT_COST_AXIS_COUNT][DT_COST_WAY_COUNT]; /* of all sends in a step */
    uint64_t busiest_bytes; /* what the NIC with most of it sends in a step; 0: none does */
    uint32_t busiest_node;
    int busiest_nic; /* index into topo->nics */
};

/*
 * bytes by enum dt_axis: V of tp, dp and pp. switches NULL: not known. Refuses
 * sums that 64 bits cannot hold.
 */
int dt_plan_cost_init(struct dt_plan_cost *cost, const struct dt_plan_place *place,
                      const uint64_t bytes[DT_AXIS_COUNT], const struct dt_switches *switches,
                      struct dtrain_error *err);

/* Bytes, or how many sends where no bytes were given. */
int dt_plan_cost_print_text(struct dt_out *out, const struct dt_plan_cost *cost,
                            const struct dt_plan_place *place, struct dtrain_error *err);

/* {"tp": {"size", "sends": {"link", ...}, "bytes": {...}}, ..., "busiest_nic": {"node", "nic", "bytes"}} */
void dt_plan_cost_print_json(struct dt_out *out, const struct dt_plan_cost *cost,
                             const struct dt_plan_place *place);

/* "dp 4: 1.50 TB by NVLink, 20.0 GB by NIC", cut to fit. */
void dt_plan_cost_line(char *text, size_t size, const struct dt_plan_cost *cost,
                       const struct dt_plan_place *place, enum dt_cost_axis axis);

/* "1.50 TB"; at most three digits of a unit count. Returns buf. */
#define DT_COST_BYTES_MAX 16
const char *dt_plan_cost_bytes(char buf[DT_COST_BYTES_MAX], uint64_t bytes);

#endif
