/*
 * train.c - trains a small GPT on the bytes of a text, split over the ranks of
 * its job step: tensor, pipeline, data, context and expert parallel, or with
 * parameter servers, on the public interface of libdtrain only. For instance:
 * srun -n16 --dtrain-tp=8 --dtrain-pp=2 train
 */
#include <stdio.h>

#include "checkpoint.h"
#include "data.h"
#include "dtrain.h"
#include "gradients.h"
#include "grid.h"
#include "model.h"
#include "optimizer.h"
#include "options.h"
#include "pipeline.h"
#include "report.h"
#include "servers.h"
#include "shape.h"
#include "stage.h"

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Everything of one run, in the order in which it is made. */
struct run {
    const struct options *options;
    struct grid grid;
    struct servers servers; /* with --ps */
    struct shape shape;
    struct data data;
    struct model model;
    struct gradients gradients;
    struct pipeline pipeline;
    struct stage stage;
    uint64_t step; /* done so far */
};

/* An empty text was told by another rank. */
static void complain(const struct dtrain_world *world, const struct dtrain_error *err)
{
    if (err->text[0] == '\0')
        return;
    if (world != NULL && dtrain_size(world) > 1)
        fprintf(stderr, "train: rank %d: %s\n", dtrain_rank(world), err->text);
    else
        fprintf(stderr, "train: %s\n", err->text);
}

/* Every rank finds the same error by itself: rank 0 tells it. */
static int common(const struct dtrain_world *world, int rc, struct dtrain_error *err)
{
    if (rc != 0 && dtrain_rank(world) != 0)
        err->text[0] = '\0';
    return rc;
}

/* What only this rank needs is agreed upon; the library's objects are made together. */
static int build(struct run *run, struct dtrain_error *err)
{
    const struct options *options = run->options;
    struct grid *grid = &run->grid;
    bool computes = !servers_is_server(&run->servers);
    int slots = 0, rc = 0;

    if (grid_agree(grid, model_create(&run->model, grid, &run->shape, err), err) != 0)
        return -1;
    if (computes && (model_open(&run->model, options, err) != 0 ||
                     pipeline_create(&run->pipeline, &run->model, &run->shape, options, &slots, err) != 0))
        return -1;
    gradients_create(&run->gradients, &run->model, options);
    if (computes)
        rc = stage_create(&run->stage, &run->shape, &run->model, &run->gradients, options, slots, err);
    if (grid_agree(grid, rc, err) != 0)
        return -1;
    return options->ps > 0 ? servers_join(&run->servers, &run->model, options, err) : 0;
}

static int part_servers(struct run *run, struct dtrain_error *err)
{
    const struct options *options = run->options;

    if (options->ps == 0)
        return 0;
    if (common(run->grid.world, servers_check(&run->grid, options, err), err) != 0)
        return -1;
    return servers_open(&run->servers, &run->grid, options, err);
}

static int prepare(struct run *run, struct dtrain_error *err)
{
    const struct options *options = run->options;
    struct grid *grid = &run->grid;

    if (part_servers(run, err) != 0 ||
        common(grid->world, shape_make(&run->shape, options, &grid->layout, err), err) != 0 ||
        data_load(&run->data, grid, options->data, run->shape.seq, err) != 0 || build(run, err) != 0)
        return -1;
    if (options->save != NULL && checkpoint_check(grid, options->save, err) != 0)
        return -1;
    if (options->resume != NULL &&
        checkpoint_load(grid, &run->shape, &run->model, &run->step, options->resume, err) != 0)
        return -1;
    return 0;
}

static int save(struct run *run, struct dtrain_error *err)
{
    return checkpoint_save(&run->grid, &run->shape, &run->model, run->step, run->options->save, err);
}

static int update(struct run *run, double *loss, struct dtrain_error *err)
{
    const struct options *options = run->options;

    if (options->ps > 0)
        return servers_step(&run->servers, loss, err);
    return options->schedule == DTRAIN_PP_PIPEDREAM ? 0 : optimizer_step(&run->model, options, err);
}

static int train_step(struct run *run, struct report *report, struct dtrain_error *err)
{
    const struct options *options = run->options;
    struct batch batch = {&run->data, options->seed, run->step + 1};
    double loss;

    if (pipeline_run(&run->pipeline, &run->stage, &batch, &loss, err) != 0 || update(run, &loss, err) != 0)
        return -1;
    run->step++;
    report_step(report, run->step, loss);
    if (options->save_every > 0 && run->step % (uint64_t)options->save_every == 0)
        return save(run, err);
    return 0;
}

static int train(struct run *run, struct dtrain_error *err)
{
    struct report report;

    if (servers_is_server(&run->servers))
        return servers_serve(&run->servers, err);
    report_start(&report, &run->grid, run->options, &run->model, &run->data);
    while (run->step < (uint64_t)run->options->steps) {
        if (train_step(run, &report, err) != 0)
            return -1;
    }
    if (run->options->save != NULL && save(run, err) != 0)
        return -1;
    if (run->options->ps > 0 && servers_leave(&run->servers, err) != 0)
        return -1;
    return report_end(&report, err);
}

static void clear(struct run *run)
{
    pipeline_destroy(&run->pipeline);
    stage_destroy(&run->stage);
    servers_destroy(&run->servers);
    model_destroy(&run->model);
    data_clear(&run->data);
}

/* What was queued may wait for ranks that stopped, and they for this one. */
static void give_up(struct dtrain_world *world, const struct dtrain_error *err)
{
    dtrain_comms_revoke(world, err->text[0] != '\0' ? err->text : "another rank failed", NULL);
}

static int run_in_world(struct dtrain_world *world, const struct options *options, struct dtrain_error *err)
{
    struct run run = {.options = options};
    int rc = common(world, grid_choose(&run.grid, world, options, err), err);

    if (rc == 0)
        rc = grid_open(&run.grid, options, err);
    if (rc == 0)
        rc = prepare(&run, err);
    if (rc == 0)
        rc = train(&run, err);
    if (rc != 0)
        give_up(world, err);
    grid_settle(&run.grid);
    clear(&run);
    if (grid_close(&run.grid, rc == 0 ? err : NULL) != 0)
        rc = -1;
    return rc;
}

static int end_world(struct dtrain_world *world, int status)
{
    struct dtrain_error err = {""};

    if (dtrain_finalize(world, &err) == 0)
        return status;
    if (status == STATUS_OK)
        complain(NULL, &err);
    return status == STATUS_OK ? STATUS_FAILED : status;
}

/* A wrong command line is told once too, so it waits for the world. */
static int run_all(const struct options *options, int parsed, struct dtrain_error *err)
{
    struct dtrain_world *world = NULL;
    struct dtrain_error failure = {""};
    int status = STATUS_OK;

    if (dtrain_init(&world, NULL, &failure) != 0) {
        complain(NULL, &failure);
        return STATUS_FAILED;
    }
    if (common(world, parsed, err) != 0)
        status = STATUS_USAGE;
    else if (run_in_world(world, options, err) != 0)
        status = STATUS_FAILED;
    if (status != STATUS_OK)
        complain(world, err);
    return end_world(world, status);
}

int main(int argc, char **argv)
{
    struct options options;
    struct dtrain_error err = {""};
    int parsed = options_parse(&options, argc, argv, &err);

    if (parsed == 0 && options.help) {
        options_print_help(stdout);
        return STATUS_OK;
    }
    if (parsed == 0 && options.version) {
        printf("train %s\n", dtrain_version());
        return STATUS_OK;
    }
    return run_all(&options, parsed, &err);
}
