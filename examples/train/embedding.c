#include "embedding.h"

struct vocabulary embedding_vocabulary(const struct shape *shape)
{
    return (struct vocabulary){shape->first_token, shape->real_vocab, shape->local_vocab};
}

int embedding_forward(struct grid *grid, const struct shape *shape, const struct model *model, void *out,
                      const int32_t *tokens, struct dtrain_error *err)
{
    struct vocabulary held = embedding_vocabulary(shape);
    struct compute *c = grid->compute;
    size_t h = shape->hidden;

    c->ops->embedding_forward(c, &held, out, model_weight(model, PARAMETER_TOKENS), tokens, shape->rows, h);
    if (grid_reduce(grid, grid->tp, out, shape->rows * h, c->type, DTRAIN_SUM, err) != 0)
        return -1;
    /* A sequence is one long row, to which all positions are added at once. */
    c->ops->bias_add(c, out, model_weight(model, PARAMETER_POSITIONS), shape->sequences, shape->seq * h);
    return 0;
}

void embedding_backward(const struct grid *grid, const struct shape *shape, const struct model *model,
                        const void *d, const int32_t *tokens)
{
    struct vocabulary held = embedding_vocabulary(shape);
    struct compute *c = grid->compute;
    size_t h = shape->hidden;

    c->ops->embedding_backward(c, &held, model_gradient(model, PARAMETER_TOKENS), d, tokens, shape->rows, h);
    c->ops->bias_gradient(c, model_gradient(model, PARAMETER_POSITIONS), d, shape->sequences, shape->seq * h);
}
