/*
 * switches.h - the cluster's switches: which nodes hang on which leaf, and which
 * switches lie above. From the text of topology.conf (topology/tree and
 * topology/block) or from the controller's records. Pure; immutable after
 * creation, any thread may read.
 *
 * The level at which two nodes meet is the number of tiers that their messages
 * go up: 0 on one node, 1 below one leaf switch or in one block, 2 one tier
 * higher, and so on; one more than the highest tier where they have no switch in
 * common. A node that no leaf names has none in common with any other.
 */
#ifndef DT_CORE_SWITCHES_H
#define DT_CORE_SWITCHES_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define DT_SWITCHES_FILE_MAX (16u << 20)  /* bytes of topology.conf */
#define DT_SWITCHES_MAX (1u << 16)        /* switches, or blocks */
#define DT_SWITCHES_NODES_MAX (1u << 20)  /* names of nodes on all leaves, repeated ones counted */
#define DT_SWITCHES_CHILDREN_MAX (1u << 20) /* the same for switches below switches */
#define DT_SWITCHES_LEVELS_MAX 32u        /* tiers */
#define DT_SWITCHES_NONE UINT32_MAX       /* no leaf */

/* As Slurm's topo_info_t has it. */
struct dt_switches_record {
    const char *name;
    uint16_t level;       /* 0: a leaf, which has nodes; others have switches */
    const char *nodes;    /* a hostlist; of a leaf only */
    const char *switches; /* a hostlist of names of switches; not of a leaf */
};

struct dt_switches;

/*
 * Refuses a switch that is named twice, has nothing below it, or is below
 * itself; a child that is no switch; more than the bounds above. Of several
 * switches above one, and of several leaves with one node, the first counts. The
 * caller frees with dt_switches_destroy().
 */
int dt_switches_create(struct dt_switches **switches, const struct dt_switches_record *records, uint32_t n,
                       struct dtrain_error *err);

/*
 * n bytes of topology.conf. Blocks are leaves; each further size in BlockSizes
 * makes a tier of as many neighbouring blocks. Errors begin "file:line: ".
 */
int dt_switches_parse(struct dt_switches **switches, const char *text, size_t n, const char *file,
                      struct dtrain_error *err);

void dt_switches_destroy(struct dt_switches *switches);

uint32_t dt_switches_levels(const struct dt_switches *switches); /* tiers */

uint32_t dt_switches_level(const struct dt_switches *switches, const char *a, const char *b);

/* The same in two steps, for many nodes. A leaf's number; DT_SWITCHES_NONE: no leaf has the node. */
uint32_t dt_switches_leaf(const struct dt_switches *switches, const char *node);
/* Of two different nodes on these leaves. */
uint32_t dt_switches_meet(const struct dt_switches *switches, uint32_t leaf_a, uint32_t leaf_b);

/*
 * order[i] is the index of the node that comes i-th when the nodes of a leaf are
 * put together, and the leaves of each switch above. Otherwise as given: a
 * leaf's nodes in their order, leaves and switches in the order in which their
 * first nodes appear.
 */
int dt_switches_order(uint32_t *order, const struct dt_switches *switches, const char *const *nodes,
                      uint32_t n, struct dtrain_error *err);

#endif
