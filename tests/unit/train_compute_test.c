/*
 * The operations of compute.h in float32 against plain loops in double. What
 * their backwards are, and the other types, is train_gradient_test.c's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/train/compute.h"
#include "examples/train/random.h"
#include "tap.h"

static struct compute *cpu; /* main() opens and closes it */

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

/* Sizes of a norm, of logits. */
enum { ROWS = 5, WIDTH = 8, CELLS = ROWS * WIDTH };

static const struct attention attention = {.sequences = 2, .seq = 6, .heads = 2, .head_size = 3};
enum {
    ATTENTION_ROWS = 12,
    ATTENTION_OUT = ATTENTION_ROWS * 6,
    ATTENTION_QKV = 3 * ATTENTION_OUT,
    ATTENTION_SQUARES = 144
};

static const int32_t labels[ROWS] = {0, 7, 3, 3, 5};

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
    cpu->ops->matmul(cpu, &shape, c, a, b);
    tap_ok(all_near(c, expected, M * N, 1e-6), "matmul %s%s", name, accumulate ? ", added" : "");
}

static void check_norm(void)
{
    float in[CELLS + 2 * WIDTH], out[CELLS], means[ROWS], rstds[ROWS];
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
    cpu->ops->norm_forward(cpu, out, means, rstds, in, in + CELLS, in + CELLS + WIDTH, ROWS, WIDTH);
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
    cpu->ops->gelu_forward(cpu, out, in, CELLS);
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
    float qkv[ATTENTION_QKV], out[ATTENTION_OUT], probabilities[ATTENTION_SQUARES];
    double expected[ATTENTION_OUT];

    fill_random(qkv, ATTENTION_QKV, 8);
    for (size_t row = 0; row < ATTENTION_ROWS; row++) {
        for (size_t head = 0; head < attention.heads; head++)
            attend(qkv, row / attention.seq, head, row % attention.seq,
                   expected + (row * attention.heads + head) * attention.head_size);
    }
    cpu->ops->attention_forward(cpu, &attention, out, probabilities, qkv);
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
    float parts[2][ROWS * PADDED], maximum[2][ROWS], sums[2][2 * ROWS];

    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < ROWS * PADDED; i++)
            parts[half][i] =
                i % PADDED < HALF ? logits[i / PADDED * WIDTH + half * HALF + i % PADDED] : 1e30f;
        cpu->ops->loss_maximum(cpu, &halves[half], maximum[half], parts[half], ROWS);
    }
    for (int r = 0; r < ROWS; r++)
        maximum[0][r] = maximum[1][r] = fmaxf(maximum[0][r], maximum[1][r]);
    for (int half = 0; half < 2; half++)
        cpu->ops->loss_sums(cpu, &halves[half], sums[half], parts[half], maximum[half], labels, ROWS);
    cpu->ops->add(cpu, sums[0], sums[1], 2 * ROWS);
    for (int half = 0; half < 2; half++) {
        cpu->ops->loss_finish(cpu, &halves[half], losses, parts[half], sums[0], labels, 1, ROWS);
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
    float logits[2] = {5, 5}, maximum[1], sums[2], losses[1], top[1] = {3}, all[2] = {0, 3};
    int32_t label = 255;

    cpu->ops->loss_maximum(cpu, &none, maximum, logits, 1);
    tap_ok(isinf(maximum[0]) && maximum[0] < 0, "a rank without tokens has no maximum");
    cpu->ops->loss_sums(cpu, &none, sums, logits, top, &label, 1);
    tap_ok(sums[0] == 0 && sums[1] == 0, "and adds nothing");
    cpu->ops->loss_finish(cpu, &none, losses, logits, all, &label, 1, 1);
    tap_ok(logits[0] == 0 && logits[1] == 0, "and has no gradient");
}

static void check_adamw(void)
{
    enum { N = 6, STEPS = 3 };
    struct adamw step = {
        .lr = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = 0.1, .gradient_scale = 0.5};
    float w[N], g[N], m[N] = {0}, v[N] = {0};
    double ew[N], em[N] = {0}, ev[N] = {0};

    fill_random(w, N, 10);
    for (int i = 0; i < N; i++)
        ew[i] = (double)w[i];
    for (int t = 1; t <= STEPS; t++) {
        fill_random(g, N, 10 + (uint64_t)t);
        step.correction1 = 1 - pow(0.9, t);
        step.correction2 = 1 - pow(0.95, t);
        cpu->ops->adamw(cpu, &step, w, m, v, g, NULL, N);
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

/* bfloat16's rounding, by the cast of a run of that type. */
static void check_bfloat16(struct dtrain_world *world)
{
    static const struct {
        float value;
        uint16_t bits;
        const char *name;
    } rows[] = {
        {1.0f, 0x3f80, "1"},
        {-2.5f, 0xc020, "-2.5"},
        {1.00390625f, 0x3f80, "half a step above an even one"},
        {1.01171875f, 0x3f82, "half a step above an odd one"},
        {1.0039072f, 0x3f81, "a little more than half a step"},
        {3.4e38f, 0x7f80, "what is too large"},
        {1e-40f, 0x0001, "a subnormal"},
        {INFINITY, 0x7f80, "infinity"},
    };
    struct compute *c = NULL;
    uint16_t bits = 0;

    if (!tap_ok(compute_open(&c, world, DTRAIN_BFLOAT16, NULL) == 0, "bfloat16 opens"))
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        c->ops->cast(c, &bits, &rows[i].value, 1);
        if (!tap_ok(bits == rows[i].bits, "%s as bfloat16", rows[i].name))
            printf("# %04x, expected %04x\n", bits, rows[i].bits);
    }
    c->ops->cast(c, &bits, &(float){NAN}, 1);
    tap_ok((bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0, "a NaN stays one");
    compute_close(c);
}

static void check_failure(void)
{
    struct dtrain_error err = {""};
    float x = 1, y;

    compute_fail(cpu, "the %s failed", "first");
    compute_fail(cpu, "the second failed");
    tap_ok(compute_copy_out(cpu, &y, &x, sizeof(x), &err) == -1,
           "an operation's failure comes out of a copy");
    tap_holds(err.text, "the first failed", "the first of them");
}

int main(void)
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""};

    setenv("CUDA_VISIBLE_DEVICES", "", 1); /* the CPU's, also where a GPU is */
    if (!tap_ok(dtrain_init(&world, NULL, &err) == 0 && compute_open(&cpu, world, DTRAIN_FLOAT32, &err) == 0,
                "a world of one that computes %s", err.text))
        return tap_done();
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
    check_bfloat16(world);
    check_failure();
    compute_close(cpu);
    tap_ok(dtrain_finalize(world, &err) == 0, "the world ends %s", err.text);
    return tap_done();
}
