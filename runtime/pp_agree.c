#include <stdlib.h>
#include <string.h>

#include "pp.h"
#include "runtime/type.h"

/* ---- One stage's options -------------------------------------------------------- */

static int chunks_of(const struct dtrain_pp_options *options)
{
    return options->chunks == 0 ? 1 : options->chunks;
}

static int check_callback(bool is_needed, bool is_there, const char *name,
                          const struct dtrain_pp_options *options, struct dtrain_error *err)
{
    if (is_needed == is_there)
        return 0;
    return dt_error_set(err, "dtrain_pp_create: options.%s is %s: the schedule %s %s it", name,
                        is_there ? "given" : "NULL", dtrain_pp_kind_name(options->kind),
                        is_needed ? "needs" : "does not call");
}

static int check_callbacks(const struct dtrain_pp_options *options, struct dtrain_error *err)
{
    bool is_pipedream = options->kind == DTRAIN_PP_PIPEDREAM;

    if (check_callback(true, options->forward != NULL, "forward", options, err) != 0 ||
        check_callback(dt_schedule_has_backward(options->kind), options->backward != NULL, "backward",
                       options, err) != 0 ||
        check_callback(dt_schedule_is_split(options->kind), options->backward_weight != NULL,
                       "backward_weight", options, err) != 0)
        return -1;
    return check_callback(is_pipedream, options->update != NULL, "update", options, err);
}

static int check_shape(const struct dtrain_pp_shape *shape, const char *name, struct dtrain_error *err)
{
    char text[DT_PP_SHAPE_TEXT_MAX];

    if (dt_pp_shape_count(shape) > 0)
        return 0;
    return dt_error_set(
        err,
        "dtrain_pp_create: %s is %s of rank %d: expected 1 to %d dimensions of at least 1 that "
        "memory can hold",
        name, dt_pp_shape_text(shape, text), shape->rank, DTRAIN_PP_DIMS_MAX);
}

static int check_shapes(const struct dtrain_pp_options *options, int stage, int stages,
                        struct dtrain_error *err)
{
    if (options->output_shape != NULL && (options->input_shapes != NULL || options->output_shapes != NULL))
        return dt_error_set(err, "dtrain_pp_create: options.output_shape finds shapes in each step: leave "
                                 "input_shapes and output_shapes NULL");
    for (int c = 0; c < chunks_of(options); c++) {
        bool is_first = stage == 0 && c == 0, is_last = stage == stages - 1 && c == chunks_of(options) - 1;
        const struct dtrain_pp_shape *in = options->input_shapes, *out = options->output_shapes;

        if (!is_first && check_shape(in != NULL ? &in[c] : &options->shape, "the input's shape", err) != 0)
            return -1;
        if (!is_last && check_shape(out != NULL ? &out[c] : &options->shape, "the output's shape", err) != 0)
            return -1;
    }
    return 0;
}

static int check_parameters(const struct dtrain_pp_options *options, struct dtrain_error *err)
{
    if (options->parameter_count > 0 && options->parameters == NULL)
        return dt_error_set(err, "dtrain_pp_create: options.parameters is NULL but parameter_count is %zu",
                            options->parameter_count);
    for (size_t i = 0; i < options->parameter_count; i++)
        if (options->parameters[i].data == NULL && options->parameters[i].bytes > 0)
            return dt_error_set(err, "dtrain_pp_create: parameter %zu is NULL but has %zu bytes", i,
                                options->parameters[i].bytes);
    return 0;
}

