/*
 * shape.h - all sizes of a run: the model's, and what of them this rank holds.
 * Pure arithmetic from the options and this rank's coordinates.
 *
 *   hidden H, heads A of H/A each, sequence S, vocabulary V = 256 bytes
 *   a microbatch is `sequences` sequences of which this rank has `tokens` each,
 *   that is T = sequences * tokens rows
 *
 * Tensor parallelism splits heads, the 4H columns of the MLP and the
 * vocabulary. V need not divide: each rank holds as many rows of the embedding
 * and of the head as the largest share has, the last ones fewer that are real.
 * Rows past V take no part in the loss and are in no checkpoint. With sequence
 * parallel the T rows are split as well, outside of the sharded products.
 *
 * Context parallelism splits the tokens of each sequence into runs, and inside of
 * attention the heads of a tp rank. Pipeline parallelism
 * splits the layers into pp * chunks runs, the first ones a layer longer. Expert
 * parallelism splits the experts of a block over ranks with different tokens.
 */
#ifndef TRAIN_SHAPE_H
#define TRAIN_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "dtrain_cp.h"
#include "dtrain_tp.h"
#include "options.h"

#define SHAPE_VOCABULARY 256

/* One axis: how many ranks it has, which of them this one is. */
struct axis {
    int size;
    int rank;
};

struct layout {
    struct axis tp, pp, dp, cp;
    struct axis ep; /* of the expert grid, over the ranks of dp and cp */
};

struct shape {
    struct layout layout;

    size_t layers, hidden, heads, seq, batch; /* the whole model and batch */

    int chunks; /* of this stage */
    struct {
        size_t first, count; /* layers */
    } chunk[DTRAIN_PP_CHUNKS_MAX];
    size_t chunk_layers;               /* the most of one chunk */
    size_t head_size;                  /* hidden / heads */
    size_t local_heads;                /* heads / tp */
    size_t local_hidden;               /* hidden / tp */
    size_t own_heads;                  /* of local_heads: those whose attention this rank of cp computes */
    struct dtrain_tp_shard vocabulary; /* `padded` rows are held */

    size_t experts, top_k; /* of each block; 0 experts: one MLP */

    int microbatches;
    size_t sequences;               /* of a microbatch */
    struct dtrain_cp_tokens tokens; /* of each sequence, that this rank has */
    size_t rows;                    /* T */
    struct dtrain_tp_shard own; /* of the rows, outside of sharded products: all without sequence parallel */
    double loss_scale;          /* of a token's gradient, before data parallel ranks are averaged */
};

/* Refuses what does not divide; the same message on every rank. */
int shape_make(struct shape *shape, const struct options *options, const struct layout *layout,
               struct dtrain_error *err);

bool shape_is_first_stage(const struct shape *shape);
bool shape_is_last_stage(const struct shape *shape);

/* The stage that holds a layer. */
int shape_stage_of(const struct shape *shape, size_t layer);

/* Index in the global batch of sequence 0 of this rank's microbatch. */
uint64_t shape_first_sequence(const struct shape *shape, int microbatch);

/*
 * Rows row .. row+count-1 of a microbatch whose positions in the sequence are neighbours, from
 * `position` on; they end before row `end`.
 */
struct shape_run {
    size_t row, count, position;
};
struct shape_run shape_run_at(const struct shape *shape, size_t row, size_t end);

#endif
