#include "core/error.h"
#include "dp.h"
#include "runtime/math.h"

/* What one bucket's reduction works on. */
struct travel {
    struct dtrain_dp *dp;
    struct dt_dp_lane *lane;
    size_t bucket;
    const struct dt_dp_bucket *planned;
    struct dt_dp_slot *slot;
    struct dtrain_stream *stream;
    enum dtrain_type type; /* of its elements */
    char *memory;
};

/* ---- Failure --------------------------------------------------------------------- */

static const char *parameter_name(const struct dtrain_dp *dp, size_t index)
{
    return dp->parameters[index].given.name;
}

/*
 * The first failure is what later calls return. It was in one of the buckets that are under way, up to
 * place `last` of the sequence.
 */
static int fail(struct dtrain_dp *dp, const struct dt_dp_lane *lane, struct dtrain_error *err)
{
    size_t last = lane->launched > 0 ? lane->launched - 1 : 0;
    size_t first = lane->settled < last ? lane->settled : last;
    const struct dt_dp_bucket *from, *to;
    const char *begin, *end;

    dp->has_failed = true;
    if (lane->launched == 0)
        return dt_dp_check_alive(dp, err);
    from = &lane->plan.buckets[lane->sequence[first]];
    to = &lane->plan.buckets[lane->sequence[last]];
    begin = parameter_name(dp, lane->plan.order[from->first]);
    end = parameter_name(dp, lane->plan.order[to->first + to->count - 1]);
    if (first == last)
        dt_error_prefix(&dp->failure, "%sbucket %zu (%.80s ... %.80s)", lane->name, first, begin, end);
    else
        dt_error_prefix(&dp->failure, "one of %sbuckets %zu to %zu (%.80s ... %.80s)", lane->name, first,
                        last, begin, end);
    return dt_dp_check_alive(dp, err);
}

static int query(struct dtrain_stream *stream, bool *is_done, struct dtrain_error *err)
{
    bool done;

    if (dtrain_stream_query(stream, &done, err) < 0)
        return -1;
    *is_done = *is_done && done;
    return 0;
}

static int poll_lane(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_error *err)
{
    bool is_done = true;
    int rc = query(lane->stream, &is_done, &dp->failure);

    for (struct dt_dp_buffer *i = dp->free; i != NULL && rc == 0; i = i->next)
        rc = query(i->stream, &is_done, &dp->failure);
    if (rc < 0)
        return fail(dp, lane, err);
    if (is_done)
        lane->settled = lane->launched;
    return 0;
}

int dt_dp_reduce_poll(struct dtrain_dp *dp, struct dtrain_error *err)
{
    for (size_t i = 0; i < DT_DP_LANES; i++)
        if (dp->lanes[i].stream != NULL && poll_lane(dp, &dp->lanes[i], err) < 0)
            return -1;
    return 0;
}

/* ---- In and out of the bucket -------------------------------------------------------- */

static int scale(const struct travel *travel, void *to, enum dtrain_type to_type, const void *from,
                 enum dtrain_type from_type, size_t n, double factor, bool accumulate,
                 struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_SCALE,
                           .scale = {.to = to,
                                     .from = from,
                                     .to_type = to_type,
                                     .from_type = from_type,
                                     .n = n,
                                     .by.factor = factor,
                                     .accumulate = accumulate}};

    return n == 0 ? 0 : dt_math_enqueue(&math, travel->stream, err);
}

static int fill_zero(const struct travel *travel, void *memory, size_t n, struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_FILL, .fill = {.x = memory, .type = travel->type, .n = n}};

    return n == 0 ? 0 : dt_math_enqueue(&math, travel->stream, err);
}

/* What was never ready since the gradients were zero counts as zero, whatever lies there. */
static int put_in(const struct travel *travel, size_t index, struct dtrain_error *err)
{
    const struct dt_dp_parameter *parameter = &travel->dp->parameters[index];
    const struct dtrain_parameter *given = &parameter->given;
    void *place = dt_dp_gradient_place(travel->dp, index);

    if (!parameter->was_ready)
        return fill_zero(travel, place, given->count, err);
    if (travel->dp->options.holds_storage)
        return 0;
    if (given->gradient_type == travel->type)
        return dtrain_copy(place, given->gradient, given->count * dtrain_type_size(travel->type),
                           travel->stream, err);
    return scale(travel, place, travel->type, given->gradient, given->gradient_type, given->count, 1, false,
                 err);
}

static int take_out(const struct travel *travel, size_t index, struct dtrain_error *err)
{
    const struct dtrain_parameter *given = &travel->dp->parameters[index].given;
    const void *place = dt_dp_gradient_place(travel->dp, index);
    double factor = travel->lane->factor;

    if (given->gradient_type == travel->type && factor == 1)
        return dtrain_copy(given->gradient, place, given->count * dtrain_type_size(travel->type),
                           travel->stream, err);
    return scale(travel, given->gradient, given->gradient_type, place, travel->type, given->count, factor,
                 false, err);
}

static int each_parameter(const struct travel *travel,
                          int (*move)(const struct travel *travel, size_t index, struct dtrain_error *err),
                          struct dtrain_error *err)
{
    for (size_t i = 0; i < travel->planned->count; i++)
        if (move(travel, travel->lane->plan.order[travel->planned->first + i], err) < 0)
            return -1;
    return 0;
}

