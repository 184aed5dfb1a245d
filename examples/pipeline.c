/*
 * pipeline.c - a step of pipeline parallel training: 4 layers on 2 ranks, a batch
 * of 8 rows as 4 microbatches of 2, GPipe's schedule with the last microbatch
 * first on the way back.
 *
 *   srun -n2 --dtrain-pp=2 ./pipeline      or ./pipeline, with threads
 *
 * Layer l is h = tanh(h W), W [3, 3]; rank 0 has layers 1 and 2, rank 1 has 3 and
 * 4. What goes over the boundary between them is an activation [2, 3] for each
 * microbatch, and its gradient on the way back.
 *
 * To see: from t2 to t4 both ranks work at the same time, each on another
 * microbatch; where a rank has no entry it waits (the bubble: 2 of 10 times); the
 * sum of the microbatches' gradients is the gradient of the whole batch. A stage's
 * work is made to take 5 ms, so that the clock shows it, too.
 */
#include <dtrain_pp.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lesson.h"
#include "matrix.h"

#define LAYERS 4
#define OWN (LAYERS / LESSON_RANKS)
#define WIDTH 3
#define MICROBATCHES 4
#define ROWS 2 /* of a microbatch */
#define BATCH (MICROBATCHES * ROWS)
#define LAYERS_NS 5000000 /* what the own layers of a microbatch take, each way */
#define ACTIONS (2 * MICROBATCHES) /* a forward and a backward of each */

#define PART ((size_t)ROWS * WIDTH) /* numbers of a microbatch, at one place of the model */
#define LAYER ((size_t)WIDTH * WIDTH)

/* ---- The model ----------------------------------------------------------- */

/* y = tanh(x w) */
static void layer_forward(double *y, const double *x, const double *w, size_t rows)
{
    matrix_product(y, x, w, rows, WIDTH, WIDTH);
    for (size_t i = 0; i < rows * WIDTH; i++)
        y[i] = tanh(y[i]);
}

/* Of y's gradient dy, which becomes that of x w: dw += x' dy, dx = dy w'. */
static void layer_backward(double *dx, double *dw, double *dy, const double *y, const double *x,
                           const double *w, size_t rows)
{
    for (size_t i = 0; i < rows * WIDTH; i++)
        dy[i] *= 1 - y[i] * y[i];
    matrix_add_product(dw, x, dy, rows, WIDTH, WIDTH);
    matrix_product_transposed(dx, dy, w, rows, WIDTH, WIDTH);
}

/* The loss is the mean over the batch's rows of |y - target|^2 / 2, whichever microbatch they are in. */
static void loss_gradient(double *dy, const double *y, const double *target, size_t rows)
{
    for (size_t i = 0; i < rows * WIDTH; i++)
        dy[i] = (y[i] - target[i]) / BATCH;
}

struct data {
    double x[BATCH * WIDTH], target[BATCH * WIDTH], w[LAYERS * WIDTH * WIDTH];
};

static void data_fill(struct data *data)
{
    matrix_fill(data->x, BATCH * WIDTH, 1);
    matrix_fill(data->target, BATCH * WIDTH, 2);
    matrix_fill(data->w, LAYERS * LAYER, 3);
}

/* All layers and the batch at once, by one process. */
static void compute_alone(const struct data *data, double *dw)
{
    double h[LAYERS + 1][BATCH * WIDTH], dy[BATCH * WIDTH], dx[BATCH * WIDTH];

    memset(dw, 0, LAYERS * LAYER * sizeof(*dw));
    memcpy(h[0], data->x, sizeof(h[0]));
    for (size_t l = 0; l < LAYERS; l++)
        layer_forward(h[l + 1], h[l], &data->w[l * LAYER], BATCH);
    loss_gradient(dy, h[LAYERS], data->target, BATCH);
    for (size_t l = LAYERS; l-- > 0;) {
        layer_backward(dx, &dw[l * LAYER], dy, h[l + 1], h[l], &data->w[l * LAYER], BATCH);
        memcpy(dy, dx, sizeof(dy));
    }
}

