#include "layer.h"

void layer_kept_allocate(struct layer_kept *kept, struct memory *memory, const struct shape *shape)
{
    size_t t = shape->own.count, full = t * shape->hidden, part = shape->rows * shape->local_hidden;

    kept->norm1 = memory_values(memory, full);
    kept->mean1 = memory_mains(memory, t);
    kept->rstd1 = memory_mains(memory, t);
    kept->qkv = memory_values(memory, context_qkv_size(shape));
    kept->probabilities = memory_values(memory, context_probabilities_size(shape));
    kept->mixed = memory_values(memory, part);
    kept->middle = memory_values(memory, full);
    kept->norm2 = memory_values(memory, full);
    kept->mean2 = memory_mains(memory, t);
    kept->rstd2 = memory_mains(memory, t);
    if (shape->experts > 0)
        return;
    kept->wide = memory_values(memory, 4 * part);
    kept->active = memory_values(memory, 4 * part);
}

void layer_flow_allocate(struct layer_flow *flow, struct memory *memory, const struct region *region)
{
    const struct shape *shape = region->shape;
    size_t part = shape->rows * shape->local_hidden;

    flow->dqkv = memory_values(memory, 3 * part);
    if (shape->experts == 0)
        flow->dwide = memory_values(memory, 4 * part);
    if (!region->splits_backward)
        return;
    flow->dout = memory_values(memory, shape->own.count * shape->hidden);
    flow->dmiddle = memory_values(memory, shape->own.count * shape->hidden);
}

void layer_scratch_allocate(struct layer_scratch *scratch, struct memory *memory, const struct shape *shape)
{
    scratch->dnorm = memory_values(memory, shape->own.count * shape->hidden);
    scratch->dmixed = memory_values(memory, shape->rows * shape->local_hidden);
    scratch->dprobabilities = memory_values(memory, context_probabilities_size(shape));
    context_allocate(&scratch->context, memory, shape);
}

/* ---- The parts ---------------------------------------------------------------- */

static size_t parameter_of(const struct layer *layer, enum layer_parameter which)
{
    return parameter_of_layer(layer->region->shape, layer->index, which);
}

static struct linear linear_of(const struct layer *layer, enum layer_parameter weight, size_t in, size_t out)
{
    /* A bias follows its weight. */
    return (struct linear){
        .in = in,
        .out = out,
        .model = layer->model,
        .weight = parameter_of(layer, weight),
        .bias = parameter_of(layer, weight + 1),
    };
}

static struct linear qkv_of(const struct layer *layer)
{
    const struct shape *shape = layer->region->shape;

    return linear_of(layer, LAYER_QKV_WEIGHT, shape->hidden, 3 * shape->local_hidden);
}

static struct linear projection_of(const struct layer *layer)
{
    const struct shape *shape = layer->region->shape;

    return linear_of(layer, LAYER_PROJECTION_WEIGHT, shape->local_hidden, shape->hidden);
}

static struct linear wide_of(const struct layer *layer)
{
    const struct shape *shape = layer->region->shape;

    return linear_of(layer, LAYER_WIDE_WEIGHT, shape->hidden, 4 * shape->local_hidden);
}

static struct linear narrow_of(const struct layer *layer)
{
    const struct shape *shape = layer->region->shape;

    return linear_of(layer, LAYER_NARROW_WEIGHT, 4 * shape->local_hidden, shape->hidden);
}

static struct experts experts_of(const struct layer *layer)
{
    return (struct experts){
        .region = layer->region,
        .model = layer->model,
        .scratch = layer->scratch->experts,
        .gate = parameter_of(layer, LAYER_GATE_WEIGHT),
        .wide = parameter_of(layer, LAYER_WIDE_WEIGHT),
        .narrow = parameter_of(layer, LAYER_NARROW_WEIGHT),
    };
}

static bool has_experts(const struct layer *layer)
{
    return layer->region->shape->experts > 0;
}

/* The bias follows the gain. */
static void norm_forward(const struct layer *layer, enum layer_parameter gain, void *out, void *mean,
                         void *rstd, const void *x)
{
    const struct shape *shape = layer->region->shape;
    struct compute *c = layer->region->grid->compute;

    c->ops->norm_forward(c, out, mean, rstd, x, model_weight(layer->model, parameter_of(layer, gain)),
                         model_weight(layer->model, parameter_of(layer, gain + 1)), shape->own.count,
                         shape->hidden);
}

static int norm_backward(const struct layer *layer, enum layer_parameter gain, void *d, const void *x,
                         const void *mean, const void *rstd, struct dtrain_error *err)
{
    const struct shape *shape = layer->region->shape;
    struct compute *c = layer->region->grid->compute;
    void *dgain, *dbias;

    if (model_gradient(layer->model, parameter_of(layer, gain), &dgain, err) != 0 ||
        model_gradient(layer->model, parameter_of(layer, gain + 1), &dbias, err) != 0)
        return -1;
    c->ops->norm_backward(c, d, dgain, dbias, layer->scratch->dnorm, x, mean, rstd,
                          model_weight(layer->model, parameter_of(layer, gain)), shape->own.count,
                          shape->hidden);
    return 0;
}

/* out += residual */
static void add_residual(const struct layer *layer, void *out, const void *residual)
{
    const struct shape *shape = layer->region->shape;
    struct compute *c = layer->region->grid->compute;

    c->ops->add(c, out, residual, shape->own.count * shape->hidden);
}

/* ---- Forward --------------------------------------------------------------------- */

