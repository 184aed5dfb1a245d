/*
 * data.h - the text and the batches drawn from it. A token is a byte. World
 * rank 0 reads the file and all others get it from there, so that no rank can
 * learn another text. Which piece of the text sequence i of a step's global
 * batch is, is a pure function of (seed, step, i): the layout has no part in it.
 */
#ifndef TRAIN_DATA_H
#define TRAIN_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "dtrain.h"
#include "grid.h"

struct data {
    unsigned char *text;
    size_t size;
};

/* Collective; refuses what cannot be read or is shorter than a sequence and its last label. */
int data_load(struct data *data, struct grid *grid, const char *path, size_t seq, struct dtrain_error *err);
void data_clear(struct data *data);

/* tokens[seq] of sequence `index`, labels[seq]: the byte after each. */
void data_sequence(const struct data *data, uint64_t seed, uint64_t step, uint64_t index, size_t seq,
                   int32_t *tokens, int32_t *labels);

#endif