/* ---- A stage: what the pipeline calls ------------------------------------ */

struct stage {
    const struct data *data;
    const double *w; /* of the own layers */
    double dw[OWN * WIDTH * WIDTH];
    /*
     * Before and after each layer. A microbatch's are kept until its backward, and here no backward begins
     * before the last forward, so that each needs a place. Other schedules need fewer: work->slot.
     */
    double h[OWN + 1][BATCH * WIDTH];
    double boundary[BATCH * WIDTH]; /* the gradient that went over the boundary */
};

/* Layers as small as these end before a transfer does; those of a real model do not. */
static void take_time(void)
{
    nanosleep(&(struct timespec){.tv_nsec = LAYERS_NS}, NULL);
}

static int forward(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    struct stage *stage = work->context;
    size_t at = (size_t)work->microbatch * PART, bytes = PART * sizeof(double);

    (void)err;
    take_time();
    memcpy(&stage->h[0][at], work->input != NULL ? work->input : &stage->data->x[at], bytes);
    for (size_t l = 0; l < OWN; l++)
        layer_forward(&stage->h[l + 1][at], &stage->h[l][at], &stage->w[l * LAYER], ROWS);
    if (work->output != NULL)
        memcpy(work->output, &stage->h[OWN][at], bytes);
    return 0;
}

static int backward(const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    struct stage *stage = work->context;
    size_t at = (size_t)work->microbatch * PART;
    double dy[ROWS * WIDTH], dx[ROWS * WIDTH];

    (void)err;
    take_time();
    if (work->output_gradient != NULL) {
        memcpy(dy, work->output_gradient, sizeof(dy));
        memcpy(&stage->boundary[at], dy, sizeof(dy));
    } else {
        loss_gradient(dy, &stage->h[OWN][at], &stage->data->target[at], ROWS);
    }
    for (size_t l = OWN; l-- > 0;) {
        layer_backward(dx, &stage->dw[l * LAYER], dy, &stage->h[l + 1][at], &stage->h[l][at],
                       &stage->w[l * LAYER], ROWS);
        memcpy(dy, dx, sizeof(dy));
    }
    if (work->input_gradient == NULL)
        return 0;
    memcpy(work->input_gradient, dx, sizeof(dx));
    memcpy(&stage->boundary[at], dx, sizeof(dx));
    return 0;
}

/* ---- The timeline -------------------------------------------------------- */

struct turn {
    int64_t is_backward, microbatch, begin_ns, end_ns;
};
#define TURN_NUMBERS (sizeof(struct turn) / sizeof(int64_t))

struct timeline {
    struct turn turns[LESSON_RANKS][ACTIONS]; /* of each stage, as they ran */
    int t[LESSON_RANKS][ACTIONS];             /* from 1 */
    double early; /* turns that began before their input was there, by the clock; 0 where nodes differ */
};

/* What stage s computed, from the pipeline's own record. */
static int read_trace(const struct dtrain_pp *pp, struct turn *turns, struct dtrain_error *err)
{
    size_t count, n = 0;
    const struct dtrain_pp_event *events = dtrain_pp_trace(pp, &count);

    for (size_t i = 0; i < count; i++) {
        enum dtrain_pp_action_kind kind = events[i].action.kind;

        if (kind != DTRAIN_PP_FORWARD && kind != DTRAIN_PP_BACKWARD)
            continue;
        if (n < ACTIONS)
            turns[n] = (struct turn){kind == DTRAIN_PP_BACKWARD, events[i].action.microbatch,
                                     events[i].begin_ns, events[i].end_ns};
        n++;
    }
    if (n == ACTIONS)
        return 0;
    snprintf(err->text, sizeof(err->text), "the stage computed %zu times, expected %d", n, ACTIONS);
    return -1;
}

