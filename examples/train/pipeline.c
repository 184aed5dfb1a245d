#include "pipeline.h"

/* The two transfers of an action with one neighbour; those that there are go as one operation. */
static int exchange(struct stage *stage, int peer, void *send, void *receive, struct dtrain_error *err)
{
    size_t count = stage->shape->rows * stage->shape->hidden, n = 0;
    enum dtrain_type type = stage->grid->compute->type;
    struct dtrain_transfer transfers[2];

    if (send != NULL)
        transfers[n++] = (struct dtrain_transfer){true, peer, type, count, send};
    if (receive != NULL)
        transfers[n++] = (struct dtrain_transfer){false, peer, type, count, receive};
    return grid_transfer(stage->grid, transfers, n, err);
}

static int exchange_next(struct stage *stage, const struct action *action, struct dtrain_error *err)
{
    void *send = action->forward >= 0 ? stage_slot(stage, action->forward)->out : NULL;
    void *receive = action->backward >= 0 ? stage->d : NULL;

    return exchange(stage, stage->shape->layout.pp.rank + 1, send, receive, err);
}

static int exchange_previous(struct stage *stage, const struct action *action, struct dtrain_error *err)
{
    void *send = action->backward >= 0 ? stage->d : NULL;
    void *receive = action->forward >= 0 ? stage_slot(stage, action->forward)->in : NULL;

    return exchange(stage, stage->shape->layout.pp.rank - 1, send, receive, err);
}

static int perform(struct stage *stage, const struct action *action, struct dtrain_error *err)
{
    switch (action->kind) {
    case ACTION_FORWARD:
        return stage_forward(stage, action->forward, err);
    case ACTION_BACKWARD:
        return stage_backward(stage, action->backward, err);
    case ACTION_NEXT:
        return exchange_next(stage, action, err);
    case ACTION_PREVIOUS:
        break;
    }
    return exchange_previous(stage, action, err);
}

/* The last stage knows its share's loss: the mean over dp, then the one stage that has it over pp. */
static int reduce_loss(struct stage *stage, double *loss, struct dtrain_error *err)
{
    const struct shape *shape = stage->shape;
    struct grid *grid = stage->grid;

    *loss = 0;
    if (shape_is_last_stage(shape) && head_loss(&stage->head, loss, err) != 0)
        return -1;
    *loss /= (double)(shape->rows * (size_t)shape->microbatches);
    if (grid_reduce_values(grid, grid->dp, loss, 1, DTRAIN_AVG, err) != 0)
        return -1;
    return grid_reduce_values(grid, grid->pp, loss, 1, DTRAIN_SUM, err);
}

int pipeline_run(const struct schedule *schedule, struct stage *stage, const struct batch *batch,
                 double *loss, struct dtrain_error *err)
{
    if (stage_start(stage, batch, err) != 0)
        return -1;
    for (size_t i = 0; i < schedule->count; i++) {
        if (perform(stage, &schedule->actions[i], err) != 0)
            return -1;
    }
    if (gradients_finish(stage->gradients, err) != 0)
        return -1;
    return reduce_loss(stage, loss, err);
}
