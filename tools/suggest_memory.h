/*
 * suggest_memory.h - bytes of a GPU that a layout needs, by part. Pure.
 *
 * Sources: Korthikanti et al. 2022, "Reducing Activation Recomputation in Large
 * Transformer Models": a layer keeps s b h (10 + 24/t + 5 a s/(h t)) bytes, with
 * sequence parallelism 10/t; without the scores the last term is gone; recomputed
 * in full it keeps 2 s b h. Rajbhandari et al. 2020, "ZeRO", as Megatron-LM does
 * it with 16-bit weights and fp32 gradients: 18 bytes a parameter, with stage 1
 * 6 + 12/d, with stage 2 2 + 16/d.
 */
#ifndef DT_TOOLS_SUGGEST_MEMORY_H
#define DT_TOOLS_SUGGEST_MEMORY_H

#include "tools/suggest_layout.h"

#define DT_SUGGEST_USABLE 0.94 /* of a GPU's memory; the rest is lost to fragments */

enum dt_suggest_memory_part {
    DT_SUGGEST_WEIGHTS,
    DT_SUGGEST_GRADIENTS,
    DT_SUGGEST_OPTIMIZER,
    DT_SUGGEST_ACTIVATIONS,
    DT_SUGGEST_WORKSPACE, /* the device's context, and the communicators' buffers */
    DT_SUGGEST_MEMORY_PARTS
};
extern const char *const dt_suggest_memory_words[DT_SUGGEST_MEMORY_PARTS];

struct dt_suggest_memory {
    double part[DT_SUGGEST_MEMORY_PARTS];
    double total;
};

/* Of the stage that needs most, the first or the last. The layout was checked. */
struct dt_suggest_memory dt_suggest_memory_of(const struct dt_suggest_layout *layout,
                                              const struct dt_suggest_model *model);

/* What one layer keeps of one microbatch: all but the scores; the scores of plain attention, else 0. */
double dt_suggest_memory_layer(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model);
double dt_suggest_memory_scores(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model);

/*
 * Model chunks of layers / (pp v) layers whose activations stage s holds at its peak: min(p - s, m),
 * interleaved min(2 (p - s - 1) + (v - 1) p + 1, m v).
 */
uint32_t dt_suggest_memory_chunks(const struct dt_suggest_layout *layout, uint32_t microbatches,
                                  uint32_t stage);

#endif
