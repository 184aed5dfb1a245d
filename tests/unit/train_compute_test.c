/*
 * The operations of compute.h: forwards against plain loops in double, backwards
 * against central differences of the forwards.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/train/compute.h"
#include "examples/train/random.h"
#include "tap.h"

static const struct compute *const cpu = &compute_cpu;

enum { FLOATS_MAX = 4096 };

static void fill_random(float *x, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)random_normal(1, stream, i);
}

static bool near(double got, double expected, double tolerance)
{
    return fabs(got - expected) <= tolerance * (1 + fabs(expected));
}

static bool all_near(const float *got, const double *expected, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        if (!near((double)got[i], expected[i], tolerance)) {
            printf("# at %zu: got %.9g, expected %.9g\n", i, (double)got[i], expected[i]);
            return false;
        }
    }
    return true;
}

/* ---- Backwards by central differences ----------------------------------- */

/*
 * A forward of one flat array of inputs to outputs, and the backward that takes
 * d(outputs) to d(inputs). The scalar is the sum of outputs times random weights.
 */
struct problem {
    const char *name;
    size_t inputs, outputs;
    void (*forward)(const float *in, float *out);
    void (*backward)(const float *in, const float *dout, float *din);
};

static double scalar(const struct problem *p, const float *in, const float *weights)
{
    static float out[FLOATS_MAX];
    double sum = 0;

    memset(out, 0, sizeof(out));
    p->forward(in, out);
    for (size_t i = 0; i < p->outputs; i++)
        sum += (double)out[i] * (double)weights[i];
    return sum;
}

static double difference(const struct problem *p, float *in, size_t i, const float *weights)
{
    const float step = 1e-2f, old = in[i];
    double up, down;

    in[i] = old + step;
    up = scalar(p, in, weights);
    in[i] = old - step;
    down = scalar(p, in, weights);
    in[i] = old;
    return (up - down) / (2 * (double)step);
}

static void check_backward(const struct problem *p)
{
    static float in[FLOATS_MAX], weights[FLOATS_MAX], din[FLOATS_MAX];
    double worst = 0;
    bool ok = true;

    fill_random(in, p->inputs, 1);
    fill_random(weights, p->outputs, 2);
    memset(din, 0, sizeof(din));
    p->backward(in, weights, din);
    for (size_t i = 0; i < p->inputs; i++) {
        double expected = difference(p, in, i, weights);

        worst = fmax(worst, fabs((double)din[i] - expected));
        ok = ok && near((double)din[i], expected, 2e-3);
    }
    if (!tap_ok(ok, "%s: backward is the forward's derivative", p->name))
        printf("# furthest apart: %g\n", worst);
}

/* Norm of [ROWS, WIDTH]: inputs x, gain, bias. */
enum { ROWS = 5, WIDTH = 8, CELLS = ROWS * WIDTH };

static void norm_forward(const float *in, float *out)
{
    float mean[ROWS], rstd[ROWS];

    cpu->norm_forward(out, mean, rstd, in, in + CELLS, in + CELLS + WIDTH, ROWS, WIDTH);
}

static void norm_backward(const float *in, const float *dout, float *din)
{
    float mean[ROWS], rstd[ROWS], out[CELLS];

    cpu->norm_forward(out, mean, rstd, in, in + CELLS, in + CELLS + WIDTH, ROWS, WIDTH);
    cpu->norm_backward(din, din + CELLS, din + CELLS + WIDTH, dout, in, mean, rstd, in + CELLS, ROWS, WIDTH);
}

static void gelu_forward(const float *in, float *out)
{
    cpu->gelu_forward(out, in, CELLS);
}

static void gelu_backward(const float *in, const float *dout, float *din)
{
    cpu->gelu_backward(din, dout, in, CELLS);
}

/* In place, as the layers use it. */
static void gelu_backward_in_place(const float *in, const float *dout, float *din)
{
    memcpy(din, dout, CELLS * sizeof(*din));
    cpu->gelu_backward(din, din, in, CELLS);
}

static void bias_forward(const float *in, float *out)
{
    memcpy(out, in, CELLS * sizeof(*out));
    cpu->bias_add(out, in + CELLS, ROWS, WIDTH);
}

static void bias_backward(const float *in, const float *dout, float *din)
{
    (void)in;
    memcpy(din, dout, CELLS * sizeof(*din));
    cpu->bias_gradient(din + CELLS, dout, ROWS, WIDTH);
}

