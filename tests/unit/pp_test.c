/*
 * Pipelines on forked ranks over the host backend. The model: model stage k makes y[i] = w[k] * x[i % nx] of
 * an activation x of nx elements, the loss is half the sum of the last y's squares. Every rank computes the
 * whole model one microbatch after the other as well, and compares.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>

#include "dtrain_pp.h"
#include "fork_world.h"
#include "tap.h"

#define ENOUGH_MS 40000
#define PARTS_MAX 16 /* model stages of a row */
#define STEPS 2
#define RATE 0.001

/* How the elements of boundaries differ. */
enum shapes { SAME, PER_BOUNDARY, PER_MICROBATCH };

struct row {
    struct fork_row fork;
    enum dtrain_pp_kind kind;
    int microbatches, chunks;
    size_t elements;
    enum shapes shapes;
    int slots;        /* of the first stage; 0: not looked at */
    int buffers_most; /* of any stage; 0: not looked at */
    size_t tied;
    const char *words; /* failures: in what all say; own: in what the odd one says */
    const char *own;
    bool (*spoil)(struct dtrain_pp_options *options, bool is_odd);
};

/* ---- The model ------------------------------------------------------------------ */

static double weight_at_start(int k)
{
    return 0.9 + 0.05 * k;
}

static double input_at(int microbatch, size_t i)
{
    return 0.5 + 0.125 * microbatch + 0.0625 * (double)(i % 7);
}

/* Elements after model stage k; -1: the model's input. */
static size_t elements_at(const struct row *row, int k, int microbatch, int tp)
{
    switch (row->shapes) {
    case PER_BOUNDARY:
        return row->elements + 2 * (size_t)(k + 1);
    case PER_MICROBATCH:
        return row->elements - (size_t)(microbatch % 5) - (size_t)(7 * tp);
    case SAME:
        break;
    }
    return row->elements;
}

static double times_weight(double *out, size_t n_out, const double *in, size_t n_in, double w)
{
    for (size_t i = 0; i < n_out; i++)
        out[i] = w * in[i % n_in];
    return w;
}

/* The gradient of w; fills that of the input, which may be NULL. */
static double back(double *in_gradient, const double *gradient, size_t n_out, const double *in, size_t n_in,
                   double w)
{
    double sum = 0;

    for (size_t j = 0; in_gradient != NULL && j < n_in; j++)
        in_gradient[j] = 0;
    for (size_t i = 0; i < n_out; i++) {
        sum += gradient[i] * in[i % n_in];
        if (in_gradient != NULL)
            in_gradient[i % n_in] += w * gradient[i];
    }
    return sum;
}

/* ---- One stage -------------------------------------------------------------------- */

struct held {
    int microbatch, chunk; /* whose slot it is; -1: nobody's */
    double *input;         /* of the first model stage */
    double *output;        /* of the last one */
};

struct stage {
    const struct row *row;
    int stages, parts, tp, slots;
    double weights[DTRAIN_PP_CHUNKS_MAX], sums[DTRAIN_PP_CHUNKS_MAX];
    struct held *held; /* [slots] */
    float *tied;
    size_t calls;
    const struct dtrain_pp_action *expected;
    size_t expected_count;
    const char *wrong; /* what was not as promised; NULL: nothing */
};

static void note(struct stage *stage, bool ok, const char *what)
{
    if (!ok && stage->wrong == NULL)
        stage->wrong = what;
}

/* The n-th call is the schedule's n-th action that has a callback. */
static void check_order(struct stage *stage, enum dtrain_pp_action_kind kind,
                        const struct dtrain_pp_work *work)
{
    while (stage->calls < stage->expected_count &&
           (stage->expected[stage->calls].kind >= DTRAIN_PP_SEND_ACTIVATION ||
            stage->expected[stage->calls].kind == DTRAIN_PP_STASH))
        stage->calls++;
    note(stage, stage->calls < stage->expected_count, "more calls than actions");
    if (stage->calls == stage->expected_count)
        return;
    note(stage,
         stage->expected[stage->calls].kind == kind &&
             stage->expected[stage->calls].microbatch == work->microbatch &&
             stage->expected[stage->calls].chunk == work->chunk,
         "calls in another order");
    stage->calls++;
}

static size_t shape_elements(const struct dtrain_pp_shape *shape)
{
    size_t n = 1;

    for (int i = 0; i < shape->rank; i++)
        n *= shape->dims[i];
    return shape->rank == 0 ? 0 : n;
}

static bool is_last(const struct stage *stage, const struct dtrain_pp_work *work)
{
    return work->model_stage == stage->parts - 1;
}

