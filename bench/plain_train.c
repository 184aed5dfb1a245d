/*
 * plain_train.c - the yardstick of bench/train.sh: the model of examples/train in one process, with the same
 * BLAS, weights, data and optimizer, and nothing that could split it: flat arrays and loops. Its losses are
 * train's. For instance: plain_train --steps 20 --hidden 128
 */
#include <cblas.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VOCABULARY 256
#define DEVIATION 0.02
#define NORM_EPSILON 1e-5f

enum { FORWARD_NN, FORWARD_NT, FORWARD_TN };

static struct {
    const char *data;
    size_t layers, hidden, heads, seq, batch, microbatches, steps;
    double lr;
    uint64_t seed;
} options = {"/usr/share/common-licenses/GPL-3", 4, 64, 8, 64, 16, 4, 200, 0.001, 1};

/* ---- Random numbers: the same functions of (seed, stream, index) as train's ---------------- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    return mix(mix(mix(seed) ^ stream) ^ index);
}

static double uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t stream, uint64_t index)
{
    double radius = sqrt(-2.0 * log(uniform(random_bits(options.seed, stream, 2 * index))));

    return radius * cos(6.283185307179586 * uniform(random_bits(options.seed, stream, 2 * index + 1)));
}

/* ---- Parameters ----------------------------------------------------------------------------- */

struct tensor {
    size_t offset, count;
    int is_decayed;
};

/* In train's order: embeddings, twelve tensors a layer, the head's three. */
enum { TOKENS, POSITIONS, LAYERS };
enum { GAIN1, BIAS1, QKV, QKV_BIAS, PROJECTION, PROJECTION_BIAS, GAIN2, BIAS2, WIDE, WIDE_BIAS, NARROW, NARROW_BIAS, OF_LAYER };
enum { HEAD_GAIN, HEAD_BIAS, HEAD, OF_HEAD };

static struct tensor *tensors;
static size_t tensor_count, weight_count;
static float *weights, *gradients, *first_moment, *second_moment;

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        fprintf(stderr, "plain_train: out of memory\n");
        exit(1);
    }
    return memory;
}

static size_t head_of(size_t which)
{
    return LAYERS + options.layers * OF_LAYER + which;
}

static void set(size_t index, size_t count, int is_decayed)
{
    tensors[index] = (struct tensor){weight_count, count, is_decayed};
    weight_count += count;
}

static void list_parameters(void)
{
    static const struct {
        int rows, cols;
    } shapes[OF_LAYER] = {{0, 1}, {0, 1}, {1, 3}, {0, 3}, {1, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 4}, {0, 4}, {4, 1}, {0, 1}};
    size_t h = options.hidden;

    tensor_count = head_of(OF_HEAD);
    tensors = allocate(tensor_count, sizeof(*tensors));
    set(TOKENS, VOCABULARY * h, 1);
    set(POSITIONS, options.seq * h, 1);
    for (size_t l = 0; l < options.layers; l++) {
        for (int i = 0; i < OF_LAYER; i++)
            set(LAYERS + l * OF_LAYER + (size_t)i,
                (shapes[i].rows > 0 ? (size_t)shapes[i].rows * h : 1) * (size_t)shapes[i].cols * h, shapes[i].rows > 0);
    }
    set(head_of(HEAD_GAIN), h, 0);
    set(head_of(HEAD_BIAS), h, 0);
    set(head_of(HEAD), VOCABULARY * h, 1);
}

static void fill_normal(size_t index, double deviation)
{
    for (size_t i = 0; i < tensors[index].count; i++)
        weights[tensors[index].offset + i] = (float)(deviation * normal(index, i));
}

static void fill_ones(size_t index)
{
    for (size_t i = 0; i < tensors[index].count; i++)
        weights[tensors[index].offset + i] = 1;
}

