/*
 * plain_train.c - trains examples/train's model as a program would that knows of no other rank; its losses
 * are train's. For instance: plain_train --steps 20 --hidden 128
 */
#include <cblas.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/plain.h"

struct plain_options plain_options = {"/usr/share/common-licenses/GPL-3", 4, 64, 8, 64, 16, 4, 200, 0.001, 1};

void *plain_allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        fprintf(stderr, "plain_train: out of memory\n");
        exit(1);
    }
    return memory;
}

struct kept {
    float *norm1, *mean1, *rstd1, *qkv, *p, *mixed, *middle, *norm2, *mean2, *rstd2, *wide, *active, *out;
};

static struct kept *kept;
static float *embedded, *final, *final_mean, *final_rstd, *logits, *d, *dwide, *dnorm, *dmixed, *dqkv, *dp;
static int32_t *tokens, *labels;
static unsigned char *text;
static size_t text_size, sequences, rows;

static float *floats(size_t count)
{
    return plain_allocate(count, sizeof(float));
}

static void create_buffers(void)
{
    size_t h = plain_options.hidden,
           p = sequences * plain_options.heads * plain_options.seq * plain_options.seq;

    kept = plain_allocate(plain_options.layers, sizeof(*kept));
    for (size_t l = 0; l < plain_options.layers; l++)
        kept[l] = (struct kept){
            floats(rows * h),     floats(rows),         floats(rows),     floats(3 * rows * h), floats(p),
            floats(rows * h),     floats(rows * h),     floats(rows * h), floats(rows),         floats(rows),
            floats(4 * rows * h), floats(4 * rows * h), floats(rows * h)};
    embedded = floats(rows * h);
    final = floats(rows * h);
    final_mean = floats(rows);
    final_rstd = floats(rows);
    logits = floats(rows * PLAIN_VOCABULARY);
    d = floats(rows * h);
    dwide = floats(4 * rows * h);
    dnorm = floats(rows * h);
    dmixed = floats(rows * h);
    dqkv = floats(3 * rows * h);
    dp = floats(plain_options.seq * plain_options.seq);
    tokens = plain_allocate(rows, sizeof(*tokens));
    labels = plain_allocate(rows, sizeof(*labels));
}

static void embed(void)
{
    size_t h = plain_options.hidden;

    for (size_t r = 0; r < rows; r++) {
        memcpy(embedded + r * h, plain_weight(TOKENS) + (size_t)tokens[r] * h, h * sizeof(float));
        plain_add(embedded + r * h, plain_weight(POSITIONS) + r % plain_options.seq * h, h);
    }
}

static void layer_forward(size_t l, const float *x)
{
    struct kept *k = &kept[l];
    size_t at = plain_of_layer(l, GAIN1), h = plain_options.hidden;

    plain_norm(k->norm1, k->mean1, k->rstd1, x, at + GAIN1, at + BIAS1, rows);
    plain_linear(k->qkv, k->norm1, at + QKV, at + QKV_BIAS, rows, h, 3 * h);
    plain_attention(k->mixed, k->p, k->qkv, sequences);
    plain_linear(k->middle, k->mixed, at + PROJECTION, at + PROJECTION_BIAS, rows, h, h);
    plain_add(k->middle, x, rows * h);
    plain_norm(k->norm2, k->mean2, k->rstd2, k->middle, at + GAIN2, at + BIAS2, rows);
    plain_linear(k->wide, k->norm2, at + WIDE, at + WIDE_BIAS, rows, h, 4 * h);
    plain_gelu(k->active, k->wide, 4 * rows * h);
    plain_linear(k->out, k->active, at + NARROW, at + NARROW_BIAS, rows, 4 * h, h);
    plain_add(k->out, k->middle, rows * h);
}

static void layer_backward(size_t l, const float *x)
{
    struct kept *k = &kept[l];
    size_t at = plain_of_layer(l, GAIN1), h = plain_options.hidden;

    plain_linear_backward(dwide, k->active, d, at + NARROW, at + NARROW_BIAS, rows, 4 * h, h);
    plain_gelu_backward(dwide, k->wide, 4 * rows * h);
    plain_linear_backward(dnorm, k->norm2, dwide, at + WIDE, at + WIDE_BIAS, rows, h, 4 * h);
    plain_norm_backward(d, dnorm, k->middle, k->mean2, k->rstd2, at + GAIN2, at + BIAS2, rows);
    plain_linear_backward(dmixed, k->mixed, d, at + PROJECTION, at + PROJECTION_BIAS, rows, h, h);
    plain_attention_backward(dqkv, dp, dmixed, k->qkv, k->p, sequences);
    plain_linear_backward(dnorm, k->norm1, dqkv, at + QKV, at + QKV_BIAS, rows, h, 3 * h);
    plain_norm_backward(d, dnorm, x, k->mean1, k->rstd1, at + GAIN1, at + BIAS1, rows);
}