static void check_work(struct stage *stage, const struct dtrain_pp_work *work)
{
    const struct row *row = stage->row;
    int k = work->model_stage;

    note(stage, k == work->chunk * stage->stages + work->stage, "another model stage");
    note(stage,
         k == 0 || shape_elements(&work->input_shape) == elements_at(row, k - 1, work->microbatch, stage->tp),
         "another input shape");
    note(stage,
         is_last(stage, work) ||
             shape_elements(&work->output_shape) == elements_at(row, k, work->microbatch, stage->tp),
         "another output shape");
    note(stage, work->first_layer == 2 * k && work->layer_count == 2, "other layers");
}

static int forward(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    struct stage *stage = work->context;
    struct held *held = &stage->held[work->slot];
    size_t n_in = elements_at(stage->row, work->model_stage - 1, work->microbatch, stage->tp);
    size_t n_out = elements_at(stage->row, work->model_stage, work->microbatch, stage->tp);
    const double *in = work->input;
    double *out = work->output;

    (void)err;
    check_order(stage, DTRAIN_PP_FORWARD, work);
    check_work(stage, work);
    note(stage, held->microbatch < 0, "a slot that another microbatch holds");
    *held = (struct held){.microbatch = work->microbatch, .chunk = work->chunk};
    if (work->model_stage == 0) {
        held->input = malloc(n_in * sizeof(double));
        for (size_t i = 0; i < n_in; i++)
            held->input[i] = input_at(work->microbatch, i);
        in = held->input;
    }
    if (is_last(stage, work))
        out = held->output = malloc(n_out * sizeof(double));
    times_weight(out, n_out, in, n_in, *(double *)work->parameters[work->chunk]);
    if (stage->row->kind == DTRAIN_PP_INFERENCE) {
        for (size_t i = 0; is_last(stage, work) && i < n_out; i++)
            stage->sums[work->chunk] += out[i];
        free(held->input);
        free(held->output);
        *held = (struct held){.microbatch = -1};
    }
    return 0;
}

static double part_back(const struct dtrain_pp_work *work, void *in_gradient)
{
    const struct stage *stage = work->context;
    const struct held *held = &stage->held[work->slot];
    size_t n_in = elements_at(stage->row, work->model_stage - 1, work->microbatch, stage->tp);
    size_t n_out = elements_at(stage->row, work->model_stage, work->microbatch, stage->tp);

    return back(in_gradient, is_last(stage, work) ? held->output : work->output_gradient, n_out,
                work->model_stage == 0 ? held->input : work->input, n_in,
                *(double *)work->parameters[work->chunk]);
}

static void let_go(struct stage *stage, const struct dtrain_pp_work *work)
{
    struct held *held = &stage->held[work->slot];

    note(stage, held->microbatch == work->microbatch && held->chunk == work->chunk, "another one's slot");
    free(held->input);
    free(held->output);
    *held = (struct held){.microbatch = -1};
}

static int backward(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    struct stage *stage = work->context;
    bool is_split = stage->row->kind == DTRAIN_PP_ZB_H1;
    double gradient = part_back(work, work->input_gradient);

    (void)err;
    check_order(stage, is_split ? DTRAIN_PP_BACKWARD_INPUT : DTRAIN_PP_BACKWARD, work);
    check_work(stage, work);
    for (size_t i = 0; stage->tied != NULL && work->microbatch == 0 && i < stage->row->tied; i++)
        stage->tied[i] = (float)(work->stage + 1) * (float)(i % 100);
    if (is_split)
        return 0;
    /* PipeDream's update takes the one microbatch's. */
    stage->sums[work->chunk] =
        gradient + (stage->row->kind == DTRAIN_PP_PIPEDREAM ? 0 : stage->sums[work->chunk]);
    let_go(stage, work);
    return 0;
}

static int backward_weight(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    struct stage *stage = work->context;

    (void)err;
    check_order(stage, DTRAIN_PP_BACKWARD_WEIGHT, work);
    stage->sums[work->chunk] += part_back(work, NULL);
    let_go(stage, work);
    return 0;
}

static int update(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    struct stage *stage = work->context;

    (void)err;
    check_order(stage, DTRAIN_PP_UPDATE, work);
    note(stage, work->parameters[0] == &stage->weights[0], "an update of a stash");
    *(double *)work->parameters[work->chunk] -= RATE * stage->sums[work->chunk];
    return 0;
}

/* Only the first stage knows how long its microbatches are. */
static int output_shape(const struct dtrain_pp_work *work, struct dtrain_pp_shape *shape,
                        struct dtrain_error *err)
{
    const struct stage *stage = work->context;

    (void)err;
    *shape = work->input_shape;
    if (work->model_stage == 0)
        *shape = (struct dtrain_pp_shape){1, {elements_at(stage->row, 0, work->microbatch, stage->tp)}};
    return 0;
}

/* ---- One after the other ------------------------------------------------------------- */