int dt_pp_options_check(const struct dtrain_pp_options *options, int stage, int stages,
                        struct dtrain_error *err)
{
    if (chunks_of(options) < 1 || chunks_of(options) > DTRAIN_PP_CHUNKS_MAX)
        return dt_error_set(err, "dtrain_pp_create: options.chunks is %d: expected 1 to %d, or 0 for 1",
                            options->chunks, DTRAIN_PP_CHUNKS_MAX);
    if (options->microbatches < 1)
        return dt_error_set(err, "dtrain_pp_create: options.microbatches is %d: expected at least 1",
                            options->microbatches);
    if (dtrain_type_size(options->type) == 0)
        return dt_error_set(err,
                            "dtrain_pp_create: options.type %d is not known: use a value of enum dtrain_type",
                            (int)options->type);
    if (options->layers != 0 && options->layers < stages * chunks_of(options))
        return dt_error_set(
            err,
            "dtrain_pp_create: options.layers is %d: expected at least %d, one for each of %d stages "
            "with %d chunk(s)",
            options->layers, stages * chunks_of(options), stages, chunks_of(options));
    if (check_callbacks(options, err) != 0 || check_shapes(options, stage, stages, err) != 0)
        return -1;
    return check_parameters(options, err);
}

/* ---- All stages' ------------------------------------------------------------------ */

/* What stages tell each other. The names are those of the options. */
enum number {
    NUMBER_REFUSED,
    NUMBER_KIND,
    NUMBER_MICROBATCHES,
    NUMBER_CHUNKS,
    NUMBER_LAYERS,
    NUMBER_TYPE,
    NUMBER_VARIABLE,
    NUMBER_FORWARD_TIME,
    NUMBER_BACKWARD_TIME,
    NUMBER_WEIGHT_TIME,
    NUMBERS,
};

static const char *const number_names[NUMBERS] = {
    "refused", "kind",         "microbatches", "chunks",        "layers",
    "type",    "output_shape", "forward_time", "backward_time", "weight_time"};

#define CHUNK_NUMBERS (2 * DT_PP_SHAPE_NUMBERS) /* input, output */
#define CARD (NUMBERS + DTRAIN_PP_CHUNKS_MAX * CHUNK_NUMBERS)

static void card_fill(int64_t card[CARD], const struct dtrain_pp_options *options, bool is_refused)
{
    memset(card, 0, CARD * sizeof(*card));
    card[NUMBER_REFUSED] = is_refused;
    if (is_refused)
        return;
    card[NUMBER_KIND] = (int64_t)options->kind;
    card[NUMBER_MICROBATCHES] = options->microbatches;
    card[NUMBER_CHUNKS] = chunks_of(options);
    card[NUMBER_LAYERS] = options->layers;
    card[NUMBER_TYPE] = (int64_t)options->type;
    card[NUMBER_VARIABLE] = options->output_shape != NULL;
    card[NUMBER_FORWARD_TIME] = options->forward_time;
    card[NUMBER_BACKWARD_TIME] = options->backward_time;
    card[NUMBER_WEIGHT_TIME] = options->weight_time;
    for (int c = 0; c < chunks_of(options); c++) {
        int64_t *shapes = &card[NUMBERS + c * CHUNK_NUMBERS];

        dt_pp_shape_pack(shapes, options->input_shapes != NULL ? &options->input_shapes[c] : &options->shape);
        dt_pp_shape_pack(shapes + DT_PP_SHAPE_NUMBERS,
                         options->output_shapes != NULL ? &options->output_shapes[c] : &options->shape);
    }
}

struct side {
    const struct dtrain_world *world;
    const struct dtrain_group *group;
    const int64_t *cards; /* [stage][CARD] */
};

static const int64_t *card_of(const struct side *side, int stage)
{
    return side->cards + stage * CARD;
}

static int compare_numbers(const struct side *side, int stage, struct dtrain_error *err)
{
    const int64_t *own = card_of(side, stage), *first = card_of(side, 0);

    if (own[NUMBER_REFUSED] != 0)
        return dt_error_set(err,
                            "dtrain_pp_create: stage %d (rank %d) refused its options: see its own error",
                            stage, dtrain_group_member(side->world, side->group, stage));
    for (int i = 0; i < NUMBERS; i++)
        if (own[i] != first[i])
            return dt_error_set(
                err,
                "dtrain_pp_create: options.%s is %lld on stage %d (rank %d), %lld on stage 0 (rank "
                "%d): give all stages the same",
                number_names[i], (long long)own[i], stage,
                dtrain_group_member(side->world, side->group, stage), (long long)first[i],
                dtrain_group_member(side->world, side->group, 0));
    return 0;
}

