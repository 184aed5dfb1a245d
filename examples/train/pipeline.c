#include "pipeline.h"

#include "error.h"
#include "optimizer.h"

/* ---- Callbacks --------------------------------------------------------------------- */

typedef int stage_work(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err);

/* The pipeline's stream before and after the work's operations; on CPUs they are done when they return. */
static int perform(const struct dtrain_pp_work *work, stage_work *perform_work, struct dtrain_error *err)
{
    struct pipeline *pipeline = work->context;
    struct compute *c = pipeline->stage->grid->compute;

    if (c->stream != NULL && compute_follow(c, work->stream, err) != 0)
        return -1;
    if (perform_work(pipeline->stage, work, err) != 0)
        return -1;
    return compute_precede(c, work->stream, err);
}

static int forward(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    return perform(work, stage_forward, err);
}

static int backward(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    return perform(work, stage_backward, err);
}

static int backward_weights(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    return perform(work, stage_backward_weights, err);
}

static int update_weights(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    const struct pipeline *pipeline = work->context;

    return optimizer_step(stage->model, pipeline->options, err);
}

static int update(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    return perform(work, update_weights, err);
}

/* ---- The pipeline ------------------------------------------------------------------ */

static struct dtrain_pp_options options_of(struct pipeline *pipeline, const struct model *model,
                                           const struct shape *shape)
{
    const struct options *options = pipeline->options;

    return (struct dtrain_pp_options){
        .kind = options->schedule,
        .microbatches = options->microbatches,
        .chunks = options->chunks,
        .layers = options->layers,
        .type = options->type,
        .shape = {.rank = 2, .dims = {shape->own.count, shape->hidden}},
        .forward = forward,
        .backward = backward,
        .backward_weight = options->schedule == DTRAIN_PP_ZB_H1 ? backward_weights : NULL,
        .update = options->schedule == DTRAIN_PP_PIPEDREAM ? update : NULL,
        .parameters = model->held,
        .parameter_count = model->held_count,
        .context = pipeline,
    };
}

int pipeline_create(struct pipeline *pipeline, const struct model *model, const struct shape *shape,
                    const struct options *options, int *slots, struct dtrain_error *err)
{
    struct dtrain_pp_options pp;
    struct dtrain_pp_info info;

    *pipeline = (struct pipeline){.options = options};
    pp = options_of(pipeline, model, shape);
    if (dtrain_pp_create(model->grid->world, &pp, &pipeline->pp, err) != 0)
        return -1;
    dtrain_pp_info(pipeline->pp, &info);
    *slots = info.slots;
    return 0;
}

void pipeline_destroy(struct pipeline *pipeline)
{
    dtrain_pp_destroy(pipeline->pp);
    *pipeline = (struct pipeline){0};
}

/* The last stage knows its share's losses: their sum over dp and cp, then the one stage that has it over pp.
 */
static int reduce_loss(struct stage *stage, double *loss, struct dtrain_error *err)
{
    const struct shape *shape = stage->shape;
    struct grid *grid = stage->grid;

    *loss = 0;
    if (shape_is_last_stage(shape) && head_loss(&stage->head, loss, err) != 0)
        return -1;
    if (grid_reduce_values(grid, grid->cp, loss, 1, DTRAIN_SUM, err) != 0 ||
        (!grid->is_apart && grid_reduce_values(grid, grid->dp, loss, 1, DTRAIN_SUM, err) != 0) ||
        grid_reduce_values(grid, grid->pp, loss, 1, DTRAIN_SUM, err) != 0)
        return -1;
    *loss /= (double)shape->batch * (double)shape->seq;
    return 0;
}

static int run_step(struct pipeline *pipeline, struct stage *stage, const struct batch *batch,
                    struct dtrain_error *err)
{
    if (stage_start(stage, batch, err) != 0 || dtrain_pp_run(pipeline->pp, err) != 0)
        return -1;
    return gradients_end_step(stage->gradients, err);
}

int pipeline_run(struct pipeline *pipeline, struct stage *stage, const struct batch *batch, double *loss,
                 struct dtrain_error *err)
{
    struct dtrain_error why = {""};

    pipeline->stage = stage;
    if (run_step(pipeline, stage, batch, &why) != 0) {
        /* Those who wait for this rank on other axes get the same reason. */
        (void)dtrain_comms_revoke(stage->grid->world, why.text, NULL);
        return error_set(err, "%s", why.text);
    }
    model_use(stage->model, NULL);
    return reduce_loss(stage, loss, err);
}
