#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "dp.h"
#include "dp_exchange.h"
#include "dp_hash.h"
#include "runtime/type.h"

/* What every rank tells of itself. */
enum { OPTIONS, COUNT, LIST, FACTS };

static uint64_t parameter_hash(const struct dtrain_parameter *p)
{
    const uint64_t numbers[] = {p->count, p->type, p->gradient_type, p->flags, (uint64_t)p->group};
    uint64_t hash = dt_dp_hash(DT_DP_HASH_START, p->name, strlen(p->name));

    return dt_dp_hash(hash, numbers, sizeof(numbers));
}

static uint64_t options_hash(const struct dtrain_dp_options *o)
{
    const uint64_t numbers[] = {o->first_bucket_bytes,  o->bucket_bytes,      o->sum,
                                o->find_unused,         o->reduce_in_float32, o->holds_storage,
                                (uint64_t)o->zero_stage};

    return dt_dp_hash(DT_DP_HASH_START, numbers, sizeof(numbers));
}

static int world_rank(const struct dtrain_dp *dp, const struct dt_dp_lane *lane, int rank)
{
    struct dtrain_group group;

    return dtrain_group_get(dp->world, lane->axes, &group, NULL) == 0
               ? dtrain_group_member(dp->world, &group, rank)
               : rank;
}

static int differing_options(const struct dtrain_dp *dp, const struct dt_dp_lane *lane, int odd, int usual,
                             struct dtrain_error *err)
{
    const struct dtrain_dp_options *o = &dp->options;
    int rank = world_rank(dp, lane, odd);

    return dt_error_set(
        err,
        "dtrain_dp_create: rank %d on %s has other options than rank %d (here: buckets of %zu and "
        "%zu bytes, sum %d, find_unused %d, reduce_in_float32 %d, holds_storage %d, zero_stage "
        "%d): give all data parallel ranks the same",
        rank, dtrain_node_name(dp->world, rank), world_rank(dp, lane, usual), o->first_bucket_bytes,
        o->bucket_bytes, o->sum, o->find_unused, o->reduce_in_float32, o->holds_storage, o->zero_stage);
}

static int differing_parameter(const struct dtrain_dp *dp, const struct dt_dp_lane *lane, size_t index,
                               int odd, int usual, struct dtrain_error *err)
{
    int rank = world_rank(dp, lane, odd);
    char here[DTRAIN_ERROR_MAX / 2] = "there is none";

    if (index < dp->n) {
        const struct dtrain_parameter *p = &dp->parameters[index].given;

        snprintf(here, sizeof(here), "it is %s, %zu of %s, gradient in %s, flags 0x%x, group %d", p->name,
                 p->count, dt_type_name(p->type), dt_type_name(p->gradient_type), p->flags, p->group);
    }
    return dt_error_set(
        err,
        "dtrain_dp_create: rank %d on %s registered parameter %zu otherwise than rank %d (here "
        "%s): register the same on all data parallel ranks",
        rank, dtrain_node_name(dp->world, rank), index, world_rank(dp, lane, usual), here);
}

/* all: most * size numbers. */
static int find_difference(const struct dtrain_dp *dp, const struct dt_dp_lane *lane,
                           const struct dt_dp_exchange *exchange, size_t most, int64_t *all,
                           struct dtrain_error *err)
{
    int64_t *own = all + most * (size_t)lane->size;

    for (size_t i = 0; i < most; i++)
        own[i] = i < dp->n ? (int64_t)parameter_hash(&dp->parameters[i].given) : 0;
    if (dt_dp_exchange_gather(exchange, own, most, all, err) < 0)
        return -1;
    for (size_t i = 0; i < most; i++) {
        int usual, odd = dt_dp_exchange_odd(all + i, most, lane->size, &usual);

        if (odd >= 0)
            return differing_parameter(dp, lane, i, odd, usual, err);
    }
    return dt_error_set(err, "dtrain_dp_create: the ranks' lists of parameters differ");
}

static int name_difference(const struct dtrain_dp *dp, const struct dt_dp_lane *lane,
                           const struct dt_dp_exchange *exchange, const int64_t *facts,
                           struct dtrain_error *err)
{
    size_t most = 0, numbers;
    int64_t *all;
    int rc;

    for (int r = 0; r < lane->size; r++)
        most = (size_t)facts[r * FACTS + COUNT] > most ? (size_t)facts[r * FACTS + COUNT] : most;
    numbers = most * ((size_t)lane->size + 1);
    all = calloc(numbers, sizeof(*all));
    if (all == NULL)
        return dt_error_memory(err, numbers * sizeof(*all), "the ranks' parameters");
    rc = find_difference(dp, lane, exchange, most, all, err);
    free(all);
    return rc;
}

static int compare_facts(const struct dtrain_dp *dp, const struct dt_dp_lane *lane,
                         const struct dt_dp_exchange *exchange, const int64_t *facts,
                         struct dtrain_error *err)
{
    int usual, odd = dt_dp_exchange_odd(facts + OPTIONS, FACTS, lane->size, &usual);

    if (odd >= 0)
        return differing_options(dp, lane, odd, usual, err);
    if (dt_dp_exchange_odd(facts + LIST, FACTS, lane->size, &usual) < 0)
        return 0;
    return name_difference(dp, lane, exchange, facts, err);
}

int dt_dp_agree(struct dtrain_dp *dp, const struct dt_dp_lane *lane, struct dtrain_error *err)
{
    struct dt_dp_exchange exchange = {dp->world, lane->comm, lane->stream};
    int64_t own[FACTS] = {[OPTIONS] = (int64_t)options_hash(&dp->options), [COUNT] = (int64_t)dp->n};
    uint64_t hash = dt_dp_hash(DT_DP_HASH_START, &dp->n, sizeof(dp->n));
    int64_t *facts = calloc((size_t)lane->size * FACTS, sizeof(*facts));
    int rc;

    if (facts == NULL)
        return dt_error_memory(err, (size_t)lane->size * FACTS * sizeof(*facts), "the ranks' plans");
    for (size_t i = 0; i < dp->n; i++) {
        uint64_t one = parameter_hash(&dp->parameters[i].given);

        hash = dt_dp_hash(hash, &one, sizeof(one));
    }
    own[LIST] = (int64_t)hash;
    rc = dt_dp_exchange_gather(&exchange, own, FACTS, facts, err);
    if (rc == 0)
        rc = compare_facts(dp, lane, &exchange, facts, err);
    free(facts);
    return rc;
}
