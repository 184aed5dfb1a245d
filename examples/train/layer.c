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

    kept->norm1 = memory_floats(memory, full);
    kept->mean1 = memory_floats(memory, t);
    kept->rstd1 = memory_floats(memory, t);
    kept->qkv = memory_floats(memory, 3 * part);
    kept->probabilities = memory_floats(memory, probabilities_size(shape));
    kept->mixed = memory_floats(memory, part);
    kept->middle = memory_floats(memory, full);
    kept->norm2 = memory_floats(memory, full);
    kept->mean2 = memory_floats(memory, t);
    kept->rstd2 = memory_floats(memory, t);
    kept->wide = memory_floats(memory, 4 * part);
    kept->active = memory_floats(memory, 4 * part);
    kept->out = memory_floats(memory, full);
}

void layer_scratch_allocate(struct layer_scratch *scratch, struct memory *memory, const struct shape *shape)
{
    size_t part = shape->rows * shape->local_hidden;

    scratch->dwide = memory_floats(memory, 4 * part);
    scratch->dnorm = memory_floats(memory, shape->rows * shape->hidden);
    scratch->dmixed = memory_floats(memory, part);
    scratch->dqkv = memory_floats(memory, 3 * part);
    scratch->dprobabilities = memory_floats(memory, probabilities_size(shape));
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
static void multiply(const struct layer *layer, const struct product *p, float *out, const float *x)
{
    struct matmul shape = {MATMUL_NN, layer->shape->rows, p->out, p->in, false};

    layer->grid->compute->matmul(&shape, out, x, layer->w[p->weight]);
}

/* dx[T, in] = d[T, out] w^T, dw += x^T d, dbias += column sums of d. */
static void multiply_backward(const struct layer *layer, const struct product *p, float *dx, const float *x,
                              const float *d)
{
    const struct compute *compute = layer->grid->compute;
    size_t rows = layer->shape->rows;
    struct matmul to_x = {MATMUL_NT, rows, p->in, p->out, false};
    struct matmul to_w = {MATMUL_TN, p->in, p->out, rows, true};

    compute->bias_gradient(layer->g[p->bias], d, rows, p->out);
    compute->matmul(&to_w, layer->g[p->weight], x, d);
    compute->matmul(&to_x, dx, d, layer->w[p->weight]);
}

static void column_parallel(const struct layer *layer, const struct product *p, float *out, const float *x)
{
    multiply(layer, p, out, x);
    layer->grid->compute->bias_add(out, layer->w[p->bias], layer->shape->rows, p->out);
}

/* The conjugate of the forward's identity: every rank's part of dx is summed. */
static int column_parallel_backward(const struct layer *layer, const struct product *p, float *dx,
                                    const float *x, const float *d, struct dtrain_error *err)
{
    multiply_backward(layer, p, dx, x, d);
    return grid_reduce(layer->grid, layer->grid->tp, dx, layer->shape->rows * p->in, DTRAIN_SUM, err);
}

/* out = residual + sum over ranks of x w + bias */
static int row_parallel(const struct layer *layer, const struct product *p, float *out, const float *x,
                        const float *residual, struct dtrain_error *err)
{
    const struct compute *compute = layer->grid->compute;
    size_t rows = layer->shape->rows;

    multiply(layer, p, out, x);
    if (grid_reduce(layer->grid, layer->grid->tp, out, rows * p->out, DTRAIN_SUM, err) != 0)
        return -1;
    compute->bias_add(out, layer->w[p->bias], rows, p->out);
    compute->add(out, residual, rows * p->out);
    return 0;
}

static struct attention attention_shape(const struct shape *shape)
{
    return (struct attention){shape->sequences, shape->seq, shape->local_heads, shape->head_size};
}

static int attention_forward(const struct layer *layer, struct layer_kept *kept, struct dtrain_error *err)
{
    const struct compute *compute = layer->grid->compute;
    struct attention attention = attention_shape(layer->shape);
    struct product qkv = qkv_product(layer->shape), projection = projection_product(layer->shape);

    compute->norm_forward(kept->norm1, kept->mean1, kept->rstd1, kept->x, layer->w[LAYER_NORM1_GAIN],
                          layer->w[LAYER_NORM1_BIAS], layer->shape->rows, layer->shape->hidden);
    column_parallel(layer, &qkv, kept->qkv, kept->norm1);
    compute->attention_forward(&attention, kept->mixed, kept->probabilities, kept->qkv);
    return row_parallel(layer, &projection, kept->middle, kept->mixed, kept->x, err);
}

static int mlp_forward(const struct layer *layer, struct layer_kept *kept, struct dtrain_error *err)
{
    const struct compute *compute = layer->grid->compute;
    struct product wide = wide_product(layer->shape), narrow = narrow_product(layer->shape);

    compute->norm_forward(kept->norm2, kept->mean2, kept->rstd2, kept->middle, layer->w[LAYER_NORM2_GAIN],
                          layer->w[LAYER_NORM2_BIAS], layer->shape->rows, layer->shape->hidden);
    column_parallel(layer, &wide, kept->wide, kept->norm2);
    compute->gelu_forward(kept->active, kept->wide, layer->shape->rows * wide.out);
    return row_parallel(layer, &narrow, kept->out, kept->active, kept->middle, err);
}

int layer_forward(const struct layer *layer, struct layer_kept *kept, const float *x,
                  struct dtrain_error *err)
{
    kept->x = x;
    if (attention_forward(layer, kept, err) != 0)
        return -1;
    return mlp_forward(layer, kept, err);
}

/* d: gradient of out -> gradient of middle */
static int mlp_backward(const struct layer *layer, const struct layer_kept *kept, float *d,
                        struct dtrain_error *err)
{
    const struct compute *compute = layer->grid->compute;
    const struct layer_scratch *s = layer->scratch;
    struct product wide = wide_product(layer->shape), narrow = narrow_product(layer->shape);

    multiply_backward(layer, &narrow, s->dwide, kept->active, d);
    compute->gelu_backward(s->dwide, s->dwide, kept->wide, layer->shape->rows * wide.out);
    if (column_parallel_backward(layer, &wide, s->dnorm, kept->norm2, s->dwide, err) != 0)
        return -1;
    compute->norm_backward(d, layer->g[LAYER_NORM2_GAIN], layer->g[LAYER_NORM2_BIAS], s->dnorm, kept->middle,
                           kept->mean2, kept->rstd2, layer->w[LAYER_NORM2_GAIN], layer->shape->rows,
                           layer->shape->hidden);
    return 0;
}

/* d: gradient of middle -> gradient of x */
static int attention_backward(const struct layer *layer, const struct layer_kept *kept, float *d,
                              struct dtrain_error *err)
{
    const struct compute *compute = layer->grid->compute;
    const struct layer_scratch *s = layer->scratch;
    struct attention attention = attention_shape(layer->shape);
    struct product qkv = qkv_product(layer->shape), projection = projection_product(layer->shape);

    multiply_backward(layer, &projection, s->dmixed, kept->mixed, d);
    compute->attention_backward(&attention, s->dqkv, s->dprobabilities, s->dmixed, kept->qkv,
                                kept->probabilities);
    if (column_parallel_backward(layer, &qkv, s->dnorm, kept->norm1, s->dqkv, err) != 0)
        return -1;
    compute->norm_backward(d, layer->g[LAYER_NORM1_GAIN], layer->g[LAYER_NORM1_BIAS], s->dnorm, kept->x,
                           kept->mean1, kept->rstd1, layer->w[LAYER_NORM1_GAIN], layer->shape->rows,
                           layer->shape->hidden);
    return 0;
}

int layer_backward(const struct layer *layer, const struct layer_kept *kept, float *d,
                   struct dtrain_error *err)
{
    if (mlp_backward(layer, kept, d, err) != 0)
        return -1;
    return attention_backward(layer, kept, d, err);
}
