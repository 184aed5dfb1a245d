#include "math_rows.h"

#include <math.h>

#include "math_value.h"

/* Where both parts have no keys -infinity - -infinity would be no number: the row stays as it is. */
static void merge_row(const struct dt_math_softmax_merge *merge, size_t row)
{
    enum dtrain_type lse_type = merge->type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
    double lse = dt_math_load(merge->lse, lse_type, row), add = dt_math_load(merge->add_lse, lse_type, row);
    double maximum = fmax(lse, add), sum, kept, added;

    if (maximum == -INFINITY)
        return;
    sum = maximum + log(exp(lse - maximum) + exp(add - maximum));
    kept = exp(lse - sum);
    added = exp(add - sum);
    for (size_t i = row * merge->n; i < (row + 1) * merge->n; i++)
        dt_math_store(merge->out, merge->type, i,
                      kept * dt_math_load(merge->out, merge->type, i) +
                          added * dt_math_load(merge->add, merge->type, i));
    dt_math_store(merge->lse, lse_type, row, sum);
}

void dt_math_softmax_merge_run(const struct dt_math *math)
{
    for (size_t row = 0; row < math->softmax_merge.rows; row++)
        merge_row(&math->softmax_merge, row);
}

static double weight_of(const struct dt_math_rows *rows, size_t i)
{
    return rows->weight != NULL ? (double)rows->weight[i] : 1;
}

static void gather_row(const struct dt_math_rows *rows, size_t row)
{
    size_t to = row * rows->n, from = (size_t)(rows->index[row] < 0 ? 0 : rows->index[row]) * rows->n;
    double weight = weight_of(rows, row);

    for (size_t i = 0; i < rows->n; i++)
        dt_math_store(rows->to, rows->type, to + i,
                      rows->index[row] < 0 ? 0 : weight * dt_math_load(rows->from, rows->type, from + i));
}

void dt_math_gather_rows_run(const struct dt_math *math)
{
    for (size_t row = 0; row < math->rows.rows; row++)
        gather_row(&math->rows, row);
}

static void scatter_row(const struct dt_math_rows *rows, size_t row)
{
    size_t to = (size_t)rows->index[row] * rows->n, from = row * rows->n;
    double weight = weight_of(rows, row);

    for (size_t i = 0; i < rows->n; i++)
        dt_math_store(rows->to, rows->type, to + i,
                      dt_math_load(rows->to, rows->type, to + i) +
                          weight * dt_math_load(rows->from, rows->type, from + i));
}

void dt_math_scatter_rows_run(const struct dt_math *math)
{
    for (size_t row = 0; row < math->rows.rows; row++) {
        if (math->rows.index[row] >= 0)
            scatter_row(&math->rows, row);
    }
}

static double dot_of(const struct dt_math_dot_rows *dots, size_t row)
{
    size_t a, b = row * dots->n;
    double sum = 0;

    if (dots->a_index[row] < 0)
        return 0;
    a = (size_t)dots->a_index[row] * dots->n;
    for (size_t i = 0; i < dots->n; i++)
        sum += dt_math_load(dots->a, dots->type, a + i) * dt_math_load(dots->b, dots->type, b + i);
    return sum;
}

void dt_math_dot_rows_run(const struct dt_math *math)
{
    const struct dt_math_dot_rows *dots = &math->dot_rows;

    for (size_t row = 0; row < dots->rows; row++)
        dots->dots[dots->to_index[row]] = (float)dot_of(dots, row);
}