struct reference {
    const struct row *row;
    int parts, stages, tp;
    double weights[PARTS_MAX];
    double sums[PARTS_MAX];   /* gradients, or for inference the sum of outputs at the last part */
    double *versions;         /* PipeDream: [part][microbatch]: after so many updates */
    double *x[PARTS_MAX + 1]; /* activations of the microbatch; x[0] is the input */
    double *g[PARTS_MAX + 1];
};

static double *version_of(struct reference *ref, int k, int updates)
{
    return &ref->versions[k * (ref->row->microbatches + 1) + updates];
}

/* PipeDream: forward and backward of a microbatch use the weights that p-s-1 updates are missing from. */
static double weight_used(struct reference *ref, int k, int microbatch)
{
    int late = ref->stages - k - 1;

    if (ref->row->kind != DTRAIN_PP_PIPEDREAM)
        return ref->weights[k];
    return *version_of(ref, k, microbatch > late ? microbatch - late : 0);
}

static void reference_microbatch(struct reference *ref, int m)
{
    size_t n[PARTS_MAX + 1] = {0};

    for (int k = 0; k <= ref->parts; k++)
        n[k] = elements_at(ref->row, k - 1, m, ref->tp);
    for (size_t i = 0; i < n[0]; i++)
        ref->x[0][i] = input_at(m, i);
    for (int k = 0; k < ref->parts; k++)
        times_weight(ref->x[k + 1], n[k + 1], ref->x[k], n[k], weight_used(ref, k, m));
    if (ref->row->kind == DTRAIN_PP_INFERENCE) {
        for (size_t i = 0; i < n[ref->parts]; i++)
            ref->sums[ref->parts - 1] += ref->x[ref->parts][i];
        return;
    }
    memcpy(ref->g[ref->parts], ref->x[ref->parts], n[ref->parts] * sizeof(double));
    for (int k = ref->parts; k-- > 0;) {
        double gradient = back(ref->g[k], ref->g[k + 1], n[k + 1], ref->x[k], n[k], weight_used(ref, k, m));

        ref->sums[k] += gradient;
        if (ref->row->kind == DTRAIN_PP_PIPEDREAM)
            *version_of(ref, k, m + 1) = *version_of(ref, k, m) - RATE * gradient;
    }
}

static void reference_step(struct reference *ref)
{
    int m = ref->row->microbatches;

    for (int k = 0; k < ref->parts; k++) {
        ref->sums[k] = 0;
        *version_of(ref, k, 0) = ref->weights[k];
    }
    for (int i = 0; i < m; i++)
        reference_microbatch(ref, i);
    for (int k = 0; k < ref->parts; k++) {
        if (ref->row->kind == DTRAIN_PP_PIPEDREAM)
            ref->weights[k] = *version_of(ref, k, m);
        else
            ref->weights[k] -= RATE * ref->sums[k];
    }
}

static void reference_create(struct reference *ref, const struct stage *stage)
{
    size_t most = stage->row->elements + 2 * (PARTS_MAX + 1);

    *ref = (struct reference){
        .row = stage->row, .parts = stage->parts, .stages = stage->stages, .tp = stage->tp};
    ref->versions = calloc((size_t)(ref->parts * (ref->row->microbatches + 1)), sizeof(double));
    for (int k = 0; k <= ref->parts; k++) {
        ref->x[k] = calloc(most, sizeof(double));
        ref->g[k] = calloc(most, sizeof(double));
    }
    for (int k = 0; k < ref->parts; k++)
        ref->weights[k] = weight_at_start(k);
}

static void reference_destroy(struct reference *ref)
{
    free(ref->versions);
    for (int k = 0; k <= ref->parts; k++) {
        free(ref->x[k]);
        free(ref->g[k]);
    }
}

/* ---- A rank ---------------------------------------------------------------------------- */

static const struct row *row_of(const struct fork_step *step)
{
    return (const struct row *)step->row;
}

struct rank {
    struct stage stage;
    struct dtrain_world *world;
    struct dtrain_pp *pp;
    struct dtrain_pp_options options;
    struct dtrain_pp_shape inputs[DTRAIN_PP_CHUNKS_MAX], outputs[DTRAIN_PP_CHUNKS_MAX];
    struct dtrain_pp_parameter parameters[DTRAIN_PP_CHUNKS_MAX];
    struct dtrain_error err;
};

