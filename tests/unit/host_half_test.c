/* All 65,536 values of both 16-bit types, and the roundings between each pair of neighbours. */
#include "runtime/host_half.h"

#include <math.h>

#include "tap.h"

struct half {
    const char *name;
    float (*to_float)(uint16_t);
    uint16_t (*of_float)(float);
    uint16_t infinity;
    uint16_t quiet; /* the bit of a quiet NaN */
    int exponent_bits, fraction_bits;
};

static const struct half halves[] = {
    {"bfloat16", dt_float_of_bf16, dt_bf16_of_float, 0x7f80, 0x40, 8, 7},
    {"float16", dt_float_of_f16, dt_f16_of_float, 0x7c00, 0x200, 5, 10},
};

/* By the definition of the format. */
static double value_of(const struct half *half, uint16_t bits)
{
    int fraction = bits & ((1 << half->fraction_bits) - 1);
    int exponent = (bits & 0x7fff) >> half->fraction_bits;
    int bias = (1 << (half->exponent_bits - 1)) - 1;
    double value = exponent == 0 ? ldexp(fraction, 1 - bias - half->fraction_bits)
                                 : ldexp(fraction + (1 << half->fraction_bits),
                                         exponent - bias - half->fraction_bits);

    return bits & 0x8000 ? -value : value;
}

static void test_values(const struct half *half)
{
    int wrong = 0, changed = 0;

    for (uint32_t i = 0; i <= 0xffff; i++) {
        uint16_t bits = (uint16_t)i, magnitude = bits & 0x7fff;
        float value = half->to_float(bits);

        if (magnitude > half->infinity) {
            wrong += !isnan(value);
            changed += half->of_float(value) != (bits | half->quiet);
            continue;
        }
        if (magnitude == half->infinity)
            wrong += !isinf(value) || !signbit(value) != !(bits & 0x8000);
        else
            wrong += value != value_of(half, bits) || !signbit(value) != !(bits & 0x8000);
        changed += half->of_float(value) != bits;
    }
    tap_ok(wrong == 0, "%s: all 65,536 values have the float of their definition", half->name);
    tap_ok(changed == 0, "%s: all 65,536 values come back from their float", half->name);
}

/* The value half way between two neighbours is a float; the even neighbour gets it. */
static void test_rounding(const struct half *half)
{
    int wrong = 0;

    for (uint32_t i = 0; i < half->infinity; i++) {
        uint16_t low = (uint16_t)i, high = (uint16_t)(i + 1);
        double top = high == half->infinity ? ldexp(1, 1 << (half->exponent_bits - 1))
                                            : value_of(half, high);
        float middle = (float)((value_of(half, low) + top) / 2);
        uint16_t even = low % 2 == 0 ? low : high;

        wrong += half->of_float(middle) != even || half->of_float(-middle) != (even | 0x8000);
        wrong += half->of_float(nextafterf(middle, 0)) != low;
        wrong += half->of_float(nextafterf(middle, INFINITY)) != high;
    }
    tap_ok(wrong == 0, "%s: rounds to nearest, ties to even, between all neighbours", half->name);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        test_values(&halves[i]);
        test_rounding(&halves[i]);
    }
    tap_ok(dt_f16_of_float(65519.996f) == 0x7bff && dt_f16_of_float(1e9f) == 0x7c00,
           "float16: what is too large becomes infinity");
    tap_ok(dt_f16_of_float(0x1p-26f) == 0 && dt_f16_of_float(-0x1p-149f) == 0x8000,
           "float16: what is too small becomes zero with its sign");
    return tap_done();
}
