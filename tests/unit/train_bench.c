#include "train_bench.h"

#include <math.h>

static unsigned char text[4096];

static void make_text(void)
{
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (unsigned char)("the quick brown fox "[(i * i / 7 + i) % 20]);
}

int bench_open(struct bench *bench, struct dtrain_world *world, enum dtrain_type type, int batch,
               int microbatches, struct dtrain_error *err)
{
    make_text();
    *bench = (struct bench){
        .options =
            {.layers = 2, .hidden = 16, .heads = 2, .seq = 8, .batch = batch, .microbatches = microbatches},
        .data = {text, sizeof(text)},
    };
    if (grid_choose(&bench->grid, world, err) != 0 || grid_open(&bench->grid, type, err) != 0 ||
        shape_make(&bench->shape, &bench->options, &bench->grid.layout, err) != 0 ||
        model_create(&bench->model, bench->grid.compute, &bench->shape, 3, err) != 0 ||
        gradients_create(&bench->gradients, &bench->grid, &bench->model, err) != 0 ||
        schedule_make(&bench->schedule, bench->grid.layout.pp.size, bench->grid.layout.pp.rank, microbatches,
                      err) != 0)
        return -1;
    return stage_create(&bench->stage, &bench->grid, &bench->shape, &bench->model, &bench->gradients,
                        bench->schedule.slots, err);
}

void bench_close(struct bench *bench)
{
    grid_settle(&bench->grid);
    stage_destroy(&bench->stage);
    schedule_clear(&bench->schedule);
    gradients_destroy(&bench->gradients);
    model_destroy(&bench->model);
    grid_close(&bench->grid, NULL);
}

static double run_step(struct bench *bench, uint64_t step, struct dtrain_error *err)
{
    struct batch batch = {&bench->data, 5, step};
    double loss = NAN;

    return pipeline_run(&bench->schedule, &bench->stage, &batch, &loss, err) == 0 ? loss : (double)NAN;
}

double bench_run(struct bench *bench, struct dtrain_error *err)
{
    return run_step(bench, 1, err);
}

int bench_train(struct bench *bench, int steps, double *losses, struct dtrain_error *err)
{
    bench->options.lr = 0.01;
    bench->options.clip = 1;
    for (int i = 0; i < steps; i++) {
        losses[i] = run_step(bench, 1, err);
        if (isnan(losses[i]) ||
            optimizer_step(&bench->grid, &bench->model, &bench->options, (uint64_t)i + 1, err) != 0)
            return -1;
    }
    return 0;
}
