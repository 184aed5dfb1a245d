/* Sizes of examples/train: what divides, what is refused, and that the slices of a tensor make the whole. */
#include <stdlib.h>
#include <string.h>

#include "examples/train/parameter.h"
#include "examples/train/shape.h"
#include "tap.h"

struct row {
    int layers, hidden, heads, batch, microbatches;
    int tp, pp, dp;
    const char *words; /* of the error; NULL: accepted */
};

static const struct row rows[] = {
    {4, 64, 8, 16, 4, 1, 1, 1, NULL},
    {4, 64, 8, 16, 4, 8, 2, 1, NULL},
    {4, 64, 8, 16, 4, 2, 2, 2, NULL},
    {4, 64, 8, 16, 4, 1, 1, 4, NULL},
    {3, 60, 6, 3, 1, 3, 3, 3, NULL},
    {4, 64, 6, 16, 4, 4, 1, 1, "--heads 6 cannot be split over tp=4: use a multiple of 4"},
    {4, 62, 8, 16, 4, 1, 1, 1, "--hidden 62 cannot be split over heads=8: use a multiple of 8"},
    {3, 64, 8, 16, 4, 1, 2, 1, NULL},
    {3, 64, 8, 16, 4, 1, 4, 1, "--layers 3 cannot be split over pp=4 and --chunks 1: use 4 or more"},
    {4, 64, 8, 10, 4, 1, 1, 2,
     "--batch 10 cannot be split over dp=2 and --microbatches 4: use a multiple of 8, or other "
     "--microbatches"},
};

static struct options options_of(const struct row *row)
{
    return (struct options){
        .layers = row->layers,
        .hidden = row->hidden,
        .heads = row->heads,
        .seq = 8,
        .batch = row->batch,
        .microbatches = row->microbatches,
        .chunks = 1,
    };
}

static void check_row(const struct row *row)
{
    struct options options = options_of(row);
    struct layout layout = {{row->tp, 0}, {row->pp, 0}, {row->dp, 0}, {1, 0}, {1, 0}};
    struct shape shape;
    struct dtrain_error err = {""};
    int rc = shape_make(&shape, &options, &layout, &err);

    if (row->words == NULL)
        tap_ok(rc == 0, "tp %d pp %d dp %d is accepted %s", row->tp, row->pp, row->dp, err.text);
    else if (tap_ok(rc == -1, "refused"))
        tap_holds(err.text, row->words, "the words");
}

/* Every sequence of the global batch belongs to one microbatch of one dp rank. */
static void check_batch(void)
{
    struct options options = options_of(&rows[3]);
    int seen[16] = {0};
    bool once = true;

    for (int dp = 0; dp < 4; dp++) {
        struct layout layout = {{1, 0}, {1, 0}, {4, dp}, {1, 0}, {1, 0}};
        struct shape shape;

        shape_make(&shape, &options, &layout, NULL);
        for (int m = 0; m < shape.microbatches; m++) {
            for (size_t i = 0; i < shape.sequences; i++)
                seen[shape_first_sequence(&shape, m) + i]++;
        }
    }
    for (int i = 0; i < 16; i++)
        once = once && seen[i] == 1;
    tap_ok(once, "each sequence of the batch is learnt once");
}

/* With context and sequence parallel: each row of a microbatch is one rank's, at its place in the sequence.
 */
static void check_rows(int cp, int tp)
{
    struct options options = options_of(&rows[0]);
    int seen[4 * 8] = {0};
    bool once = true;

    options.sequence_parallel = true;
    options.microbatches = 4;
    for (int i = 0; i < cp * tp; i++) {
        struct layout layout = {{tp, i % tp}, {1, 0}, {1, 0}, {cp, i / tp}, {1, 0}};
        struct shape shape;
        size_t end;

        shape_make(&shape, &options, &layout, NULL);
        end = shape.own.first + shape.own.count;
        for (size_t row = shape.own.first; row < end;) {
            struct shape_run run = shape_run_at(&shape, row, end);

            for (size_t k = 0; k < run.count; k++)
                seen[(row + k) / shape.tokens.count * shape.seq + run.position + k]++;
            row += run.count;
        }
    }
    for (int i = 0; i < 4 * 8; i++)
        once = once && seen[i] == 1;
    tap_ok(once, "cp %d and tp %d split the rows without gap or overlap", cp, tp);
}

