/*
 * suggest_model.h - the transformer that is to be trained: its shape, parameters
 * and floating-point operations. Pure.
 *
 * Sources: Narayanan et al. 2021, "Efficient Large-Scale Language Model Training
 * on GPU Clusters Using Megatron-LM" (PTD-P): parameters 12 l h^2 (1 + 13/(12 h) +
 * (V + s)/(12 l h)), operations of a step 96 B s l h^2 (1 + s/(6 h) + V/(16 l h))
 * where all activations are recomputed. Both follow from the terms below for
 * ffn = 4 h and as many key-value heads as heads.
 */
#ifndef DT_TOOLS_SUGGEST_MODEL_H
#define DT_TOOLS_SUGGEST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#define DT_SUGGEST_LAYERS_MAX 4096u
#define DT_SUGGEST_WIDTH_MAX (1u << 20) /* of hidden, ffn, sequence and vocabulary */
#define DT_SUGGEST_PARAMS_MAX 1e14

enum dt_suggest_precision { DT_SUGGEST_BF16, DT_SUGGEST_FP16, DT_SUGGEST_FP32, DT_SUGGEST_PRECISION_COUNT };
extern const char *const dt_suggest_precision_words[DT_SUGGEST_PRECISION_COUNT];

enum dt_suggest_recompute {
    DT_SUGGEST_KEEP,      /* "none": all activations are kept */
    DT_SUGGEST_SELECTIVE, /* of plain attention only: its scores are made again */
    DT_SUGGEST_FULL,      /* a layer's input is kept, the rest made again */
    DT_SUGGEST_RECOMPUTE_COUNT
};
extern const char *const dt_suggest_recompute_words[DT_SUGGEST_RECOMPUTE_COUNT];

struct dt_suggest_model {
    double params; /* asked for in place of a shape; 0: the shape is given */
    uint32_t layers, hidden, heads, kv_heads, ffn, seq, vocab;
    uint32_t batch;  /* sequences of a step, over all replicas */
    bool is_gated;   /* three matrices in the feed-forward, no biases, no learned positions */
    bool is_untied;  /* the output has a matrix of its own */
    bool is_plain;   /* the attention's scores lie in memory; else flash attention */
    bool is_guessed; /* the shape was made from params */
    enum dt_suggest_precision precision;
};

/*
 * Completes what is 0: the shape from params (hidden about 128 a layer, heads of 128), kv_heads from heads,
 * ffn from hidden. Refuses a shape that is incomplete, too large or does not divide.
 */
int dt_suggest_model_finish(struct dt_suggest_model *model, struct dtrain_error *err);

double dt_suggest_layer_params(const struct dt_suggest_model *model);
double dt_suggest_embedding_params(const struct dt_suggest_model *model); /* of tokens: one V x h matrix */
double dt_suggest_position_params(const struct dt_suggest_model *model);
double dt_suggest_model_params(const struct dt_suggest_model *model); /* each parameter once */

/*
 * Forward operations of one token. Of a layer: its matrices; of the attention: scores and their product with
 * the values, not halved for the causal mask, as in the source; of the output: the vocabulary's matrix.
 */
double dt_suggest_layer_flops(const struct dt_suggest_model *model);
double dt_suggest_attention_flops(const struct dt_suggest_model *model);
double dt_suggest_output_flops(const struct dt_suggest_model *model);

/* Of a step, over all GPUs: forward, twice as much backward, and what is recomputed. */
double dt_suggest_step_flops(const struct dt_suggest_model *model, enum dt_suggest_recompute recompute);

#endif