static double microbatch(void)
{
    size_t h = plain_options.hidden;
    const float *x = embedded;
    double loss;

    embed();
    for (size_t l = 0; l < plain_options.layers; l++) {
        layer_forward(l, x);
        x = kept[l].out;
    }
    plain_norm(final, final_mean, final_rstd, x, plain_of_head(HEAD_GAIN), plain_of_head(HEAD_BIAS), rows);
    plain_product(PLAIN_NT, rows, PLAIN_VOCABULARY, h, 1, final, h, plain_weight(plain_of_head(HEAD)), h, 0,
                  logits, PLAIN_VOCABULARY);
    loss = plain_cross_entropy(logits, labels, rows, 1.0f / (float)(rows * plain_options.microbatches));
    plain_product(PLAIN_TN, PLAIN_VOCABULARY, h, rows, 1, logits, PLAIN_VOCABULARY, final, h, 1,
                  plain_gradient(plain_of_head(HEAD)), h);
    plain_product(PLAIN_NN, rows, h, PLAIN_VOCABULARY, 1, logits, PLAIN_VOCABULARY,
                  plain_weight(plain_of_head(HEAD)), h, 0, dnorm, h);
    memset(d, 0, rows * h * sizeof(*d));
    plain_norm_backward(d, dnorm, x, final_mean, final_rstd, plain_of_head(HEAD_GAIN),
                        plain_of_head(HEAD_BIAS), rows);
    for (size_t l = plain_options.layers; l-- > 0;)
        layer_backward(l, l > 0 ? kept[l - 1].out : embedded);
    for (size_t r = 0; r < rows; r++) {
        plain_add(plain_gradient(TOKENS) + (size_t)tokens[r] * h, d + r * h, h);
        plain_add(plain_gradient(POSITIONS) + r % plain_options.seq * h, d + r * h, h);
    }
    return loss;
}

static void draw(uint64_t step, size_t first)
{
    uint64_t places = text_size - plain_options.seq;

    for (size_t i = 0; i < sequences; i++) {
        uint64_t start =
            plain_random_bits(plain_random_bits(plain_options.seed, UINT64_MAX, step), 0, first + i) % places;

        for (size_t k = 0; k < plain_options.seq; k++) {
            tokens[i * plain_options.seq + k] = text[start + k];
            labels[i * plain_options.seq + k] = text[start + k + 1];
        }
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int read_text(void)
{
    FILE *in = fopen(plain_options.data, "rb");

    if (in == NULL || fseek(in, 0, SEEK_END) != 0) {
        perror(plain_options.data);
        return -1;
    }
    text_size = (size_t)ftell(in);
    rewind(in);
    text = plain_allocate(text_size + 1, 1);
    if (fread(text, 1, text_size, in) != text_size || text_size < plain_options.seq + 1) {
        fprintf(stderr, "plain_train: %s is too short\n", plain_options.data);
        fclose(in);
        return -1;
    }
    fclose(in);
    return 0;
}

static int read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"layers", 1, NULL, 0}, {"hidden", 1, NULL, 1}, {"heads", 1, NULL, 2},        {"seq", 1, NULL, 3},
        {"batch", 1, NULL, 4},  {"steps", 1, NULL, 5},  {"microbatches", 1, NULL, 6}, {0}};
    size_t *const sizes[] = {&plain_options.layers,      &plain_options.hidden, &plain_options.heads,
                             &plain_options.seq,         &plain_options.batch,  &plain_options.steps,
                             &plain_options.microbatches};
    int which;

    while ((which = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (which < 0 || which > 6 || (*sizes[which] = strtoul(optarg, NULL, 10)) == 0)
            return -1;
    }
    return plain_options.hidden % plain_options.heads == 0 &&
                   plain_options.batch % plain_options.microbatches == 0
               ? 0
               : -1;
}

/* The mean loss. */
static double train_step(uint64_t step)
{
    double loss = 0;

    plain_zero_gradients();
    for (size_t i = 0; i < plain_options.microbatches; i++) {
        draw(step, i * sequences);
        loss += microbatch();
    }
    plain_adamw(step);
    return loss / (double)(rows * plain_options.microbatches);
}

static void train(void)
{
    double start = now(), trained = (double)(plain_options.steps * plain_options.batch * plain_options.seq);

    for (uint64_t step = 1; step <= plain_options.steps; step++)
        printf("step %llu loss %.8f\n", (unsigned long long)step, train_step(step));
    printf("plain_train: %.0f tokens/s\n", trained / (now() - start));
}

int main(int argc, char **argv)
{
    if (read_options(argc, argv) != 0) {
        fprintf(stderr, "usage: plain_train [--layers N] [--hidden N] [--heads N] [--seq N] [--batch N] "
                        "[--microbatches N] [--steps N], sizes that divide\n");
        return 2;
    }
    openblas_set_num_threads(1);
    sequences = plain_options.batch / plain_options.microbatches;
    rows = sequences * plain_options.seq;
    if (read_text() != 0)
        return 1;
    plain_create_parameters();
    create_buffers();
    train();
    return 0;
}