static void check_vocabulary(int tp)
{
    struct options options = {
        .layers = 1, .hidden = tp, .heads = tp, .seq = 8, .batch = 1, .microbatches = 1, .chunks = 1};
    size_t next = 0;
    bool follows = true;

    for (int rank = 0; rank < tp; rank++) {
        struct layout layout = {{tp, rank}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};
        struct shape shape;

        shape_make(&shape, &options, &layout, NULL);
        follows = follows && (shape.vocabulary.count == 0 || shape.vocabulary.first == next);
        next += shape.vocabulary.count;
    }
    tap_ok(follows && next == SHAPE_VOCABULARY, "the vocabulary is split over tp %d without gap or overlap",
           tp);
}

/* The initial slices of all tp ranks, pasted together, against the tensor made at once. */
static void check_slices(const struct parameter *parameter, int tp)
{
    size_t count = parameter->rows * parameter->cols;
    struct slice all = parameter_slice(parameter, (struct axis){1, 0});
    float *whole = calloc(count, sizeof(float)), *pasted = calloc(count, sizeof(float));
    bool cut_back = true;

    parameter_initialise(parameter, &all, 7, DTRAIN_FLOAT32, whole);
    for (int rank = 0; rank < tp; rank++) {
        struct slice slice = parameter_slice(parameter, (struct axis){tp, rank});
        float *part = calloc(slice.rows * slice.cols, sizeof(float));
        float *cut = calloc(slice.rows * slice.cols, sizeof(float));

        parameter_initialise(parameter, &slice, 7, DTRAIN_FLOAT32, part);
        parameter_paste(parameter, &slice, sizeof(float), pasted, part);
        parameter_cut(parameter, &slice, sizeof(float), cut, whole);
        cut_back = cut_back && memcmp(part, cut, slice.rows * slice.cols * sizeof(float)) == 0;
        free(part);
        free(cut);
    }
    tap_ok(memcmp(whole, pasted, count * sizeof(float)) == 0, "%s: slices of tp %d make the whole",
           parameter->name, tp);
    tap_ok(cut_back, "%s: the whole cut for tp %d is the slices", parameter->name, tp);
    free(whole);
    free(pasted);
}

static void check_all_slices(int tp)
{
    struct options options = {
        .layers = 2, .hidden = 12, .heads = 6, .seq = 8, .batch = 1, .microbatches = 1, .chunks = 1};
    struct layout layout = {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};
    struct shape shape;
    struct parameter *list;

    shape_make(&shape, &options, &layout, NULL);
    list = calloc(parameter_count(&shape), sizeof(*list));
    parameter_list(list, &shape);
    for (size_t i = 0; i < parameter_count(&shape); i++) {
        if (i < parameter_of_layer(&shape, 1, 0) || i >= parameter_of_head(&shape, 0))
            check_slices(&list[i], tp);
    }
    free(list);
}

static void check_refused(const struct options *options, int tp, int cp, const char *words)
{
    struct layout layout = {{tp, 0}, {1, 0}, {1, 0}, {cp, 0}, {1, 0}};
    struct shape shape;
    struct dtrain_error err = {""};

    tap_ok(shape_make(&shape, options, &layout, &err) == -1, "tp %d cp %d is refused", tp, cp);
    tap_holds(err.text, words, "with the reason");
}

static void check_splits(void)
{
    struct options options = options_of(&rows[0]);

    check_refused(&options, 4, 3,
                  "--heads 8 are too few for tp=4 and cp=3, which split them during attention");
    options.seq = 4;
    check_refused(&options, 1, 5, "--seq 4 cannot be split over cp=5: use 5 or more");
    options.seq = 1;
    options.sequence_parallel = true;
    check_refused(&options, 8, 1, "--sequence-parallel cannot split the 4 tokens of a microbatch over tp=8");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
    check_batch();
    check_splits();
    check_rows(1, 1);
    check_rows(3, 1);
    check_rows(2, 4);
    check_rows(1, 8);
    check_vocabulary(1);
    check_vocabulary(3);
    check_vocabulary(8);
    check_vocabulary(200);
    check_all_slices(2);
    check_all_slices(3);
    return tap_done();
}
