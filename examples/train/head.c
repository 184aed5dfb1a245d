#include "head.h"

#include <stdlib.h>

#include "embedding.h"
#include "error.h"

int head_create(struct head *head, struct grid *grid, const struct shape *shape, struct memory *memory,
                struct dtrain_error *err)
{
    size_t t = shape->rows;

    *head = (struct head){.grid = grid, .shape = shape};
    head->norm = memory_floats(memory, t * shape->hidden);
    head->mean = memory_floats(memory, t);
    head->rstd = memory_floats(memory, t);
    head->logits = memory_floats(memory, t * shape->local_vocab);
    head->maximum = memory_floats(memory, t);
    head->sums = memory_floats(memory, 2 * t);
    head->losses = memory_floats(memory, t);
    head->dnorm = memory_floats(memory, t * shape->hidden);
    head->host = calloc(t, sizeof(*head->host));
    return head->host == NULL ? error_memory(err, t * sizeof(*head->host), "the losses") : 0;
}

void head_destroy(struct head *head)
{
    free(head->host);
    *head = (struct head){0};
}

static void compute_logits(struct head *head, const struct model *model)
{
    const struct shape *shape = head->shape;
    struct matmul product = {MATMUL_NT, shape->rows, shape->local_vocab, shape->hidden, false};

    head->grid->compute->norm_forward(head->norm, head->mean, head->rstd, head->x,
                                      model_weight(model, parameter_of_head(shape, HEAD_NORM_GAIN)),
                                      model_weight(model, parameter_of_head(shape, HEAD_NORM_BIAS)),
                                      shape->rows, shape->hidden);
    head->grid->compute->matmul(&product, head->logits, head->norm,
                                model_weight(model, parameter_of_head(shape, HEAD_WEIGHT)));
}

static int compute_losses(struct head *head, const int32_t *labels, struct dtrain_error *err)
{
    const struct compute *compute = head->grid->compute;
    struct vocabulary held = embedding_vocabulary(head->shape);
    size_t t = head->shape->rows;
    float *targets = head->sums, *sums = head->sums + t;
    float scale = 1.0f / (float)(t * (size_t)head->shape->microbatches);

    compute->loss_maximum(&held, head->maximum, head->logits, t);
    if (grid_reduce(head->grid, head->grid->tp, head->maximum, t, DTRAIN_MAX, err) != 0)
        return -1;
    compute->loss_sums(&held, targets, sums, head->logits, head->maximum, labels, t);
    if (grid_reduce(head->grid, head->grid->tp, head->sums, 2 * t, DTRAIN_SUM, err) != 0)
        return -1;
    compute->loss_finish(&held, head->losses, head->logits, targets, sums, labels, scale, t);
    return 0;
}

int head_forward(struct head *head, const struct model *model, const float *x, const int32_t *labels,
                 struct dtrain_error *err)
{
    size_t t = head->shape->rows;

    head->x = x;
    compute_logits(head, model);
    if (compute_losses(head, labels, err) != 0)
        return -1;
    head->grid->compute->copy_out(head->host, head->losses, t * sizeof(*head->host));
    for (size_t i = 0; i < t; i++)
        head->loss_sum += (double)head->host[i];
    return 0;
}

int head_backward(struct head *head, const struct model *model, float *d, struct dtrain_error *err)
{
    const struct compute *compute = head->grid->compute;
    const struct shape *shape = head->shape;
    size_t count = shape->rows * shape->hidden;
    size_t weight = parameter_of_head(shape, HEAD_WEIGHT), gain = parameter_of_head(shape, HEAD_NORM_GAIN),
           bias = parameter_of_head(shape, HEAD_NORM_BIAS);
    struct matmul to_norm = {MATMUL_NN, shape->rows, shape->hidden, shape->local_vocab, false};
    struct matmul to_weight = {MATMUL_TN, shape->local_vocab, shape->hidden, shape->rows, true};

    compute->matmul(&to_weight, model_gradient(model, weight), head->logits, head->norm);
    compute->matmul(&to_norm, head->dnorm, head->logits, model_weight(model, weight));
    /* Column-parallel like qkv and wide: each rank's part of the gradient is summed. */
    if (grid_reduce(head->grid, head->grid->tp, head->dnorm, count, DTRAIN_SUM, err) != 0)
        return -1;
    compute->fill(d, 0, count);
    compute->norm_backward(d, model_gradient(model, gain), model_gradient(model, bias), head->dnorm, head->x,
                           head->mean, head->rstd, model_weight(model, gain), shape->rows, shape->hidden);
    return 0;
}
