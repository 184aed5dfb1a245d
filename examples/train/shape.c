#include "shape.h"

#include "error.h"

/* "--heads 6 cannot be split over tp=4: use a multiple of 4" */
static int check_split(const char *option, int value, const char *over, int parts, struct dtrain_error *err)
{
    if (value % parts == 0)
        return 0;
    return error_set(err, "--%s %d cannot be split over %s=%d: use a multiple of %d", option, value, over,
                     parts, parts);
}

static int check_batch(const struct options *options, int dp, struct dtrain_error *err)
{
    int64_t parts = (int64_t)dp * options->microbatches;

    if (options->batch % parts == 0)
        return 0;
    return error_set(
        err,
        "--batch %d cannot be split over dp=%d and --microbatches %d: use a multiple of %lld, or "
        "other --microbatches",
        options->batch, dp, options->microbatches, (long long)parts);
}

static int check(const struct options *options, const struct layout *layout, struct dtrain_error *err)
{
    if (check_split("heads", options->heads, "tp", layout->tp.size, err) != 0 ||
        check_split("hidden", options->hidden, "heads", options->heads, err) != 0 ||
        check_split("layers", options->layers, "pp", layout->pp.size, err) != 0)
        return -1;
    return check_batch(options, layout->dp.size, err);
}

static void fill_vocabulary(struct shape *shape)
{
    size_t tp = (size_t)shape->layout.tp.size;

    shape->local_vocab = (SHAPE_VOCABULARY + tp - 1) / tp;
    shape->first_token = shape->local_vocab * (size_t)shape->layout.tp.rank;
    shape->real_vocab = 0;
    if (shape->first_token < SHAPE_VOCABULARY)
        shape->real_vocab = SHAPE_VOCABULARY - shape->first_token;
    if (shape->real_vocab > shape->local_vocab)
        shape->real_vocab = shape->local_vocab;
}

int shape_make(struct shape *shape, const struct options *options, const struct layout *layout,
               struct dtrain_error *err)
{
    size_t tp = (size_t)layout->tp.size;

    if (check(options, layout, err) != 0)
        return -1;
    *shape = (struct shape){
        .layout = *layout,
        .layers = (size_t)options->layers,
        .hidden = (size_t)options->hidden,
        .heads = (size_t)options->heads,
        .seq = (size_t)options->seq,
        .batch = (size_t)options->batch,
        .microbatches = options->microbatches,
    };
    shape->stage_layers = shape->layers / (size_t)layout->pp.size;
    shape->first_layer = shape->stage_layers * (size_t)layout->pp.rank;
    shape->head_size = shape->hidden / shape->heads;
    shape->local_heads = shape->heads / tp;
    shape->local_hidden = shape->hidden / tp;
    fill_vocabulary(shape);
    shape->sequences = shape->batch / (size_t)layout->dp.size / (size_t)options->microbatches;
    shape->rows = shape->sequences * shape->seq;
    return 0;
}

bool shape_is_first_stage(const struct shape *shape)
{
    return shape->layout.pp.rank == 0;
}

bool shape_is_last_stage(const struct shape *shape)
{
    return shape->layout.pp.rank == shape->layout.pp.size - 1;
}

uint64_t shape_first_sequence(const struct shape *shape, int microbatch)
{
    uint64_t first = (uint64_t)shape->layout.dp.rank * (uint64_t)shape->microbatches + (uint64_t)microbatch;

    return first * shape->sequences;
}
