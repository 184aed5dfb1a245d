#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "dp.h"

/* ---- Where things lie ---------------------------------------------------------- */

enum dtrain_type dt_dp_travel_type(const struct dtrain_dp *dp, const struct dt_dp_parameter *parameter)
{
    enum dtrain_type type = parameter->given.gradient_type;

    return dp->options.reduce_in_float32 && dtrain_type_size(type) == 2 ? DTRAIN_FLOAT32 : type;
}

size_t dt_dp_shard_elements(const struct dtrain_dp *dp, const struct dt_dp_lane *lane, size_t bucket)
{
    size_t elements = lane->plan.buckets[bucket].elements;

    return dp->options.zero_stage == 0 ? elements : elements / (size_t)lane->size;
}

/* Registered gradients of a group of one stay where they are. */
static bool needs_gradients(const struct dtrain_dp *dp, const struct dt_dp_lane *lane)
{
    if (dp->options.zero_stage == 2)
        return false;
    return dp->options.holds_storage || lane->size > 1 || lane->factor != 1;
}

/* Storage of no bytes is NULL, to which nothing may be added. */
static void *place(void *memory, size_t bytes)
{
    return memory != NULL ? (char *)memory + bytes : NULL;
}

void *dt_dp_gradient_place(const struct dtrain_dp *dp, size_t index)
{
    const struct dt_dp_parameter *parameter = &dp->parameters[index];
    const struct dt_dp_lane *lane = parameter->lane;
    const struct dt_dp_slot *slot = &lane->slots[lane->plan.bucket[index]];
    void *bucket = slot->buffer != NULL ? slot->buffer->memory : place(lane->gradients, slot->gradients_at);

    return place(bucket, lane->plan.at[index] * dtrain_type_size(dt_dp_travel_type(dp, parameter)));
}

static void *piece_gradient(const struct dtrain_dp *dp, size_t index, size_t first, size_t shard_first)
{
    const struct dt_dp_parameter *parameter = &dp->parameters[index];
    const struct dt_dp_lane *lane = parameter->lane;
    const struct dt_dp_slot *slot = &lane->slots[lane->plan.bucket[index]];
    size_t size = dtrain_type_size(parameter->given.gradient_type);

    if (dp->options.zero_stage < 2)
        return (char *)parameter->given.gradient + first * size;
    return (char *)lane->shards + slot->shard_at + (lane->plan.at[index] + first - shard_first) * size;
}

struct dt_dp_piece dt_dp_piece_get(const struct dtrain_dp *dp, size_t index)
{
    const struct dt_dp_parameter *parameter = &dp->parameters[index];
    const struct dt_dp_lane *lane = parameter->lane;
    size_t bucket = lane->plan.bucket[index], at = lane->plan.at[index], end = at + parameter->given.count;
    size_t shard = dt_dp_shard_elements(dp, lane, bucket);
    size_t shard_first = dp->options.zero_stage == 0 ? 0 : (size_t)lane->rank * shard;
    size_t from = at > shard_first ? at : shard_first;
    size_t to = end < shard_first + shard ? end : shard_first + shard;
    struct dt_dp_piece piece = {0};

    if (from >= to)
        return piece;
    piece.first = from - at;
    piece.count = to - from;
    piece.value = (char *)parameter->given.value + piece.first * dtrain_type_size(parameter->given.type);
    piece.gradient = piece_gradient(dp, index, piece.first, shard_first);
    return piece;
}

/* ---- Plans ---------------------------------------------------------------------- */

static struct dt_dp_item item_of(const struct dtrain_dp *dp, const struct dt_dp_parameter *parameter)
{
    enum dtrain_type type = dt_dp_travel_type(dp, parameter);
    unsigned value_type = dp->options.holds_storage ? parameter->given.type : 0;

    return (struct dt_dp_item){parameter->given.count, dtrain_type_size(type),
                               (unsigned)type * 8 + value_type};
}

static int make_plan(const struct dtrain_dp *dp, const struct dt_dp_lane *lane, const size_t *order,
                     size_t count, struct dt_dp_plan *plan, struct dtrain_error *err)
{
    struct dt_dp_cut cut = {dp->options.first_bucket_bytes, dp->options.bucket_bytes,
                            dp->options.zero_stage > 0 ? (size_t)lane->size : 1};
    struct dt_dp_item *items = calloc(dp->n + 1, sizeof(*items));
    int rc;

    if (items == NULL)
        return dt_error_memory(err, (dp->n + 1) * sizeof(*items), "the plan of buckets");
    for (size_t i = 0; i < dp->n; i++)
        items[i] = item_of(dp, &dp->parameters[i]);
    rc = dt_dp_plan_create(plan, items, dp->n, order, count, &cut, err);
    free(items);
    return rc;
}

struct bytes {
    size_t gradients, values, shards;
};

/* Buckets one behind the other. */
static struct bytes place_buckets(const struct dtrain_dp *dp, struct dt_dp_lane *lane)
{
    struct bytes bytes = {0};

