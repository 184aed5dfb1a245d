/*
 * options.h - the command line. Parsing looks at each value alone; whether the
 * sizes fit together and divide over the ranks is shape.h's question.
 */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "dtrain_pp.h"

/* Bound of every size: batch * heads * seq * seq stays below 2^60, the rows of a matrix below BLAS's 2^31. */
#define OPTIONS_SIZE_MAX (1 << 15)
#define OPTIONS_EXPERTS_MAX 1024
#define OPTIONS_STEPS_MAX 1000000000

struct options {
    const char *data;   /* the text to learn */
    const char *save;   /* checkpoint to write; NULL: none */
    const char *resume; /* checkpoint to start from; NULL: none */
    int layers;
    int hidden;
    int heads;
    int seq;               /* tokens of a sequence */
    int batch;             /* sequences of a step, over all ranks */
    int microbatches;      /* pieces that a data-parallel rank's share is cut into */
    int steps;             /* number of the last step, also after --resume */
    int save_every;        /* also save after every so many steps; 0: only at the end */
    enum dtrain_type type; /* float32, float64 or bfloat16 */
    enum dtrain_pp_kind schedule;
    int chunks;             /* of the model that a stage holds; more than 1 with interleaved only */
    int zero;               /* ZeRO stage: 0, 1 or 2 */
    int ps;                 /* ranks that are parameter servers; 0: none */
    int staleness;          /* steps that a worker may be ahead of the slowest one */
    int experts;            /* of each block, in place of its MLP; 0: none */
    int top_k;              /* of them, that a token goes to */
    bool sequence_parallel; /* tp ranks split the rows outside of sharded products */
    double lr;
    double clip; /* largest norm of the gradient; 0: not clipped */
    uint64_t seed;
    bool help;
    bool version;
};

/* Fills *options from the defaults and argv, whose strings it borrows. */
int options_parse(struct options *options, int argc, char **argv, struct dtrain_error *err);

/* As --type takes them. */
const char *options_type_name(enum dtrain_type type);

void options_print_help(FILE *out);

#endif
