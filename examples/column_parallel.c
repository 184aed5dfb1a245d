/*
 * column_parallel.c - a layer Z = GELU(X W) whose W is split over two ranks in
 * columns, forward and backward (Megatron-LM's column parallel layer).
 *
 *   srun -n2 --dtrain-tp=2 ./column_parallel      or ./column_parallel, with threads
 *
 * X [8, 4] is the same on both ranks; each has half of the columns of W [4, 4],
 * computes half of the columns of Y, and gathers the other half. Backward, each
 * rank has the whole of its half of dW, but only a part of dX, which is summed.
 *
 * To see: no rank ever holds all of W; dX of each rank alone is not the gradient
 * of X, the sum is; dW needs no communication at all.
 */
#include <dtrain_tp.h>
#include <math.h>
#include <string.h>

#include "lesson.h"
#include "matrix.h"

#define ROWS 8
#define IN 4
#define OUT 4
#define OWN (OUT / LESSON_RANKS)

/* What one process has of it. */
struct whole {
    double x[ROWS * IN], w[IN * OUT], y[ROWS * OUT], z[ROWS * OUT];
    double dz[ROWS * OUT], dy[ROWS * OUT], dx[ROWS * IN], dw[IN * OUT];
};

/* One rank's part. */
struct part {
    double x[ROWS * IN], w[IN * OWN], y[ROWS * OWN];
    double dy[ROWS * OWN], dx[ROWS * IN], dw[IN * OWN];
};

/* GELU(y) = y Phi(y), Phi being the normal distribution (Hendrycks and Gimpel, 2016). */
static double normal(double y)
{
    return erfc(-y / sqrt(2)) / 2;
}

static void gelu(double *z, const double *y)
{
    for (size_t i = 0; i < ROWS * OUT; i++)
        z[i] = y[i] * normal(y[i]);
}

/* dy = dz GELU'(y), GELU'(y) = Phi(y) + y phi(y) */
static void gelu_backward(double *dy, const double *dz, const double *y)
{
    const double pi = acos(-1);

    for (size_t i = 0; i < ROWS * OUT; i++)
        dy[i] = dz[i] * (normal(y[i]) + y[i] * exp(-y[i] * y[i] / 2) / sqrt(2 * pi));
}

static void compute_alone(struct whole *whole)
{
    memset(whole, 0, sizeof(*whole));
    matrix_fill(whole->x, ROWS * IN, 1);
    matrix_fill(whole->w, IN * OUT, 2);
    matrix_fill(whole->dz, ROWS * OUT, 3);
    matrix_product(whole->y, whole->x, whole->w, ROWS, IN, OUT);
    gelu(whole->z, whole->y);
    gelu_backward(whole->dy, whole->dz, whole->y);
    matrix_product_transposed(whole->dx, whole->dy, whole->w, ROWS, OUT, IN);
    matrix_add_product(whole->dw, whole->x, whole->dy, ROWS, IN, OUT);
}

/* ---- A rank's products: dtrain_tp calls them, and moves data beside them -- */

static int product(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    struct part *part = context;

    (void)err;
    matrix_product(&part->y[first * OWN], &part->x[first * IN], part->w, count, IN, OWN);
    return 0;
}

static int input_gradient(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    struct part *part = context;

    (void)err;
    matrix_product_transposed(&part->dx[first * IN], &part->dy[first * OWN], part->w, count, OWN, IN);
    return 0;
}

static int weight_gradient(void *context, struct dtrain_error *err)
{
    struct part *part = context;

    (void)err;
    matrix_add_product(part->dw, part->x, part->dy, ROWS, IN, OWN);
    return 0;
}

static struct dtrain_tp_linear linear_of(struct part *part)
{
    return (struct dtrain_tp_linear){ROWS, product, input_gradient, weight_gradient, part};
}

/* ---- The layer ----------------------------------------------------------- */

static const struct dtrain_tp_split columns = {ROWS, OUT, DTRAIN_TP_COLUMNS, 1};

/* X goes to all, and each rank takes its columns of W. */
static int place(struct lesson *lesson, const struct whole *alone, struct part *part,
                 struct dtrain_error *err)
{
    struct dtrain_tp_shard shard;

