#include "dp_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define NONE SIZE_MAX

/* The buckets while they fill, numbered as they opened. */
struct filling {
    size_t open[DT_DP_KEYS_MAX];  /* each key's bucket; NONE */
    size_t bytes[DT_DP_KEYS_MAX]; /* in it */
    bool has_closed[DT_DP_KEYS_MAX];
    size_t *last; /* [count] by bucket: place in the order of its last parameter */
    size_t count;
};

static size_t round_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

static void put_item(struct filling *filling, const struct dt_dp_item *item, const struct dt_dp_cut *cut,
                     size_t place, size_t *bucket)
{
    unsigned key = item->key;

    assert(key < DT_DP_KEYS_MAX);
    if (filling->open[key] == NONE) {
        filling->open[key] = filling->count++;
        filling->bytes[key] = 0;
    }
    *bucket = filling->open[key];
    filling->last[*bucket] = place;
    filling->bytes[key] += item->count * item->size;
    if (filling->bytes[key] < (filling->has_closed[key] ? cut->bytes : cut->first_bytes))
        return;
    filling->has_closed[key] = true;
    filling->open[key] = NONE;
}

/* In the order of their last parameters: number[bucket as opened]. */
static void number_buckets(const struct dt_dp_plan *plan, const struct filling *filling, const size_t *order,
                           size_t *number)
{
    size_t next = 0;

    for (size_t place = 0; place < plan->count; place++) {
        size_t bucket = plan->bucket[order[place]];

        if (filling->last[bucket] == place)
            number[bucket] = next++;
    }
}

static void lay_out(struct dt_dp_plan *plan, const struct dt_dp_item *items, const size_t *order,
                    size_t shards)
{
    size_t first = 0;

    for (size_t i = 0; i < plan->count; i++)
        plan->buckets[plan->bucket[order[i]]].count++;
    for (size_t b = 0; b < plan->bucket_count; b++) {
        plan->buckets[b].first = first;
        first += plan->buckets[b].count;
        plan->buckets[b].count = 0;
    }
    for (size_t i = 0; i < plan->count; i++) {
        struct dt_dp_bucket *bucket = &plan->buckets[plan->bucket[order[i]]];

        plan->order[bucket->first + bucket->count++] = order[i];
        plan->at[order[i]] = bucket->elements;
        bucket->elements += round_up(items[order[i]].count, DT_DP_ALIGNMENT);
    }
    for (size_t b = 0; b < plan->bucket_count; b++)
        plan->buckets[b].elements = round_up(plan->buckets[b].elements, DT_DP_ALIGNMENT * shards);
}

static int allocate(struct dt_dp_plan *plan, size_t item_count, struct dtrain_error *err)
{
    plan->order = calloc(plan->count + 1, sizeof(*plan->order));
    plan->bucket = calloc(item_count + 1, sizeof(*plan->bucket));
    plan->at = calloc(item_count + 1, sizeof(*plan->at));
    plan->buckets = calloc(plan->count + 1, sizeof(*plan->buckets));
    if (plan->order != NULL && plan->bucket != NULL && plan->at != NULL && plan->buckets != NULL)
        return 0;
    dt_dp_plan_destroy(plan);
    return dt_error_memory(err, (item_count + 1) * sizeof(*plan->at), "the plan of buckets");
}

int dt_dp_plan_create(struct dt_dp_plan *plan, const struct dt_dp_item *items, size_t item_count,
                      const size_t *order, size_t count, const struct dt_dp_cut *cut,
                      struct dtrain_error *err)
{
    size_t *numbers = calloc(2 * count + 1, sizeof(*numbers));
    struct filling filling = {.last = numbers};

    *plan = (struct dt_dp_plan){.count = count};
    if (numbers == NULL)
        return dt_error_memory(err, (2 * count + 1) * sizeof(*numbers), "the plan of buckets");
    if (allocate(plan, item_count, err) < 0) {
        free(numbers);
        return -1;
    }
    memset(filling.open, 0xff, sizeof(filling.open));
    for (size_t i = 0; i < count; i++)
        put_item(&filling, &items[order[i]], cut, i, &plan->bucket[order[i]]);
    plan->bucket_count = filling.count;
    number_buckets(plan, &filling, order, numbers + count);
    for (size_t i = 0; i < count; i++)
        plan->bucket[order[i]] = numbers[count + plan->bucket[order[i]]];
    lay_out(plan, items, order, cut->shards);
    free(numbers);
    return 0;
}

void dt_dp_plan_destroy(struct dt_dp_plan *plan)
{
    free(plan->order);
    free(plan->bucket);
    free(plan->at);
    free(plan->buckets);
    *plan = (struct dt_dp_plan){0};
}
