/* switches_build.h - the tree of switches itself. Of switches.c, switches_build.c, switches_read.c alone. */
#ifndef DT_CORE_SWITCHES_BUILD_H
#define DT_CORE_SWITCHES_BUILD_H

#include "switches.h"

struct dt_hostlist;

struct dt_switch {
    struct dt_hostlist *name;    /* one name; NULL: a group of blocks */
    struct dt_hostlist *members; /* nodes of a leaf, else switches; NULL: a group of blocks */
    uint32_t parent;             /* the first that names it; DT_SWITCHES_NONE */
    uint32_t level;              /* 1: a leaf */
};

/* An entry of a table that is sorted by name; of equal names only the lowest index stays. */
struct dt_switches_entry {
    const char *name;
    uint32_t index; /* of a switch: of a node it is its leaf */
};

struct dt_switches {
    uint32_t count, levels, node_count;
    struct dt_switch *all;
    struct dt_switches_entry *nodes;
};

/* What is built: records, and above them tiers of so many neighbours of the tier below each. */
struct dt_switches_plan {
    const struct dt_switches_record *records;
    uint32_t count;
    uint32_t fans[DT_SWITCHES_LEVELS_MAX]; /* each at least 2 */
    uint32_t fan_count;
};

/* On failure *at is the record that is wrong. */
int dt_switches_build(struct dt_switches **switches, const struct dt_switches_plan *plan, uint32_t *at,
                      struct dtrain_error *err);

/* The index in a sorted table; DT_SWITCHES_NONE. */
uint32_t dt_switches_find(const struct dt_switches_entry *table, uint32_t n, const char *name);

#endif
