#include "core/error.h"
#include "runtime/math.h"
#include "zero.h"

/* ---- Waiting for values ----------------------------------------------------------- */

int dtrain_zero_wait(struct dtrain_zero *zero, size_t index, struct dtrain_stream *stream,
                     struct dtrain_error *err)
{
    const struct dt_dp_lane *lane;
    struct dt_zero_fences *fences;

    if (dt_dp_check_index(zero->dp, "dtrain_zero_wait", index, err) < 0)
        return -1;
    lane = zero->dp->parameters[index].lane;
    fences = zero->fences[lane - zero->dp->lanes];
    return fences != NULL ? dt_zero_gather_wait(fences, lane->plan.bucket[index], stream, err) : 0;
}

int dtrain_zero_wait_all(struct dtrain_zero *zero, struct dtrain_stream *stream, struct dtrain_error *err)
{
    for (size_t i = 0; i < DT_DP_LANES; i++)
        if (zero->fences[i] != NULL && dtrain_stream_wait(stream, zero->dp->lanes[i].stream, err) < 0)
            return -1;
    return 0;
}

/* ---- State ------------------------------------------------------------------------- */

int dtrain_zero_range_get(const struct dtrain_zero *zero, size_t index, struct dtrain_zero_range *range,
                          struct dtrain_error *err)
{
    const struct dt_zero_state *state;

    if (dt_dp_check_index(zero->dp, "dtrain_zero_range_get", index, err) < 0)
        return -1;
    state = &zero->states[index];
    *range = (struct dtrain_zero_range){state->piece.first,
                                        state->piece.count,
                                        state->type,
                                        {state->parts[0], state->parts[1], state->parts[2]}};
    return 0;
}

static int check_part(const struct dtrain_zero *zero, const char *function, size_t index,
                      enum dtrain_zero_part part, const void *full, struct dtrain_error *err)
{
    if (dt_dp_check_alive(zero->dp, err) < 0 || dt_dp_check_index(zero->dp, function, index, err) < 0)
        return -1;
    if ((unsigned)part >= DT_ZERO_PARTS)
        return dt_error_set(err, "%s: part is %d: use a value of enum dtrain_zero_part", function, (int)part);
    if (full == NULL && zero->dp->parameters[index].given.count > 0)
        return dt_error_set(err, "%s: parameter %zu (%s): full is NULL", function, index,
                            zero->dp->parameters[index].given.name);
    return 0;
}

static char *own_place(const struct dt_zero_state *state, const void *full)
{
    return (char *)full + state->piece.first * dtrain_type_size(state->type);
}

static size_t own_bytes(const struct dt_zero_state *state)
{
    return state->piece.count * dtrain_type_size(state->type);
}

/* Every element has one owner: the sum of its number and zeros is exact. */
int dtrain_zero_export(struct dtrain_zero *zero, size_t index, enum dtrain_zero_part part, void *full,
                       struct dtrain_stream *stream, struct dtrain_error *err)
{
    const struct dt_dp_parameter *parameter;
    const struct dt_zero_state *state;
    struct dt_math clear = {.kind = DT_MATH_FILL};

    if (check_part(zero, "dtrain_zero_export", index, part, full, err) < 0)
        return -1;
    parameter = &zero->dp->parameters[index];
    state = &zero->states[index];
    clear.fill = (struct dt_math_fill){full, state->type, parameter->given.count, 0};
    if (parameter->given.count == 0)
        return 0;
    if (dtrain_zero_wait_all(zero, stream, err) < 0 || dt_math_enqueue(&clear, stream, err) < 0)
        return -1;
    if (state->piece.count > 0 &&
        dtrain_copy(own_place(state, full), state->parts[part], own_bytes(state), stream, err) < 0)
        return -1;
    if (zero->dp->options.zero_stage == 0)
        return 0;
    return dtrain_all_reduce(parameter->lane->comm, full, full, parameter->given.count, state->type,
                             DTRAIN_SUM, stream, err);
}

int dtrain_zero_import(struct dtrain_zero *zero, size_t index, enum dtrain_zero_part part, const void *full,
                       struct dtrain_stream *stream, struct dtrain_error *err)
{
    const struct dtrain_parameter *given;
    const struct dt_zero_state *state;

    if (check_part(zero, "dtrain_zero_import", index, part, full, err) < 0)
        return -1;
    given = &zero->dp->parameters[index].given;
    state = &zero->states[index];
    if (dtrain_zero_wait_all(zero, stream, err) < 0)
        return -1;
    if (part == DTRAIN_ZERO_WEIGHT &&
        dt_zero_cast(given->value, given->type, full, state->type, given->count, stream, err) < 0)
        return -1;
    return state->piece.count == 0
               ? 0
               : dtrain_copy(state->parts[part], own_place(state, full), own_bytes(state), stream, err);
}

uint64_t dtrain_zero_steps(const struct dtrain_zero *zero)
{
    return zero->steps;
}

void dtrain_zero_set_steps(struct dtrain_zero *zero, uint64_t steps)
{
    zero->steps = steps;
}
