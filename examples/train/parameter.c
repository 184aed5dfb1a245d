#include "parameter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "random.h"

/* Deviation of most weights, and the one that feeds a residual is 1 / sqrt(2 layers) of it (GPT-2's rule). */
static const double deviation = 0.02;

/* A layer's tensors; rows and columns in units of hidden, no rows: a vector; no columns: one an expert. */
static const struct layer_row {
    const char *name;
    size_t rows, cols;
    enum split split;
    enum initial initial;
    bool feeds_residual;
} layer_rows[LAYER_PARAMETERS] = {
    [LAYER_NORM1_GAIN] = {"norm1.gain", 0, 1, SPLIT_NONE, INITIAL_ONE, false},
    [LAYER_NORM1_BIAS] = {"norm1.bias", 0, 1, SPLIT_NONE, INITIAL_ZERO, false},
    [LAYER_QKV_WEIGHT] = {"qkv.weight", 1, 3, SPLIT_COLUMNS, INITIAL_NORMAL, false},
    [LAYER_QKV_BIAS] = {"qkv.bias", 0, 3, SPLIT_COLUMNS, INITIAL_ZERO, false},
    [LAYER_PROJECTION_WEIGHT] = {"projection.weight", 1, 1, SPLIT_ROWS, INITIAL_NORMAL, true},
    [LAYER_PROJECTION_BIAS] = {"projection.bias", 0, 1, SPLIT_NONE, INITIAL_ZERO, false},
    [LAYER_NORM2_GAIN] = {"norm2.gain", 0, 1, SPLIT_NONE, INITIAL_ONE, false},
    [LAYER_NORM2_BIAS] = {"norm2.bias", 0, 1, SPLIT_NONE, INITIAL_ZERO, false},
    [LAYER_WIDE_WEIGHT] = {"wide.weight", 1, 4, SPLIT_COLUMNS, INITIAL_NORMAL, false},
    [LAYER_WIDE_BIAS] = {"wide.bias", 0, 4, SPLIT_COLUMNS, INITIAL_ZERO, false},
    [LAYER_NARROW_WEIGHT] = {"narrow.weight", 4, 1, SPLIT_ROWS, INITIAL_NORMAL, true},
    [LAYER_NARROW_BIAS] = {"narrow.bias", 0, 1, SPLIT_NONE, INITIAL_ZERO, false},
    [LAYER_GATE_WEIGHT] = {"gate.weight", 1, 0, SPLIT_NONE, INITIAL_NORMAL, false},
};

size_t parameter_count(const struct shape *shape)
{
    return PARAMETER_FIRST_LAYER + shape->layers * parameter_layer_count(shape) + HEAD_PARAMETERS;
}

size_t parameter_layer_count(const struct shape *shape)
{
    return shape->experts > 0 ? LAYER_PARAMETERS : LAYER_GATE_WEIGHT;
}

size_t parameter_of_layer(const struct shape *shape, size_t layer, enum layer_parameter which)
{
    return PARAMETER_FIRST_LAYER + layer * parameter_layer_count(shape) + which;
}

size_t parameter_of_head(const struct shape *shape, enum head_parameter which)
{
    return parameter_of_layer(shape, shape->layers, LAYER_NORM1_GAIN) + which;
}

static void list_layer(struct parameter *list, const struct shape *shape, size_t layer)
{
    for (size_t i = 0; i < parameter_layer_count(shape); i++) {
        const struct layer_row *row = &layer_rows[i];
        struct parameter *p = &list[parameter_of_layer(shape, layer, (enum layer_parameter)i)];
        bool is_expert = shape->experts > 0 && i >= LAYER_WIDE_WEIGHT && i <= LAYER_NARROW_BIAS;

        *p = (struct parameter){
            .rows = (row->rows == 0 ? 1 : row->rows * shape->hidden) * (is_expert ? shape->experts : 1),
            .cols = i == LAYER_GATE_WEIGHT ? shape->experts : row->cols * shape->hidden,
            .split = is_expert ? SPLIT_EXPERTS : row->split,
            .initial = row->initial,
            .deviation = row->feeds_residual ? deviation / sqrt(2.0 * (double)shape->layers) : deviation,
            .stage = shape_stage_of(shape, layer),
            .decay = row->rows > 0,
        };
        snprintf(p->name, sizeof(p->name), "layer.%zu.%s%s", layer, is_expert ? "experts." : "", row->name);
    }
}

