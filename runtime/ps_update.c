#include <math.h>

#include "core/error.h"
#include "ps.h"

/* ---- Arithmetic --------------------------------------------------------------- */

/* to = or += by * from, both of state_type. */
static int scale(const struct dtrain_ps *ps, const struct dt_ps_part *part, void *to, const void *from,
                 double by, bool accumulate, struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_SCALE,
                           .scale = {.to = to, .from = from, .to_type = part->state_type,
                                     .from_type = part->state_type, .n = part->piece.count,
                                     .by = {.factor = by}, .accumulate = accumulate}};

    return dt_math_enqueue(&math, ps->stream, err);
}

/* sum = or += a worker's gradient. */
static int add_gradient(const struct dtrain_ps *ps, const struct dt_ps_part *part, size_t worker,
                        bool accumulate, struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_SCALE,
                           .scale = {.to = ps->sum, .from = ps->lanes[worker].slots + part->slot_at,
                                     .to_type = part->state_type, .from_type = part->gradient_type,
                                     .n = part->piece.count, .by = {.factor = 1}, .accumulate = accumulate}};

    return dt_math_enqueue(&math, ps->stream, err);
}

static int narrow(const struct dtrain_ps *ps, const struct dt_ps_part *part, struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_SCALE,
                           .scale = {.to = part->value,
                                     .from = part->weight,
                                     .to_type = part->type,
                                     .from_type = part->state_type,
                                     .n = part->piece.count,
                                     .by = {.factor = 1}}};

    return part->weight == part->value ? 0 : dt_math_enqueue(&math, ps->stream, err);
}

/* ---- Rules ----------------------------------------------------------------------- */

static double rate_of(const struct dtrain_ps *ps, uint64_t number)
{
    const struct dtrain_ps_options *o = &ps->options;

    return o->rate != NULL ? o->rate(o->context, number) : o->lr;
}

static int step_sgd(const struct dtrain_ps *ps, const struct dt_ps_part *part,
                    const struct dtrain_ps_update *update, struct dtrain_error *err)
{
    const struct dtrain_ps_options *o = &ps->options;
    const void *move = update->gradient;

    if (o->decay != 0 && scale(ps, part, update->gradient, part->weight, o->decay, true, err) < 0)
        return -1;
    if (o->momentum != 0) {
        if (scale(ps, part, part->first, part->first, o->momentum, false, err) < 0 ||
            scale(ps, part, part->first, update->gradient, 1, true, err) < 0)
            return -1;
        move = part->first;
    }
    return scale(ps, part, part->weight, move, -rate_of(ps, update->number), true, err);
}

static int step_adamw(const struct dtrain_ps *ps, const struct dt_ps_part *part,
                      const struct dtrain_ps_update *update, struct dtrain_error *err)
{
    const struct dtrain_ps_options *o = &ps->options;
    double t = (double)update->number;
    struct dt_math math = {.kind = DT_MATH_ADAMW,
                           .adamw = {.w = part->weight, .m = part->first, .v = part->second,
                                     .g = update->gradient, .state_type = part->state_type,
                                     .gradient_type = part->state_type, .n = part->piece.count,
                                     .lr = rate_of(ps, update->number), .beta1 = o->beta1, .beta2 = o->beta2,
                                     .epsilon = o->epsilon, .decay = o->decay,
                                     .correction1 = 1 - pow(o->beta1, t), .correction2 = 1 - pow(o->beta2, t),
                                     .by = {.factor = 1}}};

    return dt_math_enqueue(&math, ps->stream, err);
}

static int step_user(const struct dtrain_ps *ps, const struct dt_ps_part *part,
                     const struct dtrain_ps_update *update, struct dtrain_error *err)
{
    (void)part;
    if (ps->options.update(ps->options.context, update, err) == 0)
        return 0;
    return dt_error_prefix(err, "update %llu of parameter %zu (%s)", (unsigned long long)update->number,
                           update->parameter, ps->parameters[update->parameter].name);
}

static int (*const rules[])(const struct dtrain_ps *ps, const struct dt_ps_part *part,
                            const struct dtrain_ps_update *update, struct dtrain_error *err) = {
    [DTRAIN_PS_SGD] = step_sgd,
    [DTRAIN_PS_ADAMW] = step_adamw,
    [DTRAIN_PS_USER] = step_user,
};

/* ---- Updates that are due ---------------------------------------------------------- */

/* With `gradients` of them in sum; worker: -1, or whose. */
static int apply(struct dtrain_ps *ps, size_t index, int gradients, int worker, struct dtrain_error *err)
{
    const struct dt_ps_part *part = &ps->parts[index];
    struct dtrain_ps_update update = {
        .parameter = part->piece.parameter,
        .first = part->piece.first,
        .count = part->piece.count,
        .number = ++ps->clock.updates[index],
        .worker = worker,
        .gradients = gradients,
        .weight = part->weight,
        .gradient = ps->sum,
        .type = part->state_type,
        .stream = ps->stream,
    };

    if (!ps->options.sum && gradients > 1 &&
        scale(ps, part, ps->sum, ps->sum, 1.0 / gradients, false, err) < 0)
        return -1;
    if (rules[ps->options.rule](ps, part, &update, err) < 0)
        return -1;
    return narrow(ps, part, err);
}

/* All workers' gradients, in the order of their ranks. */
static int apply_step(struct dtrain_ps *ps, size_t index, struct dtrain_error *err)
{
    int gradients = 0;

    for (size_t w = 0; w < ps->worker_count; w++)
        if (dt_ps_clock_contributes(&ps->clock, w, index) &&
            add_gradient(ps, &ps->parts[index], w, gradients++ > 0, err) < 0)
            return -1;
    return apply(ps, index, gradients, -1, err);
}

static int apply_alone(struct dtrain_ps *ps, size_t worker, size_t index, struct dtrain_error *err)
{
    if (add_gradient(ps, &ps->parts[index], worker, false, err) < 0)
        return -1;
    return apply(ps, index, 1, ps->workers[worker], err);
}

int dt_ps_update_pushed(struct dtrain_ps *ps, size_t worker, size_t index, struct dtrain_error *err)
{
    ps->clock.pushed[worker * ps->part_count + index]++;
    if (ps->options.staleness != 0)
        return apply_alone(ps, worker, index, err);
    return dt_ps_clock_is_complete(&ps->clock, index) ? apply_step(ps, index, err) : 0;
}

int dt_ps_update_due(struct dtrain_ps *ps, struct dtrain_error *err)
{
    for (size_t i = 0; ps->options.staleness == 0 && i < ps->part_count; i++)
        if (dt_ps_clock_is_complete(&ps->clock, i) && apply_step(ps, i, err) < 0)
            return -1;
    return 0;
}
