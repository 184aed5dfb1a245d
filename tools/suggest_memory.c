#include "tools/suggest_memory.h"

#define CONTEXT_BYTES 1.0e9       /* of the device's runtime and libraries */
#define COMMUNICATOR_BYTES 0.25e9 /* buffers of each communicator of a rank */

const char *const dt_suggest_memory_words[DT_SUGGEST_MEMORY_PARTS] = {"weights", "gradients", "optimizer",
                                                                      "activations", "workspace"};

static double element_bytes(const struct dt_suggest_model *model)
{
    return model->precision == DT_SUGGEST_FP32 ? 4 : 2;
}

/* Values of one width-1 activation of a microbatch on a rank. */
static double tokens(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model)
{
    return (double)model->seq / layout->cp * layout->microbatch;
}

/* By how much tp splits what it does not multiply. */
static double sp_split(const struct dt_suggest_layout *layout)
{
    return layout->is_sp ? layout->tp : 1;
}

double dt_suggest_memory_layer(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model)
{
    double kv = (double)model->kv_heads / model->heads, ffn = (double)model->ffn / model->hidden;
    double whole = model->is_gated ? 8 : 10; /* without dropout two masks are not there */
    double split = 4 + 4 * kv + (model->is_gated ? 6 : 4) * ffn;

    return tokens(layout, model) * model->hidden * (whole / sp_split(layout) + split / layout->tp) *
           (element_bytes(model) / 2);
}

double dt_suggest_memory_scores(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model)
{
    if (!model->is_plain)
        return 0;
    return 5 * tokens(layout, model) * model->seq * model->heads / layout->tp * (element_bytes(model) / 2);
}

uint32_t dt_suggest_memory_chunks(const struct dt_suggest_layout *layout, uint32_t microbatches,
                                  uint32_t stage)
{
    uint32_t p = layout->pp, v = layout->interleave;
    uint32_t held = v == 1 ? p - stage : 2 * (p - stage - 1) + (v - 1) * p + 1;

    return held < microbatches * v ? held : microbatches * v;
}

/* What a layer keeps of a microbatch until its backward. */
static double kept(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model)
{
    if (layout->recompute == DT_SUGGEST_FULL)
        return tokens(layout, model) * model->hidden * element_bytes(model) / sp_split(layout);
    if (layout->recompute == DT_SUGGEST_SELECTIVE)
        return dt_suggest_memory_layer(layout, model);
    return dt_suggest_memory_layer(layout, model) + dt_suggest_memory_scores(layout, model);
}

/* The layer that is being made again has all of it. */
static double remade(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model)
{
    double scores = dt_suggest_memory_scores(layout, model);

    if (layout->recompute == DT_SUGGEST_KEEP)
        return 0;
    return scores + (layout->recompute == DT_SUGGEST_FULL ? dt_suggest_memory_layer(layout, model) : 0);
}

/* The output's input, twice, and its logits in fp32, of one microbatch. */
static double logits(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model)
{
    double n = tokens(layout, model);

    return n * model->hidden * 2 * element_bytes(model) / sp_split(layout) +
           4 * n * model->vocab / layout->tp;
}

static double activations(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model,
                          bool is_first)
{
    uint32_t microbatches = dt_suggest_layout_microbatches(layout, model);
    uint32_t chunks = dt_suggest_memory_chunks(layout, microbatches, is_first ? 0 : layout->pp - 1);
    double layers = (double)model->layers / layout->pp / layout->interleave;

    return chunks * layers * kept(layout, model) + remade(layout, model) +
           (is_first && layout->pp > 1 ? 0 : logits(layout, model));
}

static double workspace(const struct dt_suggest_layout *layout)
{
    int communicators =
        (layout->tp > 1) + (layout->cp > 1) + (layout->pp > 1) + (dt_suggest_layout_replicas(layout) > 1);

    return CONTEXT_BYTES + communicators * COMMUNICATOR_BYTES;
}

static struct dt_suggest_memory of_stage(const struct dt_suggest_layout *layout,
                                         const struct dt_suggest_model *model, bool is_first)
{
    double params = dt_suggest_layout_params(layout, model, is_first, !is_first || layout->pp == 1);
    double d = dt_suggest_layout_replicas(layout);
    double moments =
        model->precision == DT_SUGGEST_FP32 ? 8 : 12; /* 16-bit weights have an fp32 copy there */
    struct dt_suggest_memory memory = {
        .part = {
            [DT_SUGGEST_WEIGHTS] = params * element_bytes(model),
            [DT_SUGGEST_GRADIENTS] = params * 4 / (layout->zero == 2 ? d : 1),
            [DT_SUGGEST_OPTIMIZER] = params * moments / (layout->zero >= 1 ? d : 1),
            [DT_SUGGEST_ACTIVATIONS] = activations(layout, model, is_first),
            [DT_SUGGEST_WORKSPACE] = workspace(layout),
        }};

    for (unsigned i = 0; i < DT_SUGGEST_MEMORY_PARTS; i++)
        memory.total += memory.part[i];
    return memory;
}

struct dt_suggest_memory dt_suggest_memory_of(const struct dt_suggest_layout *layout,
                                              const struct dt_suggest_model *model)
{
    struct dt_suggest_memory first = of_stage(layout, model, true), last;

    if (layout->pp == 1)
        return first;
    last = of_stage(layout, model, false);
    return last.total > first.total ? last : first;
}
