#include <math.h>
#include <string.h>

#include "bench/plain.h"

#define DEVIATION 0.02

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t plain_random_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    return mix(mix(mix(seed) ^ stream) ^ index);
}

static double uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t stream, uint64_t index)
{
    double radius = sqrt(-2.0 * log(uniform(plain_random_bits(plain_options.seed, stream, 2 * index))));

    return radius *
           cos(6.283185307179586 * uniform(plain_random_bits(plain_options.seed, stream, 2 * index + 1)));
}

struct tensor {
    size_t offset, count;
    int is_decayed;
};

static struct tensor *tensors;
static size_t tensor_count, weight_count;
static float *weights, *gradients, *first_moment, *second_moment;

size_t plain_of_layer(size_t layer, size_t which)
{
    return LAYERS + layer * OF_LAYER + which;
}

size_t plain_of_head(size_t which)
{
    return plain_of_layer(plain_options.layers, which);
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
    } shapes[OF_LAYER] = {{0, 1}, {0, 1}, {1, 3}, {0, 3}, {1, 1}, {0, 1},
                          {0, 1}, {0, 1}, {1, 4}, {0, 4}, {4, 1}, {0, 1}};
    size_t h = plain_options.hidden;

    tensor_count = plain_of_head(OF_HEAD);
    tensors = plain_allocate(tensor_count, sizeof(*tensors));
    set(TOKENS, PLAIN_VOCABULARY * h, 1);
    set(POSITIONS, plain_options.seq * h, 1);
    for (size_t l = 0; l < plain_options.layers; l++) {
        for (int i = 0; i < OF_LAYER; i++)
            set(plain_of_layer(l, (size_t)i),
                (shapes[i].rows > 0 ? (size_t)shapes[i].rows * h : 1) * (size_t)shapes[i].cols * h,
                shapes[i].rows > 0);
    }
    set(plain_of_head(HEAD_GAIN), h, 0);
    set(plain_of_head(HEAD_BIAS), h, 0);
    set(plain_of_head(HEAD), PLAIN_VOCABULARY * h, 1);
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

void plain_create_parameters(void)
{
    double residual = DEVIATION / sqrt(2.0 * (double)plain_options.layers);

    list_parameters();
    weights = plain_allocate(weight_count, sizeof(float));
    gradients = plain_allocate(weight_count, sizeof(float));
    first_moment = plain_allocate(weight_count, sizeof(float));
    second_moment = plain_allocate(weight_count, sizeof(float));
    fill_normal(TOKENS, DEVIATION);
    fill_normal(POSITIONS, DEVIATION);
    for (size_t l = 0; l < plain_options.layers; l++) {
        size_t at = plain_of_layer(l, GAIN1);

        fill_ones(at + GAIN1);
        fill_ones(at + GAIN2);
        fill_normal(at + QKV, DEVIATION);
        fill_normal(at + WIDE, DEVIATION);
        fill_normal(at + PROJECTION, residual);
        fill_normal(at + NARROW, residual);
    }
    fill_ones(plain_of_head(HEAD_GAIN));
    fill_normal(plain_of_head(HEAD), DEVIATION);
}

float *plain_weight(size_t index)
{
    return weights + tensors[index].offset;
}

float *plain_gradient(size_t index)
{
    return gradients + tensors[index].offset;
}

void plain_zero_gradients(void)
{
    memset(gradients, 0, weight_count * sizeof(*gradients));
}

void plain_adamw(uint64_t step)
{
    const float beta1 = 0.9f, beta2 = 0.95f, lr = (float)plain_options.lr;
    float correction1 = (float)(1 - pow(0.9, (double)step)),
          correction2 = (float)(1 - pow(0.95, (double)step));

    for (size_t t = 0; t < tensor_count; t++) {
        float decay = tensors[t].is_decayed ? 0.1f : 0;
        size_t end = tensors[t].offset + tensors[t].count;

        for (size_t i = tensors[t].offset; i < end; i++) {
            float g = gradients[i];

            first_moment[i] = beta1 * first_moment[i] + (1 - beta1) * g;
            second_moment[i] = beta2 * second_moment[i] + (1 - beta2) * g * g;
            weights[i] -= lr * decay * weights[i];
            weights[i] -=
                lr * (first_moment[i] / correction1) / (sqrtf(second_moment[i] / correction2) + 1e-8f);
        }
    }
}