    lesson_say(lesson, "1. rank 0 broadcasts X; each rank has its columns of W\n");
    if (dtrain_tp_shard(OUT, LESSON_RANKS, lesson->rank, 1, DTRAIN_TP_EVEN, &shard, err) < 0)
        return -1;
    if (lesson->rank == 0)
        memcpy(part->x, alone->x, sizeof(part->x));
    matrix_columns(part->w, alone->w, IN, OUT, shard.first, shard.count);
    if (dtrain_broadcast(lesson->comm, part->x, ROWS * IN, DTRAIN_FLOAT64, 0, lesson->stream, err) < 0 ||
        lesson_show(lesson, "X", part->x, ROWS, IN, err) < 0)
        return -1;
    lesson_check(lesson, "X", part->x, alone->x, ROWS * IN);
    lesson_print(lesson, "W, which no rank needs as a whole", alone->w, IN, OUT);
    return lesson_show(lesson, "own columns of W", part->w, IN, OWN, err);
}

/* y[ROWS, OUT] of all columns, on all ranks. */
static int forward(struct lesson *lesson, const struct dtrain_tp *tp, const struct whole *alone,
                   struct part *part, double *y, struct dtrain_error *err)
{
    struct dtrain_tp_linear linear = linear_of(part);
    double z[ROWS * OUT], workspace[ROWS * OUT];

    lesson_say(lesson, "2. forward: Y = X W of the own columns, all-gather, Z = GELU(Y)\n");
    if (dtrain_tp_column_forward(tp, &linear, part->x, part->x, IN, err) < 0 ||
        lesson_show(lesson, "own columns of Y", part->y, ROWS, OWN, err) < 0 ||
        dtrain_tp_gather(tp, &columns, part->y, y, workspace, err) < 0 || dtrain_tp_finish(tp, err) < 0)
        return -1;
    lesson_print(lesson, "Y", y, ROWS, OUT);
    gelu(z, y);
    lesson_print(lesson, "Z", z, ROWS, OUT);
    lesson_check(lesson, "Y", y, alone->y, ROWS * OUT);
    lesson_check(lesson, "Z", z, alone->z, ROWS * OUT);
    return 0;
}

static int backward(struct lesson *lesson, const struct dtrain_tp *tp, const struct whole *alone,
                    struct part *part, const double *y, struct dtrain_error *err)
{
    struct dtrain_tp_linear linear = linear_of(part);
    double dy[ROWS * OUT], dx[ROWS * IN], dw[IN * OWN];

    lesson_say(lesson, "3. backward: dY = dZ GELU'(Y), of which each rank takes its columns\n");
    gelu_backward(dy, alone->dz, y);
    lesson_print(lesson, "dZ", alone->dz, ROWS, OUT);
    lesson_print(lesson, "dY", dy, ROWS, OUT);
    if (dtrain_tp_scatter(tp, &columns, dy, part->dy, err) < 0 || dtrain_tp_finish(tp, err) < 0 ||
        lesson_show(lesson, "own columns of dY", part->dy, ROWS, OWN, err) < 0)
        return -1;

    lesson_say(lesson, "4. dX = dY W', a part on each rank, summed by an all-reduce; dW = X' dY meanwhile\n");
    if (dtrain_tp_column_backward(tp, &linear, part->x, part->x, part->dx, dx, IN, err) < 0 ||
        dtrain_tp_finish(tp, err) < 0 ||
        lesson_show(lesson, "dX of the own columns", part->dx, ROWS, IN, err) < 0 ||
        lesson_show(lesson, "dX, the sum", dx, ROWS, IN, err) < 0 ||
        lesson_show(lesson, "own columns of dW", part->dw, IN, OWN, err) < 0)
        return -1;
    matrix_columns(dw, alone->dw, IN, OUT, (size_t)lesson->rank * OWN, OWN);
    lesson_check(lesson, "dX", dx, alone->dx, ROWS * IN);
    lesson_check(lesson, "the own columns of dW", part->dw, dw, IN * OWN);
    return 0;
}

static int learn(struct lesson *lesson, struct dtrain_error *err)
{
    struct dtrain_tp tp = {.comm = lesson->comm, .stream = lesson->stream, .type = DTRAIN_FLOAT64};
    struct part part = {0};
    struct whole alone;
    double y[ROWS * OUT];

    compute_alone(&alone);
    if (place(lesson, &alone, &part, err) < 0 || forward(lesson, &tp, &alone, &part, y, err) < 0)
        return -1;
    return backward(lesson, &tp, &alone, &part, y, err);
}

int main(void)
{
    return lesson_main("column_parallel", DTRAIN_TP, learn);
}
