/* fake_reduce.c - the reductions of every type; small floats by way of single precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_op.h"

/* ---- Floats of 8 and 16 bits -------------------------------------------- */

/* Bits of exponent and mantissa; has_inf: the highest exponent is kept for infinities and NaN. */
struct format {
    int exponent, mantissa;
    bool has_inf;
};

static const struct format half = {5, 10, true}, bfloat = {8, 7, true}, e4m3 = {4, 3, false},
                           e5m2 = {5, 2, true};

static float decode(unsigned bits, const struct format *format)
{
    unsigned top = (1u << format->exponent) - 1, fraction = bits & ((1u << format->mantissa) - 1);
    unsigned exponent = bits >> format->mantissa & top;
    int bias = (int)(top >> 1);
    float value;

    if (exponent == top && (format->has_inf || fraction == (1u << format->mantissa) - 1))
        value = format->has_inf && fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        value = ldexpf((float)fraction, 1 - bias - format->mantissa);
    else
        value = ldexpf((float)(fraction | 1u << format->mantissa), (int)exponent - bias - format->mantissa);
    return bits >> (format->exponent + format->mantissa) & 1 ? -value : value;
}

/* The largest number of the format: an 8-bit sum saturates as NVIDIA's conversion does. */
static float largest(const struct format *format)
{
    unsigned top = (1u << format->exponent) - 1;

    if (format->has_inf)
        return decode(((top - 1) << format->mantissa) | ((1u << format->mantissa) - 1), format);
    return decode((top << format->mantissa) | ((1u << format->mantissa) - 2), format);
}

static unsigned encode(float value, const struct format *format)
{
    unsigned sign = signbit(value) ? 1u << (format->exponent + format->mantissa) : 0;
    unsigned top = (1u << format->exponent) - 1;
    int bias = (int)(top >> 1), exponent;
    float size = fabsf(value), step;

    if (isnan(value))
        return sign | (top << format->mantissa) | ((1u << format->mantissa) - 1);
    if (size == 0)
        return sign;
    frexpf(size, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    step = ldexpf(1, exponent - format->mantissa);
    size = isinf(size) ? size : rintf(size / step) * step;
    if (size > largest(format)) {
        if (format->exponent + format->mantissa == 15)
            return sign | top << format->mantissa;
        size = largest(format);
    }
    frexpf(size, &exponent);
    if (size == 0 || exponent - 1 < 1 - bias)
        return sign | (unsigned)ldexpf(size, bias - 1 + format->mantissa);
    return sign | (unsigned)(exponent - 1 + bias) << format->mantissa |
           ((unsigned)ldexpf(size, format->mantissa - exponent + 1) & ((1u << format->mantissa) - 1));
}

static unsigned load(const void *from, size_t at, bool is_wide)
{
    return is_wide ? ((const uint16_t *)from)[at] : ((const uint8_t *)from)[at];
}

/* ---- Reductions --------------------------------------------------------- */

#define COMBINE(op, a, b)                                                                                    \
    ((op) == ncclProd ? (a) * (b) : (op) == ncclMax ? ((b) > (a) ? (b) : (a))                               \
                                : (op) == ncclMin   ? ((b) < (a) ? (b) : (a))                               \
                                                    : (a) + (b))

/* Integers: sums wrap, so they are made without a sign; the average divides the sum toward zero. */
#define REDUCE_INT(name, type, wide)                                                                         \
    static void name(void *out, void *const *inputs, int ranks, size_t count, ncclRedOp_t op)                \
    {                                                                                                        \
        for (size_t i = 0; i < count; i++) {                                                                 \
            type value = ((const type *)inputs[0])[i];                                                       \
                                                                                                             \
            for (int rank = 1; rank < ranks; rank++) {                                                       \
                type other = ((const type *)inputs[rank])[i];                                                \
                                                                                                             \
                if (op == ncclMax || op == ncclMin)                                                          \
                    value = COMBINE(op, value, other);                                                       \
                else                                                                                         \
                    value = (type)COMBINE(op, (wide)value, (wide)other);                                     \
            }                                                                                                \
            ((type *)out)[i] = op == ncclAvg ? (type)(value / (type)ranks) : value;                          \
        }                                                                                                    \
    }

REDUCE_INT(reduce_int8, int8_t, uint32_t)
REDUCE_INT(reduce_uint8, uint8_t, uint32_t)
REDUCE_INT(reduce_int32, int32_t, uint32_t)
REDUCE_INT(reduce_uint32, uint32_t, uint32_t)
REDUCE_INT(reduce_int64, int64_t, uint64_t)
REDUCE_INT(reduce_uint64, uint64_t, uint64_t)

#define REDUCE_FLOAT(name, type)                                                                             \
    static void name(void *out, void *const *inputs, int ranks, size_t count, ncclRedOp_t op)                \
    {                                                                                                        \
        type scale = op == ncclAvg ? 1 / (type)ranks : 1;                                                    \
                                                                                                             \
        for (size_t i = 0; i < count; i++) {                                                                 \
            type value = ((const type *)inputs[0])[i] * scale;                                               \
                                                                                                             \
            for (int rank = 1; rank < ranks; rank++) {                                                       \
                type other = ((const type *)inputs[rank])[i] * scale;                                        \
                                                                                                             \
                value = COMBINE(op, value, other);                                                           \
            }                                                                                                \
            ((type *)out)[i] = value;                                                                        \
        }                                                                                                    \
    }

REDUCE_FLOAT(reduce_float32, float)
REDUCE_FLOAT(reduce_float64, double)

static void reduce_small(void *out, void *const *inputs, int ranks, size_t count, ncclRedOp_t op,
                         const struct format *format)
{
    float scale = op == ncclAvg ? 1 / (float)ranks : 1;
    bool is_wide = format->exponent + format->mantissa == 15;

    for (size_t i = 0; i < count; i++) {
        float value = decode(load(inputs[0], i, is_wide), format) * scale;

        for (int rank = 1; rank < ranks; rank++) {
            float other = decode(load(inputs[rank], i, is_wide), format) * scale;

            value = COMBINE(op, value, other);
        }
        if (is_wide)
            ((uint16_t *)out)[i] = (uint16_t)encode(value, format);
        else
            ((uint8_t *)out)[i] = (uint8_t)encode(value, format);
    }
}

void fake_reduce(void *out, void *const *inputs, int ranks, size_t count, ncclDataType_t type,
                 ncclRedOp_t op)
{
    static void (*const reductions[ncclNumTypes])(void *, void *const *, int, size_t, ncclRedOp_t) = {
        [ncclInt8] = reduce_int8,       [ncclUint8] = reduce_uint8,     [ncclInt32] = reduce_int32,
        [ncclUint32] = reduce_uint32,   [ncclInt64] = reduce_int64,     [ncclUint64] = reduce_uint64,
        [ncclFloat32] = reduce_float32, [ncclFloat64] = reduce_float64,
    };
    static const struct format *const formats[ncclNumTypes] = {
        [ncclFloat16] = &half, [ncclBfloat16] = &bfloat, [ncclFloat8e4m3] = &e4m3, [ncclFloat8e5m2] = &e5m2};

    if (formats[type] != NULL)
        reduce_small(out, inputs, ranks, count, op, formats[type]);
    else
        reductions[type](out, inputs, ranks, count, op);
}