static void create_parameters(void)
{
    double residual = DEVIATION / sqrt(2.0 * (double)options.layers);

    list_parameters();
    weights = allocate(weight_count, sizeof(float));
    gradients = allocate(weight_count, sizeof(float));
    first_moment = allocate(weight_count, sizeof(float));
    second_moment = allocate(weight_count, sizeof(float));
    fill_normal(TOKENS, DEVIATION);
    fill_normal(POSITIONS, DEVIATION);
    for (size_t l = 0; l < options.layers; l++) {
        size_t at = LAYERS + l * OF_LAYER;

        fill_ones(at + GAIN1);
        fill_ones(at + GAIN2);
        fill_normal(at + QKV, DEVIATION);
        fill_normal(at + WIDE, DEVIATION);
        fill_normal(at + PROJECTION, residual);
        fill_normal(at + NARROW, residual);
    }
    fill_ones(head_of(HEAD_GAIN));
    fill_normal(head_of(HEAD), DEVIATION);
}

static float *weight(size_t index) { return weights + tensors[index].offset; }
static float *gradient(size_t index) { return gradients + tensors[index].offset; }

/* ---- Operations ------------------------------------------------------------------------------ */

/* c[m, n] (+)= alpha op(a) op(b), rows lda, ldb, ldc apart. */
static void product(int form, size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda, const float *b,
                    size_t ldb, float beta, float *c, size_t ldc)
{
    cblas_sgemm(CblasRowMajor, form == FORWARD_TN ? CblasTrans : CblasNoTrans,
                form == FORWARD_NT ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, alpha, a,
                (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}

/* out[rows, n] = x[rows, k] w[k, n] + bias */
static void linear(float *out, const float *x, size_t w, size_t bias, size_t rows, size_t k, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * n, weight(bias), n * sizeof(*out));
    product(FORWARD_NN, rows, n, k, 1, x, k, weight(w), n, 1, out, n);
}

static void linear_backward(float *dx, const float *x, const float *d, size_t w, size_t bias, size_t rows, size_t k,
                            size_t n)
{
    float *dbias = gradient(bias);

    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < n; i++)
            dbias[i] += d[r * n + i];
    }
    product(FORWARD_TN, k, n, rows, 1, x, k, d, n, 1, gradient(w), n);
    product(FORWARD_NT, rows, k, n, 1, d, n, weight(w), n, 0, dx, k);
}

static void norm(float *out, float *mean, float *rstd, const float *x, size_t gain, size_t bias, size_t rows)
{
    const float *g = weight(gain), *b = weight(bias);
    size_t n = options.hidden;

    for (size_t r = 0; r < rows; r++, x += n, out += n) {
        float sum = 0, squares = 0;

        for (size_t i = 0; i < n; i++)
            sum += x[i];
        mean[r] = sum / (float)n;
        for (size_t i = 0; i < n; i++)
            squares += (x[i] - mean[r]) * (x[i] - mean[r]);
        rstd[r] = 1.0f / sqrtf(squares / (float)n + NORM_EPSILON);
        for (size_t i = 0; i < n; i++)
            out[i] = (x[i] - mean[r]) * rstd[r] * g[i] + b[i];
    }
}

/* dx += */
static void norm_backward(float *dx, const float *d, const float *x, const float *mean, const float *rstd, size_t gain,
                          size_t bias, size_t rows)
{
    const float *g = weight(gain);
    float *dgain = gradient(gain), *dbias = gradient(bias);
    size_t n = options.hidden;

    for (size_t r = 0; r < rows; r++, x += n, d += n, dx += n) {
        float sum = 0, dot = 0;

        for (size_t i = 0; i < n; i++) {
            float y = (x[i] - mean[r]) * rstd[r];

            dgain[i] += d[i] * y;
            dbias[i] += d[i];
            sum += d[i] * g[i];
            dot += d[i] * g[i] * y;
        }
        for (size_t i = 0; i < n; i++)
            dx[i] += rstd[r] * (d[i] * g[i] - sum / (float)n - (x[i] - mean[r]) * rstd[r] * dot / (float)n);
    }
}

static float gelu_tanh(float x)
{
    return tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x));
}

static void gelu(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 0.5f * x[i] * (1 + gelu_tanh(x[i]));
}

static void gelu_backward(float *d, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float t = gelu_tanh(x[i]), inner = 0.7978845608028654f * (1 + 3 * 0.044715f * x[i] * x[i]);

        d[i] *= 0.5f * (1 + t) + 0.5f * x[i] * (1 - t * t) * inner;
    }
}