static const struct attention attention = {.sequences = 2, .seq = 6, .heads = 2, .head_size = 3};
enum {
    ATTENTION_ROWS = 12,
    ATTENTION_OUT = ATTENTION_ROWS * 6,
    ATTENTION_QKV = 3 * ATTENTION_OUT,
    ATTENTION_SQUARES = 144
};

static void attention_forward(const float *in, float *out)
{
    float probabilities[ATTENTION_SQUARES];

    cpu->attention_forward(&attention, out, probabilities, in);
}

static void attention_backward(const float *in, const float *dout, float *din)
{
    float probabilities[ATTENTION_SQUARES], scratch[ATTENTION_SQUARES], out[ATTENTION_OUT];

    cpu->attention_forward(&attention, out, probabilities, in);
    cpu->attention_backward(&attention, din, scratch, dout, in, probabilities);
}

/* Rows 10 .. 13 of a vocabulary are held, in a table with one more that is not real. */
static const struct vocabulary held = {.first = 10, .real = 4, .rows = 5};
static const int32_t tokens[ROWS] = {10, 13, 9, 10, 14};

static void embedding_forward(const float *in, float *out)
{
    cpu->embedding_forward(&held, out, in, tokens, ROWS, WIDTH);
}

static void embedding_backward(const float *in, const float *dout, float *din)
{
    (void)in;
    cpu->embedding_backward(&held, din, dout, tokens, ROWS, WIDTH);
}

/* Loss of ROWS rows over WIDTH tokens on one rank. */
static const struct vocabulary small = {.first = 0, .real = WIDTH, .rows = WIDTH};
static const int32_t labels[ROWS] = {0, 7, 3, 3, 5};

static void loss(const float *in, float *losses, float *logits, float scale)
{
    float maximum[ROWS], targets[ROWS], sums[ROWS];

    memcpy(logits, in, CELLS * sizeof(*logits));
    cpu->loss_maximum(&small, maximum, logits, ROWS);
    cpu->loss_sums(&small, targets, sums, logits, maximum, labels, ROWS);
    cpu->loss_finish(&small, losses, logits, targets, sums, labels, scale, ROWS);
}

/* The one output is the sum of the losses. */
static void loss_forward(const float *in, float *out)
{
    float losses[ROWS], logits[CELLS];

    loss(in, losses, logits, 1);
    for (int i = 0; i < ROWS; i++)
        out[0] += losses[i];
}

static void loss_backward(const float *in, const float *dout, float *din)
{
    float losses[ROWS];

    loss(in, losses, din, dout[0]);
}

static const struct problem problems[] = {
    {"layer norm", CELLS + 2 * WIDTH, CELLS, norm_forward, norm_backward},
    {"gelu", CELLS, CELLS, gelu_forward, gelu_backward},
    {"gelu in place", CELLS, CELLS, gelu_forward, gelu_backward_in_place},
    {"bias", CELLS + WIDTH, CELLS, bias_forward, bias_backward},
    {"attention", ATTENTION_QKV, ATTENTION_OUT, attention_forward, attention_backward},
    {"embedding", 5 * WIDTH, CELLS, embedding_forward, embedding_backward},
    {"cross-entropy", CELLS, 1, loss_forward, loss_backward},
};

/* ---- Forwards against plain loops --------------------------------------- */

static void check_matmul(enum matmul_form form, bool accumulate, const char *name)
{
    enum { M = 3, N = 4, K = 5 };
    struct matmul shape = {form, M, N, K, accumulate};
    float a[M * K], b[K * N], c[M * N];
    double expected[M * N];

    fill_random(a, M * K, 3);
    fill_random(b, K * N, 4);
    fill_random(c, M * N, 5);
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = accumulate ? (double)c[i * N + j] : 0;

            for (int k = 0; k < K; k++)
                sum += (double)a[form == MATMUL_TN ? k * M + i : i * K + k] *
                       (double)b[form == MATMUL_NT ? j * K + k : k * N + j];
            expected[i * N + j] = sum;
        }
    }
    cpu->matmul(&shape, c, a, b);
    tap_ok(all_near(c, expected, M * N, 1e-6), "matmul %s%s", name, accumulate ? ", added" : "");
}

