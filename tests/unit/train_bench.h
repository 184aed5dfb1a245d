/*
 * train_bench.h - a run of examples/train's parts on a made-up text, for tests
 * that look inside: a small model in any world.
 */
#ifndef DT_TESTS_TRAIN_BENCH_H
#define DT_TESTS_TRAIN_BENCH_H

#include "examples/train/optimizer.h"
#include "examples/train/pipeline.h"
#include "examples/train/servers.h"

struct bench {
    struct options options;
    struct grid grid;
    struct servers servers;
    struct shape shape;
    struct model model;
    struct gradients gradients;
    struct pipeline pipeline;
    struct stage stage;
    struct data data;
};

/* 2 layers of width 16, 2 heads, sequences of 8; 1F1B, float32 and the rest as the program's defaults. */
struct options bench_options(int batch, int microbatches);

/* rc and err as of a library's. bench_close() in any case. A parameter server is then ready to serve. */
int bench_open(struct bench *bench, struct dtrain_world *world, const struct options *options,
               struct dtrain_error *err);
void bench_close(struct bench *bench);

/* The loss of one step's forwards and backwards; NAN after a failure. */
double bench_run(struct bench *bench, struct dtrain_error *err);

/* Steps of AdamW, here or on the servers: the loss of each. */
int bench_train(struct bench *bench, int steps, double *losses, struct dtrain_error *err);

#endif
