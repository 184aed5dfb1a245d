#include "dp.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static const struct {
    const char *name;
    unsigned axes;
} lane_rows[DT_DP_LANES] = {
    [DT_DP_DENSE] = {"", DTRAIN_DP | DTRAIN_CP},
    [DT_DP_EXPERT] = {"expert ", DTRAIN_EXPERT | DTRAIN_DP},
};

/* ---- Life ------------------------------------------------------------------ */

static size_t lane_of(const struct dtrain_parameter *p)
{
    return (p->flags & DTRAIN_PARAMETER_EXPERT) != 0 ? DT_DP_EXPERT : DT_DP_DENSE;
}

static int copy_parameters(struct dtrain_dp *dp, const struct dtrain_parameter *parameters,
                           struct dtrain_error *err)
{
    dp->parameters = calloc(dp->n + 1, sizeof(*dp->parameters));
    if (dp->parameters == NULL)
        return dt_error_memory(err, (dp->n + 1) * sizeof(*dp->parameters), "the parameters");
    for (size_t i = 0; i < dp->n; i++) {
        struct dt_dp_parameter *own = &dp->parameters[i];

        own->given = parameters[i];
        own->given.name = strdup(parameters[i].name);
        if (own->given.name == NULL)
            return dt_error_memory(err, strlen(parameters[i].name) + 1, "a parameter's name");
        own->lane = &dp->lanes[lane_of(&parameters[i])];
    }
    return 0;
}

static size_t count_members(const struct dtrain_dp *dp, size_t lane)
{
    size_t count = 0;

    for (size_t i = 0; i < dp->n; i++)
        count += dp->parameters[i].lane == &dp->lanes[lane];
    return count;
}

/* As ranks of the dense axes divide, for experts too; dtrain_dp.h says why. */
static void lane_set_factor(struct dtrain_dp *dp, struct dt_dp_lane *lane)
{
    int divisor = dp->options.sum ? 1 : dp->lanes[DT_DP_DENSE].size;

    lane->op = divisor == lane->size ? DTRAIN_AVG : DTRAIN_SUM;
    lane->factor = divisor == lane->size ? 1 : 1.0 / divisor;
}

static int lane_open(struct dtrain_dp *dp, size_t which, struct dtrain_error *err)
{
    struct dt_dp_lane *lane = &dp->lanes[which];

    lane->name = lane_rows[which].name;
    lane->axes = lane_rows[which].axes;
    if (dtrain_comm_get(dp->world, lane->axes, &lane->comm, err) < 0 ||
        dtrain_stream_create(dp->world, &lane->stream, err) < 0)
        return -1;
    lane->size = dtrain_comm_size(lane->comm);
    lane->rank = dtrain_comm_rank(lane->comm);
    lane_set_factor(dp, lane);
    return 0;
}

/* In reverse order of registration, which is about the order of the backward pass. */
static int lane_plan(struct dtrain_dp *dp, size_t which, struct dtrain_error *err)
{
    struct dt_dp_lane *lane = &dp->lanes[which];
    size_t *order = calloc(dp->n + 1, sizeof(*order));
    size_t count = 0;
    int rc;

    if (order == NULL)
        return dt_error_memory(err, (dp->n + 1) * sizeof(*order), "the plan of buckets");
    for (size_t i = dp->n; i-- > 0;)
        if (dp->parameters[i].lane == lane)
            order[count++] = i;
    rc = dt_dp_storage_create(dp, lane, order, count, err);
    free(order);
    return rc;
}

/* The dense lane is there always: over it ranks notice that another one has parameters. */
static int lanes_create(struct dtrain_dp *dp, struct dtrain_error *err)
{
    for (size_t i = 0; i < DT_DP_LANES; i++) {
        if (i != DT_DP_DENSE && count_members(dp, i) == 0)
            continue;
        if (lane_open(dp, i, err) < 0 || dt_dp_agree(dp, &dp->lanes[i], err) < 0 || lane_plan(dp, i, err) < 0)
            return -1;
    }
    return dt_dp_memory_alloc(dp, DT_DP_LANES * sizeof(double), (void **)&dp->squares, err);
}

static struct dtrain_dp_options fill_options(const struct dtrain_dp_options *given)
{
    struct dtrain_dp_options options = given != NULL ? *given : (struct dtrain_dp_options){0};

