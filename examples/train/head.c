#include "head.h"

#include "embedding.h"

void head_allocate(struct head *head, struct grid *grid, const struct shape *shape, struct memory *memory)
{
    size_t t = shape->rows;

    *head = (struct head){.grid = grid, .shape = shape};
    head->norm = memory_values(memory, t * shape->hidden);
    head->mean = memory_mains(memory, t);
    head->rstd = memory_mains(memory, t);
    head->logits = memory_values(memory, t * shape->local_vocab);
    head->maximum = memory_mains(memory, t);
    head->sums = memory_mains(memory, 2 * t);
    head->losses = memory_mains(memory, t);
    head->dnorm = memory_values(memory, t * shape->hidden);
    head->loss_sum = memory_doubles(memory, 1);
}

void head_start(struct head *head)
{
    struct compute *c = head->grid->compute;

    c->ops->zero(c, head->loss_sum, sizeof(*head->loss_sum));
}

int head_loss(struct head *head, double *loss, struct dtrain_error *err)
{
    return compute_copy_out(head->grid->compute, loss, head->loss_sum, sizeof(*loss), err);
}

static void compute_logits(struct head *head, const struct model *model)
{
    const struct shape *shape = head->shape;
    struct compute *c = head->grid->compute;
    struct matmul product = {MATMUL_NT, shape->rows, shape->local_vocab, shape->hidden, false};

    c->ops->norm_forward(c, head->norm, head->mean, head->rstd, head->x,
                         model_weight(model, parameter_of_head(shape, HEAD_NORM_GAIN)),
                         model_weight(model, parameter_of_head(shape, HEAD_NORM_BIAS)), shape->rows,
                         shape->hidden);
    c->ops->matmul(c, &product, head->logits, head->norm,
                   model_weight(model, parameter_of_head(shape, HEAD_WEIGHT)));
}

static int compute_losses(struct head *head, const int32_t *labels, struct dtrain_error *err)
{
    struct grid *grid = head->grid;
    struct compute *c = grid->compute;
    struct vocabulary held = embedding_vocabulary(head->shape);
    size_t t = head->shape->rows;
    double scale = 1 / (double)(t * (size_t)head->shape->microbatches);

    c->ops->loss_maximum(c, &held, head->maximum, head->logits, t);
    if (grid_reduce(grid, grid->tp, head->maximum, t, c->main, DTRAIN_MAX, err) != 0)
        return -1;
    c->ops->loss_sums(c, &held, head->sums, head->logits, head->maximum, labels, t);
    if (grid_reduce(grid, grid->tp, head->sums, 2 * t, c->main, DTRAIN_SUM, err) != 0)
        return -1;
    c->ops->loss_finish(c, &held, head->losses, head->logits, head->sums, labels, scale, t);
    c->ops->sum(c, head->loss_sum, head->losses, t);
    return 0;
}

int head_forward(struct head *head, const struct model *model, const void *x, const int32_t *labels,
                 struct dtrain_error *err)
{
    head->x = x;
    compute_logits(head, model);
    return compute_losses(head, labels, err);
}

int head_backward(struct head *head, const struct model *model, void *d, struct dtrain_error *err)
{
    struct grid *grid = head->grid;
    struct compute *c = grid->compute;
    const struct shape *shape = head->shape;
    size_t count = shape->rows * shape->hidden;
    size_t weight = parameter_of_head(shape, HEAD_WEIGHT), gain = parameter_of_head(shape, HEAD_NORM_GAIN),
           bias = parameter_of_head(shape, HEAD_NORM_BIAS);
    struct matmul to_norm = {MATMUL_NN, shape->rows, shape->hidden, shape->local_vocab, false};
    struct matmul to_weight = {MATMUL_TN, shape->local_vocab, shape->hidden, shape->rows, true};

    c->ops->matmul(c, &to_weight, model_gradient(model, weight), head->logits, head->norm);
    c->ops->matmul(c, &to_norm, head->dnorm, head->logits, model_weight(model, weight));
    /* Column-parallel like qkv and wide: each rank's part of the gradient is summed. */
    if (grid_reduce(grid, grid->tp, head->dnorm, count, c->type, DTRAIN_SUM, err) != 0)
        return -1;
    c->ops->zero(c, d, count * dtrain_type_size(c->type));
    c->ops->norm_backward(c, d, model_gradient(model, gain), model_gradient(model, bias), head->dnorm,
                          head->x, head->mean, head->rstd, model_weight(model, gain), shape->rows,
                          shape->hidden);
    return 0;
}
