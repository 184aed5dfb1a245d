/* ep.h - a handle of expert parallelism: one plan of who sends which rows where. */
#ifndef DT_RUNTIME_EP_H
#define DT_RUNTIME_EP_H

#include "dtrain_ep.h"
#include "dtrain_tp.h"
#include "runtime/lane.h"

/* Two numbers for each expert: rows that are sent to it, and how often it was chosen. */
#define DT_EP_COUNTS 2

/* Where an expert's next line goes, and where its lines end. */
struct dt_ep_range {
    size_t next, end;
};

struct dtrain_ep {
    struct dtrain_ep_options options;
    struct dt_lane lane;
    int size, rank;
    struct dtrain_tp_shard own; /* experts */

    /* In the workspace. A slot is a place of experts[tokens, top_k]; lines are the kept ones, by expert. */
    int32_t *own_counts;     /* [DT_EP_COUNTS, experts] */
    int32_t *all_counts;     /* [size, DT_EP_COUNTS, experts] */
    int32_t *tokens, *slots; /* [lines] */
    float *weights;          /* [lines] */
    char *lines;             /* [lines, n] */

    /* The CPU's. */
    int32_t *experts; /* [slots] */
    int32_t *counts;  /* as all_counts; the own ones are in place */
    int32_t *host_tokens, *host_slots;
    struct dt_ep_range *ranges; /* [experts], while a plan is made */
    int64_t *routed;            /* [experts] */
    struct dtrain_transfer *transfers;
    size_t token_count, line_count, row_count;
    int64_t dropped;
};

/* A rank's experts. */
struct dtrain_tp_shard dt_ep_shard_of(const struct dtrain_ep *ep, int rank);

/* Rows that a rank sends to an expert, and how often it chose it. */
static inline size_t dt_ep_sent(const struct dtrain_ep *ep, int rank, size_t expert)
{
    return (size_t)ep->counts[DT_EP_COUNTS * (size_t)rank * (size_t)ep->options.experts + expert];
}

static inline int64_t dt_ep_chosen(const struct dtrain_ep *ep, int rank, size_t expert)
{
    return ep->counts[(DT_EP_COUNTS * (size_t)rank + 1) * (size_t)ep->options.experts + expert];
}

#endif
