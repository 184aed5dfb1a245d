#include "zero.h"

#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "runtime/math.h"

/* ---- Bytes -------------------------------------------------------------------- */

enum dtrain_type dt_zero_state_type(enum dtrain_type type)
{
    return type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

bool dt_zero_has_weight(enum dtrain_type type)
{
    return dt_zero_state_type(type) != type;
}

/* Of each element. */
static size_t state_bytes(enum dtrain_type type)
{
    return dtrain_type_size(dt_zero_state_type(type)) * (dt_zero_has_weight(type) ? 3 : 2);
}

double dtrain_zero_bytes(int stage, int d, enum dtrain_type type, enum dtrain_type gradient_type)
{
    if (stage < 0 || stage > 2 || d < 1 || !dt_dp_type_is_float(type) || !dt_dp_type_is_float(gradient_type))
        return 0;
    return (double)dtrain_type_size(type) + (double)dtrain_type_size(gradient_type) / (stage == 2 ? d : 1) +
           (double)state_bytes(type) / (stage >= 1 ? d : 1);
}

size_t dtrain_zero_memory(const struct dtrain_zero *zero)
{
    return zero->bytes;
}

/* ---- Life ----------------------------------------------------------------------- */

static size_t part_bytes(const struct dt_zero_state *state)
{
    size_t n = state->piece.count;

    return (n + DT_DP_ALIGNMENT - 1) / DT_DP_ALIGNMENT * DT_DP_ALIGNMENT * dtrain_type_size(state->type);
}

static void find_pieces(struct dtrain_zero *zero)
{
    const struct dtrain_dp *dp = zero->dp;

    for (size_t i = 0; i < dp->n; i++) {
        const struct dtrain_parameter *given = &dp->parameters[i].given;
        struct dt_zero_state *state = &zero->states[i];

        state->type = dt_zero_state_type(given->type);
        state->piece = dt_dp_piece_get(dp, i);
        zero->bytes += part_bytes(state) * (dt_zero_has_weight(given->type) ? 3 : 2);
        zero->groups = given->group >= zero->groups ? given->group + 1 : zero->groups;
    }
}

static void place_parts(struct dtrain_zero *zero)
{
    char *at = zero->memory;

    for (size_t i = 0; i < zero->dp->n; i++) {
        struct dt_zero_state *state = &zero->states[i];
        bool has_weight = dt_zero_has_weight(zero->dp->parameters[i].given.type);

        if (state->piece.count == 0)
            continue;
        state->parts[DTRAIN_ZERO_WEIGHT] = state->piece.value;
        for (int part = has_weight ? 0 : 1; part < DT_ZERO_PARTS; part++) {
            state->parts[part] = at;
            at += part_bytes(state);
        }
    }
}

int dt_zero_cast(void *to, enum dtrain_type to_type, const void *from, enum dtrain_type from_type, size_t n,
                 struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct dt_math math = {
        .kind = DT_MATH_SCALE,
        .scale = {
            .to = to, .from = from, .to_type = to_type, .from_type = from_type, .n = n, .by.factor = 1}};

    return n == 0 ? 0 : dt_math_enqueue(&math, stream, err);
}

static int take_weights(struct dtrain_zero *zero, struct dtrain_error *err)
{
    struct dtrain_stream *stream = zero->dp->lanes[DT_DP_DENSE].stream;

    for (size_t i = 0; i < zero->dp->n; i++) {
        enum dtrain_type type = zero->dp->parameters[i].given.type;
        const struct dt_zero_state *state = &zero->states[i];

        if (dt_zero_has_weight(type) &&
            dt_zero_cast(state->parts[DTRAIN_ZERO_WEIGHT], state->type, state->piece.value, type,
                         state->piece.count, stream, err) < 0)
            return -1;
    }
    return dtrain_stream_synchronize(stream, err);
}

static int fill(struct dtrain_zero *zero, struct dtrain_error *err)
{
    struct dtrain_dp *dp = zero->dp;

    zero->states = calloc(dp->n + 1, sizeof(*zero->states));
    if (zero->states == NULL)
        return dt_error_memory(err, (dp->n + 1) * sizeof(*zero->states), "the optimizer's state");
    find_pieces(zero);
    if (dtrain_memory_alloc(dp->world, zero->bytes, &zero->memory, err) < 0)
        return -1;
    place_parts(zero);
    for (size_t i = 0; i < DT_DP_LANES && dp->options.zero_stage > 0; i++)
        if (dp->lanes[i].size > 1 && dt_zero_fences_create(&zero->fences[i], dp, &dp->lanes[i], err) < 0)
            return -1;
    return take_weights(zero, err);
}

int dtrain_zero_create(struct dtrain_zero **made, struct dtrain_dp *dp, struct dtrain_error *err)
{
    struct dtrain_zero *zero;

    *made = NULL;
    if (dt_dp_check_alive(dp, err) < 0)
        return -1;
    zero = calloc(1, sizeof(*zero));
    if (zero == NULL)
        return dt_error_memory(err, sizeof(*zero), "the optimizer");
    zero->dp = dp;
    if (fill(zero, err) < 0) {
        dtrain_zero_destroy(zero);
        return -1;
    }
    *made = zero;
    return 0;
}

void dtrain_zero_destroy(struct dtrain_zero *zero)
{
    if (zero == NULL)
        return;
    for (size_t i = 0; i < DT_DP_LANES; i++)
        dt_zero_fences_destroy(zero->fences[i]);
    if (zero->memory != NULL)
        dtrain_memory_free(zero->dp->world, zero->memory);
    free(zero->states);
    free(zero);
}

/* ---- A step ---------------------------------------------------------------------- */

/* One step's numbers. */
struct step {
    struct dtrain_zero *zero;
    const struct dtrain_adamw *groups;
    struct dt_math_factor by;
    struct dtrain_stream *stream;
};

static int update(const struct step *step, size_t index, struct dtrain_error *err)
{
    const struct dtrain_parameter *given = &step->zero->dp->parameters[index].given;
    const struct dt_zero_state *state = &step->zero->states[index];
    const struct dtrain_adamw *group = &step->groups[given->group];
    double t = (double)step->zero->steps;
    struct dt_math math = {
        .kind = DT_MATH_ADAMW,
        .adamw = {.w = state->parts[DTRAIN_ZERO_WEIGHT],
                  .m = state->parts[DTRAIN_ZERO_FIRST_MOMENT],
                  .v = state->parts[DTRAIN_ZERO_SECOND_MOMENT],
                  .g = state->piece.gradient,
                  .copy = dt_zero_has_weight(given->type) ? state->piece.value : NULL,
                  .state_type = state->type,
                  .gradient_type = given->gradient_type,
                  .copy_type = given->type,
                  .n = state->piece.count,
                  .lr = group->lr,
                  .beta1 = group->beta1,
                  .beta2 = group->beta2,
                  .epsilon = group->epsilon,
                  .decay = group->decay,
                  .correction1 = 1 - pow(group->beta1, t),
                  .correction2 = 1 - pow(group->beta2, t),
                  .by = step->by},
    };

    return state->piece.count == 0 ? 0 : dt_math_enqueue(&math, step->stream, err);
}

/* The last bucket to be reduced holds what the forward pass uses first. */
static int update_lane(const struct step *step, size_t which, struct dtrain_error *err)
{
    const struct dt_dp_lane *lane = &step->zero->dp->lanes[which];
    struct dt_zero_fences *fences = step->zero->fences[which];
    size_t buckets = lane->plan.bucket_count;

    for (size_t place = 0; place < buckets; place++) {
        size_t bucket = lane->sequence[buckets - 1 - place];
        const struct dt_dp_bucket *planned = &lane->plan.buckets[bucket];

        for (size_t i = 0; i < planned->count; i++)
            if (update(step, lane->plan.order[planned->first + i], err) < 0)
                return -1;
        if (fences != NULL && dt_zero_gather(fences, bucket, place, step->stream, err) < 0)
            return dt_error_prefix(err, "the values of %sbucket %zu (%.80s ...)", lane->name,
                                   buckets - 1 - place,
                                   step->zero->dp->parameters[lane->plan.order[planned->first]].given.name);
    }
    return 0;
}

static int check_step(const struct dtrain_zero *zero, const struct dtrain_adamw *groups, size_t n,
                      const struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (dt_dp_check_alive(zero->dp, err) < 0)
        return -1;
    if (zero->dp->in_pass)
        return dt_error_set(err, "dtrain_zero_step: within a pass: call it after dtrain_dp_finish()");
    if (groups == NULL || n < (size_t)zero->groups)
        return dt_error_set(err,
                            "dtrain_zero_step: %zu groups of hyperparameters: parameters name groups 0 to %d",
                            groups == NULL ? 0 : n, zero->groups - 1);
    if (stream == NULL)
        return dt_error_set(err, "dtrain_zero_step: stream is NULL: create one with dtrain_stream_create()");
    return 0;
}

int dtrain_zero_step(struct dtrain_zero *zero, const struct dtrain_adamw *groups, size_t n, double clip,
                     struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct step step = {zero, groups, {1, NULL, 0}, stream};
    struct dtrain_dp *dp = zero->dp;

    if (check_step(zero, groups, n, stream, err) < 0 || dt_dp_reduce_wait(dp, stream, err) < 0)
        return -1;
    if (clip > 0 && !dp->norm_is_current && dtrain_dp_norm(dp, stream, NULL, err) < 0)
        return -1;
    if (clip > 0)
        step.by = (struct dt_math_factor){1, &dp->squares[DT_DP_DENSE], clip};
    zero->steps++;
    for (size_t i = 0; i < DT_DP_LANES; i++)
        if (update_lane(&step, i, err) < 0)
            return -1;
    return 0;
}
