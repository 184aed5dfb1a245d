#include <stdlib.h>

#include "core/error.h"
#include "dp.h"
#include "dp_exchange.h"
#include "runtime/math.h"

/* This rank's order; parameters that were not ready last, as they were planned. */
static void list_readiness(const struct dtrain_dp *dp, const struct dt_dp_lane *lane, int64_t *list)
{
    size_t count = lane->readiness_count;

    for (size_t i = 0; i < count; i++)
        list[i] = (int64_t)lane->readiness[i];
    for (size_t i = 0; i < lane->plan.count; i++) {
        size_t index = lane->plan.order[i];

        if (!dp->parameters[index].is_ready)
            list[count++] = (int64_t)index;
    }
}

/* Padding of the old order must not stay behind as somebody's sums. */
static int clear_gradients(const struct dtrain_dp *dp, const struct dt_dp_lane *lane,
                           struct dtrain_error *err)
{
    for (size_t b = 0; b < lane->plan.bucket_count; b++) {
        const struct dt_dp_bucket *bucket = &lane->plan.buckets[b];
        struct dt_math math = {
            .kind = DT_MATH_FILL,
            .fill = {.x = (char *)lane->gradients + lane->slots[b].gradients_at,
                     .type = dt_dp_travel_type(dp, &dp->parameters[lane->plan.order[bucket->first]]),
                     .n = bucket->elements},
        };

        if (dt_math_enqueue(&math, lane->stream, err) < 0)
            return -1;
    }
    return 0;
}

static int reorder(struct dtrain_dp *dp, struct dt_dp_lane *lane, const int64_t *list,
                   struct dtrain_error *err)
{
    size_t *order = calloc(lane->plan.count + 1, sizeof(*order));
    int rc;

    if (order == NULL)
        return dt_error_memory(err, (lane->plan.count + 1) * sizeof(*order), "the order of the buckets");
    for (size_t i = 0; i < lane->plan.count; i++)
        order[i] = (size_t)list[i];
    rc = dt_dp_storage_reorder(dp, lane, order, err);
    free(order);
    if (rc < 0 || dp->options.holds_storage || lane->gradients == NULL)
        return rc;
    return clear_gradients(dp, lane, err);
}

int dt_dp_order_learn(struct dtrain_dp *dp, struct dt_dp_lane *lane, struct dtrain_error *err)
{
    struct dt_dp_exchange exchange = {dp->world, lane->comm, lane->stream};
    int64_t *list;
    int rc;

    if (lane->plan.count == 0)
        return 0;
    list = calloc(lane->plan.count, sizeof(*list));
    if (list == NULL)
        return dt_error_memory(err, lane->plan.count * sizeof(*list), "the order of readiness");
    list_readiness(dp, lane, list);
    rc = dt_dp_exchange_share(&exchange, list, lane->plan.count, err);
    if (rc == 0)
        rc = reorder(dp, lane, list, err);
    free(list);
    return rc;
}
