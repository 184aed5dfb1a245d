/* cpu_loss.h - cross-entropy over a split vocabulary; part of cpu_TYPE.c, see cpu.h. */

static void loss_maximum(struct compute *c, const struct vocabulary *held, void *maximum, const void *logits,
                         size_t rows)
{
    wide *top = maximum;
    const real *row = logits;

    (void)c;
    for (size_t r = 0; r < rows; r++, row += held->rows)
        top[r] = largest(row, held->real); /* -inf of a rank that holds padding only */
}

/* x = e^(x - top); their sum, before they are rounded. */
static wide raise_row(real *x, wide top, size_t n)
{
    wide total = 0;

#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++) {
        wide power = exponential(load(x[i]) - top);

        total += power;
        x[i] = store(power);
    }
    return total;
}

static void loss_sums(struct compute *c, const struct vocabulary *held, void *sums, void *logits,
                      const void *maximum, const int32_t *labels, size_t rows)
{
    wide *targets = sums, *totals = targets + rows;
    const wide *top = maximum;
    real *row = logits;

    (void)c;
    for (size_t r = 0; r < rows; r++, row += held->rows) {
        ptrdiff_t target = cpu_held_row(held, labels[r]);

        targets[r] = target >= 0 ? load(row[target]) - top[r] : 0;
        totals[r] = raise_row(row, top[r], held->real);
    }
}

static void finish_row(real *x, wide scale, wide total, ptrdiff_t target, const struct vocabulary *held)
{
    wide at_target = target >= 0 ? load(x[target]) / total - 1 : 0;

#pragma omp simd
    for (size_t i = 0; i < held->real; i++)
        x[i] = store(scale * (load(x[i]) / total));
    memset(x + held->real, 0, (held->rows - held->real) * sizeof(*x));
    if (target >= 0)
        x[target] = store(scale * at_target);
}

static void loss_finish(struct compute *c, const struct vocabulary *held, void *losses, void *logits,
                        const void *sums, const int32_t *labels, double scale, size_t rows)
{
    const wide *targets = sums, *totals = targets + rows;
    wide *loss = losses;
    real *row = logits;

    (void)c;
    for (size_t r = 0; r < rows; r++, row += held->rows) {
        ptrdiff_t target = cpu_held_row(held, labels[r]);

        loss[r] = log(totals[r]) - targets[r];
        finish_row(row, (wide)scale, totals[r], target, held);
    }
}
