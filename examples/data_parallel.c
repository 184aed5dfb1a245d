/*
 * data_parallel.c - a step of data parallel training, Y = X W + b, on two ranks.
 *
 *   srun -n2 --dtrain-dp=2 ./data_parallel      or ./data_parallel, with threads
 *
 * X [8, 4] is split in rows: each rank computes Y, the loss and the gradients of
 * its own four rows with its own copy of W [4, 2] and b [2]. dtrain_dp averages
 * the gradients, after which both ranks take the same step of SGD.
 *
 * To see: rank 1's parameters come from rank 0; the two ranks' gradients differ
 * before they are averaged, and what is averaged is the gradient of the whole
 * batch, because the loss is a mean over rows and the ranks have equally many;
 * W and b are the same on both after the step, bit by bit.
 */
#include <dtrain_dp.h>
#include <string.h>

#include "lesson.h"
#include "matrix.h"

#define ROWS 8
#define IN 4
#define OUT 2
#define OWN (ROWS / LESSON_RANKS)
#define LR 0.5

struct model {
    double w[IN * OUT], b[OUT];
    double dw[IN * OUT], db[OUT];
};

struct batch {
    double x[ROWS * IN], target[ROWS * OUT];
};

static void batch_fill(struct batch *batch)
{
    matrix_fill(batch->x, ROWS * IN, 1);
    matrix_fill(batch->target, ROWS * OUT, 4);
}

static void model_fill(struct model *model)
{
    memset(model, 0, sizeof(*model));
    matrix_fill(model->w, IN * OUT, 2);
    matrix_fill(model->b, OUT, 3);
}

/* y[rows, OUT] = x w + b */
static void forward(const struct model *model, const double *x, double *y, size_t rows)
{
    matrix_product(y, x, model->w, rows, IN, OUT);
    for (size_t i = 0; i < rows * OUT; i++)
        y[i] += model->b[i % OUT];
}

/* Mean over the rows of |y - target|^2 / 2; dy is its gradient. */
static double loss(const double *y, const double *target, double *dy, size_t rows)
{
    double sum = 0;

    for (size_t i = 0; i < rows * OUT; i++) {
        double difference = y[i] - target[i];

        sum += difference * difference / 2;
        dy[i] = difference / (double)rows;
    }
    return sum / (double)rows;
}

/* dw = x' dy, db = the sum of dy's rows */
static void backward(struct model *model, const double *x, const double *dy, size_t rows)
{
    memset(model->dw, 0, sizeof(model->dw));
    memset(model->db, 0, sizeof(model->db));
    matrix_add_product(model->dw, x, dy, rows, IN, OUT);
    for (size_t i = 0; i < rows * OUT; i++)
        model->db[i % OUT] += dy[i];
}

static void descend(struct model *model)
{
    for (size_t i = 0; i < IN * OUT; i++)
        model->w[i] -= LR * model->dw[i];
    for (size_t i = 0; i < OUT; i++)
        model->b[i] -= LR * model->db[i];
}

/* The same step on the whole batch, by one process. */
static void compute_alone(const struct batch *batch, struct model *model)
{
    double y[ROWS * OUT], dy[ROWS * OUT];

    model_fill(model);
    forward(model, batch->x, y, ROWS);
    loss(y, batch->target, dy, ROWS);
    backward(model, batch->x, dy, ROWS);
    descend(model);
}

/* Forward and backward of this rank's rows. */
static int compute_own(struct lesson *lesson, const struct batch *batch, struct model *model,
                       struct dtrain_error *err)
{
    const double *x = &batch->x[lesson->rank * OWN * IN];
    const double *target = &batch->target[lesson->rank * OWN * OUT];
    double y[OWN * OUT], dy[OWN * OUT], value;

