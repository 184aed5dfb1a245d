/* The corners of element-wise reductions: wrapping, NaN, zeros of both signs, division. */
#include "runtime/host_reduce.h"

#include <math.h>
#include <stdint.h>

#include "runtime/host_half.h"
#include "tap.h"

#define N 19 /* whole vectors and a rest */

struct int_row {
    enum dtrain_type type;
    enum dtrain_op op;
    int64_t a, b, want;
};

static const struct int_row int_rows[] = {
    {DTRAIN_INT8, DTRAIN_SUM, 100, 27, 127},
    {DTRAIN_INT8, DTRAIN_SUM, 127, 1, -128},
    {DTRAIN_INT8, DTRAIN_SUM, -128, -1, 127},
    {DTRAIN_INT8, DTRAIN_MAX, -128, 127, 127},
    {DTRAIN_INT8, DTRAIN_MIN, -128, 127, -128},
    {DTRAIN_INT32, DTRAIN_SUM, INT32_MAX, 1, INT32_MIN},
    {DTRAIN_INT32, DTRAIN_SUM, INT32_MIN, -1, INT32_MAX},
    {DTRAIN_INT32, DTRAIN_MAX, -1, 0, 0},
    {DTRAIN_INT32, DTRAIN_MIN, -1, 0, -1},
    {DTRAIN_INT64, DTRAIN_SUM, INT64_MAX, 1, INT64_MIN},
    {DTRAIN_INT64, DTRAIN_SUM, INT64_MIN, INT64_MIN, 0},
    {DTRAIN_INT64, DTRAIN_MAX, INT64_MIN, INT64_MAX, INT64_MAX},
    {DTRAIN_INT64, DTRAIN_MIN, INT64_MIN, INT64_MAX, INT64_MIN},
    {DTRAIN_INT64, DTRAIN_AVG, 5, 6, 11},
};

static void store_int(void *buf, size_t i, enum dtrain_type type, int64_t value)
{
    if (type == DTRAIN_INT8)
        ((int8_t *)buf)[i] = (int8_t)value;
    else if (type == DTRAIN_INT32)
        ((int32_t *)buf)[i] = (int32_t)value;
    else
        ((int64_t *)buf)[i] = value;
}

static int64_t load_int(const void *buf, size_t i, enum dtrain_type type)
{
    if (type == DTRAIN_INT8)
        return ((const int8_t *)buf)[i];
    if (type == DTRAIN_INT32)
        return ((const int32_t *)buf)[i];
    return ((const int64_t *)buf)[i];
}

static void test_int(const struct int_row *row)
{
    int64_t a[N], b[N];
    bool ok = true;

    for (size_t i = 0; i < N; i++) {
        store_int(a, i, row->type, row->a);
        store_int(b, i, row->type, row->b);
    }
    dt_host_reduce(a, a, b, N, row->type, row->op);
    for (size_t i = 0; i < N; i++)
        ok = ok && load_int(a, i, row->type) == row->want;
    tap_ok(ok, "type %d op %d: %lld with %lld is %lld", row->type, row->op, (long long)row->a,
           (long long)row->b, (long long)row->want);
}

struct divide_row {
    enum dtrain_type type;
    int64_t value;
    int n;
    int64_t want;
};

static const struct divide_row divide_rows[] = {
    {DTRAIN_INT8, 7, 2, 3},
    {DTRAIN_INT8, -7, 2, -3},
    {DTRAIN_INT8, -128, 300, 0},
    {DTRAIN_INT32, INT32_MIN, 2, INT32_MIN / 2},
    {DTRAIN_INT32, -1, 2, 0},
    {DTRAIN_INT64, INT64_MAX, 3, INT64_MAX / 3},
    {DTRAIN_INT64, -10, 3, -3},
};

static void test_divide(const struct divide_row *row)
{
    int64_t values[N];
    bool ok = true;

    for (size_t i = 0; i < N; i++)
        store_int(values, i, row->type, row->value);
    dt_host_divide(values, N, row->type, row->n);
    for (size_t i = 0; i < N; i++)
        ok = ok && load_int(values, i, row->type) == row->want;
    tap_ok(ok, "type %d: %lld divided by %d is %lld", row->type, (long long)row->value, row->n,
           (long long)row->want);
}

/* ---- Floats ------------------------------------------------------------- */

static const enum dtrain_type float_types[] = {DTRAIN_FLOAT32, DTRAIN_BFLOAT16, DTRAIN_FLOAT16,
                                               DTRAIN_FLOAT64};

