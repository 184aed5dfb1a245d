/*
 * parameter.h - the list of the model's tensors, the same on every rank, and
 * which slice of each a rank holds. Pure.
 *
 * Order of registration: token and position embedding, the layers' twelve
 * tensors each (thirteen with experts), the final norm's two, the output head
 * (which is not tied to the embedding). All are [rows, cols]; a vector has one
 * row.
 *
 * qkv's columns go head by head, query, key and value of a head together:
 * [heads, 3, head_size]. So every slice is a range of rows or of columns.
 *
 * With N experts a layer has N of wide's and narrow's tensors, one below the
 * other: [N H, 4H], [N, 4H], [N 4H, H] and [N, H]; and the router's gate,
 * [H, N]. The rows of an expert lie together, so that ep splits rows.
 */
#ifndef TRAIN_PARAMETER_H
#define TRAIN_PARAMETER_H

#include "shape.h"

#define PARAMETER_NAME_MAX 48

enum split { SPLIT_NONE, SPLIT_ROWS, SPLIT_COLUMNS, SPLIT_EXPERTS };

enum initial { INITIAL_ZERO, INITIAL_ONE, INITIAL_NORMAL };

struct parameter {
    char name[PARAMETER_NAME_MAX]; /* "layer.3.qkv.weight" */
    size_t index;                  /* in the list */
    size_t rows, cols;             /* of the full tensor */
    enum split split;              /* over tp (SPLIT_NONE: each has a copy); SPLIT_EXPERTS: rows, over ep */
    enum initial initial;
    double deviation; /* of INITIAL_NORMAL */
    int stage;        /* that holds it */
    bool decay;       /* weights decay; norms and biases do not */
};

/* The tensors of a layer, in the order of registration. */
enum layer_parameter {
    LAYER_NORM1_GAIN,
    LAYER_NORM1_BIAS,
    LAYER_QKV_WEIGHT,
    LAYER_QKV_BIAS,
    LAYER_PROJECTION_WEIGHT,
    LAYER_PROJECTION_BIAS,
    LAYER_NORM2_GAIN,
    LAYER_NORM2_BIAS,
    LAYER_WIDE_WEIGHT,
    LAYER_WIDE_BIAS,
    LAYER_NARROW_WEIGHT,
    LAYER_NARROW_BIAS,
    LAYER_GATE_WEIGHT, /* with experts only */
    LAYER_PARAMETERS,  /* the most */
};

enum head_parameter { HEAD_NORM_GAIN, HEAD_NORM_BIAS, HEAD_WEIGHT, HEAD_PARAMETERS };

enum { PARAMETER_TOKENS, PARAMETER_POSITIONS, PARAMETER_FIRST_LAYER };

size_t parameter_count(const struct shape *shape);
size_t parameter_layer_count(const struct shape *shape); /* tensors of a layer */
size_t parameter_of_layer(const struct shape *shape, size_t layer, enum layer_parameter which);
size_t parameter_of_head(const struct shape *shape, enum head_parameter which);

/* list has room for parameter_count() entries. */
void parameter_list(struct parameter *list, const struct shape *shape);

/* Weights of the full model. */
size_t parameter_total(const struct parameter *list, size_t count);

/* A range of rows and columns; `real` of the rows are in the full tensor, the others are zero. */
struct slice {
    size_t first_row, rows, real_rows;
    size_t first_col, cols;
};

/* The axis that a tensor is split over, and the slice of one of its ranks. */
struct axis parameter_axis(const struct parameter *parameter, const struct layout *layout);
struct slice parameter_slice(const struct parameter *parameter, struct axis axis);

/*
 * part[slice.rows, slice.cols] from full[rows, cols] and back, elements of so many bytes; what is not real
 * is 0, and stays away.
 */
void parameter_cut(const struct parameter *parameter, const struct slice *slice, size_t bytes, void *part,
                   const void *full);
void parameter_paste(const struct parameter *parameter, const struct slice *slice, size_t bytes, void *full,
                     const void *part);

/*
 * The slice of the initial tensor, float32 or float64; each element depends on (seed, tensor, place in the
 * full tensor) only, and is a float32, so that runs of all types start alike.
 */
void parameter_initialise(const struct parameter *parameter, const struct slice *slice, uint64_t seed,
                          enum dtrain_type type, void *part);

#endif