/* Where the input of turn i of stage s comes from on the other stage; -1: it is of the own one. */
static int source_of(const struct timeline *line, int s, int i)
{
    const struct turn *turn = &line->turns[s][i];

    if ((s == 0) != (turn->is_backward != 0))
        return -1;
    for (int j = 0; j < ACTIONS; j++)
        if (line->turns[1 - s][j].is_backward == turn->is_backward &&
            line->turns[1 - s][j].microbatch == turn->microbatch)
            return j;
    return -1;
}

/*
 * t of each turn: one after what the stage did before and after what it had to wait for, from the order that
 * really was (Lamport, 1978), so that clocks of two nodes need not agree.
 */
static void count_time(struct timeline *line)
{
    for (int pass = 0; pass < LESSON_RANKS * ACTIONS; pass++)
        for (int s = 0; s < LESSON_RANKS; s++)
            for (int i = 0; i < ACTIONS; i++) {
                int source = source_of(line, s, i);
                int before = i > 0 ? line->t[s][i - 1] : 0;
                int needed = source >= 0 ? line->t[1 - s][source] : 0;

                line->t[s][i] = 1 + (before > needed ? before : needed);
            }
}

static void count_early(struct timeline *line)
{
    for (int s = 0; s < LESSON_RANKS; s++)
        for (int i = 0; i < ACTIONS; i++) {
            int source = source_of(line, s, i);

            if (source >= 0 && line->turns[s][i].begin_ns < line->turns[1 - s][source].end_ns)
                line->early++;
        }
}

struct label {
    char text[8];
};

/* "F1": forward of the first microbatch. */
static struct label label_of(const struct turn *turn)
{
    struct label label;

    snprintf(label.text, sizeof(label.text), "%c%d", turn->is_backward ? 'B' : 'F',
             (int)turn->microbatch % MICROBATCHES + 1);
    return label;
}

static void print_timeline(const struct lesson *lesson, const struct timeline *line, int end)
{
    lesson_say(lesson, "         ");
    for (int t = 1; t <= end; t++)
        lesson_say(lesson, "%*s%d", t < 10 ? 4 : 3, "t", t);
    for (int s = 0; s < LESSON_RANKS; s++) {
        lesson_say(lesson, "\n   rank %d", s);
        for (int t = 1, i = 0; t <= end && i < ACTIONS; t++) {
            if (line->t[s][i] != t)
                lesson_say(lesson, "     ");
            else
                lesson_say(lesson, "   %s", label_of(&line->turns[s][i++]).text);
        }
    }
    lesson_say(lesson, "\n");
}

static void print_clock(const struct lesson *lesson, const struct timeline *line)
{
    int64_t zero = line->turns[0][0].begin_ns;

    lesson_say(lesson, "  the same by the clock: milliseconds from the first begin\n");
    for (int s = 0; s < LESSON_RANKS; s++) {
        lesson_say(lesson, "   rank %d", s);
        for (int i = 0; i < ACTIONS; i++)
            lesson_say(lesson, "  %s %.1f", label_of(&line->turns[s][i]).text,
                       (double)(line->turns[s][i].begin_ns - zero) / 1e6);
        lesson_say(lesson, "\n");
    }
}

/* GPipe with the last first on the way back: F1 .. F4, then B4 .. B1; a time per stage is lost each way. */
static void check_timeline(struct lesson *lesson, const struct timeline *line)
{
    double order[ACTIONS], t[ACTIONS], expected_order[ACTIONS], expected_t[ACTIONS], none = 0;

    for (int s = 0; s < LESSON_RANKS; s++) {
        for (int i = 0; i < ACTIONS; i++) {
            const struct turn *turn = &line->turns[s][i];
            int k = i - MICROBATCHES;

            order[i] = (double)(turn->is_backward ? -1 - turn->microbatch : 1 + turn->microbatch);
            t[i] = line->t[s][i];
            expected_order[i] = k < 0 ? i + 1 : k - MICROBATCHES;
            expected_t[i] = k < 0 ? i + 1 + s : MICROBATCHES + 2 * (LESSON_RANKS - 1) - s + k + 1;
        }
        lesson_check(lesson, "the microbatches' order, a backward's below 0", order, expected_order, ACTIONS);
        lesson_check(lesson, "the times", t, expected_t, ACTIONS);
    }
    lesson_check(lesson, "what began before its input was there", &line->early, &none, 1);
}

