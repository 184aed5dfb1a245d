#include "checkpoint.h"

#include <stdlib.h>

#include "checkpoint_file.h"
#include "error.h"

/* Room for the largest tensor: whole, and as the slices of all tp ranks one after another. */
struct transit {
    struct grid *grid;
    const struct shape *shape;
    const struct model *model;
    struct memory memory;
    enum dtrain_type type; /* of all values: the run's main type */
    size_t size;           /* bytes of one */
    void *device;          /* [tp, slice] or whole, in device memory */
    void *slices;          /* the same in host memory */
    void *whole;           /* host memory */
};

static size_t largest(const struct model *model, size_t tp)
{
    size_t most = 0;

    for (size_t i = 0; i < model->count; i++) {
        if (model->tensors[i].count * tp > most)
            most = model->tensors[i].count * tp;
    }
    return most;
}

static int transit_create(struct transit *transit, struct grid *grid, const struct shape *shape,
                          const struct model *model, struct dtrain_error *err)
{
    size_t values = largest(model, (size_t)shape->layout.tp.size);

    *transit = (struct transit){
        .grid = grid,
        .shape = shape,
        .model = model,
        .memory.compute = grid->compute,
        .type = grid->compute->main,
        .size = dtrain_type_size(grid->compute->main),
    };
    transit->device = memory_mains(&transit->memory, values);
    transit->slices = malloc(values * transit->size);
    transit->whole = malloc(values * transit->size);
    if (transit->slices == NULL || transit->whole == NULL)
        return error_memory(err, values * transit->size, "the largest tensor of a checkpoint");
    return memory_check(&transit->memory, err);
}

static void transit_destroy(struct transit *transit)
{
    memory_clear(&transit->memory);
    free(transit->slices);
    free(transit->whole);
}

static size_t whole_count(const struct parameter *parameter)
{
    return parameter->rows * parameter->cols;
}

static void paste_slices(struct transit *transit, const struct parameter *parameter, size_t count)
{
    struct axis tp = transit->shape->layout.tp;

    for (tp.rank = 0; tp.rank < tp.size; tp.rank++) {
        struct slice slice = parameter_slice(parameter, tp);

        parameter_paste(parameter, &slice, transit->size, transit->whole,
                        compute_at(transit->slices, transit->type, (size_t)tp.rank * count));
    }
}

/* On the stage that holds the tensor: whole on all tp ranks. */
static int gather(struct transit *transit, size_t index, enum model_part part, struct dtrain_error *err)
{
    struct grid *grid = transit->grid;
    const struct parameter *parameter = &transit->model->parameters[index];
    const struct tensor *tensor = &transit->model->tensors[index];
    const void *own = model_part(transit->model, part, index);
    size_t bytes = tensor->count * transit->size;

    if (parameter->split == SPLIT_NONE)
        return compute_copy_out(grid->compute, transit->whole, own, bytes, err);
    if (grid_gather(grid, own, transit->device, tensor->count, transit->type, err) != 0 ||
        compute_copy_out(grid->compute, transit->slices, transit->device,
                         bytes * (size_t)transit->shape->layout.tp.size, err) != 0)
        return -1;
    paste_slices(transit, parameter, tensor->count);
    return 0;
}

/* From the tensor's stage to stage 0, between the ranks with tp 0. */
static int hand_to_first(struct transit *transit, const struct parameter *parameter, struct dtrain_error *err)
{
    struct grid *grid = transit->grid;
    struct dtrain_transfer transfer = {
        .is_send = grid->layout.pp.rank == parameter->stage,
        .peer = grid->layout.pp.rank == parameter->stage ? 0 : parameter->stage,
        .type = transit->type,
        .count = whole_count(parameter),
        .buf = transit->device,
    };
    size_t bytes = transfer.count * transit->size;

    if (transfer.is_send && compute_copy_in(grid->compute, transit->device, transit->whole, bytes, err) != 0)
        return -1;
    if (grid_transfer(grid, &transfer, 1, err) != 0)
        return -1;
    if (transfer.is_send)
        return 0;
    return compute_copy_out(grid->compute, transit->whole, transit->device, bytes, err);
}

/* Brings a part of a tensor to world rank 0; the other ranks do their share. */
static int collect(struct transit *transit, size_t index, enum model_part part, struct dtrain_error *err)
{
    const struct layout *layout = &transit->shape->layout;
    const struct parameter *parameter = &transit->model->parameters[index];
    bool holds = layout->pp.rank == parameter->stage;

    if (layout->dp.rank != 0)
        return 0;
    if (holds && gather(transit, index, part, err) != 0)
        return -1;
    if (layout->tp.rank == 0 && parameter->stage != 0 && (holds || layout->pp.rank == 0))
        return hand_to_first(transit, parameter, err);
    return 0;
}

