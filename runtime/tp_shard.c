#include "core/error.h"
#include "dtrain_tp.h"

static int check(size_t total, int size, int rank, size_t multiple, enum dtrain_tp_policy policy,
                 struct dtrain_error *err)
{
    size_t even;

    if (size < 1 || rank < 0 || rank >= size)
        return dt_error_set(err, "dtrain_tp_shard: rank is %d of %d: expected 0 to size - 1", rank, size);
    if (policy != DTRAIN_TP_EVEN && policy != DTRAIN_TP_UNEVEN && policy != DTRAIN_TP_PADDED)
        return dt_error_set(err,
                            "dtrain_tp_shard: policy %d is not known: expected DTRAIN_TP_EVEN, _UNEVEN or "
                            "_PADDED",
                            (int)policy);
    if (__builtin_mul_overflow(multiple, (size_t)size, &even) || total > SIZE_MAX - even)
        return dt_error_set(err,
                            "dtrain_tp_shard: %zu over %d ranks in multiples of %zu is more than memory can "
                            "hold",
                            total, size, multiple);
    if (policy == DTRAIN_TP_EVEN && total % even != 0)
        return dt_error_set(err,
                            "dtrain_tp_shard: %zu cannot be split over %d ranks in multiples of %zu: use a "
                            "multiple of %zu, or another policy",
                            total, size, multiple, even);
    return 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int dtrain_tp_shard(size_t total, int size, int rank, size_t multiple, enum dtrain_tp_policy policy,
                    struct dtrain_tp_shard *shard, struct dtrain_error *err)
{
    size_t ranks = (size_t)size, r = (size_t)rank, step = multiple > 0 ? multiple : 1, units, first, end;

    if (shard == NULL)
        return dt_error_set(err, "dtrain_tp_shard: shard is NULL");
    if (check(total, size, rank, step, policy, err) != 0)
        return -1;
    units = total / step + (total % step != 0);
    shard->padded = (units / ranks + (units % ranks != 0)) * step;
    if (policy == DTRAIN_TP_PADDED) {
        first = shard->padded * r;
        end = first + shard->padded;
    } else {
        first = (units / ranks * r + least(units % ranks, r)) * step;
        end = first + (units / ranks + (r < units % ranks)) * step;
    }
    shard->first = first;
    shard->count = least(end, total) - least(first, total);
    return 0;
}

struct dtrain_tp_seeds dtrain_tp_seeds(uint64_t seed, const struct dtrain_tp_place *place)
{
    uint64_t stage = seed + 100 * (uint64_t)place->pp_rank;

    return (struct dtrain_tp_seeds){
        .replicated = stage,
        .sharded = stage + 2718 + (uint64_t)place->tp_rank,
        .expert = stage + 1024 + 100 * (uint64_t)place->ep_rank + (uint64_t)place->etp_rank,
    };
}