static void check_norm(void)
{
    float in[CELLS + 2 * WIDTH], out[CELLS];
    double expected[CELLS];

    fill_random(in, CELLS + 2 * WIDTH, 6);
    for (int r = 0; r < ROWS; r++) {
        double mean = 0, variance = 0;

        for (int i = 0; i < WIDTH; i++)
            mean += (double)in[r * WIDTH + i] / WIDTH;
        for (int i = 0; i < WIDTH; i++)
            variance += pow((double)in[r * WIDTH + i] - mean, 2) / WIDTH;
        for (int i = 0; i < WIDTH; i++)
            expected[r * WIDTH + i] =
                ((double)in[r * WIDTH + i] - mean) / sqrt(variance + 1e-5) * (double)in[CELLS + i] +
                (double)in[CELLS + WIDTH + i];
    }
    norm_forward(in, out);
    tap_ok(all_near(out, expected, CELLS, 1e-5), "layer norm's values");
}

static void check_gelu(void)
{
    float in[CELLS], out[CELLS];
    double expected[CELLS];

    fill_random(in, CELLS, 7);
    in[0] = 100, in[1] = -100, in[2] = 0;
    for (int i = 0; i < CELLS; i++) {
        double x = (double)in[i];

        expected[i] = 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
    }
    cpu->gelu_forward(out, in, CELLS);
    tap_ok(all_near(out, expected, CELLS, 1e-6), "gelu's values");
}

/* Value of query (0), key (1) or value (2) at a row and head of the packed array. */
static double packed(const float *qkv, size_t row, size_t head, size_t which, size_t i)
{
    return (double)qkv[((row * attention.heads + head) * 3 + which) * attention.head_size + i];
}

static void attend(const float *qkv, size_t sequence, size_t head, size_t at, double *out)
{
    double weights[8], sum = 0;
    size_t row = sequence * attention.seq;

    for (size_t k = 0; k <= at; k++) {
        double dot = 0;

        for (size_t i = 0; i < attention.head_size; i++)
            dot += packed(qkv, row + at, head, 0, i) * packed(qkv, row + k, head, 1, i);
        weights[k] = exp(dot / sqrt((double)attention.head_size));
        sum += weights[k];
    }
    for (size_t i = 0; i < attention.head_size; i++) {
        out[i] = 0;
        for (size_t k = 0; k <= at; k++)
            out[i] += weights[k] / sum * packed(qkv, row + k, head, 2, i);
    }
}

static void check_attention(void)
{
    float qkv[ATTENTION_QKV], out[ATTENTION_OUT];
    double expected[ATTENTION_OUT];

    fill_random(qkv, ATTENTION_QKV, 8);
    for (size_t row = 0; row < ATTENTION_ROWS; row++) {
        for (size_t head = 0; head < attention.heads; head++)
            attend(qkv, row / attention.seq, head, row % attention.seq,
                   expected + (row * attention.heads + head) * attention.head_size);
    }
    attention_forward(qkv, out);
    tap_ok(all_near(out, expected, ATTENTION_OUT, 1e-5), "attention's values");
}

/* ---- Cross-entropy, split over two ranks --------------------------------- */

enum { HALF = WIDTH / 2, PADDED = HALF + 1 };

static void reference_loss(const float *logits, double *losses, double *gradient)
{
    for (int r = 0; r < ROWS; r++) {
        const float *row = logits + r * WIDTH;
        double top = (double)row[0], sum = 0;

        for (int i = 1; i < WIDTH; i++)
            top = fmax(top, (double)row[i]);
        for (int i = 0; i < WIDTH; i++)
            sum += exp((double)row[i] - top);
        losses[r] = log(sum) + top - (double)row[labels[r]];
        for (int i = 0; i < WIDTH; i++)
            gradient[r * WIDTH + i] = exp((double)row[i] - top) / sum - (i == labels[r]);
    }
}

/* The pieces of both ranks with what the all-reduces do between them; each half has a column of padding. */
static void split_loss(const float *logits, float *losses, float *gradient)
{
    static const struct vocabulary halves[2] = {{0, HALF, PADDED}, {HALF, HALF, PADDED}};
    float parts[2][ROWS * PADDED], maximum[2][ROWS], targets[2][ROWS], sums[2][ROWS];

    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < ROWS * PADDED; i++)
            parts[half][i] =
                i % PADDED < HALF ? logits[i / PADDED * WIDTH + half * HALF + i % PADDED] : 1e30f;
        cpu->loss_maximum(&halves[half], maximum[half], parts[half], ROWS);
    }
    for (int r = 0; r < ROWS; r++)
        maximum[0][r] = maximum[1][r] = fmaxf(maximum[0][r], maximum[1][r]);
    for (int half = 0; half < 2; half++)
        cpu->loss_sums(&halves[half], targets[half], sums[half], parts[half], maximum[half], labels, ROWS);
    cpu->add(targets[0], targets[1], ROWS);
    cpu->add(sums[0], sums[1], ROWS);
    for (int half = 0; half < 2; half++) {
        cpu->loss_finish(&halves[half], losses, parts[half], targets[0], sums[0], labels, 1, ROWS);
        for (int i = 0; i < ROWS * HALF; i++)
            gradient[i / HALF * WIDTH + half * HALF + i % HALF] = parts[half][i / HALF * PADDED + i % HALF];
    }
}

