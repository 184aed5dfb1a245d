#include "math_vocabulary.h"

#include <math.h>

#include "math_value.h"

/* Place of a token among the shard's real ones; anything >= real is not held. */
static size_t place_of(int32_t token, size_t first)
{
    return token < 0 ? SIZE_MAX : (size_t)token - first;
}

/* ---- Embedding ------------------------------------------------------------ */

void dt_math_embedding_run(const struct dt_math *math)
{
    const struct dt_math_embedding *e = &math->embedding;

    for (size_t row = 0; row < e->rows; row++) {
        size_t place = place_of(e->tokens[row], e->first);
        bool is_held = place < e->real;

        for (size_t i = 0; i < e->n; i++)
            dt_math_store(e->out, e->type, row * e->n + i,
                          is_held ? dt_math_load(e->table, e->table_type, place * e->n + i) : 0);
    }
}

void dt_math_embedding_gradient_run(const struct dt_math *math)
{
    const struct dt_math_embedding *e = &math->embedding;

    for (size_t row = 0; row < e->rows; row++) {
        size_t place = place_of(e->tokens[row], e->first);

        for (size_t i = 0; place < e->real && i < e->n; i++) {
            size_t at = place * e->n + i;

            dt_math_store(e->table, e->table_type, at,
                          dt_math_load(e->table, e->table_type, at) +
                              dt_math_load(e->out, e->type, row * e->n + i));
        }
    }
}

/* ---- Cross-entropy -------------------------------------------------------- */

/* Of maximum, sums and losses. */
static enum dtrain_type sum_type(const struct dt_math_loss *loss)
{
    return loss->type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

void dt_math_loss_maximum_run(const struct dt_math *math)
{
    const struct dt_math_loss *loss = &math->loss;

    for (size_t row = 0; row < loss->rows; row++) {
        double maximum = -INFINITY;

        for (size_t i = 0; i < loss->real; i++)
            maximum = fmax(maximum, dt_math_load(loss->logits, loss->type, row * loss->n + i));
        dt_math_store(loss->maximum, sum_type(loss), row, maximum);
    }
}

static void sum_row(const struct dt_math_loss *loss, size_t row)
{
    double maximum = dt_math_load(loss->maximum, sum_type(loss), row), exponentials = 0, differences = 0;
    size_t place = place_of(loss->labels[row], loss->first), start = row * loss->n;
    double target = place < loss->real ? dt_math_load(loss->logits, loss->type, start + place) - maximum : 0;

    for (size_t i = 0; i < loss->n; i++) {
        bool is_real = i < loss->real;
        double difference = is_real ? dt_math_load(loss->logits, loss->type, start + i) - maximum : 0;
        double exponential = is_real ? exp(difference) : 0;

        exponentials += exponential;
        differences += difference;
        dt_math_store(loss->logits, loss->type, start + i, exponential);
    }
    dt_math_store(loss->sums, sum_type(loss), row, target);
    dt_math_store(loss->sums, sum_type(loss), loss->rows + row, exponentials);
    dt_math_store(loss->sums, sum_type(loss), 2 * loss->rows + row, differences);
}

void dt_math_loss_sums_run(const struct dt_math *math)
{
    for (size_t row = 0; row < math->loss.rows; row++)
        sum_row(&math->loss, row);
}

static void finish_row(const struct dt_math_loss *loss, size_t row)
{
    double target = dt_math_load(loss->sums, sum_type(loss), row);
    double exponentials = dt_math_load(loss->sums, sum_type(loss), loss->rows + row);
    double differences = dt_math_load(loss->sums, sum_type(loss), 2 * loss->rows + row);
    double share = loss->smoothing / (double)loss->vocabulary, rest = 1 - loss->smoothing;
    bool is_counted = loss->labels[row] >= 0;
    size_t place = place_of(loss->labels[row], loss->first), start = row * loss->n;

    dt_math_store(loss->losses, sum_type(loss), row,
                  is_counted ? log(exponentials) - rest * target - share * differences : 0);
    for (size_t i = 0; i < loss->n; i++) {
        double p = dt_math_load(loss->logits, loss->type, start + i) / exponentials;
        double gradient = loss->scale * (p - (i == place ? rest : 0) - share);

        dt_math_store(loss->logits, loss->type, start + i, is_counted && i < loss->real ? gradient : 0);
    }
}

void dt_math_loss_finish_run(const struct dt_math *math)
{
    for (size_t row = 0; row < math->loss.rows; row++)
        finish_row(&math->loss, row);
}
