#include "experts.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "router.h"

/* ---- Memory -------------------------------------------------------------------- */

static size_t slots_of(const struct shape *shape)
{
    return shape->rows * shape->top_k;
}

/* Operations under way may still use the old rows. */
static int rows_grow(struct experts_rows *rows, const struct region *region, size_t count, bool has_active,
                     struct dtrain_error *err)
{
    size_t hidden = region->shape->hidden;

    if (count <= rows->room && rows->narrow != NULL)
        return 0;
    grid_settle(region->grid);
    memory_clear(&rows->memory);
    rows->memory.compute = region->grid->compute;
    rows->room = count + count / 4 + 1;
    rows->narrow = memory_values(&rows->memory, rows->room * hidden);
    rows->wide = memory_values(&rows->memory, rows->room * 4 * hidden);
    if (has_active)
        rows->active = memory_values(&rows->memory, rows->room * 4 * hidden);
    return memory_check(&rows->memory, err);
}

int experts_kept_create(struct experts_kept *kept, const struct region *region, struct dtrain_error *err)
{
    const struct shape *shape = region->shape;
    struct grid *grid = region->grid;
    struct dtrain_ep_options options = {
        .comm = grid->ep,
        .stream = grid->main,
        .compute = grid->compute->stream,
        .type = grid->compute->type,
        .experts = (int)shape->experts,
        .top_k = (int)shape->top_k,
        .n = shape->hidden,
        .tokens_max = shape->rows,
    };
    size_t bytes;

    kept->memory.compute = grid->compute;
    kept->chosen = calloc(slots_of(shape), sizeof(*kept->chosen));
    kept->share = calloc(shape->rows * shape->experts, sizeof(*kept->share));
    if (kept->chosen == NULL || kept->share == NULL)
        return error_memory(err, shape->rows * shape->experts * sizeof(*kept->share), "the router");
    if (dtrain_ep_workspace(&options, &bytes, err) != 0)
        return -1;
    options.workspace = memory_bytes(&kept->memory, bytes);
    kept->weights = memory_bytes(&kept->memory, slots_of(shape) * sizeof(float));
    kept->returned = memory_values(&kept->memory, slots_of(shape) * shape->hidden);
    if (memory_check(&kept->memory, err) != 0)
        return -1;
    return dtrain_ep_create(&kept->ep, &options, err);
}

void experts_kept_destroy(struct experts_kept *kept)
{
    dtrain_ep_destroy(kept->ep);
    memory_clear(&kept->memory);
    memory_clear(&kept->rows.memory);
    free(kept->chosen);
    free(kept->share);
    *kept = (struct experts_kept){0};
}

int experts_scratch_create(struct experts_scratch *scratch, const struct region *region,
                           struct dtrain_error *err)
{
    const struct shape *shape = region->shape;
    size_t logits = shape->rows * shape->experts;

    scratch->memory.compute = region->grid->compute;
    scratch->host = calloc(logits, sizeof(double));
    scratch->values = calloc(slots_of(shape), sizeof(*scratch->values));
    if (scratch->host == NULL || scratch->values == NULL)
        return error_memory(err, logits * sizeof(double), "the router");
    scratch->mains = memory_mains(&scratch->memory, logits);
    scratch->logits = memory_values(&scratch->memory, logits);
    scratch->dx = memory_values(&scratch->memory, shape->rows * shape->hidden);
    scratch->dweights = memory_bytes(&scratch->memory, slots_of(shape) * sizeof(float));
    return memory_check(&scratch->memory, err);
}

void experts_scratch_destroy(struct experts_scratch *scratch)
{
    memory_clear(&scratch->memory);
    memory_clear(&scratch->rows.memory);
    free(scratch->host);
    free(scratch->values);
    *scratch = (struct experts_scratch){0};
}

/* ---- The experts of this rank ---------------------------------------------------- */

/* y[rows, out] = x[rows, in] w + bias of each own expert, whose rows lie together. */
struct layer_of_experts {
    const struct experts *experts;
    const struct dtrain_ep *ep;
    size_t weight, in, out;
};

static struct layer_of_experts wide_of(const struct experts *experts, const struct experts_kept *kept)
{
    size_t hidden = experts->region->shape->hidden;

