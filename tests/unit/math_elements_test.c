/* The host's arithmetic on elements, against values worked out by hand and plain loops. */
#include "runtime/math_elements.h"

#include <math.h>

#include "runtime/math_value.h"
#include "runtime/type.h"
#include "tap.h"

#define N 37 /* whole vectors and a rest */

static const enum dtrain_type types[] = {DTRAIN_FLOAT32, DTRAIN_FLOAT64, DTRAIN_BFLOAT16, DTRAIN_FLOAT16};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* Relative error of one rounding. */
static double unit_of(enum dtrain_type type)
{
    if (type == DTRAIN_FLOAT64)
        return 0x1p-53;
    if (type == DTRAIN_FLOAT32)
        return 0x1p-24;
    return type == DTRAIN_BFLOAT16 ? 0x1p-8 : 0x1p-11;
}

static void fill(void *x, enum dtrain_type type, double start, double step)
{
    for (size_t i = 0; i < N; i++)
        dt_math_store(x, type, i, start + step * (double)i);
}

static bool is_near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * (fabs(want) + 1e-30);
}

static void test_scale(enum dtrain_type to_type, enum dtrain_type from_type, bool accumulate)
{
    double to[N], from[N], sum = 0.01;
    struct dt_math math = {.kind = DT_MATH_SCALE,
                           .scale = {.to = to, .from = from, .to_type = to_type, .from_type = from_type,
                                     .n = N, .accumulate = accumulate}};
    bool ok = true;

    math.scale.by = (struct dt_math_factor){-1.5, &sum, 0.05}; /* the norm is 0.1: half */
    fill(to, to_type, 2, 0.25);
    fill(from, from_type, -1, 0.3);
    double before[N], taken[N];
    for (size_t i = 0; i < N; i++) {
        before[i] = accumulate ? dt_math_load(to, to_type, i) : 0;
        taken[i] = dt_math_load(from, from_type, i);
    }
    dt_math_run(&math);
    for (size_t i = 0; i < N; i++)
        ok = ok && fabs(dt_math_load(to, to_type, i) - (before[i] - 0.75 * taken[i])) <=
                       4 * fmax(unit_of(to_type), 0x1p-24 * (to_type != DTRAIN_FLOAT64 ||
                                                            from_type != DTRAIN_FLOAT64)) *
                           (fabs(before[i]) + fabs(taken[i]) + 1);
    tap_ok(ok, "%s %s by * %s", dt_type_name(to_type), accumulate ? "+=" : "=", dt_type_name(from_type));
}

static void test_factor(void)
{
    double squares = 16;
    struct dt_math_factor rows[] = {{3, NULL, 0}, {3, &squares, 4}, {3, &squares, 5}, {3, &squares, 2}};
    const double want[] = {3, 3, 3, 1.5};

    for (size_t i = 0; i < 4; i++)
        tap_ok(dt_math_factor_value(&rows[i]) == want[i], "a factor of 3 with limit %g of a norm of 4",
               rows[i].limit);
}

static void test_fill(enum dtrain_type type)
{
    double x[N + 1];
    struct dt_math math = {.kind = DT_MATH_FILL, .fill = {.x = x, .type = type, .n = N, .value = -0.5}};
    bool ok = true;

    dt_math_store(x, type, N, 7);
    dt_math_run(&math);
    for (size_t i = 0; i < N; i++)
        ok = ok && dt_math_load(x, type, i) == -0.5;
    tap_ok(ok && dt_math_load(x, type, N) == 7, "%s is filled, and nothing past it", dt_type_name(type));
}

static void test_sum_squares(enum dtrain_type type)
{
    double x[N], sum = 100, want = 100;
    struct dt_math math = {.kind = DT_MATH_SUM_SQUARES,
                           .sum_squares = {.sum = &sum, .x = x, .type = type, .n = N, .weight = 0.5}};

    fill(x, type, -3, 0.25);
    for (size_t i = 0; i < N; i++)
        want += 0.5 * dt_math_load(x, type, i) * dt_math_load(x, type, i);
    dt_math_run(&math);
    tap_ok(is_near(sum, want, 1e-14), "squares of %s are added up", dt_type_name(type));
}

/* Two steps by hand: w 1, g 0.5 then -1; lr 0.1, betas 0.9 and 0.99, epsilon 0, decay 0.1. */
static void test_adamw(enum dtrain_type state, enum dtrain_type gradient)
{
    double w[N], m[N] = {0}, v[N] = {0}, g[N], copy[N];
    struct dt_math math = {.kind = DT_MATH_ADAMW,
                           .adamw = {.w = w, .m = m, .v = v, .g = g, .copy = copy, .state_type = state,
                                     .gradient_type = gradient, .copy_type = DTRAIN_BFLOAT16, .n = N,
                                     .lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .decay = 0.1,
                                     .correction1 = 0.1, .correction2 = 0.01, .by.factor = 0.5}};
    bool ok = true;

    fill(w, state, 1, 0);
    fill(g, gradient, 1, 0);
    dt_math_run(&math); /* m / 0.1 = 0.5, sqrt(v / 0.01) = 0.5: w = 1 - 0.1 (1 + 0.1) = 0.89 */
    for (size_t i = 0; i < N; i++)
        ok = ok && is_near(dt_math_load(w, state, i), 0.89, 1e-6) &&
             is_near(dt_math_load(copy, DTRAIN_BFLOAT16, i), 0.89, 0x1p-8);
    fill(g, gradient, -2, 0);
    math.adamw.correction1 = 0.19;
    math.adamw.correction2 = 0.0199;
    dt_math_run(&math); /* m = -0.055, v = 0.012475 */
    for (size_t i = 0; i < N; i++)
        ok = ok && is_near(dt_math_load(w, state, i), 0.89 - 0.1 * (-0.055 / 0.19 / sqrt(0.012475 / 0.0199) + 0.089),
                           1e-6);
    tap_ok(ok, "AdamW with state in %s and gradients in %s", dt_type_name(state), dt_type_name(gradient));
}

static void test_copy_2d(void)
{
    const char from[] = "abcdefghijkl";
    char to[] = "------------";
    struct dt_math math = {.kind = DT_MATH_COPY_2D, .copy_2d = {to, from, 4, 3, 2, 3}};

    dt_math_run(&math);
    tap_ok(strcmp(to, "ab--de--gh--") == 0, "rows are copied with their pitches (%s)", to);
}

int main(void)
{
    test_factor();
    for (size_t i = 0; i < TYPES; i++) {
        for (size_t k = 0; k < TYPES; k++) {
            test_scale(types[i], types[k], false);
            test_scale(types[i], types[k], true);
        }
        test_fill(types[i]);
        test_sum_squares(types[i]);
        test_adamw(DTRAIN_FLOAT32, types[i]);
        test_adamw(DTRAIN_FLOAT64, types[i]);
    }
    test_copy_2d();
    return tap_done();
}