    for (size_t b = 0; b < lane->plan.bucket_count; b++) {
        const struct dt_dp_parameter *any = &dp->parameters[lane->plan.order[lane->plan.buckets[b].first]];
        size_t size = dtrain_type_size(dt_dp_travel_type(dp, any));
        struct dt_dp_slot *slot = &lane->slots[b];

        *slot = (struct dt_dp_slot){bytes.gradients, bytes.values, bytes.shards, 0, NULL, NULL, NULL, false};
        bytes.gradients += lane->plan.buckets[b].elements * size;
        bytes.values += lane->plan.buckets[b].elements * dtrain_type_size(any->given.type);
        bytes.shards += dt_dp_shard_elements(dp, lane, b) * size;
    }
    return bytes;
}

static int allocate(struct dtrain_dp *dp, struct dt_dp_lane *lane, const struct bytes *bytes,
                    struct dtrain_error *err)
{
    if (needs_gradients(dp, lane) && dt_dp_memory_alloc(dp, bytes->gradients, &lane->gradients, err) < 0)
        return -1;
    if (dp->options.holds_storage && dt_dp_memory_alloc(dp, bytes->values, &lane->values, err) < 0)
        return -1;
    return dp->options.zero_stage == 2 ? dt_dp_memory_alloc(dp, bytes->shards, &lane->shards, err) : 0;
}

static void point_parameters(struct dtrain_dp *dp, struct dt_dp_lane *lane)
{
    for (size_t i = 0; i < lane->plan.count; i++) {
        size_t index = lane->plan.order[i];
        struct dtrain_parameter *given = &dp->parameters[index].given;

        given->value = place(lane->values, lane->slots[lane->plan.bucket[index]].values_at +
                                               lane->plan.at[index] * dtrain_type_size(given->type));
        if (dp->options.zero_stage < 2)
            given->gradient = dt_dp_gradient_place(dp, index);
    }
}

/* The lists that a plan's number of buckets sizes. */
static int allocate_lists(struct dt_dp_lane *lane, struct dtrain_error *err)
{
    size_t buckets = lane->plan.bucket_count, count = lane->plan.count;

    lane->slots = calloc(buckets + 1, sizeof(*lane->slots));
    lane->sequence = calloc(buckets + 1, sizeof(*lane->sequence));
    lane->readiness = calloc(count + 1, sizeof(*lane->readiness));
    if (lane->slots == NULL || lane->sequence == NULL || lane->readiness == NULL)
        return dt_error_memory(err, (buckets + 1) * sizeof(*lane->slots), "the buckets");
    for (size_t b = 0; b < buckets; b++)
        lane->sequence[b] = b;
    return 0;
}

static void free_lists(struct dt_dp_lane *lane)
{
    free(lane->slots);
    free(lane->sequence);
    free(lane->readiness);
    dt_dp_plan_destroy(&lane->plan);
}

int dt_dp_storage_create(struct dtrain_dp *dp, struct dt_dp_lane *lane, const size_t *order, size_t count,
                         struct dtrain_error *err)
{
    struct bytes bytes;

    if (make_plan(dp, lane, order, count, &lane->plan, err) < 0 || allocate_lists(lane, err) < 0)
        return -1;
    bytes = place_buckets(dp, lane);
    if (allocate(dp, lane, &bytes, err) < 0)
        return -1;
    if (dp->options.holds_storage)
        point_parameters(dp, lane);
    return 0;
}

/* ---- Another order ----------------------------------------------------------------- */

/* What lies in buckets stays there: only the order of the buckets follows that of their last parameters. */
static void reorder_buckets(struct dt_dp_lane *lane, const size_t *order)
{
    size_t kept = 0, end = lane->plan.count;

    for (size_t b = 0; b < lane->plan.bucket_count; b++)
        lane->slots[b].missing = lane->plan.buckets[b].count;
    for (size_t i = 0; i < end; i++) {
        size_t bucket = lane->plan.bucket[order[i]];

        if (--lane->slots[bucket].missing == 0)
            lane->sequence[kept++] = bucket;
    }
}

/* The memory is as large for every order, as parameters are padded one by one. */
static int rebuild_buckets(struct dtrain_dp *dp, struct dt_dp_lane *lane, const size_t *order,
                           struct dtrain_error *err)
{
    struct dt_dp_lane made = *lane;

    made.slots = NULL;
    made.sequence = made.readiness = NULL;
    made.launched = made.settled = 0;
    if (make_plan(dp, lane, order, lane->plan.count, &made.plan, err) < 0)
        return -1;
    if (allocate_lists(&made, err) < 0) {
        free_lists(&made);
        return -1;
    }
    place_buckets(dp, &made);
    free_lists(lane);
    *lane = made;
    return 0;
}

int dt_dp_storage_reorder(struct dtrain_dp *dp, struct dt_dp_lane *lane, const size_t *order,
                          struct dtrain_error *err)
{
    if (!dp->options.holds_storage)
        return rebuild_buckets(dp, lane, order, err);
    reorder_buckets(lane, order);
    return 0;
}

void dt_dp_storage_destroy(struct dtrain_dp *dp, struct dt_dp_lane *lane)
{
    void *memories[] = {lane->gradients, lane->values, lane->shards};

    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
        if (memories[i] != NULL)
            dtrain_memory_free(dp->world, memories[i]);
    free_lists(lane);
}