static int attention_forward(const struct layer *layer, struct layer_kept *kept, struct dtrain_error *err)
{
    const struct context *context = &layer->scratch->context;
    struct linear qkv = qkv_of(layer), projection = projection_of(layer);

    norm_forward(layer, LAYER_NORM1_GAIN, kept->norm1, kept->mean1, kept->rstd1, kept->x);
    if (linear_column_forward(layer->region, &qkv, context_product(context, kept->qkv), kept->norm1, err) !=
            0 ||
        context_forward(layer->region, context, kept->mixed, kept->probabilities, kept->qkv, err) != 0 ||
        linear_row_forward(layer->region, &projection, kept->middle, kept->mixed, err) != 0)
        return -1;
    add_residual(layer, kept->middle, kept->x);
    return 0;
}

static int mlp_forward(const struct layer *layer, struct layer_kept *kept, struct dtrain_error *err)
{
    struct compute *c = layer->region->grid->compute;
    struct linear wide = wide_of(layer), narrow = narrow_of(layer);

    if (linear_column_forward(layer->region, &wide, kept->wide, kept->norm2, err) != 0)
        return -1;
    c->ops->gelu_forward(c, kept->active, kept->wide, layer->region->shape->rows * wide.out);
    return linear_row_forward(layer->region, &narrow, kept->out, kept->active, err);
}

static int mixture_forward(const struct layer *layer, struct layer_kept *kept, struct dtrain_error *err)
{
    struct experts experts = experts_of(layer);

    return experts_forward(&experts, kept->experts, kept->out, kept->norm2, err);
}

int layer_forward(const struct layer *layer, struct layer_kept *kept, const void *x, struct dtrain_error *err)
{
    kept->x = x;
    if (attention_forward(layer, kept, err) != 0)
        return -1;
    norm_forward(layer, LAYER_NORM2_GAIN, kept->norm2, kept->mean2, kept->rstd2, kept->middle);
    if ((has_experts(layer) ? mixture_forward : mlp_forward)(layer, kept, err) != 0)
        return -1;
    add_residual(layer, kept->out, kept->middle);
    return 0;
}

/* ---- Backward --------------------------------------------------------------------- */

/* For the weights' part, before d becomes the gradient of what is further up. */
static int keep(const struct layer *layer, void *to, const void *d, struct dtrain_error *err)
{
    const struct shape *shape = layer->region->shape;
    struct compute *c = layer->region->grid->compute;

    if (!layer->region->splits_backward)
        return 0;
    return compute_copy(c, to, d, shape->own.count * shape->hidden * dtrain_type_size(c->type), err);
}

/* d: gradient of out -> dnorm: that of norm2 */
static int mlp_backward(const struct layer *layer, const struct layer_kept *kept,
                        const struct layer_flow *flow, void *d, struct dtrain_error *err)
{
    struct compute *c = layer->region->grid->compute;
    struct linear wide = wide_of(layer), narrow = narrow_of(layer);

    if (keep(layer, flow->dout, d, err) != 0 ||
        linear_row_backward(layer->region, &narrow, flow->dwide, kept->active, d, err) != 0)
        return -1;
    c->ops->gelu_backward(c, flow->dwide, flow->dwide, kept->wide, layer->region->shape->rows * wide.out);
    return linear_column_backward(layer->region, &wide, layer->scratch->dnorm, kept->norm2, flow->dwide, err);
}

/* The experts' weights' gradients come at once, also where the backward is
 * split. */
static int mixture_backward(const struct layer *layer, const struct layer_kept *kept, const void *d,
                            struct dtrain_error *err)
{
    struct experts experts = experts_of(layer);

    return experts_backward(&experts, kept->experts, layer->scratch->dnorm, d, kept->norm2, err);
}

/* d: gradient of middle -> gradient of x */
static int attention_backward(const struct layer *layer, const struct layer_kept *kept,
                              const struct layer_flow *flow, void *d, struct dtrain_error *err)
{
    const struct layer_scratch *s = layer->scratch;
    struct linear qkv = qkv_of(layer), projection = projection_of(layer);

    if (keep(layer, flow->dmiddle, d, err) != 0 ||
        linear_row_backward(layer->region, &projection, s->dmixed, kept->mixed, d, err) != 0 ||
        context_backward(layer->region, &s->context, flow->dqkv, s->dprobabilities, s->dmixed, kept->qkv,
                         kept->probabilities, err) != 0 ||
        linear_column_backward(layer->region, &qkv, s->dnorm, kept->norm1, flow->dqkv, err) != 0)
        return -1;
    return norm_backward(layer, LAYER_NORM1_GAIN, d, kept->x, kept->mean1, kept->rstd1, err);
}

int layer_backward(const struct layer *layer, const struct layer_kept *kept, const struct layer_flow *flow,
                   void *d, struct dtrain_error *err)
{
    int rc =
        has_experts(layer) ? mixture_backward(layer, kept, d, err) : mlp_backward(layer, kept, flow, d, err);

    if (rc != 0 ||
        norm_backward(layer, LAYER_NORM2_GAIN, d, kept->middle, kept->mean2, kept->rstd2, err) != 0)
        return -1;
    return attention_backward(layer, kept, flow, d, err);
}

int layer_backward_weights(const struct layer *layer, const struct layer_kept *kept,
                           const struct layer_flow *flow, struct dtrain_error *err)
{
    struct linear qkv = qkv_of(layer), projection = projection_of(layer);
    struct linear wide = wide_of(layer), narrow = narrow_of(layer);

    if (!has_experts(layer) &&
        (linear_row_weights(layer->region, &narrow, kept->active, flow->dout, err) != 0 ||
         linear_column_weights(layer->region, &wide, kept->norm2, flow->dwide, err) != 0))
        return -1;
    if (linear_row_weights(layer->region, &projection, kept->mixed, flow->dmiddle, err) != 0)
        return -1;
    return linear_column_weights(layer->region, &qkv, kept->norm1, flow->dqkv, err);
}
