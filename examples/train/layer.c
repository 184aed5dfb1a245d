#include "layer.h"

void layer_bind(struct layer *layer, const struct model *model, size_t index)
{
    for (int i = 0; i < LAYER_PARAMETERS; i++) {
        layer->w[i] = model_weight(model, parameter_of_layer(index, i));
        layer->g[i] = model_gradient(model, parameter_of_layer(index, i));
    }
}

static size_t probabilities_size(const struct shape *shape)
{
    return shape->sequences * shape->local_heads * shape->seq * shape->seq;
}

void layer_kept_allocate(struct layer_kept *kept, struct memory *memory, const struct shape *shape)
{
    size_t t = shape->rows, full = t * shape->hidden, part = t * shape->local_hidden;

    kept->norm1 = memory_values(memory, full);
    kept->mean1 = memory_mains(memory, t);
    kept->rstd1 = memory_mains(memory, t);
    kept->qkv = memory_values(memory, 3 * part);
    kept->probabilities = memory_values(memory, probabilities_size(shape));
    kept->mixed = memory_values(memory, part);
    kept->middle = memory_values(memory, full);
    kept->norm2 = memory_values(memory, full);
    kept->mean2 = memory_mains(memory, t);
    kept->rstd2 = memory_mains(memory, t);
    kept->wide = memory_values(memory, 4 * part);
    kept->active = memory_values(memory, 4 * part);
    kept->out = memory_values(memory, full);
}

void layer_scratch_allocate(struct layer_scratch *scratch, struct memory *memory, const struct shape *shape)
{
    size_t part = shape->rows * shape->local_hidden;

    scratch->dwide = memory_values(memory, 4 * part);
    scratch->dnorm = memory_values(memory, shape->rows * shape->hidden);
    scratch->dmixed = memory_values(memory, part);
    scratch->dqkv = memory_values(memory, 3 * part);
    scratch->dprobabilities = memory_values(memory, probabilities_size(shape));
}

/* A weight matrix [in, out] as this rank holds it. */
struct product {
    enum layer_parameter weight, bias;
    size_t in, out;
};

static struct product qkv_product(const struct shape *shape)
{
    return (struct product){LAYER_QKV_WEIGHT, LAYER_QKV_BIAS, shape->hidden, 3 * shape->local_hidden};
}

static struct product projection_product(const struct shape *shape)
{
    return (struct product){LAYER_PROJECTION_WEIGHT, LAYER_PROJECTION_BIAS, shape->local_hidden,
                            shape->hidden};
}

static struct product wide_product(const struct shape *shape)
{
    return (struct product){LAYER_WIDE_WEIGHT, LAYER_WIDE_BIAS, shape->hidden, 4 * shape->local_hidden};
}

static struct product narrow_product(const struct shape *shape)
{
    return (struct product){LAYER_NARROW_WEIGHT, LAYER_NARROW_BIAS, 4 * shape->local_hidden, shape->hidden};
}

/* out[T, out] = x[T, in] w[in, out] */
static void multiply(const struct layer *layer, const struct product *p, void *out, const void *x)
{
    struct compute *c = layer->grid->compute;
    struct matmul shape = {MATMUL_NN, layer->shape->rows, p->out, p->in, false};

    c->ops->matmul(c, &shape, out, x, layer->w[p->weight]);
}

/* dx[T, in] = d[T, out] w^T, dw += x^T d, dbias += column sums of d. */
static void multiply_backward(const struct layer *layer, const struct product *p, void *dx, const void *x,
                              const void *d)
{
    struct compute *c = layer->grid->compute;
    size_t rows = layer->shape->rows;
    struct matmul to_x = {MATMUL_NT, rows, p->in, p->out, false};
    struct matmul to_w = {MATMUL_TN, p->in, p->out, rows, true};

    c->ops->bias_gradient(c, layer->g[p->bias], d, rows, p->out);
    c->ops->matmul(c, &to_w, layer->g[p->weight], x, d);
    c->ops->matmul(c, &to_x, dx, d, layer->w[p->weight]);
}

static void column_parallel(const struct layer *layer, const struct product *p, void *out, const void *x)
{
    struct compute *c = layer->grid->compute;

    multiply(layer, p, out, x);
    c->ops->bias_add(c, out, layer->w[p->bias], layer->shape->rows, p->out);
}

/* The conjugate of the forward's identity: every rank's part of dx is summed. */
static int column_parallel_backward(const struct layer *layer, const struct product *p, void *dx,
                                    const void *x, const void *d, struct dtrain_error *err)
{
    multiply_backward(layer, p, dx, x, d);
    return grid_reduce(layer->grid, layer->grid->tp, dx, layer->shape->rows * p->in,
                       layer->grid->compute->type, DTRAIN_SUM, err);
}