static void store_float(void *buf, size_t i, enum dtrain_type type, double value)
{
    if (type == DTRAIN_FLOAT32)
        ((float *)buf)[i] = (float)value;
    else if (type == DTRAIN_BFLOAT16)
        ((uint16_t *)buf)[i] = dt_bf16_of_float((float)value);
    else if (type == DTRAIN_FLOAT16)
        ((uint16_t *)buf)[i] = dt_f16_of_float((float)value);
    else
        ((double *)buf)[i] = value;
}

static double load_float(const void *buf, size_t i, enum dtrain_type type)
{
    if (type == DTRAIN_FLOAT32)
        return (double)((const float *)buf)[i];
    if (type == DTRAIN_BFLOAT16)
        return (double)dt_float_of_bf16(((const uint16_t *)buf)[i]);
    if (type == DTRAIN_FLOAT16)
        return (double)dt_float_of_f16(((const uint16_t *)buf)[i]);
    return ((const double *)buf)[i];
}

struct float_row {
    enum dtrain_op op;
    double a, b, want;
};

static const struct float_row float_rows[] = {
    {DTRAIN_SUM, 1.5, 2.25, 3.75},
    {DTRAIN_SUM, INFINITY, 1, INFINITY},
    {DTRAIN_SUM, INFINITY, -INFINITY, NAN},
    {DTRAIN_SUM, NAN, 1, NAN},
    {DTRAIN_MAX, NAN, 1, NAN},
    {DTRAIN_MAX, 1, NAN, NAN},
    {DTRAIN_MIN, NAN, 1, NAN},
    {DTRAIN_MIN, 1, NAN, NAN},
    {DTRAIN_MAX, -INFINITY, -1, -1},
    {DTRAIN_MIN, INFINITY, 2, 2},
    {DTRAIN_MAX, 0.0, -0.0, -0.0},
    {DTRAIN_MAX, -0.0, 0.0, 0.0},
    {DTRAIN_MIN, 0.0, -0.0, -0.0},
};

static bool is_same(double got, double want)
{
    if (isnan(want))
        return isnan(got);
    return got == want && !signbit(got) == !signbit(want);
}

static void test_float(const struct float_row *row, enum dtrain_type type)
{
    double a[N], b[N];
    bool ok = true;

    for (size_t i = 0; i < N; i++) {
        store_float(a, i, type, row->a);
        store_float(b, i, type, row->b);
    }
    dt_host_reduce(b, a, b, N, type, row->op);
    for (size_t i = 0; i < N; i++)
        ok = ok && is_same(load_float(b, i, type), row->want);
    tap_ok(ok, "type %d op %d: %g with %g is %g", type, row->op, row->a, row->b, row->want);
}

/* Payloads and signs of NaNs do not come through, in whole vectors and in the rest alike. */
static void test_one_nan(void)
{
    float a[N], b[N], ab[N], ba[N];
    bool is_one = true;

    for (size_t i = 0; i < N; i++) {
        a[i] = dt_float_of_bits(0x7fc00001u + (uint32_t)i);
        b[i] = dt_float_of_bits(0xffc12345u + (uint32_t)i);
    }
    for (int op = DTRAIN_SUM; op <= DTRAIN_MIN; op++) {
        dt_host_reduce(ab, a, b, N, DTRAIN_FLOAT32, (enum dtrain_op)op);
        dt_host_reduce(ba, b, a, N, DTRAIN_FLOAT32, (enum dtrain_op)op);
        is_one = is_one && memcmp(ab, ba, sizeof(ab)) == 0 && memcmp(ab, ab + 1, sizeof(ab[0])) == 0;
    }
    tap_ok(is_one, "all NaNs that come out are the same");
}

static void test_half_rounds_each_step(void)
{
    uint16_t a = dt_bf16_of_float(256), b = dt_bf16_of_float(1);

    dt_host_reduce(&a, &a, &b, 1, DTRAIN_BFLOAT16, DTRAIN_SUM);
    tap_ok(dt_float_of_bf16(a) == 256, "bfloat16: 256 + 1 rounds to 256");
    a = dt_f16_of_float(60000);
    b = dt_f16_of_float(10000);
    dt_host_reduce(&a, &a, &b, 1, DTRAIN_FLOAT16, DTRAIN_SUM);
    tap_ok(a == 0x7c00, "float16: 60000 + 10000 is infinity");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(int_rows) / sizeof(int_rows[0]); i++)
        test_int(&int_rows[i]);
    for (size_t i = 0; i < sizeof(divide_rows) / sizeof(divide_rows[0]); i++)
        test_divide(&divide_rows[i]);
    for (size_t i = 0; i < sizeof(float_rows) / sizeof(float_rows[0]); i++) {
        for (size_t k = 0; k < sizeof(float_types) / sizeof(float_types[0]); k++)
            test_float(&float_rows[i], float_types[k]);
    }
    test_one_nan();
    test_half_rounds_each_step();
    return tap_done();
}