/* ---- Attention: a row of qkv is [heads, 3, head size] ------------------------------------------ */

static void causal_softmax(float *p, size_t seq)
{
    for (size_t r = 0; r < seq; r++, p += seq) {
        float top = p[0], sum = 0;

        for (size_t i = 1; i <= r; i++)
            top = fmaxf(top, p[i]);
        for (size_t i = 0; i <= r; i++)
            sum += p[i] = expf(p[i] - top);
        for (size_t i = 0; i <= r; i++)
            p[i] /= sum;
        memset(p + r + 1, 0, (seq - r - 1) * sizeof(*p));
    }
}

static void attention(float *out, float *p, const float *qkv, size_t sequences)
{
    size_t s = options.seq, h = options.hidden, size = h / options.heads;

    for (size_t i = 0; i < sequences * options.heads; i++, p += s * s) {
        size_t row = i / options.heads * s, head = i % options.heads;
        const float *query = qkv + row * 3 * h + head * 3 * size;

        product(FORWARD_NT, s, s, size, 1 / sqrtf((float)size), query, 3 * h, query + size, 3 * h, 0, p, s);
        causal_softmax(p, s);
        product(FORWARD_NN, s, size, s, 1, p, s, query + 2 * size, 3 * h, 0, out + row * h + head * size, h);
    }
}

static void attention_backward(float *dqkv, float *scratch, const float *d, const float *qkv, const float *p,
                               size_t sequences)
{
    size_t s = options.seq, h = options.hidden, size = h / options.heads;
    float scale = 1 / sqrtf((float)size);

    for (size_t i = 0; i < sequences * options.heads; i++, p += s * s) {
        size_t row = i / options.heads * s, head = i % options.heads;
        const float *query = qkv + row * 3 * h + head * 3 * size, *dout = d + row * h + head * size;
        float *dquery = dqkv + row * 3 * h + head * 3 * size;

        product(FORWARD_TN, s, size, s, 1, p, s, dout, h, 0, dquery + 2 * size, 3 * h);
        product(FORWARD_NT, s, s, size, 1, dout, h, query + 2 * size, 3 * h, 0, scratch, s);
        for (size_t r = 0; r < s; r++) {
            float dot = 0;

            for (size_t c = 0; c <= r; c++)
                dot += scratch[r * s + c] * p[r * s + c];
            for (size_t c = 0; c < s; c++)
                scratch[r * s + c] = p[r * s + c] * (scratch[r * s + c] - dot);
        }
        product(FORWARD_NN, s, size, s, scale, scratch, s, query + size, 3 * h, 0, dquery, 3 * h);
        product(FORWARD_TN, s, size, s, scale, scratch, s, query, 3 * h, 0, dquery + size, 3 * h);
    }
}

/* ---- The model --------------------------------------------------------------------------------- */

struct kept {
    float *norm1, *mean1, *rstd1, *qkv, *p, *mixed, *middle, *norm2, *mean2, *rstd2, *wide, *active, *out;
};

static struct kept *kept;
static float *embedded, *final, *final_mean, *final_rstd, *logits, *d, *dwide, *dnorm, *dmixed, *dqkv, *dp;
static int32_t *tokens, *labels;
static unsigned char *text;
static size_t text_size, sequences, rows;

static float *floats(size_t count) { return allocate(count, sizeof(float)); }

static void create_buffers(void)
{
    size_t h = options.hidden, p = sequences * options.heads * options.seq * options.seq;

    kept = allocate(options.layers, sizeof(*kept));
    for (size_t l = 0; l < options.layers; l++)
        kept[l] = (struct kept){floats(rows * h), floats(rows), floats(rows), floats(3 * rows * h), floats(p),
                                floats(rows * h), floats(rows * h), floats(rows * h), floats(rows), floats(rows),
                                floats(4 * rows * h), floats(4 * rows * h), floats(rows * h)};
    embedded = floats(rows * h);
    final = floats(rows * h);
    final_mean = floats(rows);
    final_rstd = floats(rows);
    logits = floats(rows * VOCABULARY);
    d = floats(rows * h);
    dwide = floats(4 * rows * h);
    dnorm = floats(rows * h);
    dmixed = floats(rows * h);
    dqkv = floats(3 * rows * h);
    dp = floats(options.seq * options.seq);
    tokens = allocate(rows, sizeof(*tokens));
    labels = allocate(rows, sizeof(*labels));
}

