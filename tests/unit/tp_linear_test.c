/*
 * Two products as Megatron-LM splits them, y = relu(x a) b: a by columns, b by rows. Forward and backward on
 * 1 to 8 ranks against one process, whose gradients are checked against the slopes of the loss.
 */
#include "dtrain_tp.h"

#include <math.h>
#include <stdlib.h>

#include "host_double.h"
#include "noise.h"
#include "tap.h"

#define TIMEOUT_MS 60000
#define IN 3
#define WIDE 10 /* uneven on most sizes */
#define ROWS_MAX 13

struct linear_case {
    size_t rows;
    bool is_sequence, has_compute;
    int chunks;
};

static const struct linear_case cases[] = {
    {13, false, false, 1}, {13, false, true, 4}, {13, true, false, 1}, {13, true, true, 1},
    {8, true, true, 1},    {3, true, false, 1},  {3, false, false, 5},
};

/* A network with the columns first .. first + width - 1 of a, and those rows of b. */
struct network {
    size_t rows, first, width;
    double x[ROWS_MAX * IN], a[IN * WIDE], b[WIDE * IN], h[ROWS_MAX * WIDE], y[ROWS_MAX * IN];
    double dx[ROWS_MAX * IN], da[IN * WIDE], db[WIDE * IN], dh[ROWS_MAX * WIDE], dy[ROWS_MAX * IN];
    struct dtrain_stream *compute;
};

static void network_fill(struct network *net, size_t rows, size_t first, size_t width)
{
    *net = (struct network){.rows = rows, .first = first, .width = width};
    for (size_t i = 0; i < IN; i++) {
        for (size_t k = 0; k < width; k++) {
            net->a[i * width + k] = noise(100 + i * WIDE + first + k);
            net->b[k * IN + i] = noise(200 + i * WIDE + first + k);
        }
    }
    noise_fill(net->x, rows * IN, 3);
    noise_fill(net->dy, rows * IN, 4);
}

/* The test's stand-in for a device: what is queued before the product has run. */
static int await(struct network *net, struct dtrain_error *err)
{
    return net->compute != NULL ? dtrain_stream_synchronize(net->compute, err) : 0;
}

static int first_product(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    struct network *net = context;

    if (await(net, err) != 0)
        return -1;
    for (size_t row = first; row < first + count; row++) {
        for (size_t k = 0; k < net->width; k++) {
            double sum = 0;

            for (size_t i = 0; i < IN; i++)
                sum += net->x[row * IN + i] * net->a[i * net->width + k];
            net->h[row * net->width + k] = fmax(sum, 0);
        }
    }
    return 0;
}

static int second_product(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    struct network *net = context;

    if (await(net, err) != 0)
        return -1;
    for (size_t row = first; row < first + count; row++) {
        for (size_t i = 0; i < IN; i++) {
            net->y[row * IN + i] = 0;
            for (size_t k = 0; k < net->width; k++)
                net->y[row * IN + i] += net->h[row * net->width + k] * net->b[k * IN + i];
        }
    }
    return 0;
}

static int second_input_gradient(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    struct network *net = context;

    if (await(net, err) != 0)
        return -1;
    for (size_t row = first; row < first + count; row++) {
        for (size_t k = 0; k < net->width; k++) {
            double sum = 0;

            for (size_t i = 0; i < IN; i++)
                sum += net->dy[row * IN + i] * net->b[k * IN + i];
            net->dh[row * net->width + k] = net->h[row * net->width + k] > 0 ? sum : 0;
        }
    }
    return 0;
}

static int second_weight_gradient(void *context, struct dtrain_error *err)
{
    struct network *net = context;

    if (await(net, err) != 0)
        return -1;
    for (size_t row = 0; row < net->rows; row++) {
        for (size_t k = 0; k < net->width; k++) {
            for (size_t i = 0; i < IN; i++)
                net->db[k * IN + i] += net->h[row * net->width + k] * net->dy[row * IN + i];
        }
    }
    return 0;
}

static int first_input_gradient(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    struct network *net = context;

    if (await(net, err) != 0)
        return -1;
    for (size_t row = first; row < first + count; row++) {
        for (size_t i = 0; i < IN; i++) {
            net->dx[row * IN + i] = 0;
            for (size_t k = 0; k < net->width; k++)
                net->dx[row * IN + i] += net->dh[row * net->width + k] * net->a[i * net->width + k];
        }
    }
    return 0;
}