    return (struct layer_of_experts){experts, kept->ep, experts->wide, hidden, 4 * hidden};
}

static struct layer_of_experts narrow_of(const struct experts *experts, const struct experts_kept *kept)
{
    size_t hidden = experts->region->shape->hidden;

    return (struct layer_of_experts){experts, kept->ep, experts->narrow, 4 * hidden, hidden};
}

static void forward_rows(const struct layer_of_experts *l, void *y, const void *x)
{
    struct compute *c = l->experts->region->grid->compute;
    const void *weight = model_weight(l->experts->model, l->weight);
    const void *bias = model_weight(l->experts->model, l->weight + 1);
    size_t row = 0;

    for (int i = 0; i < dtrain_ep_expert_count(l->ep); i++) {
        size_t rows = dtrain_ep_expert_rows(l->ep, i), at = (size_t)i;
        struct matmul product = {MATMUL_NN, rows, l->out, l->in, false};
        void *to = compute_at(y, c->type, row * l->out);

        if (rows == 0)
            continue;
        c->ops->matmul(c, &product, to, compute_at(x, c->type, row * l->in),
                       compute_at(weight, c->type, at * l->in * l->out));
        c->ops->bias_add(c, to, compute_at(bias, c->type, at * l->out), rows, l->out);
        row += rows;
    }
}

/* dx[rows, in] from dy[rows, out]; x is of before. */
static void backward_expert(const struct layer_of_experts *l, size_t expert, size_t row, size_t rows,
                            void *const *gradients, void *dx, const void *x, const void *dy)
{
    struct compute *c = l->experts->region->grid->compute;
    size_t size = l->in * l->out;
    const void *weight = compute_at(model_weight(l->experts->model, l->weight), c->type, expert * size);
    const void *from = compute_at(dy, c->type, row * l->out);
    struct matmul input = {MATMUL_NT, rows, l->in, l->out, false};
    struct matmul weights = {MATMUL_TN, l->in, l->out, rows, true};

    c->ops->matmul(c, &weights, compute_at(gradients[0], c->main, expert * size),
                   compute_at(x, c->type, row * l->in), from);
    c->ops->bias_gradient(c, compute_at(gradients[1], c->main, expert * l->out), from, rows, l->out);
    c->ops->matmul(c, &input, compute_at(dx, c->type, row * l->in), from, weight);
}

static int backward_rows(const struct layer_of_experts *l, void *dx, const void *x, const void *dy,
                         struct dtrain_error *err)
{
    void *gradients[2];
    size_t row = 0;

    if (model_gradient(l->experts->model, l->weight, &gradients[0], err) != 0 ||
        model_gradient(l->experts->model, l->weight + 1, &gradients[1], err) != 0)
        return -1;
    for (int i = 0; i < dtrain_ep_expert_count(l->ep); i++) {
        size_t rows = dtrain_ep_expert_rows(l->ep, i);

        if (rows > 0)
            backward_expert(l, (size_t)i, row, rows, gradients, dx, x, dy);
        row += rows;
    }
    return 0;
}

/* ---- The router -------------------------------------------------------------------- */

static struct router router_of(const struct experts *experts, struct experts_kept *kept)
{
    const struct shape *shape = experts->region->shape;

    return (struct router){shape->rows, shape->experts, shape->top_k, kept->chosen, kept->share};
}

/* Added up from zero, so that the logits are of main type. */
static int route(const struct experts *experts, struct experts_kept *kept, const void *x,
                 struct dtrain_error *err)
{
    const struct shape *shape = experts->region->shape;
    struct experts_scratch *s = experts->scratch;
    struct compute *c = experts->region->grid->compute;
    struct matmul product = {MATMUL_NN, shape->rows, shape->experts, shape->hidden, true};
    size_t bytes = shape->rows * shape->experts * dtrain_type_size(c->main);
    struct router router = router_of(experts, kept);

    c->ops->zero(c, s->mains, bytes);
    c->ops->matmul(c, &product, s->mains, x, model_weight(experts->model, experts->gate));
    if (compute_copy_out(c, s->host, s->mains, bytes, err) != 0)
        return -1;
    router_forward(&router, c->main, s->host, s->values);
    return compute_copy_in(c, kept->weights, s->values, slots_of(shape) * sizeof(float), err);
}