static void check_loss(float factor)
{
    float logits[CELLS], losses[ROWS], gradient[CELLS];
    double expected[ROWS], expected_gradient[CELLS];
    bool finite = true;

    fill_random(logits, CELLS, 9);
    for (int i = 0; i < CELLS; i++)
        logits[i] *= factor;
    reference_loss(logits, expected, expected_gradient);
    split_loss(logits, losses, gradient);
    for (int i = 0; i < ROWS; i++)
        finite = finite && isfinite(losses[i]);
    tap_ok(finite, "cross-entropy of logits times %g is finite", (double)factor);
    tap_ok(all_near(losses, expected, ROWS, 1e-5), "split over two ranks: losses of logits times %g",
           (double)factor);
    tap_ok(all_near(gradient, expected_gradient, CELLS, 1e-5), "and their gradient");
}

/* A rank with nothing but padding takes no part. */
static void check_empty_rank(void)
{
    static const struct vocabulary none = {.first = 256, .real = 0, .rows = 2};
    float logits[2] = {5, 5}, maximum[1], targets[1], sums[1], losses[1], all[1] = {3};
    int32_t label = 255;

    cpu->loss_maximum(&none, maximum, logits, 1);
    tap_ok(isinf(maximum[0]) && maximum[0] < 0, "a rank without tokens has no maximum");
    cpu->loss_sums(&none, targets, sums, logits, all, &label, 1);
    tap_ok(targets[0] == 0 && sums[0] == 0, "and adds nothing");
    cpu->loss_finish(&none, losses, logits, targets, all, &label, 1, 1);
    tap_ok(logits[0] == 0 && logits[1] == 0, "and has no gradient");
}

static void check_adamw(void)
{
    enum { N = 6, STEPS = 3 };
    struct adamw step = {
        .lr = 0.1f, .beta1 = 0.9f, .beta2 = 0.95f, .epsilon = 1e-8f, .decay = 0.1f, .gradient_scale = 0.5f};
    float w[N], g[N], m[N] = {0}, v[N] = {0};
    double ew[N], em[N] = {0}, ev[N] = {0};

    fill_random(w, N, 10);
    for (int i = 0; i < N; i++)
        ew[i] = (double)w[i];
    for (int t = 1; t <= STEPS; t++) {
        fill_random(g, N, 10 + (uint64_t)t);
        step.correction1 = (float)(1 - pow(0.9, t));
        step.correction2 = (float)(1 - pow(0.95, t));
        cpu->adamw(&step, w, m, v, g, N);
        for (int i = 0; i < N; i++) {
            double d = 0.5 * (double)g[i];

            em[i] = 0.9 * em[i] + 0.1 * d;
            ev[i] = 0.95 * ev[i] + 0.05 * d * d;
            ew[i] -= 0.1 * 0.1 * ew[i];
            ew[i] -= 0.1 * em[i] / (1 - pow(0.9, t)) / (sqrt(ev[i] / (1 - pow(0.95, t))) + 1e-8);
        }
    }
    tap_ok(all_near(w, ew, N, 1e-5), "three steps of AdamW");
}

static void check_choice(void)
{
    const struct compute *compute = NULL;
    struct dtrain_error err = {""};

    tap_ok(compute_choose(&compute, "host", &err) == 0 && compute == cpu,
           "the host backend computes on the CPU");
    tap_ok(compute_choose(&compute, "other", &err) == -1, "an unknown backend is refused");
    tap_holds(err.text, "the other backend moves memory that this build of train cannot compute on",
              "with the reason");
}

int main(void)
{
    cpu->open(0, NULL);
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
        check_backward(&problems[i]);
    check_matmul(MATMUL_NN, false, "a b");
    check_matmul(MATMUL_NT, false, "a b^T");
    check_matmul(MATMUL_TN, false, "a^T b");
    check_matmul(MATMUL_TN, true, "a^T b");
    check_norm();
    check_gelu();
    check_attention();
    check_loss(1);
    check_loss(1000);
    check_empty_rank();
    check_adamw();
    check_choice();
    cpu->close();
    return tap_done();
}
