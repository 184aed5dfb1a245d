#include "host_reduce.h"

#include <math.h>
#include <stdint.h>

#include "host_half.h"

/*
 * One NaN for all: which payload survives an addition depends on the order in
 * which the compiler puts the operands, and ranks must agree on every bit.
 */
#define DEFINE_FLOAT_STEPS(name, type, nan)                                                        \
    static inline type name##_add(type a, type b)                                                  \
    {                                                                                              \
        type sum = a + b;                                                                          \
        return sum == sum ? sum : nan;                                                             \
    }                                                                                              \
    static inline type name##_max(type a, type b)                                                  \
    {                                                                                              \
        type most = a > b ? a : b;                                                                 \
        return a == a && b == b ? most : nan;                                                      \
    }                                                                                              \
    static inline type name##_min(type a, type b)                                                  \
    {                                                                                              \
        type least = a < b ? a : b;                                                                \
        return a == a && b == b ? least : nan;                                                     \
    }

/* The sum goes through the unsigned type, where wrapping is defined. */
#define DEFINE_INT_STEPS(name, type, wide)                                                         \
    static inline type name##_add(type a, type b)                                                  \
    {                                                                                              \
        return (type)((wide)a + (wide)b);                                                          \
    }                                                                                              \
    static inline type name##_max(type a, type b)                                                  \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    static inline type name##_min(type a, type b)                                                  \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }

#define REDUCE_LOOP(step, load, store)                                                             \
    for (size_t i = 0; i < count; i++)                                                             \
        out[i] = store(step(load(a[i]), load(b[i])))

#define DEFINE_REDUCE(name, type, steps, load, store)                                              \
    static void name##_reduce(type *out, const type *a, const type *b, size_t count,               \
                              enum dtrain_op op)                                                   \
    {                                                                                              \
        if (op == DTRAIN_MAX)                                                                      \
            REDUCE_LOOP(steps##_max, load, store);                                                 \
        else if (op == DTRAIN_MIN)                                                                 \
            REDUCE_LOOP(steps##_min, load, store);                                                 \
        else                                                                                       \
            REDUCE_LOOP(steps##_add, load, store);                                                 \
    }

#define DEFINE_DIVIDE(name, type, divisor, load, store)                                            \
    static void name##_divide(type *values, size_t count, int n)                                   \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i] = store(load(values[i]) / (divisor)n);                                       \
    }

#define AS_IT_IS(value) (value)

DEFINE_FLOAT_STEPS(float, float, NAN)
DEFINE_FLOAT_STEPS(double, double, (double)NAN)
DEFINE_INT_STEPS(int8, int8_t, uint8_t)
DEFINE_INT_STEPS(int32, int32_t, uint32_t)
DEFINE_INT_STEPS(int64, int64_t, uint64_t)

DEFINE_REDUCE(float, float, float, AS_IT_IS, AS_IT_IS)
DEFINE_REDUCE(double, double, double, AS_IT_IS, AS_IT_IS)
DEFINE_REDUCE(bf16, uint16_t, float, dt_float_of_bf16, dt_bf16_of_float)
DEFINE_REDUCE(f16, uint16_t, float, dt_float_of_f16, dt_f16_of_float)
DEFINE_REDUCE(int8, int8_t, int8, AS_IT_IS, AS_IT_IS)
DEFINE_REDUCE(int32, int32_t, int32, AS_IT_IS, AS_IT_IS)
DEFINE_REDUCE(int64, int64_t, int64, AS_IT_IS, AS_IT_IS)

DEFINE_DIVIDE(float, float, float, AS_IT_IS, AS_IT_IS)
DEFINE_DIVIDE(double, double, double, AS_IT_IS, AS_IT_IS)
DEFINE_DIVIDE(bf16, uint16_t, float, dt_float_of_bf16, dt_bf16_of_float)
DEFINE_DIVIDE(f16, uint16_t, float, dt_float_of_f16, dt_f16_of_float)
DEFINE_DIVIDE(int8, int8_t, int, AS_IT_IS, (int8_t))
DEFINE_DIVIDE(int32, int32_t, int, AS_IT_IS, AS_IT_IS)
DEFINE_DIVIDE(int64, int64_t, int, AS_IT_IS, AS_IT_IS)

void dt_host_reduce(void *out, const void *a, const void *b, size_t count, enum dtrain_type type,
                    enum dtrain_op op)
{
    switch (type) {
    case DTRAIN_FLOAT32:
        float_reduce(out, a, b, count, op);
        break;
    case DTRAIN_BFLOAT16:
        bf16_reduce(out, a, b, count, op);
        break;
    case DTRAIN_FLOAT16:
        f16_reduce(out, a, b, count, op);
        break;
    case DTRAIN_FLOAT64:
        double_reduce(out, a, b, count, op);
        break;
    case DTRAIN_INT32:
        int32_reduce(out, a, b, count, op);
        break;
    case DTRAIN_INT64:
        int64_reduce(out, a, b, count, op);
        break;
    case DTRAIN_INT8:
        int8_reduce(out, a, b, count, op);
        break;
    }
}

void dt_host_divide(void *values, size_t count, enum dtrain_type type, int n)
{
    switch (type) {
    case DTRAIN_FLOAT32:
        float_divide(values, count, n);
        break;
    case DTRAIN_BFLOAT16:
        bf16_divide(values, count, n);
        break;
    case DTRAIN_FLOAT16:
        f16_divide(values, count, n);
        break;
    case DTRAIN_FLOAT64:
        double_divide(values, count, n);
        break;
    case DTRAIN_INT32:
        int32_divide(values, count, n);
        break;
    case DTRAIN_INT64:
        int64_divide(values, count, n);
        break;
    case DTRAIN_INT8:
        int8_divide(values, count, n);
        break;
    }
}