static void fill_options(struct rank *rank)
{
    struct stage *stage = &rank->stage;
    const struct row *row = stage->row;
    bool has_backward = row->kind != DTRAIN_PP_INFERENCE;

    rank->options = (struct dtrain_pp_options){
        .kind = row->kind,
        .microbatches = row->microbatches,
        .chunks = row->chunks,
        .layers = 2 * stage->parts,
        .type = DTRAIN_FLOAT64,
        .shape = {1, {row->elements}},
        .forward = forward,
        .backward = has_backward ? backward : NULL,
        .backward_weight = row->kind == DTRAIN_PP_ZB_H1 ? backward_weight : NULL,
        .update = row->kind == DTRAIN_PP_PIPEDREAM ? update : NULL,
        .output_shape = row->shapes == PER_MICROBATCH ? output_shape : NULL,
        .parameters = rank->parameters,
        .parameter_count = (size_t)row->chunks,
        .context = stage,
    };
    for (int c = 0; c < row->chunks; c++) {
        int k = c * stage->stages + dtrain_coord(rank->world, DTRAIN_PP);

        rank->parameters[c] = (struct dtrain_pp_parameter){&stage->weights[c], sizeof(double)};
        stage->weights[c] = weight_at_start(k);
        /* 2 dimensions where they are told one by one. */
        rank->inputs[c] = (struct dtrain_pp_shape){2, {elements_at(row, k - 1, 0, 0) / 2, 2}};
        rank->outputs[c] = (struct dtrain_pp_shape){2, {elements_at(row, k, 0, 0) / 2, 2}};
    }
    if (row->shapes == PER_BOUNDARY) {
        rank->options.input_shapes = rank->inputs;
        rank->options.output_shapes = rank->outputs;
    }
}

static int rank_start(struct rank *rank, struct fork_step *step, uint32_t index)
{
    struct stage *stage = &rank->stage;
    int rc;

    memset(rank, 0, sizeof(*rank));
    rc = fork_init(&rank->world, step, index, NULL, NULL, &rank->err);
    if (rc != 0)
        return rc;
    stage->row = row_of(step);
    stage->stages = (int)step->row->layout.pp;
    stage->parts = stage->stages * stage->row->chunks;
    stage->tp = dtrain_coord(rank->world, DTRAIN_TP);
    fill_options(rank);
    if (stage->row->spoil != NULL && !stage->row->spoil(&rank->options, index == step->row->odd))
        return 0;
    return dtrain_pp_create(rank->world, &rank->options, &rank->pp, &rank->err);
}

static void rank_prepare(struct rank *rank)
{
    struct dtrain_pp_info info;

    dtrain_pp_info(rank->pp, &info);
    rank->stage.expected = dtrain_pp_schedule(rank->pp, &rank->stage.expected_count);
    rank->stage.slots = info.slots;
    rank->stage.held = calloc((size_t)info.slots, sizeof(*rank->stage.held));
    for (int i = 0; i < info.slots; i++)
        rank->stage.held[i].microbatch = -1;
}

