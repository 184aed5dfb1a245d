/* cpu_norm.h - layer norm; part of cpu_TYPE.c, see cpu.h. */

static const wide norm_epsilon = (wide)1e-5;

static wide mean_of(const real *x, size_t n)
{
    wide total = 0;

#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++)
        total += load(x[i]);
    return total / (wide)n;
}

static wide variance_of(const real *x, wide mean, size_t n)
{
    wide total = 0;

#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++)
        total += (load(x[i]) - mean) * (load(x[i]) - mean);
    return total / (wide)n;
}

static void norm_forward_row(real *out, wide mean, wide rstd, const real *x, const real *gain,
                             const real *bias, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        out[i] = store((load(x[i]) - mean) * rstd * load(gain[i]) + load(bias[i]));
}

static void norm_forward(struct compute *c, void *out, void *mean, void *rstd, const void *x,
                         const void *gain, const void *bias, size_t rows, size_t n)
{
    wide *means = mean, *rstds = rstd;
    const real *row = x;

    (void)c;
    for (size_t r = 0; r < rows; r++, row += n) {
        means[r] = mean_of(row, n);
        rstds[r] = 1 / sqrt(variance_of(row, means[r], n) + norm_epsilon);
        norm_forward_row((real *)out + r * n, means[r], rstds[r], row, gain, bias, n);
    }
}

/* dx += rstd (d - mean(d) - y mean(d y)), y the normalised row, d = dout gain. */
static void norm_backward_row(real *dx, const real *dout, const real *x, wide mean, wide rstd,
                              const real *gain, size_t n)
{
    wide total = 0, dot = 0;

#pragma omp simd reduction(+ : total, dot)
    for (size_t i = 0; i < n; i++) {
        wide d = load(dout[i]) * load(gain[i]);

        total += d;
        dot += d * (load(x[i]) - mean) * rstd;
    }
    total /= (wide)n;
    dot /= (wide)n;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        wide d = load(dout[i]) * load(gain[i]), y = (load(x[i]) - mean) * rstd;

        dx[i] = store(load(dx[i]) + rstd * (d - total - y * dot));
    }
}

static void norm_weights_row(wide *dgain, wide *dbias, const real *dout, const real *x, wide mean, wide rstd,
                             size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        dgain[i] += load(dout[i]) * (load(x[i]) - mean) * rstd;
        dbias[i] += load(dout[i]);
    }
}

static void norm_backward(struct compute *c, void *dx, void *dgain, void *dbias, const void *dout,
                          const void *x, const void *mean, const void *rstd, const void *gain, size_t rows,
                          size_t n)
{
    const wide *means = mean, *rstds = rstd;
    const real *row = x, *d = dout;

    (void)c;
    for (size_t r = 0; r < rows; r++, row += n, d += n) {
        norm_weights_row(dgain, dbias, d, row, means[r], rstds[r], n);
        norm_backward_row((real *)dx + r * n, d, row, means[r], rstds[r], gain, n);
    }
}