/* out = residual + sum over ranks of x w + bias */
static int row_parallel(const struct layer *layer, const struct product *p, void *out, const void *x,
                        const void *residual, struct dtrain_error *err)
{
    struct compute *c = layer->grid->compute;
    size_t rows = layer->shape->rows;

    multiply(layer, p, out, x);
    if (grid_reduce(layer->grid, layer->grid->tp, out, rows * p->out, c->type, DTRAIN_SUM, err) != 0)
        return -1;
    c->ops->bias_add(c, out, layer->w[p->bias], rows, p->out);
    c->ops->add(c, out, residual, rows * p->out);
    return 0;
}

static struct attention attention_shape(const struct shape *shape)
{
    return (struct attention){shape->sequences, shape->seq, shape->local_heads, shape->head_size};
}

static int attention_forward(const struct layer *layer, struct layer_kept *kept, struct dtrain_error *err)
{
    struct compute *c = layer->grid->compute;
    struct attention attention = attention_shape(layer->shape);
    struct product qkv = qkv_product(layer->shape), projection = projection_product(layer->shape);

    c->ops->norm_forward(c, kept->norm1, kept->mean1, kept->rstd1, kept->x, layer->w[LAYER_NORM1_GAIN],
                         layer->w[LAYER_NORM1_BIAS], layer->shape->rows, layer->shape->hidden);
    column_parallel(layer, &qkv, kept->qkv, kept->norm1);
    c->ops->attention_forward(c, &attention, kept->mixed, kept->probabilities, kept->qkv);
    return row_parallel(layer, &projection, kept->middle, kept->mixed, kept->x, err);
}

static int mlp_forward(const struct layer *layer, struct layer_kept *kept, struct dtrain_error *err)
{
    struct compute *c = layer->grid->compute;
    struct product wide = wide_product(layer->shape), narrow = narrow_product(layer->shape);

    c->ops->norm_forward(c, kept->norm2, kept->mean2, kept->rstd2, kept->middle, layer->w[LAYER_NORM2_GAIN],
                         layer->w[LAYER_NORM2_BIAS], layer->shape->rows, layer->shape->hidden);
    column_parallel(layer, &wide, kept->wide, kept->norm2);
    c->ops->gelu_forward(c, kept->active, kept->wide, layer->shape->rows * wide.out);
    return row_parallel(layer, &narrow, kept->out, kept->active, kept->middle, err);
}

int layer_forward(const struct layer *layer, struct layer_kept *kept, const void *x, struct dtrain_error *err)
{
    kept->x = x;
    if (attention_forward(layer, kept, err) != 0)
        return -1;
    return mlp_forward(layer, kept, err);
}

/* d: gradient of out -> gradient of middle */
static int mlp_backward(const struct layer *layer, const struct layer_kept *kept, void *d,
                        struct dtrain_error *err)
{
    struct compute *c = layer->grid->compute;
    const struct layer_scratch *s = layer->scratch;
    struct product wide = wide_product(layer->shape), narrow = narrow_product(layer->shape);

    multiply_backward(layer, &narrow, s->dwide, kept->active, d);
    c->ops->gelu_backward(c, s->dwide, s->dwide, kept->wide, layer->shape->rows * wide.out);
    if (column_parallel_backward(layer, &wide, s->dnorm, kept->norm2, s->dwide, err) != 0)
        return -1;
    c->ops->norm_backward(c, d, layer->g[LAYER_NORM2_GAIN], layer->g[LAYER_NORM2_BIAS], s->dnorm,
                          kept->middle, kept->mean2, kept->rstd2, layer->w[LAYER_NORM2_GAIN],
                          layer->shape->rows, layer->shape->hidden);
    return 0;
}

/* d: gradient of middle -> gradient of x */
static int attention_backward(const struct layer *layer, const struct layer_kept *kept, void *d,
                              struct dtrain_error *err)
{
    struct compute *c = layer->grid->compute;
    const struct layer_scratch *s = layer->scratch;
    struct attention attention = attention_shape(layer->shape);
    struct product qkv = qkv_product(layer->shape), projection = projection_product(layer->shape);

    multiply_backward(layer, &projection, s->dmixed, kept->mixed, d);
    c->ops->attention_backward(c, &attention, s->dqkv, s->dprobabilities, s->dmixed, kept->qkv,
                               kept->probabilities);
    if (column_parallel_backward(layer, &qkv, s->dnorm, kept->norm1, s->dqkv, err) != 0)
        return -1;
    c->ops->norm_backward(c, d, layer->g[LAYER_NORM1_GAIN], layer->g[LAYER_NORM1_BIAS], s->dnorm, kept->x,
                          kept->mean1, kept->rstd1, layer->w[LAYER_NORM1_GAIN], layer->shape->rows,
                          layer->shape->hidden);
    return 0;
}

int layer_backward(const struct layer *layer, const struct layer_kept *kept, void *d,
                   struct dtrain_error *err)
{
    if (mlp_backward(layer, kept, d, err) != 0)
        return -1;
    return attention_backward(layer, kept, d, err);
}
