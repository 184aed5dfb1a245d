/*
 * dp_plan.h - which parameters share a bucket, and where each lies in it; pure.
 * The rule is PyTorch DDP's (compute_bucket_assignment_by_size): parameters come
 * in the order in which their gradients do; those of one key share buckets, and
 * a bucket closes when it has reached the cap. Buckets are ordered by their last
 * parameter, which is when they are complete.
 */
#ifndef DT_RUNTIME_DP_PLAN_H
#define DT_RUNTIME_DP_PLAN_H

#include "dtrain.h"

#define DT_DP_KEYS_MAX 64
#define DT_DP_ALIGNMENT 32 /* elements: 64 bytes of the smallest type */
#define DT_DP_FIRST_BUCKET_BYTES ((size_t)1 << 20)
#define DT_DP_BUCKET_BYTES ((size_t)25 << 20)

struct dt_dp_item {
    size_t count; /* elements */
    size_t size;  /* bytes of one in the bucket */
    unsigned key; /* below DT_DP_KEYS_MAX */
};

struct dt_dp_cut {
    size_t first_bytes, bytes; /* caps of each key's first bucket and of the others */
    size_t shards;             /* equal parts that a bucket divides into, aligned; 1: one */
};

struct dt_dp_bucket {
    size_t first, count; /* its parameters: order[first .. first + count - 1] */
    size_t elements;     /* with padding: a multiple of DT_DP_ALIGNMENT * shards */
};

struct dt_dp_plan {
    size_t count, bucket_count;
    size_t *order;                /* [count] parameters, bucket by bucket */
    size_t *bucket;               /* [items] of a parameter */
    size_t *at;                   /* [items] its first element in the bucket */
    struct dt_dp_bucket *buckets; /* [bucket_count], in the order of completion */
};

/*
 * order[count]: which of the items there are, in the order of their gradients.
 * The counts were checked: their sum of bytes does not overflow.
 */
int dt_dp_plan_create(struct dt_dp_plan *plan, const struct dt_dp_item *items, size_t item_count,
                      const size_t *order, size_t count, const struct dt_dp_cut *cut,
                      struct dtrain_error *err);
void dt_dp_plan_destroy(struct dt_dp_plan *plan);

#endif