static int first_weight_gradient(void *context, struct dtrain_error *err)
{
    struct network *net = context;

    if (await(net, err) != 0)
        return -1;
    for (size_t row = 0; row < net->rows; row++) {
        for (size_t i = 0; i < IN; i++) {
            for (size_t k = 0; k < net->width; k++)
                net->da[i * net->width + k] += net->x[row * IN + i] * net->dh[row * net->width + k];
        }
    }
    return 0;
}

/* ---- One process ------------------------------------------------------------ */

/* loss = sum of y * dy */
static double loss_of(struct network *net)
{
    double loss = 0;

    first_product(net, 0, net->rows, NULL);
    second_product(net, 0, net->rows, NULL);
    for (size_t i = 0; i < net->rows * IN; i++)
        loss += net->y[i] * net->dy[i];
    return loss;
}

static void reference(struct network *net, size_t rows)
{
    network_fill(net, rows, 0, WIDE);
    loss_of(net);
    second_input_gradient(net, 0, rows, NULL);
    second_weight_gradient(net, NULL);
    first_input_gradient(net, 0, rows, NULL);
    first_weight_gradient(net, NULL);
}

static bool has_slopes(struct network *net, double *x, const double *dx, size_t n)
{
    const double by = 1e-6;

    for (size_t i = 0; i < n; i++) {
        double before = x[i], up, down;

        x[i] = before + by;
        up = loss_of(net);
        x[i] = before - by;
        down = loss_of(net);
        x[i] = before;
        if (fabs((up - down) / (2 * by) - dx[i]) > 1e-7)
            return false;
    }
    return true;
}

/* ---- Many ranks ------------------------------------------------------------- */

static bool wrong(struct rank *r, const char *what)
{
    snprintf(r->err.text, sizeof(r->err.text), "%s differs from one process", what);
    return false;
}

static bool is_near(const double *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= 1e-13 * (1 + fabs(want[i]))))
            return false;
    }
    return true;
}

/* The shard's columns of da and rows of db. */
static bool weights_agree(const struct network *net, const struct network *want)
{
    for (size_t i = 0; i < IN; i++) {
        for (size_t k = 0; k < net->width; k++) {
            if (!is_near(&net->da[i * net->width + k], &want->da[i * WIDE + net->first + k], 1) ||
                !is_near(&net->db[k * IN + i], &want->db[(net->first + k) * IN + i], 1))
                return false;
        }
    }
    return true;
}

struct own {
    struct dtrain_tp_shard shard; /* of the rows */
    double x[ROWS_MAX * IN], y[ROWS_MAX * IN], dy[ROWS_MAX * IN], dx[ROWS_MAX * IN];
};

/* With sequence parallel what the network reads must come from the others: it starts without. */
static void take_own(struct own *own, struct network *net, bool is_sequence, struct rank *r)
{
    *own = (struct own){.shard = {0, net->rows, net->rows}};
    if (!is_sequence)
        return;
    dtrain_tp_shard(net->rows, r->size, r->rank, 1, DTRAIN_TP_UNEVEN, &own->shard, NULL);
    memcpy(own->x, net->x + own->shard.first * IN, own->shard.count * IN * sizeof(double));
    memcpy(own->dy, net->dy + own->shard.first * IN, own->shard.count * IN * sizeof(double));
    memset(net->x, 0, sizeof(net->x));
    memset(net->dy, 0, sizeof(net->dy));
}

static bool synchronize(struct rank *r)
{
    return dtrain_stream_synchronize(r->streams[0], &r->err) == 0 &&
           dtrain_stream_synchronize(r->streams[1], &r->err) == 0;
}

static bool run_forward(struct rank *r, const struct dtrain_tp *tp, struct network *net, struct own *own,
                        int chunks)
{
    struct dtrain_tp_linear column = {net->rows, first_product, first_input_gradient, first_weight_gradient,
                                      net};
    struct dtrain_tp_linear row = {net->rows, second_product, second_input_gradient, second_weight_gradient,
                                   net};

    return dtrain_tp_column_forward(tp, &column, own->x, net->x, IN, &r->err) == 0 &&
           dtrain_tp_row_forward(tp, &row, chunks, net->y, own->y, IN, &r->err) == 0 && synchronize(r);
}

