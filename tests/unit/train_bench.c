#include "train_bench.h"

#include <math.h>

static unsigned char text[4096];

static void __attribute__((constructor)) make_text(void)
{
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (unsigned char)("the quick brown fox "[(i * i / 7 + i) % 20]);
}

struct options bench_options(int batch, int microbatches)
{
    return (struct options){
        .layers = 2,
        .hidden = 16,
        .heads = 2,
        .seq = 8,
        .batch = batch,
        .microbatches = microbatches,
        .chunks = 1,
        .lr = 0.01,
        .seed = 3,
    };
}

static int part_servers(struct bench *bench, struct dtrain_error *err)
{
    if (bench->options.ps == 0)
        return 0;
    if (servers_check(&bench->grid, &bench->options, err) != 0)
        return -1;
    return servers_open(&bench->servers, &bench->grid, &bench->options, err);
}

/* What computes. */
static int build_stage(struct bench *bench, struct dtrain_error *err)
{
    const struct options *options = &bench->options;
    int slots;

    if (model_open(&bench->model, options, err) != 0 ||
        pipeline_create(&bench->pipeline, &bench->model, &bench->shape, options, &slots, err) != 0)
        return -1;
    gradients_create(&bench->gradients, &bench->model, options);
    return stage_create(&bench->stage, &bench->shape, &bench->model, &bench->gradients, options, slots, err);
}

static int build(struct bench *bench, struct dtrain_world *world, struct dtrain_error *err)
{
    const struct options *options = &bench->options;

    if (grid_choose(&bench->grid, world, options, err) != 0 || grid_open(&bench->grid, options, err) != 0 ||
        part_servers(bench, err) != 0 ||
        shape_make(&bench->shape, options, &bench->grid.layout, err) != 0 ||
        model_create(&bench->model, &bench->grid, &bench->shape, err) != 0)
        return -1;
    if (!servers_is_server(&bench->servers) && build_stage(bench, err) != 0)
        return -1;
    return options->ps > 0 ? servers_join(&bench->servers, &bench->model, options, err) : 0;
}

int bench_open(struct bench *bench, struct dtrain_world *world, const struct options *options,
               struct dtrain_error *err)
{
    *bench = (struct bench){.options = *options, .data = {text, sizeof(text)}};
    return build(bench, world, err);
}

void bench_close(struct bench *bench)
{
    grid_settle(&bench->grid);
    pipeline_destroy(&bench->pipeline);
    stage_destroy(&bench->stage);
    servers_destroy(&bench->servers);
    model_destroy(&bench->model);
    grid_close(&bench->grid, NULL);
}

static double run_step(struct bench *bench, uint64_t step, struct dtrain_error *err)
{
    struct batch batch = {&bench->data, 5, step};
    double loss = NAN;

    return pipeline_run(&bench->pipeline, &bench->stage, &batch, &loss, err) == 0 ? loss : (double)NAN;
}

double bench_run(struct bench *bench, struct dtrain_error *err)
{
    return run_step(bench, 1, err);
}

static int update(struct bench *bench, double *loss, struct dtrain_error *err)
{
    if (bench->options.ps > 0)
        return servers_step(&bench->servers, loss, err);
    if (bench->options.schedule == DTRAIN_PP_PIPEDREAM) /* which has done so already */
        return 0;
    return optimizer_step(&bench->model, &bench->options, err);
}

int bench_train(struct bench *bench, int steps, double *losses, struct dtrain_error *err)
{
    for (int i = 0; i < steps; i++) {
        losses[i] = run_step(bench, 1, err);
        if (isnan(losses[i]) || update(bench, &losses[i], err) != 0)
            return -1;
    }
    return 0;
}
