#include "embedding.h"

static struct dtrain_tp_embedding table_of(const struct region *region, void *table, enum dtrain_type type,
                                           const int32_t *tokens)
{
    const struct shape *shape = region->shape;

    return (struct dtrain_tp_embedding){
        .shard = shape->vocabulary,
        .rows = shape->rows,
        .n = shape->hidden,
        .tokens = tokens,
        .table = table,
        .table_type = type,
    };
}

static void add_positions(const struct region *region, const struct model *model, void *out)
{
    const struct shape *shape = region->shape;
    struct compute *c = region->grid->compute;
    size_t first = shape->own.first, end = first + shape->own.count, h = shape->hidden;
    const void *positions = model_weight(model, PARAMETER_POSITIONS);

    for (size_t row = first; row < end;) {
        struct shape_run run = shape_run_at(shape, row, end);

        c->ops->add(c, compute_at(out, c->type, (row - first) * h),
                    compute_at(positions, c->type, run.position * h), run.count * h);
        row += run.count;
    }
}

int embedding_forward(const struct region *region, const struct model *model, void *out,
                      const int32_t *tokens, struct dtrain_error *err)
{
    const struct dtrain_tp *tp = &region->grid->moves;
    struct dtrain_tp_embedding table =
        table_of(region, model_weight(model, PARAMETER_TOKENS), region->grid->compute->type, tokens);

    if (dtrain_tp_embedding_forward(tp, &table, region->whole != NULL ? region->whole : out, out, err) != 0 ||
        dtrain_tp_finish(tp, err) != 0)
        return -1;
    add_positions(region, model, out);
    return 0;
}

/* A run of positions is one long row of a bias. */
static int position_gradients(const struct region *region, const struct model *model, const void *d,
                              struct dtrain_error *err)
{
    const struct shape *shape = region->shape;
    struct compute *c = region->grid->compute;
    size_t first = shape->own.first, end = first + shape->own.count, h = shape->hidden;
    void *gradient;

    if (model_gradient(model, PARAMETER_POSITIONS, &gradient, err) != 0)
        return -1;
    for (size_t row = first; row < end;) {
        struct shape_run run = shape_run_at(shape, row, end);

        c->ops->bias_gradient(c, compute_at(gradient, c->main, run.position * h),
                              compute_at(d, c->type, (row - first) * h), 1, run.count * h);
        row += run.count;
    }
    return 0;
}

int embedding_backward(const struct region *region, const struct model *model, const void *d,
                       const int32_t *tokens, struct dtrain_error *err)
{
    const struct dtrain_tp *tp = &region->grid->moves;
    struct dtrain_tp_embedding table;
    void *gradient;

    if (model_gradient(model, PARAMETER_TOKENS, &gradient, err) != 0)
        return -1;
    table = table_of(region, gradient, region->grid->compute->main, tokens);
    if (dtrain_tp_embedding_backward(tp, &table, d, region->whole, err) != 0 ||
        dtrain_tp_finish(tp, err) != 0)
        return -1;
    return position_gradients(region, model, d, err);
}
