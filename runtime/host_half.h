/*
 * host_half.h - bfloat16 and float16 (IEEE 754 binary16) to float and back.
 * To float is exact; from float rounds to nearest, ties to even. A NaN stays a
 * NaN, quiet, with the upper bits of its payload; subnormals are kept.
 */
#ifndef DT_RUNTIME_HOST_HALF_H
#define DT_RUNTIME_HOST_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t dt_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float dt_float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline float dt_float_of_bf16(uint16_t half)
{
    return dt_float_of_bits((uint32_t)half << 16);
}

static inline uint16_t dt_bf16_of_float(float value)
{
    uint32_t bits = dt_float_bits(value);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float dt_float_of_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = half & 0x7fff;

    if (rest >= 0x7c00) /* infinity or NaN */
        return dt_float_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400)
        return dt_float_of_bits(sign | ((rest << 13) + ((127u - 15u) << 23)));
    return dt_float_of_bits(sign | dt_float_bits((float)rest * 0x1p-24f));
}

static inline uint16_t dt_f16_of_float(float value)
{
    uint32_t bits = dt_float_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t rest = bits & 0x7fffffff;

    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x3ff));
    if (rest >= 0x477ff000) /* 65520, half way between the largest float16 and the next power of two */
        return (uint16_t)(sign | 0x7c00);
    if (rest >= 0x38800000) /* 2^-14, the smallest normal one */
        return (uint16_t)(sign | (rest + 0xfff + (rest >> 13 & 1) - ((127u - 15u) << 23)) >> 13);
    /* The last place of a float near 0.5 is that of a subnormal float16: the addition rounds. */
    return (uint16_t)(sign | (dt_float_bits(dt_float_of_bits(rest) + 0.5f) - 0x3f000000));
}

#endif
