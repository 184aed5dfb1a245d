#include "math_elements.h"

#include <math.h>

#include "math_value.h"

double dt_math_factor_value(const struct dt_math_factor *factor)
{
    double norm = factor->squares != NULL ? sqrt(*factor->squares) : 0;

    return norm > factor->limit ? factor->factor * factor->limit / norm : factor->factor;
}

void dt_math_fill_run(const struct dt_math *math)
{
    const struct dt_math_fill *fill = &math->fill;

    for (size_t i = 0; i < fill->n; i++)
        dt_math_store(fill->x, fill->type, i, fill->value);
}

/* ---- Scale ---------------------------------------------------------------- */

/* What training does most often, in a form that the compiler makes vectors of. */
static void scale_floats(float *to, const float *from, size_t n, float by, bool accumulate)
{
    if (accumulate) {
        for (size_t i = 0; i < n; i++)
            to[i] += by * from[i];
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = by * from[i];
    }
}

static void scale_doubles(const struct dt_math_scale *scale, double by)
{
    for (size_t i = 0; i < scale->n; i++) {
        double value = by * dt_math_load(scale->from, scale->from_type, i);

        if (scale->accumulate)
            value += dt_math_load(scale->to, scale->to_type, i);
        dt_math_store(scale->to, scale->to_type, i, value);
    }
}

static void scale_mixed(const struct dt_math_scale *scale, float by)
{
    for (size_t i = 0; i < scale->n; i++) {
        float value = by * (float)dt_math_load(scale->from, scale->from_type, i);

        if (scale->accumulate)
            value += (float)dt_math_load(scale->to, scale->to_type, i);
        dt_math_store(scale->to, scale->to_type, i, value);
    }
}

void dt_math_scale_run(const struct dt_math *math)
{
    const struct dt_math_scale *scale = &math->scale;
    double by = dt_math_factor_value(&scale->by);

    if (scale->to_type == DTRAIN_FLOAT32 && scale->from_type == DTRAIN_FLOAT32)
        scale_floats(scale->to, scale->from, scale->n, (float)by, scale->accumulate);
    else if (scale->to_type == DTRAIN_FLOAT64 || scale->from_type == DTRAIN_FLOAT64)
        scale_doubles(scale, by);
    else
        scale_mixed(scale, (float)by);
}

/* ---- The others ------------------------------------------------------------- */

void dt_math_sum_squares_run(const struct dt_math *math)
{
    const struct dt_math_sum_squares *squares = &math->sum_squares;
    double sum = 0;

    for (size_t i = 0; i < squares->n; i++) {
        double value = dt_math_load(squares->x, squares->type, i);

        sum += value * value;
    }
    *squares->sum += squares->weight * sum;
}

#define DEFINE_ADAMW(name, type, root)                                                              \
    static void name(const struct dt_math_adamw *step, type by)                                    \
    {                                                                                              \
        type beta1 = (type)step->beta1, beta2 = (type)step->beta2;                                 \
        type *w = step->w, *m = step->m, *v = step->v;                                             \
        type lr = (type)step->lr, epsilon = (type)step->epsilon, decay = (type)step->decay;        \
        type correction1 = (type)step->correction1, correction2 = (type)step->correction2;         \
                                                                                                   \
        for (size_t i = 0; i < step->n; i++) {                                                     \
            type g = by * (type)dt_math_load(step->g, step->gradient_type, i);                     \
                                                                                                   \
            m[i] = beta1 * m[i] + (1 - beta1) * g;                                                 \
            v[i] = beta2 * v[i] + (1 - beta2) * g * g;                                             \
            w[i] -= lr * (m[i] / correction1 / (root(v[i] / correction2) + epsilon) + decay * w[i]); \
        }                                                                                          \
    }

DEFINE_ADAMW(adamw_floats, float, sqrtf)
DEFINE_ADAMW(adamw_doubles, double, sqrt)

void dt_math_adamw_run(const struct dt_math *math)
{
    const struct dt_math_adamw *step = &math->adamw;
    double by = dt_math_factor_value(&step->by);

    if (step->state_type == DTRAIN_FLOAT64)
        adamw_doubles(step, by);
    else
        adamw_floats(step, (float)by);
    for (size_t i = 0; step->copy != NULL && i < step->n; i++)
        dt_math_store(step->copy, step->copy_type, i, dt_math_load(step->w, step->state_type, i));
}

void dt_math_copy_2d_run(const struct dt_math *math)
{
    const struct dt_math_copy_2d *copy = &math->copy_2d;

    for (size_t row = 0; row < copy->rows; row++)
        memcpy((char *)copy->to + row * copy->to_pitch, (const char *)copy->from + row * copy->from_pitch,
               copy->width);
}