    lesson_say(lesson, "2. forward: Y = X W + b of the own rows, and the loss, mean of |Y - T|^2 / 2\n");
    forward(model, x, y, OWN);
    value = loss(y, target, dy, OWN);
    if (lesson_show(lesson, "X", x, OWN, IN, err) < 0 || lesson_show(lesson, "Y", y, OWN, OUT, err) < 0 ||
        lesson_show(lesson, "T", target, OWN, OUT, err) < 0 ||
        lesson_show(lesson, "loss", &value, 1, 1, err) < 0)
        return -1;
    lesson_say(lesson, "3. backward: dW = X' dY and db, of the own rows\n");
    backward(model, x, dy, OWN);
    if (lesson_show(lesson, "dY", dy, OWN, OUT, err) < 0 ||
        lesson_show(lesson, "dW", model->dw, IN, OUT, err) < 0)
        return -1;
    return lesson_show(lesson, "db", model->db, 1, OUT, err);
}

/* The backward pass is over, so all parameters are ready; the last one's gradient was there first. */
static int average(struct lesson *lesson, struct dtrain_dp *dp, struct dtrain_error *err)
{
    if (dtrain_dp_begin(dp, true, err) < 0 || dtrain_dp_ready(dp, 1, NULL, err) < 0 ||
        dtrain_dp_ready(dp, 0, NULL, err) < 0 || dtrain_dp_finish(dp, lesson->stream, err) < 0)
        return -1;
    return dtrain_stream_synchronize(lesson->stream, err);
}

static int step(struct lesson *lesson, struct dtrain_dp *dp, struct model *model, struct dtrain_error *err)
{
    struct batch batch;
    struct model alone;

    batch_fill(&batch);
    compute_alone(&batch, &alone);

    lesson_say(lesson, "1. the parameters of rank 0 go to all\n");
    if (lesson->rank == 0)
        model_fill(model);
    if (lesson_show(lesson, "W before", model->w, IN, OUT, err) < 0 ||
        dtrain_dp_broadcast(dp, lesson->stream, err) < 0 ||
        lesson_show(lesson, "W", model->w, IN, OUT, err) < 0 ||
        lesson_show(lesson, "b", model->b, 1, OUT, err) < 0 || compute_own(lesson, &batch, model, err) < 0)
        return -1;

    lesson_say(lesson, "4. the gradients are averaged over the ranks: those of all 8 rows\n");
    if (average(lesson, dp, err) < 0 || lesson_show(lesson, "dW", model->dw, IN, OUT, err) < 0 ||
        lesson_show(lesson, "db", model->db, 1, OUT, err) < 0)
        return -1;
    lesson_check(lesson, "dW, averaged", model->dw, alone.dw, IN * OUT);
    lesson_check(lesson, "db, averaged", model->db, alone.db, OUT);

    lesson_say(lesson, "5. each rank steps by itself: W = W - %g dW, b = b - %g db\n", LR, LR);
    descend(model);
    if (lesson_show(lesson, "W", model->w, IN, OUT, err) < 0 ||
        lesson_show(lesson, "b", model->b, 1, OUT, err) < 0)
        return -1;
    lesson_check(lesson, "W after the step", model->w, alone.w, IN * OUT);
    lesson_check(lesson, "b after the step", model->b, alone.b, OUT);
    return dtrain_dp_check(dp, lesson->stream, err);
}

static int learn(struct lesson *lesson, struct dtrain_error *err)
{
    struct model model = {0};
    const struct dtrain_parameter parameters[] = {
        {"W", model.w, model.dw, IN * OUT, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 0, 0},
        {"b", model.b, model.db, OUT, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 0, 0},
    };
    struct dtrain_dp *dp;
    int rc;

    if (dtrain_dp_create(&dp, lesson->world, parameters, 2, NULL, err) < 0)
        return -1;
    rc = step(lesson, dp, &model, err);
    dtrain_stream_synchronize(lesson->stream, NULL);
    dtrain_dp_destroy(dp);
    return rc;
}

int main(void)
{
    return lesson_main("data_parallel", DTRAIN_DP, learn);
}
