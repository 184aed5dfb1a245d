#include "train_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/train/memory.h"
#include "examples/train/random.h"

void ops_random(double *x, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++)
        x[i] = random_normal(1, stream, i);
}

double ops_distance(const double *got, const double *expected, size_t n)
{
    double worst = 0;

    for (size_t i = 0; i < n; i++) {
        double distance = fabs(got[i] - expected[i]) / (1 + fabs(expected[i]));

        if (!(distance <= worst)) /* a NaN, too */
            worst = distance;
    }
    return worst;
}

/* ---- Arrays of the device's ------------------------------------------------- */

/* The arrays of one call; the first failure stays in rc. */
struct call {
    struct compute *c;
    struct memory memory;
    int rc;
};

static struct call call_start(struct compute *c)
{
    return (struct call){.c = c, .memory.compute = c};
}

static int call_end(struct call *call)
{
    memory_clear(&call->memory);
    return call->rc;
}

static void store(void *x, enum dtrain_type type, size_t i, double value)
{
    float rounded = (float)value;
    uint32_t bits;

    memcpy(&bits, &rounded, sizeof(bits));
    if (type == DTRAIN_FLOAT64)
        ((double *)x)[i] = value;
    else if (type == DTRAIN_FLOAT32)
        ((float *)x)[i] = rounded;
    else
        ((uint16_t *)x)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double load(const void *x, enum dtrain_type type, size_t i)
{
    uint32_t bits;
    float value;

    if (type == DTRAIN_FLOAT64)
        return ((const double *)x)[i];
    if (type == DTRAIN_FLOAT32)
        return (double)((const float *)x)[i];
    bits = (uint32_t)((const uint16_t *)x)[i] << 16;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

/* n values of type, of x or 0. */
static void *array(struct call *call, enum dtrain_type type, const double *x, size_t n)
{
    void *host = calloc(n, dtrain_type_size(type));
    void *to = type == call->c->type ? memory_values(&call->memory, n) : memory_mains(&call->memory, n);

    for (size_t i = 0; x != NULL && i < n; i++)
        store(host, type, i, x[i]);
    if (to == NULL || compute_copy_in(call->c, to, host, n * dtrain_type_size(type), NULL) != 0)
        call->rc = -1;
    free(host);
    return to;
}

static void *values(struct call *call, const double *x, size_t n)
{
    return array(call, call->c->type, x, n);
}

static void *mains(struct call *call, const double *x, size_t n)
{
    return array(call, call->c->main, x, n);
}

static int32_t *integers(struct call *call, const int32_t *x, size_t n)
{
    int32_t *to = memory_integers(&call->memory, n);

    if (to == NULL || compute_copy_in(call->c, to, x, n * sizeof(*x), NULL) != 0)
        call->rc = -1;
    return to;
}

static void read_array(struct call *call, enum dtrain_type type, double *to, const void *from, size_t n)
{
    void *host = calloc(n, dtrain_type_size(type));

    if (compute_copy_out(call->c, host, from, n * dtrain_type_size(type), NULL) != 0)
        call->rc = -1;
    for (size_t i = 0; i < n; i++)
        to[i] = load(host, type, i);
    free(host);
}

static void read_values(struct call *call, double *to, const void *from, size_t n)
{
    read_array(call, call->c->type, to, from, n);
}

static void read_mains(struct call *call, double *to, const void *from, size_t n)
{
    read_array(call, call->c->main, to, from, n);
}

static size_t cells(const struct ops_dims *dims)
{
    return dims->rows * dims->width;
}

/* ---- Products ----------------------------------------------------------------- */

/* a is [rows, depth] or turned, b [depth, width] or turned. */
static struct ops_size matmul_size(const struct ops_dims *dims)
{
    return (struct ops_size){(dims->rows + dims->width) * dims->depth, cells(dims)};
}

static int matmul_forward(struct compute *c, const struct ops_dims *dims, const double *in, double *out,
                          enum matmul_form form)
{
    struct call call = call_start(c);
    size_t split = dims->rows * dims->depth;
    struct matmul shape = {form, dims->rows, dims->width, dims->depth, false};
    void *a = values(&call, in, split), *b = values(&call, in + split, dims->width * dims->depth);
    void *to = values(&call, NULL, cells(dims));

    c->ops->matmul(c, &shape, to, a, b);
    read_values(&call, out, to, cells(dims));
    return call_end(&call);
}

static int matmul_nn(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    return matmul_forward(c, dims, in, out, MATMUL_NN);
}

static int matmul_nt(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    return matmul_forward(c, dims, in, out, MATMUL_NT);
}

static int matmul_tn(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    return matmul_forward(c, dims, in, out, MATMUL_TN);
}

/* As the layers do it: da = dc b^T, db += a^T dc, a gradient of weights. */
static int matmul_nn_backward(struct compute *c, const struct ops_dims *dims, const double *in,
                              const double *dout, double *din)
{
    struct call call = call_start(c);
    size_t split = dims->rows * dims->depth, rest = dims->width * dims->depth;
    struct matmul to_a = {MATMUL_NT, dims->rows, dims->depth, dims->width, false};
    struct matmul to_b = {MATMUL_TN, dims->depth, dims->width, dims->rows, true};
    void *a = values(&call, in, split), *b = values(&call, in + split, rest);
    void *d = values(&call, dout, cells(dims)), *da = values(&call, NULL, split);
    void *db = mains(&call, NULL, rest);

    c->ops->matmul(c, &to_a, da, d, b);
    c->ops->matmul(c, &to_b, db, a, d);
    read_values(&call, din, da, split);
    read_mains(&call, din + split, db, rest);
    return call_end(&call);
}

/* As the head does it: c = a b^T, so da = dc b, db += dc^T a. */
static int matmul_nt_backward(struct compute *c, const struct ops_dims *dims, const double *in,
                              const double *dout, double *din)
{
    struct call call = call_start(c);
    size_t split = dims->rows * dims->depth, rest = dims->width * dims->depth;
    struct matmul to_a = {MATMUL_NN, dims->rows, dims->depth, dims->width, false};
    struct matmul to_b = {MATMUL_TN, dims->width, dims->depth, dims->rows, true};
    void *a = values(&call, in, split), *b = values(&call, in + split, rest);
    void *d = values(&call, dout, cells(dims)), *da = values(&call, NULL, split);
    void *db = mains(&call, NULL, rest);

    c->ops->matmul(c, &to_a, da, d, b);
    c->ops->matmul(c, &to_b, db, d, a);
    read_values(&call, din, da, split);
    read_mains(&call, din + split, db, rest);
    return call_end(&call);
}

/* ---- Element by element --------------------------------------------------------- */

static struct ops_size add_size(const struct ops_dims *dims)
{
    return (struct ops_size){2 * cells(dims), cells(dims)};
}

static int add(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    void *y = values(&call, in, cells(dims)), *x = values(&call, in + cells(dims), cells(dims));

    c->ops->add(c, y, x, cells(dims));
    read_values(&call, out, y, cells(dims));
    return call_end(&call);
}

static struct ops_size same_size(const struct ops_dims *dims)
{
    return (struct ops_size){cells(dims), cells(dims)};
}

static int cast(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    void *x = mains(&call, in, cells(dims)), *to = values(&call, NULL, cells(dims));

    c->ops->cast(c, to, x, cells(dims));
    read_values(&call, out, to, cells(dims));
    return call_end(&call);
}

/* The first half of what was written is zero again. */
static int zero(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    void *x = values(&call, in, cells(dims));

    c->ops->zero(c, x, cells(dims) / 2 * dtrain_type_size(c->type));
    read_values(&call, out, x, cells(dims));
    return call_end(&call);
}

static struct ops_size sums_size(const struct ops_dims *dims)
{
    return (struct ops_size){cells(dims), 2};
}

/* Each twice, so that adding to what is there shows. */
static int sums(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    void *x = mains(&call, in, cells(dims));
    double *to = memory_doubles(&call.memory, 2);

    for (int i = 0; i < 2; i++) {
        c->ops->sum(c, to, x, cells(dims));
        c->ops->sum_of_squares(c, to + 1, x, cells(dims));
    }
    if (compute_copy_out(c, out, to, 2 * sizeof(*to), NULL) != 0)
        call.rc = -1;
    return call_end(&call);
}

static int gelu(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    void *x = values(&call, in, cells(dims)), *to = values(&call, NULL, cells(dims));

    c->ops->gelu_forward(c, to, x, cells(dims));
    read_values(&call, out, to, cells(dims));
    return call_end(&call);
}

static int gelu_backward(struct compute *c, const struct ops_dims *dims, const double *in, const double *dout,
                         double *din)
{
    struct call call = call_start(c);
    void *x = values(&call, in, cells(dims)), *d = values(&call, dout, cells(dims));
    void *to = values(&call, NULL, cells(dims));

    c->ops->gelu_backward(c, to, d, x, cells(dims));
    read_values(&call, din, to, cells(dims));
    return call_end(&call);
}

/* As the layers use it. */
static int gelu_backward_in_place(struct compute *c, const struct ops_dims *dims, const double *in,
                                  const double *dout, double *din)
{
    struct call call = call_start(c);
    void *x = values(&call, in, cells(dims)), *d = values(&call, dout, cells(dims));

    c->ops->gelu_backward(c, d, d, x, cells(dims));
    read_values(&call, din, d, cells(dims));
    return call_end(&call);
}

static struct ops_size bias_size(const struct ops_dims *dims)
{
    return (struct ops_size){cells(dims) + dims->width, cells(dims)};
}

static int bias(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    void *x = values(&call, in, cells(dims)), *row = values(&call, in + cells(dims), dims->width);

    c->ops->bias_add(c, x, row, dims->rows, dims->width);
    read_values(&call, out, x, cells(dims));
    return call_end(&call);
}

static int bias_backward(struct compute *c, const struct ops_dims *dims, const double *in, const double *dout,
                         double *din)
{
    struct call call = call_start(c);
    void *d = values(&call, dout, cells(dims)), *row = mains(&call, NULL, dims->width);

    (void)in;
    c->ops->bias_gradient(c, row, d, dims->rows, dims->width);
    read_values(&call, din, d, cells(dims));
    read_mains(&call, din + cells(dims), row, dims->width);
    return call_end(&call);
}

/* w, m, v (made positive) and g; then w, m, v and the copy after a step. */
static struct ops_size adamw_size(const struct ops_dims *dims)
{
    return (struct ops_size){4 * cells(dims), 4 * cells(dims)};
}

static int adamw(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct adamw step = {.lr = 0.1,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .epsilon = 1e-8,
                         .decay = 0.1,
                         .correction1 = 0.1,
                         .correction2 = 0.05,
                         .gradient_scale = 0.5};
    struct call call = call_start(c);
    size_t n = cells(dims);
    double *squares = calloc(n, sizeof(*squares));
    void *w, *m, *v, *g, *copy;

    for (size_t i = 0; i < n; i++)
        squares[i] = in[2 * n + i] * in[2 * n + i];
    w = mains(&call, in, n);
    m = mains(&call, in + n, n);
    v = mains(&call, squares, n);
    g = mains(&call, in + 3 * n, n);
    copy = values(&call, NULL, n);
    free(squares);
    c->ops->adamw(c, &step, w, m, v, g, copy, n);
    read_mains(&call, out, w, n);
    read_mains(&call, out + n, m, n);
    read_mains(&call, out + 2 * n, v, n);
    read_values(&call, out + 3 * n, copy, n);
    return call_end(&call);
}

/* ---- Norm ------------------------------------------------------------------------- */

static struct ops_size norm_size(const struct ops_dims *dims)
{
    return (struct ops_size){cells(dims) + 2 * dims->width, cells(dims)};
}

struct norm {
    void *x, *gain, *bias, *mean, *rstd, *out;
};

static struct norm norm_run(struct call *call, const struct ops_dims *dims, const double *in)
{
    struct norm norm = {
        .x = values(call, in, cells(dims)),
        .gain = values(call, in + cells(dims), dims->width),
        .bias = values(call, in + cells(dims) + dims->width, dims->width),
        .mean = mains(call, NULL, dims->rows),
        .rstd = mains(call, NULL, dims->rows),
        .out = values(call, NULL, cells(dims)),
    };

    call->c->ops->norm_forward(call->c, norm.out, norm.mean, norm.rstd, norm.x, norm.gain, norm.bias,
                               dims->rows, dims->width);
    return norm;
}

static int norm(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    struct norm run = norm_run(&call, dims, in);

    read_values(&call, out, run.out, cells(dims));
    return call_end(&call);
}

static int norm_backward(struct compute *c, const struct ops_dims *dims, const double *in, const double *dout,
                         double *din)
{
    struct call call = call_start(c);
    struct norm run = norm_run(&call, dims, in);
    void *d = values(&call, dout, cells(dims)), *dx = values(&call, NULL, cells(dims));
    void *dgain = mains(&call, NULL, dims->width), *dbias = mains(&call, NULL, dims->width);

    c->ops->norm_backward(c, dx, dgain, dbias, d, run.x, run.mean, run.rstd, run.gain, dims->rows,
                          dims->width);
    read_values(&call, din, dx, cells(dims));
    read_mains(&call, din + cells(dims), dgain, dims->width);
    read_mains(&call, din + cells(dims) + dims->width, dbias, dims->width);
    return call_end(&call);
}

/* ---- Attention ---------------------------------------------------------------------- */

static size_t attention_cells(const struct attention *a)
{
    return a->sequences * a->seq * a->heads * a->head_size;
}

static size_t attention_squares(const struct attention *a)
{
    return a->sequences * a->heads * a->seq * a->seq;
}

static struct ops_size attention_size(const struct ops_dims *dims)
{
    size_t n = attention_cells(&dims->attention);

    return (struct ops_size){3 * n, n};
}

static int attention(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    size_t n = attention_cells(&dims->attention);
    void *qkv = values(&call, in, 3 * n), *to = values(&call, NULL, n);
    void *probabilities = values(&call, NULL, attention_squares(&dims->attention));

    c->ops->attention_forward(c, &dims->attention, to, probabilities, qkv);
    read_values(&call, out, to, n);
    return call_end(&call);
}

static int attention_backward(struct compute *c, const struct ops_dims *dims, const double *in,
                              const double *dout, double *din)
{
    struct call call = call_start(c);
    size_t n = attention_cells(&dims->attention), squares = attention_squares(&dims->attention);
    void *qkv = values(&call, in, 3 * n), *to = values(&call, NULL, n), *d = values(&call, dout, n);
    void *probabilities = values(&call, NULL, squares), *scratch = values(&call, NULL, squares);
    void *dqkv = values(&call, NULL, 3 * n);

    c->ops->attention_forward(c, &dims->attention, to, probabilities, qkv);
    c->ops->attention_backward(c, &dims->attention, dqkv, scratch, d, qkv, probabilities);
    read_values(&call, din, dqkv, 3 * n);
    return call_end(&call);
}

/* ---- Vocabulary ----------------------------------------------------------------------- */

enum { HELD_FIRST = 10, HELD_REAL = 4, HELD_ROWS = 5 };
static const struct vocabulary held = {HELD_FIRST, HELD_REAL, HELD_ROWS};

/* From one below what is held to one above. */
static int32_t *tokens(struct call *call, size_t rows)
{
    int32_t *host = calloc(rows, sizeof(*host)), *to;

    for (size_t i = 0; i < rows; i++)
        host[i] = HELD_FIRST - 1 + (int32_t)(i * i % (HELD_REAL + 2));
    to = integers(call, host, rows);
    free(host);
    return to;
}

static struct ops_size embedding_size(const struct ops_dims *dims)
{
    return (struct ops_size){HELD_ROWS * dims->width, cells(dims)};
}

static int embedding(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    void *table = values(&call, in, HELD_ROWS * dims->width), *to = values(&call, NULL, cells(dims));

    c->ops->embedding_forward(c, &held, to, table, tokens(&call, dims->rows), dims->rows, dims->width);
    read_values(&call, out, to, cells(dims));
    return call_end(&call);
}

static int embedding_backward(struct compute *c, const struct ops_dims *dims, const double *in,
                              const double *dout, double *din)
{
    struct call call = call_start(c);
    void *d = values(&call, dout, cells(dims)), *table = mains(&call, NULL, HELD_ROWS * dims->width);

    (void)in;
    c->ops->embedding_backward(c, &held, table, d, tokens(&call, dims->rows), dims->rows, dims->width);
    read_mains(&call, din, table, HELD_ROWS * dims->width);
    return call_end(&call);
}

static int32_t *labels(struct call *call, const struct ops_dims *dims)
{
    int32_t *host = calloc(dims->rows, sizeof(*host)), *to;

    for (size_t i = 0; i < dims->rows; i++)
        host[i] = (int32_t)(i * 7 % (dims->width - 1));
    to = integers(call, host, dims->rows);
    free(host);
    return to;
}

/* On one rank, whose last column is no token; losses[rows], logits become the gradient times scale. */
static void *loss_run(struct call *call, const struct ops_dims *dims, void *logits, double scale)
{
    struct compute *c = call->c;
    struct vocabulary whole = {0, dims->width - 1, dims->width};
    void *maximum = mains(call, NULL, dims->rows), *sums = mains(call, NULL, 2 * dims->rows);
    void *losses = mains(call, NULL, dims->rows);
    int32_t *targets = labels(call, dims);

    c->ops->loss_maximum(c, &whole, maximum, logits, dims->rows);
    c->ops->loss_sums(c, &whole, sums, logits, maximum, targets, dims->rows);
    c->ops->loss_finish(c, &whole, losses, logits, sums, targets, scale, dims->rows);
    return losses;
}

static struct ops_size loss_size(const struct ops_dims *dims)
{
    return (struct ops_size){cells(dims), 1};
}

/* The one output is the mean of the losses. */
static int loss(struct compute *c, const struct ops_dims *dims, const double *in, double *out)
{
    struct call call = call_start(c);
    double *losses = calloc(dims->rows, sizeof(*losses));

    read_mains(&call, losses, loss_run(&call, dims, values(&call, in, cells(dims)), 1), dims->rows);
    *out = 0;
    for (size_t i = 0; i < dims->rows; i++)
        *out += losses[i] / (double)dims->rows;
    free(losses);
    return call_end(&call);
}

static int loss_backward(struct compute *c, const struct ops_dims *dims, const double *in, const double *dout,
                         double *din)
{
    struct call call = call_start(c);
    void *logits = values(&call, in, cells(dims));

    loss_run(&call, dims, logits, *dout / (double)dims->rows);
    read_values(&call, din, logits, cells(dims));
    return call_end(&call);
}

const struct ops_row ops_rows[] = {
    {"matmul a b", matmul_size, matmul_nn, matmul_nn_backward},
    {"matmul a b^T", matmul_size, matmul_nt, matmul_nt_backward},
    {"matmul a^T b", matmul_size, matmul_tn, NULL},
    {"add", add_size, add, NULL},
    {"cast", same_size, cast, NULL},
    {"zero", same_size, zero, NULL},
    {"sums", sums_size, sums, NULL},
    {"gelu", same_size, gelu, gelu_backward},
    {"gelu in place", same_size, gelu, gelu_backward_in_place},
    {"bias", bias_size, bias, bias_backward},
    {"adamw", adamw_size, adamw, NULL},
    {"layer norm", norm_size, norm, norm_backward},
    {"attention", attention_size, attention, attention_backward},
    {"embedding", embedding_size, embedding, embedding_backward},
    {"cross-entropy", loss_size, loss, loss_backward},
};
const size_t ops_count = sizeof(ops_rows) / sizeof(ops_rows[0]);
