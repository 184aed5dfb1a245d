#include "optimizer.h"

struct dtrain_adamw optimizer_rule(const struct options *options, bool decays)
{
    return (struct dtrain_adamw){
        .lr = options->lr, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = decays ? 0.1 : 0};
}

int optimizer_step(struct model *model, const struct options *options, struct dtrain_error *err)
{
    struct dtrain_adamw groups[] = {optimizer_rule(options, true), optimizer_rule(options, false)};
    struct dtrain_stream *stream = grid_stream(model->grid);

    if (dtrain_zero_step(model->zero, groups, 2, options->clip, stream, err) != 0 ||
        dtrain_zero_wait_all(model->zero, stream, err) != 0)
        return -1;
    return grid_follow(model->grid, err);
}