static void list_ends(struct parameter *list, const struct shape *shape)
{
    size_t v = SHAPE_VOCABULARY, h = shape->hidden;
    int last = shape->layout.pp.size - 1;
    struct parameter *head = &list[parameter_of_head(shape, 0)];

    list[PARAMETER_TOKENS] =
        (struct parameter){"embedding.tokens", 0, v, h, SPLIT_ROWS, INITIAL_NORMAL, deviation, 0, true};
    list[PARAMETER_POSITIONS] = (struct parameter){
        "embedding.positions", 0, shape->seq, h, SPLIT_NONE, INITIAL_NORMAL, deviation, 0, true};
    head[HEAD_NORM_GAIN] =
        (struct parameter){"head.norm.gain", 0, 1, h, SPLIT_NONE, INITIAL_ONE, 0, last, false};
    head[HEAD_NORM_BIAS] =
        (struct parameter){"head.norm.bias", 0, 1, h, SPLIT_NONE, INITIAL_ZERO, 0, last, false};
    head[HEAD_WEIGHT] =
        (struct parameter){"head.weight", 0, v, h, SPLIT_ROWS, INITIAL_NORMAL, deviation, last, true};
}

void parameter_list(struct parameter *list, const struct shape *shape)
{
    list_ends(list, shape);
    for (size_t layer = 0; layer < shape->layers; layer++)
        list_layer(list, shape, layer);
    for (size_t i = 0; i < parameter_count(shape); i++)
        list[i].index = i;
}

size_t parameter_total(const struct parameter *list, size_t count)
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += list[i].rows * list[i].cols;
    return total;
}

/* Only the vocabulary's rows may not divide; the others were refused by shape_make(). */
static void slice_rows(struct slice *slice, size_t rows, struct axis axis)
{
    struct dtrain_tp_shard shard = {0};

    (void)dtrain_tp_shard(rows, axis.size, axis.rank, 1, DTRAIN_TP_PADDED, &shard, NULL);
    slice->first_row = shard.first;
    slice->rows = shard.padded;
    slice->real_rows = shard.count;
}

struct axis parameter_axis(const struct parameter *parameter, const struct layout *layout)
{
    return parameter->split == SPLIT_EXPERTS ? layout->ep : layout->tp;
}

struct slice parameter_slice(const struct parameter *parameter, struct axis axis)
{
    struct slice slice = {.rows = parameter->rows, .real_rows = parameter->rows, .cols = parameter->cols};

    if (parameter->split == SPLIT_ROWS || parameter->split == SPLIT_EXPERTS)
        slice_rows(&slice, parameter->rows, axis);
    if (parameter->split == SPLIT_COLUMNS) {
        slice.cols = parameter->cols / (size_t)axis.size;
        slice.first_col = slice.cols * (size_t)axis.rank;
    }
    return slice;
}

/* Place in the full tensor of the slice's row. */
static size_t row_start(const struct parameter *parameter, const struct slice *slice, size_t row)
{
    return (slice->first_row + row) * parameter->cols + slice->first_col;
}

void parameter_cut(const struct parameter *parameter, const struct slice *slice, size_t bytes, void *part,
                   const void *full)
{
    memset(part, 0, slice->rows * slice->cols * bytes);
    for (size_t r = 0; r < slice->real_rows; r++)
        memcpy((char *)part + r * slice->cols * bytes,
               (const char *)full + row_start(parameter, slice, r) * bytes, slice->cols * bytes);
}

void parameter_paste(const struct parameter *parameter, const struct slice *slice, size_t bytes, void *full,
                     const void *part)
{
    for (size_t r = 0; r < slice->real_rows; r++)
        memcpy((char *)full + row_start(parameter, slice, r) * bytes,
               (const char *)part + r * slice->cols * bytes, slice->cols * bytes);
}

static float initial_value(const struct parameter *parameter, uint64_t seed, uint64_t place)
{
    switch (parameter->initial) {
    case INITIAL_NORMAL:
        return (float)(parameter->deviation * random_normal(seed, parameter->index, place));
    case INITIAL_ONE:
        return 1;
    case INITIAL_ZERO:
        break;
    }
    return 0;
}

static void store(void *part, enum dtrain_type type, size_t i, float value)
{
    if (type == DTRAIN_FLOAT64)
        ((double *)part)[i] = (double)value;
    else
        ((float *)part)[i] = value;
}

void parameter_initialise(const struct parameter *parameter, const struct slice *slice, uint64_t seed,
                          enum dtrain_type type, void *part)
{
    memset(part, 0, slice->rows * slice->cols * dtrain_type_size(type));
    for (size_t r = 0; r < slice->real_rows; r++) {
        for (size_t c = 0; c < slice->cols; c++)
            store(part, type, r * slice->cols + c,
                  initial_value(parameter, seed, row_start(parameter, slice, r) + c));
    }
}
