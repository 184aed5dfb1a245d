/*
 * dp.h - a struct dtrain_dp from inside. Parameters of the dense axes and those
 * of experts travel in lanes of their own: a communicator, a stream, a plan of
 * buckets each. All fields are of the thread that calls.
 */
#ifndef DT_RUNTIME_DP_H
#define DT_RUNTIME_DP_H

#include "dtrain_dp.h"
#include "runtime/dp_plan.h"

enum { DT_DP_DENSE, DT_DP_EXPERT, DT_DP_LANES };

struct dt_dp_parameter {
    struct dtrain_parameter given; /* the name is owned; value and gradient also where dp holds them */
    struct dt_dp_lane *lane;
    bool is_ready;  /* in this pass */
    bool was_ready; /* in one since the gradients were zero */
};

/* Stage 2: memory for a bucket, lent from the first request until it is reduced on the buffer's stream. */
struct dt_dp_buffer {
    struct dt_dp_buffer *next; /* of those that are free, or of all that are lent */
    void *memory;
    size_t bytes;
    struct dtrain_stream *stream;
};

/* A bucket on its way. */
struct dt_dp_slot {
    size_t gradients_at, values_at, shard_at; /* bytes, in the lane's memories */
    size_t missing;                           /* parameters that are not ready in this pass */
    struct dtrain_stream *stream;     /* on which the last of them became ready; NULL: nothing to wait for */
    struct dt_dp_buffer *buffer;      /* stage 2, while it is lent */
    struct dtrain_stream *reduced_on; /* stage 2: the last reduction's */
    bool has_shard;                   /* stage 2: shard holds sums since the gradients were zero */
};

struct dt_dp_lane {
    const char *name; /* for messages: "" or "expert " */
    unsigned axes;    /* of the ranks that reduce */
    struct dtrain_comm *comm;
    int size, rank;
    struct dtrain_stream *stream;
    enum dtrain_op op; /* of the reduction, and what its result is multiplied by */
    double factor;
    struct dt_dp_plan plan;
    struct dt_dp_slot *slots; /* [buckets] */
    size_t *sequence;         /* [buckets] in which they are reduced, the same on all ranks */
    size_t launched;          /* of the sequence in this pass */
    size_t settled;           /* of these, known to have ended */
    size_t *readiness;        /* [parameters] in the order of this pass */
    size_t readiness_count;
    void *gradients; /* dp's storage, or where registered gradients travel; NULL: neither, and in stage 2 */
    void *values;    /* dp's storage or NULL */
    void *shards;    /* stage 2: this rank's part of each bucket's gradients */
};

struct dtrain_dp {
    struct dtrain_world *world;
    struct dtrain_dp_options options; /* without zeros that mean a default */
    struct dt_dp_parameter *parameters;
    size_t n;
    struct dt_dp_lane lanes[DT_DP_LANES];
    struct dt_dp_buffer *free, *lent; /* stage 2 */
    bool in_pass, reduces;
    bool is_ordered;      /* the order of readiness is known */
    bool norm_is_current; /* squares is that of the last finish */
    double *squares;      /* [DT_DP_LANES] in the backend's memory; the first one becomes the whole norm's */
    bool has_failed;
    struct dtrain_error failure;
    size_t bytes;
};

/* The part of a parameter that this rank updates: all of it, or what lies in its shard of the bucket. */
struct dt_dp_piece {
    size_t first, count; /* elements of the parameter */
    void *value, *gradient;
};
struct dt_dp_piece dt_dp_piece_get(const struct dtrain_dp *dp, size_t index);

/* float32, float64, bfloat16 or float16. */
bool dt_dp_type_is_float(enum dtrain_type type);

/* A bucket's type of gradients while it travels. */
enum dtrain_type dt_dp_travel_type(const struct dtrain_dp *dp, const struct dt_dp_parameter *parameter);

/* Elements of this rank's part of a bucket: all in stage 0. */
size_t dt_dp_shard_elements(const struct dtrain_dp *dp, const struct dt_dp_lane *lane, size_t bucket);

/* Memory of the backend's, counted; freed with dp. */
int dt_dp_memory_alloc(struct dtrain_dp *dp, size_t bytes, void **memory, struct dtrain_error *err);

/* -1 when dp has failed before, with the first reason. */
int dt_dp_check_alive(const struct dtrain_dp *dp, struct dtrain_error *err);

/* "function: index 7: there are 5 parameters" */
int dt_dp_check_index(const struct dtrain_dp *dp, const char *function, size_t index,
                      struct dtrain_error *err);

/* ---- dp_storage.c ---------------------------------------------------------- */

/* A lane's plan for this order of its parameters, and its memory; again for another order. */
int dt_dp_storage_create(struct dtrain_dp *dp, struct dt_dp_lane *lane, const size_t *order, size_t count,
                         struct dtrain_error *err);
int dt_dp_storage_reorder(struct dtrain_dp *dp, struct dt_dp_lane *lane, const size_t *order,
                          struct dtrain_error *err);
void dt_dp_storage_destroy(struct dtrain_dp *dp, struct dt_dp_lane *lane);

/* ---- dp_check.c, dp_agree.c -------------------------------------------------- */

/* What dtrain_dp_create() is called with; options without defaults. */
int dt_dp_check_registered(const struct dtrain_parameter *parameters, size_t n,
                           const struct dtrain_dp_options *options, struct dtrain_error *err);

/* All ranks of the lane registered the same. */
int dt_dp_agree(struct dtrain_dp *dp, const struct dt_dp_lane *lane, struct dtrain_error *err);

/* ---- dp_buffer.c ------------------------------------------------------------- */

/* Gives the slot's bucket a buffer, zero in the order of the buffer's stream, unless it has one. */
int dt_dp_buffer_lend(struct dtrain_dp *dp, struct dt_dp_lane *lane, size_t bucket, struct dtrain_error *err);
void dt_dp_buffer_give_back(struct dtrain_dp *dp, struct dt_dp_slot *slot);
void dt_dp_buffers_destroy(struct dtrain_dp *dp);

/* ---- dp_reduce.c ------------------------------------------------------------- */

/* Queues the reductions that are due: complete buckets without a gap before them; all that are left. */
int dt_dp_reduce_complete(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_error *err);
int dt_dp_reduce_rest(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_error *err);

/* Where in the bucket's storage or buffer a parameter's gradient lies. */
void *dt_dp_gradient_place(const struct dtrain_dp *dp, size_t index);

/* Learns of reductions that ended, and of the one that failed. */
int dt_dp_reduce_poll(struct dtrain_dp *dp, struct dtrain_error *err);

/* stream waits for all reductions; NULL: the caller does. */
int dt_dp_reduce_wait(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err);

/* ---- dp_order.c -------------------------------------------------------------- */

/* The lane's buckets by rank 0's order of readiness. Collective; blocks. */
int dt_dp_order_learn(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_error *err);

#endif
