#include <stdio.h>

#include "core/error.h"
#include "dp.h"
#include "runtime/math.h"

#define NAMES_MAX 4 /* of unused parameters in an error */

/* ---- Zero ------------------------------------------------------------------------- */

static int zero_elements(void *memory, enum dtrain_type type, size_t n, struct dtrain_stream *stream,
                         struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_FILL, .fill = {.x = memory, .type = type, .n = n}};

    return n == 0 ? 0 : dt_math_enqueue(&math, stream, err);
}

/* Stage 2's buckets come zeroed, and the first sum replaces what is in the shard. */
static void forget_shards(struct dt_dp_lane *lane)
{
    for (size_t b = 0; b < lane->plan.bucket_count; b++)
        lane->slots[b].has_shard = false;
}

int dtrain_dp_zero(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (dt_dp_check_alive(dp, err) < 0)
        return -1;
    if (dp->in_pass)
        return dt_error_set(err, "dtrain_dp_zero: within a pass: call it before dtrain_dp_begin()");
    if (stream == NULL)
        return dt_error_set(err, "dtrain_dp_zero: stream is NULL: create one with dtrain_stream_create()");
    for (size_t i = 0; i < dp->n; i++) {
        struct dt_dp_parameter *parameter = &dp->parameters[i];

        parameter->was_ready = false;
        if (dp->options.zero_stage < 2 &&
            zero_elements(parameter->given.gradient, parameter->given.gradient_type, parameter->given.count,
                          stream, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < DT_DP_LANES; i++)
        forget_shards(&dp->lanes[i]);
    return 0;
}

/* ---- Begin and ready ----------------------------------------------------------------- */

static void lane_begin(struct dt_dp_lane *lane)
{
    lane->launched = lane->settled = lane->readiness_count = 0;
    for (size_t b = 0; b < lane->plan.bucket_count; b++) {
        lane->slots[b].missing = lane->plan.buckets[b].count;
        lane->slots[b].stream = NULL;
    }
}

int dtrain_dp_begin(struct dtrain_dp *dp, bool reduces, struct dtrain_error *err)
{
    if (dt_dp_check_alive(dp, err) < 0)
        return -1;
    if (dp->in_pass)
        return dt_error_set(err, "dtrain_dp_begin: a pass has begun already: end it with dtrain_dp_finish()");
    if (dt_dp_reduce_poll(dp, err) < 0)
        return -1;
    dp->in_pass = true;
    dp->reduces = reduces || dp->options.zero_stage == 2;
    dp->norm_is_current = false;
    for (size_t i = 0; i < dp->n; i++)
        dp->parameters[i].is_ready = false;
    for (size_t i = 0; i < DT_DP_LANES; i++)
        lane_begin(&dp->lanes[i]);
    return 0;
}

/* A bucket remembers the last stream; another one's part is waited for here, by the lane itself. */
static int remember_stream(struct dt_dp_lane *lane, struct dt_dp_slot *slot, struct dtrain_stream *stream,
                           struct dtrain_error *err)
{
    struct dtrain_stream *reducing = slot->buffer != NULL ? slot->buffer->stream : lane->stream;

    if (stream == NULL)
        return 0;
    if (slot->stream != NULL && slot->stream != stream && dtrain_stream_wait(reducing, slot->stream, err) < 0)
        return -1;
    slot->stream = stream;
    return 0;
}

static int check_ready(const struct dtrain_dp *dp, size_t index, struct dtrain_error *err)
{
    const struct dt_dp_parameter *parameter;

    if (dt_dp_check_alive(dp, err) < 0 || dt_dp_check_index(dp, "dtrain_dp_ready", index, err) < 0)
        return -1;
    parameter = &dp->parameters[index];
    if (!dp->in_pass)
        return dt_error_set(err,
                            "dtrain_dp_ready: parameter %zu (%s): no pass has begun: call dtrain_dp_begin()",
                            index, parameter->given.name);
    if (parameter->is_ready)
        return dt_error_set(err,
                            "dtrain_dp_ready: parameter %zu (%s) is ready for the second time in this pass",
                            index, parameter->given.name);
    return 0;
}

int dtrain_dp_ready(struct dtrain_dp *dp, size_t index, struct dtrain_stream *stream,
                    struct dtrain_error *err)
{
    struct dt_dp_parameter *parameter;
    struct dt_dp_lane *lane;
    struct dt_dp_slot *slot;

    if (check_ready(dp, index, err) < 0)
        return -1;
    parameter = &dp->parameters[index];
    lane = parameter->lane;
    parameter->is_ready = parameter->was_ready = true;
    if (!dp->reduces)
        return 0;
    slot = &lane->slots[lane->plan.bucket[index]];
    lane->readiness[lane->readiness_count++] = index;
    slot->missing--;
    if (remember_stream(lane, slot, stream, err) < 0)
        return -1;
    if (slot->missing > 0)
        return 0;
    return dt_dp_reduce_poll(dp, err) < 0 ? -1 : dt_dp_reduce_complete(dp, lane, err);
}

/* ---- Finish ---------------------------------------------------------------------------- */

/* "layer.1.weight, layer.3.weight and 5 more"; how many there are. */
static size_t name_unused(const struct dtrain_dp *dp, char *names, size_t size)
{
    size_t count = 0, used = 0;

    for (size_t i = 0; i < dp->n; i++) {
        if (dp->parameters[i].is_ready)
            continue;
        if (count++ < NAMES_MAX && used < size)
            used += (size_t)snprintf(names + used, size - used, "%s%.80s", count > 1 ? ", " : "",
                                     dp->parameters[i].given.name);
    }
    if (count > NAMES_MAX && used < size)
        snprintf(names + used, size - used, " and %zu more", count - NAMES_MAX);
    return count;
}

/* The other ranks wait in reductions that will not come: they get the same words. */
static int refuse_unused(struct dtrain_dp *dp, struct dtrain_error *err)
{
    char names[(NAMES_MAX + 1) * 84];
    size_t count = name_unused(dp, names, sizeof(names));

    if (count == 0)
        return 0;
    dt_error_set(
        &dp->failure,
        "dtrain_dp_finish: on rank %d %zu of %zu parameters did not become ready: %s: use them in every "
        "pass, or set find_unused",
        dtrain_rank(dp->world), count, dp->n, names);
    dp->has_failed = true;
    for (size_t i = 0; i < DT_DP_LANES; i++)
        if (dp->lanes[i].size > 1)
            dtrain_comm_revoke(dp->lanes[i].comm, dp->failure.text, NULL);
    return dt_dp_check_alive(dp, err);
}

/* After the reductions: that one of them failed is not to be found as a failure of this exchange. */
static int learn_order(struct dtrain_dp *dp, struct dtrain_error *err)
{
    if (dt_dp_reduce_wait(dp, NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < DT_DP_LANES; i++)
        if (dt_dp_order_learn(dp, &dp->lanes[i], err) < 0)
            return -1;
    dp->is_ordered = true;
    return 0;
}

static int finish_reductions(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (!dp->options.find_unused && refuse_unused(dp, err) < 0)
        return -1;
    if (dt_dp_reduce_poll(dp, err) < 0)
        return -1;
    for (size_t i = 0; i < DT_DP_LANES; i++)
        if (dt_dp_reduce_rest(dp, &dp->lanes[i], err) < 0)
            return -1;
    return dp->is_ordered ? dt_dp_reduce_wait(dp, stream, err) : learn_order(dp, err);
}

int dtrain_dp_finish(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (dt_dp_check_alive(dp, err) < 0)
        return -1;
    if (!dp->in_pass)
        return dt_error_set(err, "dtrain_dp_finish: no pass has begun: call dtrain_dp_begin()");
    dp->in_pass = false;
    return dp->reduces ? finish_reductions(dp, stream, err) : 0;
}