    if (options.first_bucket_bytes == 0)
        options.first_bucket_bytes = DT_DP_FIRST_BUCKET_BYTES;
    if (options.bucket_bytes == 0)
        options.bucket_bytes = DT_DP_BUCKET_BYTES;
    return options;
}

int dtrain_dp_create(struct dtrain_dp **made, struct dtrain_world *world,
                     const struct dtrain_parameter *parameters, size_t n,
                     const struct dtrain_dp_options *given, struct dtrain_error *err)
{
    struct dtrain_dp_options options = fill_options(given);
    struct dtrain_dp *dp;

    *made = NULL;
    if (dt_dp_check_registered(parameters, n, &options, err) < 0)
        return -1;
    dp = calloc(1, sizeof(*dp));
    if (dp == NULL)
        return dt_error_memory(err, sizeof(*dp), "data parallel training");
    dp->world = world;
    dp->options = options;
    dp->n = n;
    if (copy_parameters(dp, parameters, err) < 0 || lanes_create(dp, err) < 0) {
        dtrain_dp_destroy(dp);
        return -1;
    }
    *made = dp;
    return 0;
}

void dtrain_dp_destroy(struct dtrain_dp *dp)
{
    if (dp == NULL)
        return;
    for (size_t i = 0; i < DT_DP_LANES; i++)
        dtrain_stream_destroy(dp->lanes[i].stream, NULL);
    dt_dp_buffers_destroy(dp);
    for (size_t i = 0; i < DT_DP_LANES; i++)
        dt_dp_storage_destroy(dp, &dp->lanes[i]);
    if (dp->squares != NULL)
        dtrain_memory_free(dp->world, dp->squares);
    for (size_t i = 0; dp->parameters != NULL && i < dp->n; i++)
        free((char *)dp->parameters[i].given.name);
    free(dp->parameters);
    free(dp);
}

int dt_dp_memory_alloc(struct dtrain_dp *dp, size_t bytes, void **memory, struct dtrain_error *err)
{
    if (dtrain_memory_alloc(dp->world, bytes, memory, err) < 0)
        return -1;
    dp->bytes += bytes;
    return 0;
}

/* ---- Getters ----------------------------------------------------------------- */

size_t dtrain_dp_memory(const struct dtrain_dp *dp)
{
    return dp->bytes;
}

size_t dtrain_dp_bucket_count(const struct dtrain_dp *dp)
{
    return dp->lanes[DT_DP_DENSE].plan.bucket_count + dp->lanes[DT_DP_EXPERT].plan.bucket_count;
}

size_t dtrain_dp_bucket(const struct dtrain_dp *dp, size_t index)
{
    const struct dt_dp_lane *dense = &dp->lanes[DT_DP_DENSE], *lane;
    size_t place = 0;

    if (index >= dp->n)
        return SIZE_MAX;
    lane = dp->parameters[index].lane;
    while (lane->sequence[place] != lane->plan.bucket[index])
        place++;
    return lane == dense ? place : dense->plan.bucket_count + place;
}

void *dtrain_dp_value(const struct dtrain_dp *dp, size_t index)
{
    return index < dp->n ? dp->parameters[index].given.value : NULL;
}

int dtrain_dp_gradient(struct dtrain_dp *dp, size_t index, struct dtrain_stream *stream, void **gradient,
                       struct dtrain_error *err)
{
    struct dt_dp_parameter *parameter;
    size_t bucket;

    *gradient = NULL;
    if (dt_dp_check_alive(dp, err) < 0 || dt_dp_check_index(dp, "dtrain_dp_gradient", index, err) < 0)
        return -1;
    parameter = &dp->parameters[index];
    if (dp->options.zero_stage < 2) {
        *gradient = parameter->given.gradient;
        return 0;
    }
    if (!dp->in_pass || parameter->is_ready)
        return dt_error_set(err,
                            "dtrain_dp_gradient: parameter %zu (%s) %s: stage 2 lends gradients from "
                            "dtrain_dp_begin() until they are ready",
                            index, parameter->given.name, dp->in_pass ? "is ready already" : "is in no pass");
    bucket = parameter->lane->plan.bucket[index];
    if (dt_dp_buffer_lend(dp, parameter->lane, bucket, err) < 0 ||
        dtrain_stream_wait(stream, parameter->lane->slots[bucket].buffer->stream, err) < 0)
        return -1;
    *gradient = dt_dp_gradient_place(dp, index);
    return 0;
}
