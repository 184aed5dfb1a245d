#include <stdlib.h>

#include "core/error.h"
#include "zero.h"

struct dt_zero_fences {
    struct dtrain_dp *dp;
    const struct dt_dp_lane *lane;
    size_t *place; /* [buckets] in the order of the last gather */
    size_t count;
    struct dtrain_stream *streams[DT_ZERO_FENCES_MAX];
};

int dt_zero_fences_create(struct dt_zero_fences **made, struct dtrain_dp *dp, const struct dt_dp_lane *lane,
                          struct dtrain_error *err)
{
    size_t buckets = lane->plan.bucket_count;
    struct dt_zero_fences *fences = calloc(1, sizeof(*fences));

    *made = fences;
    if (fences == NULL)
        return dt_error_memory(err, sizeof(*fences), "the fences of the values");
    fences->dp = dp;
    fences->lane = lane;
    fences->place = calloc(buckets + 1, sizeof(*fences->place));
    if (fences->place == NULL)
        return dt_error_memory(err, (buckets + 1) * sizeof(*fences->place), "the fences of the values");
    for (; fences->count < buckets && fences->count < DT_ZERO_FENCES_MAX; fences->count++)
        if (dtrain_stream_create(dp->world, &fences->streams[fences->count], err) < 0)
            return -1;
    return 0;
}

void dt_zero_fences_destroy(struct dt_zero_fences *fences)
{
    if (fences == NULL)
        return;
    for (size_t i = 0; i < fences->count; i++)
        dtrain_stream_destroy(fences->streams[i], NULL);
    free(fences->place);
    free(fences);
}

static struct dtrain_stream *fence_of(const struct dt_zero_fences *fences, size_t place)
{
    return fences->streams[place * fences->count / fences->lane->plan.bucket_count];
}

int dt_zero_gather(struct dt_zero_fences *fences, size_t bucket, size_t place, struct dtrain_stream *stream,
                   struct dtrain_error *err)
{
    const struct dt_dp_lane *lane = fences->lane;
    enum dtrain_type type =
        fences->dp->parameters[lane->plan.order[lane->plan.buckets[bucket].first]].given.type;
    size_t n = dt_dp_shard_elements(fences->dp, lane, bucket);
    char *values = lane->values;

    fences->place[bucket] = place;
    if (n == 0)
        return 0;
    values += lane->slots[bucket].values_at;
    if (dtrain_stream_wait(lane->stream, stream, err) < 0 ||
        dtrain_all_gather(lane->comm, values + (size_t)lane->rank * n * dtrain_type_size(type), values, n,
                          type, lane->stream, err) < 0)
        return -1;
    return dtrain_stream_wait(fence_of(fences, place), lane->stream, err);
}

int dt_zero_gather_wait(struct dt_zero_fences *fences, size_t bucket, struct dtrain_stream *stream,
                        struct dtrain_error *err)
{
    return dtrain_stream_wait(stream, fence_of(fences, fences->place[bucket]), err);
}
