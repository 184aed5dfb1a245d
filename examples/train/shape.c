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
    const char *over = options->ps > 0 ? "workers" : "dp";
    int64_t parts = (int64_t)dp * options->microbatches;

    if (options->batch % parts == 0)
        return 0;
    return error_set(
        err,
        "--batch %d cannot be split over %s=%d and --microbatches %d: use a multiple of %lld, or "
        "other --microbatches",
        options->batch, over, dp, options->microbatches, (long long)parts);
}

/* Ranks of tp would route copies of the same tokens. */
static int check_experts(const struct options *options, const struct layout *layout, struct dtrain_error *err)
{
    if (options->experts == 0)
        return 0;
    if (layout->tp.size > 1)
        return error_set(
            err,
            "--experts %d with tp=%d: experts are not split over tp, whose ranks would all send the same "
            "tokens: use --dtrain-tp=1",
            options->experts, layout->tp.size);
    return check_split("experts", options->experts, "ep", layout->ep.size, err);
}

static int check(const struct options *options, const struct layout *layout, struct dtrain_error *err)
{
    if (check_split("heads", options->heads, "tp", layout->tp.size, err) != 0 ||
        check_split("hidden", options->hidden, "heads", options->heads, err) != 0)
        return -1;
    if (options->layers < layout->pp.size * options->chunks)
        return error_set(err, "--layers %d cannot be split over pp=%d and --chunks %d: use %d or more",
                         options->layers, layout->pp.size, options->chunks,
                         layout->pp.size * options->chunks);
    if (options->seq < layout->cp.size)
        return error_set(err, "--seq %d cannot be split over cp=%d: use %d or more", options->seq,
                         layout->cp.size, layout->cp.size);
    if (options->heads / layout->tp.size < layout->cp.size)
        return error_set(
            err,
            "--heads %d are too few for tp=%d and cp=%d, which split them during attention: use %d "
            "or more",
            options->heads, layout->tp.size, layout->cp.size, layout->tp.size * layout->cp.size);
    if (check_experts(options, layout, err) != 0)
        return -1;
    return check_batch(options, layout->dp.size, err);
}

/* Layers first .. first+count-1 of a chunk of any stage. */
static int chunk_layers(const struct shape *shape, int stage, int chunk, size_t *first, size_t *count,
                        struct dtrain_error *err)
{
    int from, n;

    if (dtrain_pp_stage_layers((int)shape->layers, shape->layout.pp.size, shape->chunks, stage, chunk, &from,
                               &n, err) != 0)
        return -1;
    *first = (size_t)from;
    *count = (size_t)n;
    return 0;
}

static int fill_chunks(struct shape *shape, struct dtrain_error *err)
{
    for (int i = 0; i < shape->chunks; i++) {
        if (chunk_layers(shape, shape->layout.pp.rank, i, &shape->chunk[i].first, &shape->chunk[i].count,
                         err) != 0)
            return -1;
        if (shape->chunk[i].count > shape->chunk_layers)
            shape->chunk_layers = shape->chunk[i].count;
    }
    return 0;
}

/* Of a sequence, on the rank that has the fewest. */
static size_t least_tokens(const struct shape *shape)
{
    struct dtrain_cp_tokens tokens;
    size_t least = shape->seq;

    for (int rank = 0; rank < shape->layout.cp.size; rank++) {
        if (dtrain_cp_tokens(shape->seq, shape->layout.cp.size, rank, DTRAIN_CP_CONTIGUOUS, &tokens, NULL) ==
                0 &&
            tokens.count < least)
            least = tokens.count;
    }
    return least;
}