/* ---- The reduction ------------------------------------------------------------------- */

static int reduce_whole(const struct travel *travel, struct dtrain_error *err)
{
    const struct dt_dp_lane *lane = travel->lane;
    size_t n = travel->planned->elements;

    if (dtrain_all_reduce(lane->comm, travel->memory, travel->memory, n, travel->type, lane->op,
                          travel->stream, err) < 0)
        return -1;
    if (!travel->dp->options.holds_storage)
        return each_parameter(travel, take_out, err);
    return lane->factor == 1 ? 0
                             : scale(travel, travel->memory, travel->type, travel->memory, travel->type, n,
                                     lane->factor, false, err);
}

/* A bucket that reduces again before the gradients were zeroed waits for its own sums. */
static int add_to_shard(const struct travel *travel, const char *own, size_t n, struct dtrain_error *err)
{
    struct dt_dp_slot *slot = travel->slot;
    bool accumulate = slot->has_shard;

    if (accumulate && dtrain_stream_wait(travel->stream, slot->reduced_on, err) < 0)
        return -1;
    slot->has_shard = true;
    slot->reduced_on = travel->stream;
    return scale(travel, (char *)travel->lane->shards + slot->shard_at, travel->type, own, travel->type, n,
                 travel->lane->factor, accumulate, err);
}

static int reduce_to_shard(const struct travel *travel, struct dtrain_error *err)
{
    const struct dt_dp_lane *lane = travel->lane;
    size_t n = dt_dp_shard_elements(travel->dp, lane, travel->bucket);
    char *own = travel->memory + (size_t)lane->rank * n * dtrain_type_size(travel->type);

    if (n == 0)
        return 0;
    if (dtrain_reduce_scatter(lane->comm, travel->memory, own, n, travel->type, lane->op, travel->stream,
                              err) < 0)
        return -1;
    if (travel->dp->options.zero_stage == 2)
        return add_to_shard(travel, own, n, err);
    return lane->factor == 1
               ? 0
               : scale(travel, own, travel->type, own, travel->type, n, lane->factor, false, err);
}

static int launch(struct travel *travel, struct dtrain_error *err)
{
    struct dt_dp_slot *slot = travel->slot;

    if (travel->dp->options.zero_stage == 2) {
        if (dt_dp_buffer_lend(travel->dp, travel->lane, travel->bucket, err) < 0)
            return -1;
        travel->stream = slot->buffer->stream;
        travel->memory = slot->buffer->memory;
    }
    if (slot->stream != NULL && dtrain_stream_wait(travel->stream, slot->stream, err) < 0)
        return -1;
    if (each_parameter(travel, put_in, err) < 0)
        return -1;
    if (travel->dp->options.zero_stage == 0)
        return reduce_whole(travel, err);
    return reduce_to_shard(travel, err);
}

static int launch_next(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_error *err)
{
    size_t bucket = lane->sequence[lane->launched];
    const struct dt_dp_bucket *planned = &lane->plan.buckets[bucket];
    struct travel travel = {
        .dp = dp,
        .lane = lane,
        .bucket = bucket,
        .planned = planned,
        .slot = &lane->slots[bucket],
        .stream = lane->stream,
        .type = dt_dp_travel_type(dp, &dp->parameters[lane->plan.order[planned->first]]),
        .memory = lane->gradients != NULL ? (char *)lane->gradients + lane->slots[bucket].gradients_at : NULL,
    };

    lane->launched++;
    if (lane->gradients == NULL && dp->options.zero_stage < 2)
        return 0;
    if (launch(&travel, &dp->failure) < 0)
        return fail(dp, lane, err);
    if (travel.slot->buffer != NULL)
        dt_dp_buffer_give_back(dp, travel.slot);
    return 0;
}

int dt_dp_reduce_complete(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_error *err)
{
    while (lane->launched < lane->plan.bucket_count &&
           lane->slots[lane->sequence[lane->launched]].missing == 0)
        if (launch_next(dp, lane, err) < 0)
            return -1;
    return 0;
}

int dt_dp_reduce_rest(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_error *err)
{
    while (lane->launched < lane->plan.bucket_count)
        if (launch_next(dp, lane, err) < 0)
            return -1;
    return 0;
}

/* ---- Waiting for it ---------------------------------------------------------------------- */

static int wait_one(struct dtrain_stream *stream, struct dtrain_stream *reducing, struct dtrain_error *err)
{
    return stream != NULL ? dtrain_stream_wait(stream, reducing, err)
                          : dtrain_stream_synchronize(reducing, err);
}

static int wait_lane(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_stream *stream,
                     struct dtrain_error *err)
{
    int rc = wait_one(stream, lane->stream, &dp->failure);

    for (struct dt_dp_buffer *i = dp->free; i != NULL && rc == 0; i = i->next)
        rc = wait_one(stream, i->stream, &dp->failure);
    return rc < 0 ? fail(dp, lane, err) : 0;
}

int dt_dp_reduce_wait(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    for (size_t i = 0; i < DT_DP_LANES; i++)
        if (dp->lanes[i].stream != NULL && wait_lane(dp, &dp->lanes[i], stream, err) < 0)
            return -1;
    return 0;
}
