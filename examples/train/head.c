#include "head.h"

void head_allocate(struct head *head, const struct region *region, const struct model *model,
                   struct memory *memory)
{
    const struct shape *shape = region->shape;

    *head = (struct head){.region = region, .model = model};
    head->losses = memory_mains(memory, shape->rows);
    head->workspace =
        memory_bytes(memory, dtrain_tp_loss_workspace(shape->rows, region->grid->compute->type));
    head->dnorm = memory_values(memory, shape->own.count * shape->hidden);
    head->loss_sum = memory_doubles(memory, 1);
}

void head_kept_allocate(struct head_kept *kept, struct memory *memory, const struct shape *shape)
{
    kept->norm = memory_values(memory, shape->own.count * shape->hidden);
    kept->mean = memory_mains(memory, shape->own.count);
    kept->rstd = memory_mains(memory, shape->own.count);
    kept->logits = memory_values(memory, shape->rows * shape->vocabulary.padded);
}

void head_start(struct head *head)
{
    struct compute *c = head->region->grid->compute;

    c->ops->zero(c, head->loss_sum, sizeof(*head->loss_sum));
}

int head_loss(struct head *head, double *loss, struct dtrain_error *err)
{
    return compute_copy_out(head->region->grid->compute, loss, head->loss_sum, sizeof(*loss), err);
}

static size_t parameter_of(const struct head *head, enum head_parameter which)
{
    return parameter_of_head(head->region->shape, which);
}

static struct linear logits_of(const struct head *head)
{
    return (struct linear){
        .in = head->region->shape->hidden,
        .out = head->region->shape->vocabulary.padded,
        .is_turned = true,
        .model = head->model,
        .weight = parameter_of(head, HEAD_WEIGHT),
        .bias = LINEAR_NO_BIAS,
    };
}

static int compute_losses(struct head *head, struct head_kept *kept, const int32_t *labels,
                          struct dtrain_error *err)
{
    const struct shape *shape = head->region->shape;
    const struct dtrain_tp *tp = &head->region->grid->moves;
    struct compute *c = head->region->grid->compute;
    struct dtrain_tp_loss loss = {
        .shard = shape->vocabulary,
        .vocabulary = SHAPE_VOCABULARY,
        .rows = shape->rows,
        .columns = shape->vocabulary.padded,
        .logits = kept->logits,
        .labels = labels,
        .losses = head->losses,
        .workspace = head->workspace,
        .scale = shape->loss_scale,
    };

    if (dtrain_tp_loss(tp, &loss, err) != 0 || dtrain_tp_finish(tp, err) != 0)
        return -1;
    c->ops->sum(c, head->loss_sum, head->losses, shape->rows);
    return 0;
}

int head_forward(struct head *head, struct head_kept *kept, const void *x, const int32_t *labels,
                 struct dtrain_error *err)
{
    const struct shape *shape = head->region->shape;
    struct compute *c = head->region->grid->compute;
    struct linear logits = logits_of(head);

    kept->x = x;
    c->ops->norm_forward(c, kept->norm, kept->mean, kept->rstd, x,
                         model_weight(head->model, parameter_of(head, HEAD_NORM_GAIN)),
                         model_weight(head->model, parameter_of(head, HEAD_NORM_BIAS)), shape->own.count,
                         shape->hidden);
    if (linear_column_forward(head->region, &logits, kept->logits, kept->norm, err) != 0)
        return -1;
    return compute_losses(head, kept, labels, err);
}

int head_backward(struct head *head, const struct head_kept *kept, void *d, struct dtrain_error *err)
{
    const struct shape *shape = head->region->shape;
    struct compute *c = head->region->grid->compute;
    struct linear logits = logits_of(head);
    size_t gain = parameter_of(head, HEAD_NORM_GAIN);
    void *dgain, *dbias;

    if (linear_column_backward(head->region, &logits, head->dnorm, kept->norm, kept->logits, err) != 0 ||
        model_gradient(head->model, gain, &dgain, err) != 0 ||
        model_gradient(head->model, parameter_of(head, HEAD_NORM_BIAS), &dbias, err) != 0)
        return -1;
    c->ops->zero(c, d, shape->own.count * shape->hidden * dtrain_type_size(c->type));
    c->ops->norm_backward(c, d, dgain, dbias, head->dnorm, kept->x, kept->mean, kept->rstd,
                          model_weight(head->model, gain), shape->own.count, shape->hidden);
    return 0;
}

int head_backward_weights(struct head *head, const struct head_kept *kept, struct dtrain_error *err)
{
    struct linear logits = logits_of(head);

    return linear_column_weights(head->region, &logits, kept->norm, kept->logits, err);
}