static int fill_rows(struct shape *shape, const struct options *options, struct dtrain_error *err)
{
    const struct layout *layout = &shape->layout;
    struct axis split = options->sequence_parallel ? layout->tp : (struct axis){1, 0};
    size_t least;

    shape->sequences = shape->batch / (size_t)layout->dp.size / (size_t)shape->microbatches;
    least = shape->sequences * least_tokens(shape);
    if (least < (size_t)split.size)
        return error_set(
            err,
            "--sequence-parallel cannot split the %zu tokens of a microbatch over tp=%d: use fewer "
            "--microbatches",
            least, split.size);
    if (dtrain_cp_tokens(shape->seq, layout->cp.size, layout->cp.rank, DTRAIN_CP_CONTIGUOUS, &shape->tokens,
                         err) != 0)
        return -1;
    shape->rows = shape->sequences * shape->tokens.count;
    return dtrain_tp_shard(shape->rows, split.size, split.rank, 1, DTRAIN_TP_UNEVEN, &shape->own, err);
}

/* A mean over the batch, or over each microbatch where it is a batch of its own. */
static double loss_scale(const struct shape *shape, const struct options *options)
{
    double ranks = (double)shape->layout.dp.size * (double)shape->layout.cp.size;
    double updates = options->schedule == DTRAIN_PP_PIPEDREAM ? (double)options->microbatches : 1;

    return ranks * updates / ((double)shape->batch * (double)shape->seq);
}

int shape_make(struct shape *shape, const struct options *options, const struct layout *layout,
               struct dtrain_error *err)
{
    size_t tp = (size_t)layout->tp.size;
    struct dtrain_tp_shard heads;

    if (check(options, layout, err) != 0)
        return -1;
    *shape = (struct shape){
        .layout = *layout,
        .layers = (size_t)options->layers,
        .hidden = (size_t)options->hidden,
        .heads = (size_t)options->heads,
        .seq = (size_t)options->seq,
        .batch = (size_t)options->batch,
        .chunks = options->chunks,
        .experts = (size_t)options->experts,
        .top_k = (size_t)options->top_k,
        .microbatches = options->microbatches,
    };
    shape->head_size = shape->hidden / shape->heads;
    shape->local_heads = shape->heads / tp;
    shape->local_hidden = shape->hidden / tp;
    shape->loss_scale = loss_scale(shape, options);
    if (fill_chunks(shape, err) != 0 || fill_rows(shape, options, err) != 0 ||
        dtrain_tp_shard(shape->local_heads, layout->cp.size, layout->cp.rank, 1, DTRAIN_TP_UNEVEN, &heads,
                        err) != 0)
        return -1;
    shape->own_heads = heads.count;
    return dtrain_tp_shard(SHAPE_VOCABULARY, layout->tp.size, layout->tp.rank, 1, DTRAIN_TP_PADDED,
                           &shape->vocabulary, err);
}

bool shape_is_first_stage(const struct shape *shape)
{
    return shape->layout.pp.rank == 0;
}

bool shape_is_last_stage(const struct shape *shape)
{
    return shape->layout.pp.rank == shape->layout.pp.size - 1;
}

int shape_stage_of(const struct shape *shape, size_t layer)
{
    int stage = 0;
    size_t first, count;

    for (int i = 0; i < shape->layout.pp.size * shape->chunks; i++) {
        if (chunk_layers(shape, i % shape->layout.pp.size, i / shape->layout.pp.size, &first, &count, NULL) ==
                0 &&
            first <= layer)
            stage = i % shape->layout.pp.size;
    }
    return stage;
}

uint64_t shape_first_sequence(const struct shape *shape, int microbatch)
{
    uint64_t first = (uint64_t)shape->layout.dp.rank * (uint64_t)shape->microbatches + (uint64_t)microbatch;

    return first * shape->sequences;
}

struct shape_run shape_run_at(const struct shape *shape, size_t row, size_t end)
{
    size_t token = row % shape->tokens.count, left = end - row;
    const struct dtrain_cp_run *run = &shape->tokens.run[0];

    if (token >= run->count) {
        token -= run->count;
        run = &shape->tokens.run[1];
    }
    return (struct shape_run){row, run->count - token < left ? run->count - token : left, run->first + token};
}
