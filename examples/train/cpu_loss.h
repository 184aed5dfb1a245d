/* cpu_loss.h - cross-entropy over a split vocabulary; part of cpu_TYPE.c, see cpu.h. */

static void loss_maximum(struct compute *c, const struct vocabulary *held, void *maximum, const void *logits,
                         size_t rows)
{
    wide *top = maximum;
    const real *row = logits;

    (void)c;
    for (size_t r = 0; r < rows; r++, row += held->rows) {
        top[r] = -(wide)INFINITY; /* of a rank that holds padding only */
        for (size_t i = 0; i < held->real; i++)
            top[r] = fmax(top[r], load(row[i]));
    }
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
        totals[r] = 0;
        for (size_t i = 0; i < held->real; i++) {
            wide power = exp(load(row[i]) - top[r]);

            totals[r] += power;
            row[i] = store(power);
        }
    }
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
        for (size_t i = 0; i < held->rows; i++) {
            wide p = i < held->real ? load(row[i]) / totals[r] : 0;

            row[i] = store((wide)scale * (p - ((ptrdiff_t)i == target ? 1 : 0)));
        }
    }
}
