#include "optimizer.h"

int optimizer_step(struct model *model, const struct options *options, struct dtrain_error *err)
{
    struct dtrain_adamw plain = {.lr = options->lr, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
    struct dtrain_adamw groups[] = {plain, plain};
    struct dtrain_stream *stream = grid_stream(model->grid);

    groups[0].decay = 0.1;
    if (dtrain_zero_step(model->zero, groups, 2, options->clip, stream, err) != 0 ||
        dtrain_zero_wait_all(model->zero, stream, err) != 0)
        return -1;
    return grid_follow(model->grid, err);
}