/* The writer's first error; once it failed the others still bring their slices. */
struct save {
    struct checkpoint_writer *writer; /* NULL but on world rank 0 */
    int rc;
    struct dtrain_error *err;
};

static int save_tensor(struct save *save, struct transit *transit, size_t index, struct dtrain_error *err)
{
    const struct parameter *parameter = &transit->model->parameters[index];

    if (save->writer != NULL && save->rc == 0)
        save->rc = checkpoint_writer_tensor(save->writer, parameter, save->err);
    for (int part = 0; part < MODEL_SAVED_PARTS; part++) {
        if (collect(transit, index, part, err) != 0)
            return -1;
        if (save->writer != NULL && save->rc == 0)
            save->rc =
                checkpoint_writer_values(save->writer, transit->whole, whole_count(parameter), save->err);
    }
    return 0;
}

/* Returns -1 when communicating failed, which no rank can go on from. */
static int save_all(struct save *save, struct transit *transit, struct dtrain_error *err)
{
    for (size_t i = 0; i < transit->model->count; i++) {
        if (save_tensor(save, transit, i, err) != 0)
            return -1;
    }
    return 0;
}

static void end_file(struct save *save)
{
    if (save->writer == NULL)
        return;
    if (save->rc == 0)
        save->rc = checkpoint_writer_commit(save->writer, save->err);
    else
        checkpoint_writer_abandon(save->writer);
    save->writer = NULL;
}

int checkpoint_save(struct grid *grid, const struct shape *shape, const struct model *model, uint64_t step,
                    const char *path, struct dtrain_error *err)
{
    struct transit transit;
    struct save save = {.err = err};
    int rc = -1;

    save.rc = transit_create(&transit, grid, shape, model, err);
    if (save.rc == 0 && grid_is_first(grid))
        save.rc =
            checkpoint_writer_open(&save.writer, path, shape, model->parameters, transit.type, step, err);
    if (grid_agree(grid, save.rc, err) != 0 || save_all(&save, &transit, err) != 0)
        goto out;
    end_file(&save);
    rc = grid_agree(grid, save.rc, err);
out:
    checkpoint_writer_abandon(save.writer);
    transit_destroy(&transit);
    return rc;
}

/* The reader's first error; once it failed the ranks still share what there is. */
struct load {
    struct checkpoint_reader *reader; /* NULL but on world rank 0 */
    int rc;
    struct dtrain_error *err;
};

static int load_part(struct load *load, struct transit *transit, size_t index, enum model_part part,
                     struct dtrain_error *err)
{
    const struct parameter *parameter = &transit->model->parameters[index];
    const struct tensor *tensor = &transit->model->tensors[index];
    size_t count = whole_count(parameter);

    if (load->reader != NULL && load->rc == 0)
        load->rc = checkpoint_reader_values(load->reader, transit->whole, transit->type, count, load->err);
    if (grid_share(transit->grid, transit->whole, count * transit->size, err) != 0)
        return -1;
    if (!tensor->held)
        return 0;
    parameter_cut(parameter, &tensor->slice, transit->size, transit->slices, transit->whole);
    return compute_copy_in(transit->grid->compute, model_part(transit->model, part, index), transit->slices,
                           tensor->count * transit->size, err);
}

static int load_all(struct load *load, struct transit *transit, struct dtrain_error *err)
{
    for (size_t i = 0; i < transit->model->count; i++) {
        if (load->reader != NULL && load->rc == 0)
            load->rc = checkpoint_reader_tensor(load->reader, &transit->model->parameters[i], load->err);
        for (int part = 0; part < MODEL_SAVED_PARTS; part++) {
            if (load_part(load, transit, i, part, err) != 0)
                return -1;
        }
    }
    return 0;
}

int checkpoint_load(struct grid *grid, const struct shape *shape, struct model *model, uint64_t *step,
                    const char *path, struct dtrain_error *err)
{
    struct transit transit;
    struct load load = {.err = err};
    int rc = -1;

    load.rc = transit_create(&transit, grid, shape, model, err);
    if (load.rc == 0 && grid_is_first(grid))
        load.rc = checkpoint_reader_open(&load.reader, path, shape, step, err);
    if (grid_agree(grid, load.rc, err) != 0 || grid_share(grid, step, sizeof(*step), err) != 0 ||
        load_all(&load, &transit, err) != 0)
        goto out;
    model_round(model);
    rc = grid_agree(grid, load.rc, err);
out:
    checkpoint_reader_close(load.reader);
    transit_destroy(&transit);
    return rc;
}

int checkpoint_check(struct grid *grid, const char *path, struct dtrain_error *err)
{
    return grid_agree(grid, grid_is_first(grid) ? checkpoint_file_check(path, err) : 0, err);
}
