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
    float *device; /* [tp, slice] or whole, in device memory */
    float *slices; /* the same in host memory */
    float *whole;  /* host memory */
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
    size_t floats = largest(model, (size_t)shape->layout.tp.size);

    *transit =
        (struct transit){.grid = grid, .shape = shape, .model = model, .memory.compute = grid->compute};
    transit->device = memory_floats(&transit->memory, floats);
    transit->slices = malloc(floats * sizeof(float));
    transit->whole = malloc(floats * sizeof(float));
    if (transit->slices == NULL || transit->whole == NULL)
        return error_memory(err, floats * sizeof(float), "the largest tensor of a checkpoint");
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

        parameter_paste(parameter, &slice, transit->whole, transit->slices + (size_t)tp.rank * count);
    }
}

/* On the stage that holds the tensor: whole on all tp ranks. */
static int gather(struct transit *transit, size_t index, enum model_part part, struct dtrain_error *err)
{
    struct grid *grid = transit->grid;
    const struct parameter *parameter = &transit->model->parameters[index];
    const struct tensor *tensor = &transit->model->tensors[index];
    const float *own = transit->model->parts[part] + tensor->offset;

    if (parameter->split == SPLIT_NONE) {
        grid->compute->copy_out(transit->whole, own, tensor->count * sizeof(float));
        return 0;
    }
    if (grid_gather(grid, own, transit->device, tensor->count, err) != 0)
        return -1;
    grid->compute->copy_out(transit->slices, transit->device,
                            tensor->count * (size_t)transit->shape->layout.tp.size * sizeof(float));
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
        .type = DTRAIN_FLOAT32,
        .count = whole_count(parameter),
        .buf = transit->device,
    };
    size_t bytes = transfer.count * sizeof(float);

    if (transfer.is_send)
        grid->compute->copy_in(transit->device, transit->whole, bytes);
    if (grid_transfer(grid, &transfer, 1, err) != 0)
        return -1;
    if (!transfer.is_send)
        grid->compute->copy_out(transit->whole, transit->device, bytes);
    return 0;
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
                checkpoint_writer_floats(save->writer, transit->whole, whole_count(parameter), save->err);
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
        save.rc = checkpoint_writer_open(&save.writer, path, shape, model->parameters, step, err);
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
        load->rc = checkpoint_reader_floats(load->reader, transit->whole, count, load->err);
    if (grid_share(transit->grid, transit->whole, count * sizeof(float), err) != 0)
        return -1;
    if (!tensor->held)
        return 0;
    parameter_cut(parameter, &tensor->slice, transit->slices, transit->whole);
    transit->grid->compute->copy_in(transit->model->parts[part] + tensor->offset, transit->slices,
                                    tensor->count * sizeof(float));
    return 0;
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