/* Between a model stage and the next one. */
static int compare_shapes(const struct side *side, int model_stage, struct dtrain_error *err)
{
    int stages = side->group->size, from = model_stage % stages, to = (model_stage + 1) % stages;
    int chunk = model_stage / stages, next_chunk = (model_stage + 1) / stages;
    char out_text[DT_PP_SHAPE_TEXT_MAX], in_text[DT_PP_SHAPE_TEXT_MAX];
    struct dtrain_pp_shape out, in;

    dt_pp_shape_unpack(&out, card_of(side, from) + NUMBERS + chunk * CHUNK_NUMBERS + DT_PP_SHAPE_NUMBERS);
    dt_pp_shape_unpack(&in, card_of(side, to) + NUMBERS + next_chunk * CHUNK_NUMBERS);
    if (dt_pp_shape_same(&out, &in))
        return 0;
    return dt_error_set(
        err,
        "dtrain_pp_create: chunk %d of stage %d (rank %d) gives activations of %s, chunk %d of stage "
        "%d (rank %d) takes %s: both sides of a boundary have one shape",
        chunk, from, dtrain_group_member(side->world, side->group, from), dt_pp_shape_text(&out, out_text),
        next_chunk, to, dtrain_group_member(side->world, side->group, to), dt_pp_shape_text(&in, in_text));
}

static int compare(const struct side *side, struct dtrain_error *err)
{
    int stages = side->group->size;

    for (int stage = 0; stage < stages; stage++)
        if (card_of(side, stage)[NUMBER_REFUSED] != 0)
            return compare_numbers(side, stage, err);
    for (int stage = 1; stage < stages; stage++)
        if (compare_numbers(side, stage, err) != 0)
            return -1;
    for (int k = 0; k < stages * (int)card_of(side, 0)[NUMBER_CHUNKS] - 1; k++)
        if (compare_shapes(side, k, err) != 0)
            return -1;
    return 0;
}

/* Cards lie in the backend's memory while they travel. */
static int gather(struct dtrain_world *world, struct dtrain_comm *comm, const int64_t card[CARD],
                  int64_t *cards, int stages, struct dtrain_error *err)
{
    size_t bytes = CARD * sizeof(*cards);
    struct dtrain_stream *stream = NULL;
    void *memory = NULL;
    char *own;
    int rc = -1;

    if (dtrain_stream_create(world, &stream, err) != 0 ||
        dtrain_memory_alloc(world, (size_t)stages * bytes, &memory, err) != 0)
        goto out;
    own = (char *)memory + (size_t)dtrain_comm_rank(comm) * bytes;
    if (dtrain_copy(own, card, bytes, stream, err) != 0 ||
        dtrain_all_gather(comm, own, memory, CARD, DTRAIN_INT64, stream, err) != 0 ||
        dtrain_copy(cards, memory, (size_t)stages * bytes, stream, err) != 0)
        goto out;
    rc = dtrain_stream_synchronize(stream, err);
out:
    if (dtrain_stream_destroy(stream, rc == 0 ? err : NULL) != 0)
        rc = -1;
    dtrain_memory_free(world, memory);
    return rc;
}

int dt_pp_agree(struct dtrain_world *world, const struct dtrain_group *group, struct dtrain_comm *comm,
                const struct dtrain_pp_options *options, const struct dtrain_error *own,
                struct dtrain_error *err)
{
    size_t stages = (size_t)group->size;
    int64_t *cards = calloc(stages, CARD * sizeof(*cards));
    struct side side = {world, group, cards};
    int64_t card[CARD];
    int rc;

    if (cards == NULL)
        return dt_error_memory(err, stages * CARD * sizeof(*cards), "the options of all stages");
    card_fill(card, options, own != NULL);
    rc = gather(world, comm, card, cards, group->size, err);
    if (rc == 0 && own != NULL)
        rc = dt_error_set(err, "%s", own->text);
    else if (rc == 0)
        rc = compare(&side, err);
    free(cards);
    return rc;
}