static void add(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void embed(void)
{
    size_t h = options.hidden;

    for (size_t r = 0; r < rows; r++) {
        memcpy(embedded + r * h, weight(TOKENS) + (size_t)tokens[r] * h, h * sizeof(float));
        add(embedded + r * h, weight(POSITIONS) + r % options.seq * h, h);
    }
}

static void layer_forward(size_t l, const float *x)
{
    struct kept *k = &kept[l];
    size_t at = LAYERS + l * OF_LAYER, h = options.hidden;

    norm(k->norm1, k->mean1, k->rstd1, x, at + GAIN1, at + BIAS1, rows);
    linear(k->qkv, k->norm1, at + QKV, at + QKV_BIAS, rows, h, 3 * h);
    attention(k->mixed, k->p, k->qkv, sequences);
    linear(k->middle, k->mixed, at + PROJECTION, at + PROJECTION_BIAS, rows, h, h);
    add(k->middle, x, rows * h);
    norm(k->norm2, k->mean2, k->rstd2, k->middle, at + GAIN2, at + BIAS2, rows);
    linear(k->wide, k->norm2, at + WIDE, at + WIDE_BIAS, rows, h, 4 * h);
    gelu(k->active, k->wide, 4 * rows * h);
    linear(k->out, k->active, at + NARROW, at + NARROW_BIAS, rows, 4 * h, h);
    add(k->out, k->middle, rows * h);
}

static void layer_backward(size_t l, const float *x)
{
    struct kept *k = &kept[l];
    size_t at = LAYERS + l * OF_LAYER, h = options.hidden;

    linear_backward(dwide, k->active, d, at + NARROW, at + NARROW_BIAS, rows, 4 * h, h);
    gelu_backward(dwide, k->wide, 4 * rows * h);
    linear_backward(dnorm, k->norm2, dwide, at + WIDE, at + WIDE_BIAS, rows, h, 4 * h);
    norm_backward(d, dnorm, k->middle, k->mean2, k->rstd2, at + GAIN2, at + BIAS2, rows);
    linear_backward(dmixed, k->mixed, d, at + PROJECTION, at + PROJECTION_BIAS, rows, h, h);
    attention_backward(dqkv, dp, dmixed, k->qkv, k->p, sequences);
    linear_backward(dnorm, k->norm1, dqkv, at + QKV, at + QKV_BIAS, rows, h, 3 * h);
    norm_backward(d, dnorm, x, k->mean1, k->rstd1, at + GAIN1, at + BIAS1, rows);
}

/* Sum of the rows' losses; logits become the gradient of the mean loss. */
static double cross_entropy(void)
{
    float scale = 1.0f / (float)(rows * options.microbatches);
    double sum = 0;

    for (size_t r = 0; r < rows; r++) {
        float *x = logits + r * VOCABULARY, top = x[0], total = 0, target;

        for (size_t i = 1; i < VOCABULARY; i++)
            top = fmaxf(top, x[i]);
        target = x[labels[r]] - top;
        for (size_t i = 0; i < VOCABULARY; i++)
            total += x[i] = expf(x[i] - top);
        for (size_t i = 0; i < VOCABULARY; i++)
            x[i] *= scale / total;
        x[labels[r]] -= scale;
        sum += (double)(logf(total) - target);
    }
    return sum;
}

static double microbatch(void)
{
    size_t h = options.hidden;
    const float *x = embedded;
    double loss;

    embed();
    for (size_t l = 0; l < options.layers; l++) {
        layer_forward(l, x);
        x = kept[l].out;
    }
    norm(final, final_mean, final_rstd, x, head_of(HEAD_GAIN), head_of(HEAD_BIAS), rows);
    product(FORWARD_NT, rows, VOCABULARY, h, 1, final, h, weight(head_of(HEAD)), h, 0, logits, VOCABULARY);
    loss = cross_entropy();
    product(FORWARD_TN, VOCABULARY, h, rows, 1, logits, VOCABULARY, final, h, 1, gradient(head_of(HEAD)), h);
    product(FORWARD_NN, rows, h, VOCABULARY, 1, logits, VOCABULARY, weight(head_of(HEAD)), h, 0, dnorm, h);
    memset(d, 0, rows * h * sizeof(*d));
    norm_backward(d, dnorm, x, final_mean, final_rstd, head_of(HEAD_GAIN), head_of(HEAD_BIAS), rows);
    for (size_t l = options.layers; l-- > 0;)
        layer_backward(l, l > 0 ? kept[l - 1].out : embedded);
    for (size_t r = 0; r < rows; r++) {
        add(gradient(TOKENS) + (size_t)tokens[r] * h, d + r * h, h);
        add(gradient(POSITIONS) + r % options.seq * h, d + r * h, h);
    }
    return loss;
}

static void draw(uint64_t step, size_t first)
{
    uint64_t places = text_size - options.seq;

    for (size_t i = 0; i < sequences; i++) {
        uint64_t start =
            random_bits(random_bits(options.seed, UINT64_MAX, step), 0, first + i) % places;

        for (size_t k = 0; k < options.seq; k++) {
            tokens[i * options.seq + k] = text[start + k];
            labels[i * options.seq + k] = text[start + k + 1];
        }
    }
}

static void adamw(uint64_t step)
{
    const float beta1 = 0.9f, beta2 = 0.95f, lr = (float)options.lr;
    float correction1 = (float)(1 - pow(0.9, (double)step)), correction2 = (float)(1 - pow(0.95, (double)step));

    for (size_t t = 0; t < tensor_count; t++) {
        float decay = tensors[t].is_decayed ? 0.1f : 0;
        size_t end = tensors[t].offset + tensors[t].count;

        for (size_t i = tensors[t].offset; i < end; i++) {
            float g = gradients[i];

            first_moment[i] = beta1 * first_moment[i] + (1 - beta1) * g;
            second_moment[i] = beta2 * second_moment[i] + (1 - beta2) * g * g;
            weights[i] -= lr * decay * weights[i];
            weights[i] -= lr * (first_moment[i] / correction1) / (sqrtf(second_moment[i] / correction2) + 1e-8f);
        }
    }
}

/* ---- The program --------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int read_text(void)
{
    FILE *in = fopen(options.data, "rb");

    if (in == NULL || fseek(in, 0, SEEK_END) != 0) {
        perror(options.data);
        return -1;
    }
    text_size = (size_t)ftell(in);
    rewind(in);
    text = allocate(text_size + 1, 1);
    if (fread(text, 1, text_size, in) != text_size || text_size < options.seq + 1) {
        fprintf(stderr, "plain_train: %s is too short\n", options.data);
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
    size_t *const sizes[] = {&options.layers, &options.hidden, &options.heads,       &options.seq,
                             &options.batch,  &options.steps,  &options.microbatches};
    int which;

    while ((which = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (which < 0 || which > 6 || (*sizes[which] = strtoul(optarg, NULL, 10)) == 0)
            return -1;
    }
    return options.hidden % options.heads == 0 && options.batch % options.microbatches == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    double start;

    if (read_options(argc, argv) != 0) {
        fprintf(stderr, "usage: plain_train [--layers N] [--hidden N] [--heads N] [--seq N] [--batch N] "
                        "[--microbatches N] [--steps N], sizes that divide\n");
        return 2;
    }
    openblas_set_num_threads(1);
    sequences = options.batch / options.microbatches;
    rows = sequences * options.seq;
    if (read_text() != 0)
        return 1;
    create_parameters();
    create_buffers();
    start = now();
    for (uint64_t step = 1; step <= options.steps; step++) {
        double loss = 0;

        memset(gradients, 0, weight_count * sizeof(*gradients));
        for (size_t i = 0; i < options.microbatches; i++) {
            draw(step, i * sequences);
            loss += microbatch();
        }
        adamw(step);
        printf("step %llu loss %.8f\n", (unsigned long long)step, loss / (double)(rows * options.microbatches));
    }
    printf("plain_train: %.0f tokens/s\n", (double)(options.steps * options.batch * options.seq) / (now() - start));
    return 0;
}
