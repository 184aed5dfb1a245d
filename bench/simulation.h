/*
 * simulation.h - the bootstrap of a whole world in one process: every rank's
 * plan, groups, ids and card are made, written, read and resolved by the library's
 * own functions, one rank after the other. What is left out is what carries them:
 * PMIx, connections, and NCCL, whose id (128 bytes) a counter takes the place of.
 */
#ifndef DT_BENCH_SIMULATION_H
#define DT_BENCH_SIMULATION_H

#include "core/layout.h"

#define SIM_RANKS_PER_ID 128 /* members that one root of a communicator takes in; what is usual with NCCL */

struct sim_sizes {
    uint32_t nodes, tasks; /* tasks on each node */
    uint32_t tp, pp, cp, ep;
};

struct sim_range {
    uint64_t least, most, sum;
};

/* Of all ranks; counts are numbers of calls or ranks, sizes are bytes. */
struct sim_result {
    uint32_t world, dp;
    struct sim_range puts;      /* cards that a rank publishes */
    struct sim_range card;      /* size of a card */
    struct sim_range gets;      /* cards that a rank fetches */
    struct sim_range get_bytes; /* their size */
    struct sim_range readers;   /* ranks that fetch one card */
    struct sim_range inits;     /* communicators of a rank */
    struct sim_range members;   /* ranks that come to one root of a communicator */
    uint64_t table_bytes;       /* of all addresses, which every rank gets over control once all came */
    uint32_t axes;              /* different groups of more than one rank: the bound of inits */
    double seconds;
};

/* 0, or -1 with the reason: also when an id that a rank resolved is not the one that its root made. */
int sim_run(struct sim_result *result, const struct sim_sizes *sizes, struct dtrain_error *err);

/*
 * Calls of torch.distributed.new_group() that Megatron-LM makes on every rank, without context and expert
 * parallelism: every rank calls for every group of every kind. The formula is fitted to the two totals that
 * were counted from its source (5,441 at 1,024 ranks with tp 8 and pp 8, 77,985 at 16,384 with tp 8 and pp 16)
 * and gives both; other sizes are what it extrapolates to.
 */
uint64_t sim_megatron_calls(uint64_t world, uint64_t tp, uint64_t pp);

#endif