static int show_timeline(struct lesson *lesson, const struct dtrain_pp *pp, struct dtrain_error *err)
{
    struct timeline line = {0};
    struct turn own[ACTIONS];

    if (read_trace(pp, own, err) < 0 ||
        dtrain_all_gather(lesson->comm, own, line.turns, ACTIONS * TURN_NUMBERS, DTRAIN_INT64, lesson->stream,
                          err) < 0 ||
        dtrain_stream_synchronize(lesson->stream, err) < 0)
        return -1;
    count_time(&line);
    print_timeline(lesson, &line, line.t[0][ACTIONS - 1]);
    if (dtrain_node_count(lesson->world) == 1) {
        count_early(&line);
        print_clock(lesson, &line);
    }
    check_timeline(lesson, &line);
    return 0;
}

/* ---- The step ------------------------------------------------------------ */

static int run_step(struct lesson *lesson, struct stage *stage, struct dtrain_pp *pp,
                    struct dtrain_error *err)
{
    double alone[LAYERS * WIDTH * WIDTH];
    const double *expected = &alone[(size_t)lesson->rank * OWN * LAYER];

    lesson_say(lesson, "1. each rank has two of the four layers; rank 0 has X, rank 1 the targets T\n");
    lesson_print(lesson, "X, two rows a microbatch", stage->data->x, BATCH, WIDTH);
    lesson_print(lesson, "T", stage->data->target, BATCH, WIDTH);
    if (lesson_show(lesson, "W of the first own layer", stage->w, WIDTH, WIDTH, err) < 0 ||
        lesson_show(lesson, "W of the second", &stage->w[LAYER], WIDTH, WIDTH, err) < 0)
        return -1;

    lesson_say(lesson, "2. the step: F a forward, B a backward, of microbatch 1 to 4\n");
    if (dtrain_pp_run(pp, err) < 0 || show_timeline(lesson, pp, err) < 0)
        return -1;

    lesson_say(lesson, "3. what went over the boundary, two rows a microbatch: sent and received\n");
    if (lesson_show(lesson, "activations", stage->h[lesson->rank == 0 ? OWN : 0], BATCH, WIDTH, err) < 0 ||
        lesson_show(lesson, "gradients", stage->boundary, BATCH, WIDTH, err) < 0)
        return -1;

    lesson_say(lesson, "4. the gradients of the own layers, of all microbatches\n");
    compute_alone(stage->data, alone);
    lesson_check(lesson, "dW of the own layers", stage->dw, expected, OWN * LAYER);
    if (lesson_show(lesson, "dW of the first own layer", stage->dw, WIDTH, WIDTH, err) < 0)
        return -1;
    return lesson_show(lesson, "dW of the second", &stage->dw[LAYER], WIDTH, WIDTH, err);
}

static int learn(struct lesson *lesson, struct dtrain_error *err)
{
    struct data data;
    struct stage stage = {.data = &data, .w = &data.w[(size_t)lesson->rank * OWN * LAYER]};
    const struct dtrain_pp_options options = {
        .kind = DTRAIN_PP_GPIPE_REVERSE,
        .microbatches = MICROBATCHES,
        .layers = LAYERS,
        .type = DTRAIN_FLOAT64,
        .shape = {.rank = 2, .dims = {ROWS, WIDTH}},
        .forward = forward,
        .backward = backward,
        .context = &stage,
    };
    struct dtrain_pp *pp;
    int rc;

    data_fill(&data);
    if (dtrain_pp_create(lesson->world, &options, &pp, err) < 0)
        return -1;
    rc = run_step(lesson, &stage, pp, err);
    dtrain_pp_destroy(pp);
    return rc;
}

int main(void)
{
    return lesson_main("pipeline", DTRAIN_PP, learn);
}