/* dx += the gradient that comes through the weights; the gate's gradient is added up. */
static int route_backward(const struct experts *experts, struct experts_kept *kept, void *dx, const void *x,
                          struct dtrain_error *err)
{
    const struct shape *shape = experts->region->shape;
    struct experts_scratch *s = experts->scratch;
    struct compute *c = experts->region->grid->compute;
    size_t logits = shape->rows * shape->experts;
    struct matmul input = {MATMUL_NT, shape->rows, shape->hidden, shape->experts, false};
    struct matmul weights = {MATMUL_TN, shape->hidden, shape->experts, shape->rows, true};
    struct router router = router_of(experts, kept);
    void *dgate;

    if (compute_copy_out(c, s->values, s->dweights, slots_of(shape) * sizeof(float), err) != 0)
        return -1;
    router_backward(&router, c->main, s->host, s->values);
    if (compute_copy_in(c, s->mains, s->host, logits * dtrain_type_size(c->main), err) != 0 ||
        model_gradient(experts->model, experts->gate, &dgate, err) != 0)
        return -1;
    c->ops->cast(c, s->logits, s->mains, logits);
    c->ops->matmul(c, &weights, dgate, x, s->logits);
    c->ops->matmul(c, &input, s->dx, s->logits, model_weight(experts->model, experts->gate));
    c->ops->add(c, dx, s->dx, shape->rows * shape->hidden);
    return 0;
}

/* ---- Forward and backward ------------------------------------------------------------ */

int experts_forward(const struct experts *experts, struct experts_kept *kept, void *out, const void *x,
                    struct dtrain_error *err)
{
    const struct region *region = experts->region;
    struct compute *c = region->grid->compute;
    struct layer_of_experts wide = wide_of(experts, kept), narrow = narrow_of(experts, kept);
    struct experts_rows *rows = &kept->rows, *outputs = &experts->scratch->rows;
    size_t count;

    if (route(experts, kept, x, err) != 0 ||
        dtrain_ep_plan(kept->ep, kept->chosen, region->shape->rows, err) != 0)
        return -1;
    count = dtrain_ep_rows(kept->ep);
    if (rows_grow(rows, region, count, true, err) != 0 ||
        rows_grow(outputs, region, count, false, err) != 0 ||
        dtrain_ep_dispatch(kept->ep, x, rows->narrow, rows->room, err) != 0 ||
        dtrain_ep_finish(kept->ep, err) != 0)
        return -1;
    forward_rows(&wide, rows->wide, rows->narrow);
    if (count > 0)
        c->ops->gelu_forward(c, rows->active, rows->wide, count * wide.out);
    forward_rows(&narrow, outputs->narrow, rows->active);
    if (dtrain_ep_combine(kept->ep, outputs->narrow, kept->weights, kept->returned, out, err) != 0)
        return -1;
    return dtrain_ep_finish(kept->ep, err);
}

int experts_backward(const struct experts *experts, struct experts_kept *kept, void *dx, const void *dout,
                     const void *x, struct dtrain_error *err)
{
    const struct region *region = experts->region;
    struct compute *c = region->grid->compute;
    struct layer_of_experts wide = wide_of(experts, kept), narrow = narrow_of(experts, kept);
    struct experts_rows *rows = &kept->rows, *d = &experts->scratch->rows;
    size_t count = dtrain_ep_rows(kept->ep);

    if (dtrain_ep_combine_backward(kept->ep, dout, kept->weights, kept->returned, d->narrow,
                                   experts->scratch->dweights, err) != 0 ||
        dtrain_ep_finish(kept->ep, err) != 0 ||
        backward_rows(&narrow, d->wide, rows->active, d->narrow, err) != 0)
        return -1;
    if (count > 0)
        c->ops->gelu_backward(c, d->wide, d->wide, rows->wide, count * wide.out);
    if (backward_rows(&wide, d->narrow, rows->narrow, d->wide, err) != 0 ||
        dtrain_ep_dispatch_backward(kept->ep, d->narrow, dx, err) != 0 ||
        dtrain_ep_finish(kept->ep, err) != 0)
        return -1;
    return route_backward(experts, kept, dx, x, err);
}