/* x is gathered again: it need not be kept whole. */
static bool run_backward(struct rank *r, const struct dtrain_tp *tp, struct network *net, struct own *own)
{
    struct dtrain_tp_linear column = {net->rows, first_product, first_input_gradient, first_weight_gradient,
                                      net};
    struct dtrain_tp_linear row = {net->rows, second_product, second_input_gradient, second_weight_gradient,
                                   net};

    if (tp->is_sequence)
        memset(net->x, 0, sizeof(net->x));
    return dtrain_tp_row_backward(tp, &row, own->dy, net->dy, IN, &r->err) == 0 &&
           dtrain_tp_column_backward(tp, &column, own->x, net->x, net->dx, own->dx, IN, &r->err) == 0 &&
           synchronize(r);
}

static bool agrees(struct rank *r, const struct network *net, const struct own *own,
                   const struct network *want)
{
    size_t first = own->shard.first * IN, count = own->shard.count * IN;

    if (!is_near(own->y, want->y + first, count))
        return wrong(r, "y");
    if (!is_near(own->dx, want->dx + first, count))
        return wrong(r, "dx");
    return weights_agree(net, want) || wrong(r, "a weight's gradient");
}

static bool learns(struct rank *r)
{
    const struct linear_case *it = r->argument;
    struct network *net = malloc(sizeof(*net)), *want = malloc(sizeof(*want));
    struct dtrain_tp tp = {r->comm, r->streams[0], it->has_compute ? r->streams[1] : NULL, DTRAIN_FLOAT64,
                           it->is_sequence};
    struct dtrain_tp_shard shard;
    struct own own;
    bool ok;

    dtrain_tp_shard(WIDE, r->size, r->rank, 1, DTRAIN_TP_UNEVEN, &shard, NULL);
    reference(want, it->rows);
    network_fill(net, it->rows, shard.first, shard.count);
    net->compute = tp.compute;
    take_own(&own, net, it->is_sequence, r);
    ok = run_forward(r, &tp, net, &own, it->chunks) && run_backward(r, &tp, net, &own) &&
         agrees(r, net, &own, want);
    free(want);
    free(net);
    return ok;
}

/* ---- Failures --------------------------------------------------------------- */

static int fails(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    (void)context;
    snprintf(err->text, sizeof(err->text), "no product of %zu rows from %zu", count, first);
    return -1;
}

static bool refuses(struct rank *r)
{
    struct dtrain_tp tp = {r->comm, r->streams[0], NULL, DTRAIN_FLOAT64, false};
    struct dtrain_tp_linear linear = {2, fails, first_input_gradient, first_weight_gradient, NULL};
    double x[8] = {0}, y[8] = {0};

    tap_ok(dtrain_tp_row_forward(&tp, &linear, 1, x, y, 2, &r->err) == -1, "a product that fails");
    tap_holds(r->err.text, "no product of 2 rows from 0", "  says why");
    tap_ok(dtrain_tp_row_forward(&tp, &linear, 0, x, y, 2, &r->err) == -1, "no chunks");
    tap_holds(r->err.text, "dtrain_tp_row_forward: chunks is 0: expected 1 or more", "  in these words");
    linear.weight_gradient = NULL;
    tap_ok(dtrain_tp_column_backward(&tp, &linear, x, x, y, y, 2, &r->err) == -1, "a product is missing");
    tap_holds(r->err.text, "dtrain_tp_column_backward: linear or one of its products is NULL",
              "  in these words");
    return true;
}

int main(void)
{
    struct network *net = malloc(sizeof(*net));

    reference(net, ROWS_MAX);
    tap_ok(has_slopes(net, net->x, net->dx, ROWS_MAX * IN) && has_slopes(net, net->a, net->da, IN * WIDE) &&
               has_slopes(net, net->b, net->db, WIDE * IN),
           "one process: gradients are slopes");
    free(net);
    for (int size = 1; size <= 8; size++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            tap_ok(double_run(size, i % PLACEMENT_COUNT, TIMEOUT_MS, learns, (void *)&cases[i]) == 0,
                   "two products of %zu rows on %d ranks in %d chunks%s%s", cases[i].rows, size,
                   cases[i].chunks, cases[i].is_sequence ? ", sequence parallel" : "",
                   cases[i].has_compute ? ", beside a stream" : "");
    }
    tap_ok(double_run(1, ALL_LOCAL, TIMEOUT_MS, refuses, NULL) == 0, "bad calls");
    return tap_done();
}
