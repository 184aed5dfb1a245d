/*
 * cpu_exp.h - e^x as arithmetic that a loop can do for several values at once, which a call of the C
 * library's cannot; part of cpu_TYPE.c where sums are float32, see cpu.h.
 */

/*
 * Within 2e-7 of e^x, relative, for -87 <= x <= 88; beyond it that end's value; of a NaN a NaN.
 * x = n log 2 + r with a whole n and |r| <= log(2) / 2: the series in r times 2^n.
 */
static inline wide exponential(wide x)
{
    const wide shift = 0x1.8p23f; /* a float so large has no fraction: its low bits are n */
    wide inside = x < -87 ? -87 : x > 88 ? 88 : x;
    wide shifted = inside * 1.44269504f + shift, n = shifted - shift;
    /* log 2 in two parts: n times the first is exact. */
    wide r = inside - n * 0.693359375f + n * 2.12194440e-4f;
    wide tail = 1 / 6.0f + r * (1 / 24.0f + r * (1 / 120.0f + r * (1 / 720.0f + r * (1 / 5040.0f))));
    wide series = 1 + (r + r * r * (0.5f + r * tail));
    uint32_t bits;
    wide power;

    memcpy(&bits, &shifted, sizeof(bits));
    bits = (bits + 127) << 23;
    memcpy(&power, &bits, sizeof(power));
    return series * power;
}
