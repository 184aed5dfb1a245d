/*
 * shape.h - all sizes of a run: the model's, and what of them this rank holds.
 * Pure arithmetic from the options and this rank's coordinates.
 *
 *   hidden H, heads A of H/A each, sequence S, vocabulary V = 256 bytes
 *   a microbatch is `sequences` sequences, that is T = sequences * S rows
 *
 * Tensor parallelism splits heads, the 4H columns of the MLP and the
 * vocabulary. V need not divide: each rank holds ceil(V / tp) rows of the
 * embedding and of the head, the last ones fewer that are real. Rows past V
 * are zero, take no part in the loss and are in no checkpoint.
 */
#ifndef TRAIN_SHAPE_H
#define TRAIN_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "options.h"

#define SHAPE_VOCABULARY 256

/* One axis: how many ranks it has, which of them this one is. */
struct axis {
    int size;
    int rank;
};

struct layout {
    struct axis tp, pp, dp;
};

struct shape {
    struct layout layout;

    size_t layers, hidden, heads, seq, batch; /* the whole model and batch */

    size_t first_layer;  /* of this stage */
    size_t stage_layers; /* layers / pp */
    size_t head_size;    /* hidden / heads */
    size_t local_heads;  /* heads / tp */
    size_t local_hidden; /* hidden / tp */
    size_t local_vocab;  /* rows held, zero rows included */
    size_t first_token;  /* the first of them */
    size_t real_vocab;   /* rows below SHAPE_VOCABULARY */

    int microbatches;
    size_t sequences; /* of a microbatch */
    size_t rows;      /* T = sequences * seq */
};

/* Refuses what does not divide; the same message on every rank. */
int shape_make(struct shape *shape, const struct options *options, const struct layout *layout,
               struct dtrain_error *err);

bool shape_is_first_stage(const struct shape *shape);
bool shape_is_last_stage(const struct shape *shape);

/* Index in the global batch of sequence 0 of this rank's microbatch. */
uint64_t shape_first_sequence(const struct shape *shape, int microbatch);

#endif
