/* suggest_layout.h - one way to split a model over GPUs, and whether it divides. Pure. */
#ifndef DT_TOOLS_SUGGEST_LAYOUT_H
#define DT_TOOLS_SUGGEST_LAYOUT_H

#include "tools/suggest_machine.h"

#define DT_SUGGEST_ZERO_MAX 2u

/* Order of ranks tp-cp-ep-dp-pp, as Megatron-LM. */
struct dt_suggest_layout {
    uint32_t tp, cp, pp, dp;
    uint32_t microbatch; /* sequences */
    uint32_t interleave; /* model chunks of a stage, v; 1: plain 1F1B */
    uint32_t zero;       /* stage: 0 nothing, 1 the optimizer's state, 2 also gradients over dp and cp */
    bool is_sp;          /* sequence parallel: what tp does not split is split along the sequence */
    enum dt_suggest_recompute recompute;
};

/* Refuses what does not divide or does not go together, with the option and what would do. */
int dt_suggest_layout_check(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model,
                            const struct dt_suggest_machine *machine, struct dtrain_error *err);

/* Microbatches of a step on each replica. */
uint32_t dt_suggest_layout_microbatches(const struct dt_suggest_layout *layout,
                                        const struct dt_suggest_model *model);
/* Ranks that hold the same weights: over which ZeRO splits. */
uint32_t dt_suggest_layout_replicas(const struct dt_suggest_layout *layout);

/*
 * Parameters of a rank of the stage that holds most, and of one stage: the first has the embedding, the last
 * the output's matrix, which with pp = 1 is the embedding unless the model is untied.
 */
double dt_suggest_layout_params(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model,
                                bool is_first, bool is_last);
double dt_suggest_layout_most_params(const struct dt_suggest_layout *layout,
                                     const struct dt_suggest_model *model);

#endif