static void rank_end(struct rank *rank)
{
    for (int i = 0; i < rank->stage.slots; i++) {
        free(rank->stage.held[i].input);
        free(rank->stage.held[i].output);
    }
    free(rank->stage.held);
    free(rank->stage.tied);
    dtrain_pp_destroy(rank->pp);
    dtrain_finalize(rank->world, NULL);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

/* Times rise, each action is there, and computing of this stage does not overlap. */
static void check_trace(struct rank *rank)
{
    size_t count;
    const struct dtrain_pp_event *events = dtrain_pp_trace(rank->pp, &count);
    int64_t last = 0;

    note(&rank->stage, count == rank->stage.expected_count, "another number of events");
    for (size_t i = 0; i < count; i++) {
        bool is_transfer = events[i].action.kind >= DTRAIN_PP_SEND_ACTIVATION;

        note(&rank->stage, memcmp(&events[i].action, &rank->stage.expected[i], sizeof(events[i].action)) == 0,
             "an event of another action");
        note(&rank->stage, events[i].begin_ns > 0 && events[i].end_ns >= events[i].begin_ns,
             "an event without times");
        note(&rank->stage, is_transfer || events[i].begin_ns >= last, "actions that overlap");
        last = is_transfer ? last : events[i].end_ns;
    }
}

static void check_info(struct rank *rank)
{
    const struct row *row = rank->stage.row;
    struct dtrain_pp_info info;

    dtrain_pp_info(rank->pp, &info);
    note(&rank->stage, row->slots == 0 || info.stage > 0 || info.slots == row->slots, "another peak");
    note(&rank->stage, row->buffers_most == 0 || info.buffers <= row->buffers_most, "more buffers");
    note(&rank->stage,
         row->kind != DTRAIN_PP_PIPEDREAM || row->microbatches < info.stages ||
             info.versions == info.stages - info.stage,
         "another number of versions");
}

static void check_tied(struct rank *rank)
{
    const struct stage *stage = &rank->stage;
    float ends = stage->stages > 1 ? (float)stage->stages + 1 : 1;

    for (size_t i = 0; stage->tied != NULL && i < stage->row->tied; i++)
        if (stage->tied[i] != ends * (float)(i % 100))
            note(&rank->stage, false, "another sum of tied gradients");
}

static void compare(struct rank *rank, struct reference *ref)
{
    struct stage *stage = &rank->stage;

    reference_step(ref);
    for (int c = 0; c < stage->row->chunks; c++) {
        int k = c * stage->stages + dtrain_coord(rank->world, DTRAIN_PP);

        if (stage->row->kind != DTRAIN_PP_PIPEDREAM) {
            note(stage, near(stage->sums[c], ref->sums[k]), "another sum");
            stage->weights[c] -= RATE * stage->sums[c];
        }
        note(stage, near(stage->weights[c], ref->weights[k]), "another weight");
        stage->sums[c] = 0;
    }
}

static int rank_run(struct rank *rank)
{
    struct stage *stage = &rank->stage;
    bool is_end = dtrain_coord(rank->world, DTRAIN_PP) == 0 ||
                  dtrain_coord(rank->world, DTRAIN_PP) == stage->stages - 1;
    struct reference ref;
    int rc = 0;

    if (stage->row->tied > 0 && is_end)
        stage->tied = calloc(stage->row->tied, sizeof(float));
    if (stage->row->tied > 0)
        rc = dtrain_pp_tied(rank->pp, stage->tied, stage->row->tied, DTRAIN_FLOAT32, &rank->err);
    reference_create(&ref, stage);
    for (int i = 0; rc == 0 && i < STEPS; i++) {
        stage->calls = 0;
        rc = dtrain_pp_run(rank->pp, &rank->err);
        if (rc != 0)
            break;
        compare(rank, &ref);
        check_trace(rank);
        check_tied(rank);
    }
    check_info(rank);
    reference_destroy(&ref);
    return rc;
}

static void body_run(struct fork_step *step, uint32_t index, char said[FORK_TEXT_MAX])
{
    struct rank rank;

    if (rank_start(&rank, step, index) == 0) {
        rank_prepare(&rank);
        rank.err.text[0] = '\0';
        if (rank_run(&rank) == 0)
            fork_say(rank.err.text, rank.stage.wrong == NULL ? "well" : rank.stage.wrong);
    }
    fork_say(said, rank.err.text);
    rank_end(&rank);
}

/* ---- Failures ------------------------------------------------------------------------------ */

static bool holds(const char *text, const char *words)
{
    return words == NULL || strstr(text, words) != NULL;
}

static void say_held(const struct row *row, bool is_odd, const char *text, char said[FORK_TEXT_MAX])
{
    bool ok = holds(text, is_odd && row->own != NULL ? row->own : row->words);

    fork_say(said, ok ? "well" : text);
}

static void body_refused(struct fork_step *step, uint32_t index, char said[FORK_TEXT_MAX])
{
    struct rank rank;

    if (rank_start(&rank, step, index) == 0)
        fork_say(said, "it was not refused");
    else
        say_held(row_of(step), index == step->row->odd, rank.err.text, said);
    rank_end(&rank);
}

static bool spoil_microbatches(struct dtrain_pp_options *options, bool is_odd)
{
    options->microbatches = is_odd ? 0 : options->microbatches;
    return true;
}

static bool spoil_more_microbatches(struct dtrain_pp_options *options, bool is_odd)
{
    options->microbatches += is_odd;
    return true;
}

static bool spoil_kind(struct dtrain_pp_options *options, bool is_odd)
{
    options->kind = is_odd ? DTRAIN_PP_GPIPE : options->kind;
    return true;
}

static bool spoil_layers(struct dtrain_pp_options *options, bool is_odd)
{
    (void)is_odd;
    options->layers = 3;
    return true;
}

static bool spoil_shape(struct dtrain_pp_options *options, bool is_odd)
{
    if (is_odd)
        options->shape = (struct dtrain_pp_shape){3, {4, 2, 16}};
    return true;
}

static bool spoil_rank(struct dtrain_pp_options *options, bool is_odd)
{
    options->shape.rank = is_odd ? 9 : options->shape.rank;
    return true;
}

static bool spoil_callback(struct dtrain_pp_options *options, bool is_odd)
{
    options->backward = is_odd ? NULL : options->backward;
    return true;
}

static bool spoil_type(struct dtrain_pp_options *options, bool is_odd)
{
    options->type = is_odd ? DTRAIN_FLOAT32 : options->type;
    return true;
}

static bool spoil_chunks(struct dtrain_pp_options *options, bool is_odd)
{
    (void)is_odd;
    options->chunks = 2;
    options->layers = 0;
    return true;
}

static bool spoil_parameters(struct dtrain_pp_options *options, bool is_odd)
{
    options->parameters = is_odd ? NULL : options->parameters;
    return true;
}

static int forward_fails(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    if (work->microbatch == 2) {
        snprintf(err->text, sizeof(err->text), "out of paper");
        return -1;
    }
    return forward(work, err);
}

static int backward_fails(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    return work->microbatch == 1 ? -1 : backward(work, err);
}

static int shape_fails(const struct dtrain_pp_work *work, struct dtrain_pp_shape *shape,
                       struct dtrain_error *err)
{
    output_shape(work, shape, err);
    shape->dims[0] = work->microbatch == 3 ? 1000 : shape->dims[0];
    return 0;
}

static int forward_dies(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    if (work->microbatch == 2)
        raise(SIGKILL);
    return forward(work, err);
}

static bool spoil_life(struct dtrain_pp_options *options, bool is_odd)
{
    options->forward = is_odd ? forward_dies : options->forward;
    return true;
}

static bool spoil_forward(struct dtrain_pp_options *options, bool is_odd)
{
    options->forward = is_odd ? forward_fails : options->forward;
    return true;
}

static bool spoil_backward(struct dtrain_pp_options *options, bool is_odd)
{
    options->backward = is_odd ? backward_fails : options->backward;
    return true;
}

static bool spoil_output_shape(struct dtrain_pp_options *options, bool is_odd)
{
    options->output_shape = is_odd ? shape_fails : options->output_shape;
    return true;
}

/* All stages end, and the pipeline stays failed. */
static void body_fails(struct fork_step *step, uint32_t index, char said[FORK_TEXT_MAX])
{
    struct dtrain_error again = {""};
    struct rank rank;

    if (rank_start(&rank, step, index) != 0) {
        fork_say(said, rank.err.text);
    } else {
        rank_prepare(&rank);
        if (dtrain_pp_run(rank.pp, &rank.err) == 0)
            fork_say(said, "it did not fail");
        else if (dtrain_pp_run(rank.pp, &again) == 0 || strcmp(again.text, rank.err.text) != 0)
            fork_say(said, "it ran again");
        else
            say_held(row_of(step), index == step->row->odd, rank.err.text, said);
    }
    rank_end(&rank);
}

/* Tied weights that cannot be: all stages hear of it. */
static void body_tied_wrong(struct fork_step *step, uint32_t index, char said[FORK_TEXT_MAX])
{
    bool is_odd = index == step->row->odd;
    float gradient[8];
    struct rank rank;

    if (rank_start(&rank, step, index) != 0)
        fork_say(said, rank.err.text);
    else if (dtrain_pp_tied(rank.pp, index == 1 ? NULL : gradient, is_odd ? 7 : 8, DTRAIN_FLOAT32,
                            &rank.err) == 0)
        fork_say(said, "it was not refused");
    else
        say_held(row_of(step), is_odd, rank.err.text, said);
    rank_end(&rank);
}

static void body_tied_missing(struct fork_step *step, uint32_t index, char said[FORK_TEXT_MAX])
{
    bool is_odd = index == step->row->odd;
    float gradient[8];
    struct rank rank;

    if (rank_start(&rank, step, index) != 0)
        fork_say(said, rank.err.text);
    else if (dtrain_pp_tied(rank.pp, is_odd || index == 1 ? NULL : gradient, 8, DTRAIN_FLOAT32, &rank.err) ==
             0)
        fork_say(said, "it was not refused");
    else
        say_held(row_of(step), is_odd, rank.err.text, said);
    rank_end(&rank);
}

/* ---- The table --------------------------------------------------------------------------------- */

#define RUN(nodes_, tasks_, tp_, pp_, text)                                                          \
    {.name = text, .layout = {nodes_, tasks_, tp_, pp_, 1}, .timeout_ms = ENOUGH_MS, .body = body_run, \
     .words = {"well"}}
#define FAIL(pp_, odd_, body_, text)                                                     \
    {.name = text, .layout = {1, pp_, 1, pp_, 1}, .timeout_ms = ENOUGH_MS, .body = body_, \
     .words = {"well"}, .odd = odd_}

static const struct row rows[] = {
    {RUN(1, 1, 1, 1, "one stage"), DTRAIN_PP_1F1B, 3, 1, .elements = 8, .slots = 1},
    {RUN(1, 1, 1, 1, "one stage with chunks"), DTRAIN_PP_INTERLEAVED, 3, 3, .elements = 8},
    {RUN(1, 1, 1, 1, "one stage without flush"), DTRAIN_PP_PIPEDREAM, 4, 1, .elements = 8},
    {RUN(1, 4, 1, 4, "1F1B"), DTRAIN_PP_1F1B, 8, 1, .elements = 8, .slots = 4, .buffers_most = 14},
    {RUN(1, 4, 1, 4, "torchtitan#775: 1F1B with fewer microbatches than stages"), DTRAIN_PP_1F1B, 2, 1,
     .elements = 8, .slots = 2},
    {RUN(1, 4, 1, 4, "1F1B with one microbatch"), DTRAIN_PP_1F1B, 1, 1, .elements = 8, .slots = 1},
    {RUN(1, 2, 1, 2, "1F1B of two"), DTRAIN_PP_1F1B, 5, 1, .elements = 8, .slots = 2},
    {RUN(1, 4, 1, 4, "gpipe"), DTRAIN_PP_GPIPE, 6, 1, .elements = 8, .slots = 6},
    {RUN(1, 2, 1, 2, "gpipe, back in the other order"), DTRAIN_PP_GPIPE_REVERSE, 4, 1, .elements = 8,
     .slots = 4},
    {RUN(1, 4, 1, 4, "interleaved"), DTRAIN_PP_INTERLEAVED, 8, 2, .elements = 8, .slots = 11},
    {RUN(1, 2, 1, 2, "Megatron#1450: interleaved of two, whose next and previous are one"),
     DTRAIN_PP_INTERLEAVED, 4, 3, .elements = 8},
    {RUN(1, 4, 1, 4, "interleaved, no multiple"), DTRAIN_PP_INTERLEAVED, 6, 2, .elements = 8},
    {RUN(1, 4, 1, 4, "interleaved, one microbatch"), DTRAIN_PP_INTERLEAVED, 1, 2, .elements = 8},
    {RUN(1, 4, 1, 4, "ZB-H1"), DTRAIN_PP_ZB_H1, 8, 1, .elements = 8, .slots = 4},
    {RUN(1, 4, 1, 4, "torchtitan#775: ZB-H1 with fewer microbatches than stages"), DTRAIN_PP_ZB_H1, 3, 1,
     .elements = 8, .slots = 3},
    {RUN(1, 4, 1, 4, "PipeDream"), DTRAIN_PP_PIPEDREAM, 9, 1, .elements = 8, .slots = 4},
    {RUN(1, 4, 1, 4, "PipeDream with fewer microbatches than stages"), DTRAIN_PP_PIPEDREAM, 2, 1,
     .elements = 8, .slots = 2},
    {RUN(1, 3, 1, 3, "inference"), DTRAIN_PP_INFERENCE, 5, 1, .elements = 8, .slots = 1},
    {RUN(1, 2, 1, 2, "inference in chunks"), DTRAIN_PP_INFERENCE, 4, 2, .elements = 8, .slots = 1},
    {RUN(1, 4, 1, 4, "boundaries of different shapes"), DTRAIN_PP_1F1B, 6, 1, .elements = 8,
     .shapes = PER_BOUNDARY},
    {RUN(1, 2, 1, 2, "boundaries of different shapes between chunks"), DTRAIN_PP_INTERLEAVED, 4, 2,
     .elements = 8, .shapes = PER_BOUNDARY},
    {RUN(1, 4, 1, 4, "microbatches of different shapes"), DTRAIN_PP_1F1B, 7, 1, .elements = 40,
     .shapes = PER_MICROBATCH},
    {RUN(1, 4, 2, 2, "Megatron#620: shapes stay in their pp group"), DTRAIN_PP_1F1B, 7, 1, .elements = 40,
     .shapes = PER_MICROBATCH},
    {RUN(1, 2, 1, 2, "different shapes in chunks"), DTRAIN_PP_INTERLEAVED, 5, 2, .elements = 40,
     .shapes = PER_MICROBATCH},
    {RUN(1, 1, 1, 1, "different shapes on one stage"), DTRAIN_PP_INTERLEAVED, 3, 2, .elements = 40,
     .shapes = PER_MICROBATCH},
    {RUN(1, 2, 1, 2, "large activations both ways"), DTRAIN_PP_1F1B, 5, 1, .elements = 1 << 20},
    {RUN(4, 1, 1, 4, "1F1B between nodes"), DTRAIN_PP_1F1B, 8, 1, .elements = 8, .slots = 4},
    {RUN(2, 1, 1, 2, "large activations both ways between nodes"), DTRAIN_PP_INTERLEAVED, 4, 2,
     .elements = 1 << 20},
    {RUN(1, 3, 1, 3, "tied ends"), DTRAIN_PP_1F1B, 4, 1, .elements = 8, .tied = 100},
    {RUN(1, 2, 1, 2, "tied ends of two, in pieces"), DTRAIN_PP_INTERLEAVED, 4, 2, .elements = 8,
     .tied = 1200000},
    {RUN(1, 1, 1, 1, "tied ends of one"), DTRAIN_PP_1F1B, 4, 1, .elements = 8, .tied = 100},

    {FAIL(3, 1, body_refused, "no microbatches on one stage"), DTRAIN_PP_1F1B, 4, 1, .elements = 8,
     .spoil = spoil_microbatches, .own = "options.microbatches is 0: expected at least 1",
     .words = "stage 1 (rank 1) refused its options: see its own error"},
    {FAIL(3, 2, body_refused, "another number of microbatches"), DTRAIN_PP_1F1B, 4, 1, .elements = 8,
     .spoil = spoil_more_microbatches,
     .words = "options.microbatches is 5 on stage 2 (rank 2), 4 on stage 0 (rank 0)"},
    {FAIL(2, 1, body_refused, "another schedule"), DTRAIN_PP_1F1B, 4, 1, .elements = 8, .spoil = spoil_kind,
     .words = "options.kind is 1 on stage 1 (rank 1), 0 on stage 0"},
    {FAIL(2, 1, body_refused, "another type"), DTRAIN_PP_1F1B, 4, 1, .elements = 8, .spoil = spoil_type,
     .words = "options.type is 0 on stage 1 (rank 1), 3 on stage 0"},
    {FAIL(4, 1, body_refused, "a stage without layers"), DTRAIN_PP_1F1B, 4, 1, .elements = 8,
     .spoil = spoil_layers,
     .words = "options.layers is 3: expected at least 4, one for each of 4 stages with 1 chunk(s)"},
    {FAIL(3, 1, body_refused, "neighbours with other shapes"), DTRAIN_PP_1F1B, 4, 1, .elements = 8,
     .spoil = spoil_shape,
     .words = "chunk 0 of stage 0 (rank 0) gives activations of [8], chunk 0 of stage 1 (rank 1) takes [4, "
              "2, 16]"},
    {FAIL(2, 0, body_refused, "a shape of too many dimensions"), DTRAIN_PP_1F1B, 4, 1, .elements = 8,
     .spoil = spoil_rank, .own = "of rank 9: expected 1 to 8 dimensions",
     .words = "stage 0 (rank 0) refused"},
    {FAIL(2, 1, body_refused, "a callback that is missing"), DTRAIN_PP_1F1B, 4, 1, .elements = 8,
     .spoil = spoil_callback, .own = "options.backward is NULL: the schedule 1f1b needs it",
     .words = "stage 1 (rank 1) refused"},
    {FAIL(2, 1, body_refused, "chunks that the schedule does not take"), DTRAIN_PP_ZB_H1, 4, 1, .elements = 8,
     .spoil = spoil_chunks, .words = "zb-h1 has one chunk a stage, not 2"},
    {FAIL(2, 1, body_refused, "parameters that are not there"), DTRAIN_PP_PIPEDREAM, 4, 1, .elements = 8,
     .spoil = spoil_parameters, .own = "options.parameters is NULL but parameter_count is 1",
     .words = "stage 1 (rank 1) refused"},
    {FAIL(3, 2, body_tied_wrong, "tied weights of another size"), DTRAIN_PP_1F1B, 4, 1, .elements = 8,
     .words = "stage 2 (rank 2) ties 7 float32, stage 0 (rank 0) 8 float32"},
    {FAIL(3, 2, body_tied_missing, "tied weights that one end lacks"), DTRAIN_PP_1F1B, 4, 1, .elements = 8,
     .own = "gradient is NULL on stage 2 of 3: the first and the last stage give one",
     .words = "stage 2 (rank 2) refused: see its own error"},

    {FAIL(3, 1, body_fails, "a forward that fails"), DTRAIN_PP_1F1B, 6, 1, .elements = 8,
     .spoil = spoil_forward,
     .words = "pipeline stage 1 (rank 1): forward of microbatch 2, chunk 0: out of paper"},
    {FAIL(3, 2, body_fails, "a backward that fails and does not say why"), DTRAIN_PP_1F1B, 6, 1,
     .elements = 8, .spoil = spoil_backward,
     .words = "pipeline stage 2 (rank 2): backward of microbatch 1, chunk 0: its callback returned -1 and "
              "gave no"},
    {{.name = "a stage that dies", .layout = {1, 4, 1, 4, 1}, .timeout_ms = ENOUGH_MS, .body = body_fails,
      .words = {"well"}, .odd = 2, .killed = 1 << 2},
     DTRAIN_PP_1F1B, 6, 1, .elements = 8, .spoil = spoil_life, .words = "rank 2 on n1"},
    {FAIL(3, 1, body_fails, "a shape that is too large"), DTRAIN_PP_1F1B, 6, 1, .elements = 40,
     .shapes = PER_MICROBATCH, .spoil = spoil_output_shape,
     .words = "the output shape of microbatch 3, chunk 0: it is [1000]: expected 1 to 40 elements"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(fork_check(&rows[i].fork), "%s", rows[i].fork.name);
    return tap_done();
}
