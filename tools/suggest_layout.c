#include "tools/suggest_layout.h"

uint32_t dt_suggest_layout_microbatches(const struct dt_suggest_layout *layout,
                                        const struct dt_suggest_model *model)
{
    return model->batch / (layout->dp * layout->microbatch);
}

uint32_t dt_suggest_layout_replicas(const struct dt_suggest_layout *layout)
{
    return layout->dp * layout->cp;
}

double dt_suggest_layout_params(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model,
                                bool is_first, bool is_last)
{
    double params = dt_suggest_layer_params(model) * (model->layers / layout->pp) / layout->tp;
    double embedding = dt_suggest_embedding_params(model) / layout->tp;

    if (is_first)
        params += embedding + dt_suggest_position_params(model);
    if (is_last && (!is_first || model->is_untied))
        params += embedding;
    return params;
}

double dt_suggest_layout_most_params(const struct dt_suggest_layout *layout,
                                     const struct dt_suggest_model *model)
{
    return dt_suggest_layout_params(layout, model, true, layout->pp == 1);
}

static int check_world(const struct dt_suggest_layout *layout, const struct dt_suggest_machine *machine,
                       struct dtrain_error *err)
{
    double world = (double)machine->nodes * machine->gpus;
    double ranks = (double)layout->tp * layout->cp * layout->pp * layout->dp; /* may be past 64 bits */

    if (machine->gpus % layout->tp != 0)
        return dt_error_set(err,
                            "--tp=%u does not divide the %u GPUs of a node: its groups would cross nodes",
                            layout->tp, machine->gpus);
    if (ranks != world)
        return dt_error_set(err, "tp %u x cp %u x pp %u x dp %u are %.0f ranks: expected the %.0f GPUs",
                            layout->tp, layout->cp, layout->pp, layout->dp, ranks, world);
    return 0;
}

static int check_tensor(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model,
                        struct dtrain_error *err)
{
    if (model->heads % layout->tp != 0)
        return dt_error_set(err, "--heads=%u cannot be divided into --tp=%u: expected a divisor of %u",
                            model->heads, layout->tp, model->heads);
    if (model->kv_heads % layout->tp != 0)
        return dt_error_set(err, "--kv-heads=%u cannot be divided into --tp=%u: expected a divisor of %u",
                            model->kv_heads, layout->tp, model->kv_heads);
    if (model->ffn % layout->tp != 0)
        return dt_error_set(err, "--ffn=%u cannot be divided into --tp=%u", model->ffn, layout->tp);
    if (layout->cp > 1 && model->seq % (2 * (uint64_t)layout->cp) != 0)
        return dt_error_set(err, "--seq=%u cannot be divided into the 2 x %u parts of --cp=%u", model->seq,
                            layout->cp, layout->cp);
    if (layout->is_sp && (layout->tp == 1 || model->seq / layout->cp % layout->tp != 0))
        return dt_error_set(err,
                            "--sequence-parallel=on splits %u tokens over --tp=%u: expected tp over 1 that "
                            "divides them",
                            model->seq / layout->cp, layout->tp);
    return 0;
}

static int check_pipeline(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model,
                          struct dtrain_error *err)
{
    uint32_t microbatches;

    if (model->layers % ((uint64_t)layout->pp * layout->interleave) != 0)
        return dt_error_set(err, "--layers=%u cannot be divided into pp %u x interleave %u", model->layers,
                            layout->pp, layout->interleave);
    if (model->batch % ((uint64_t)layout->dp * layout->microbatch) != 0)
        return dt_error_set(err, "--batch=%u cannot be divided into dp %u x microbatch %u", model->batch,
                            layout->dp, layout->microbatch);
    microbatches = dt_suggest_layout_microbatches(layout, model);
    if (layout->interleave > 1 && (layout->pp == 1 || microbatches % layout->pp != 0))
        return dt_error_set(err, "--interleave=%u needs pp over 1 that divides the %u microbatches: pp is %u",
                            layout->interleave, microbatches, layout->pp);
    return 0;
}

int dt_suggest_layout_check(const struct dt_suggest_layout *layout, const struct dt_suggest_model *model,
                            const struct dt_suggest_machine *machine, struct dtrain_error *err)
{
    if (check_world(layout, machine, err) != 0 || check_tensor(layout, model, err) != 0 ||
        check_pipeline(layout, model, err) != 0)
        return -1;
    if (layout->zero == 2 && layout->pp > 1)
        return dt_error_set(err, "--zero=2 with pp %u would reduce gradients once a microbatch: use --zero=1",
                            layout->pp);
    if (layout->recompute == DT_SUGGEST_SELECTIVE && !model->is_plain)
        return dt_error_set(err,
                            "--recompute=selective makes scores again that flash attention never keeps: use "
                            "none or full, or --plain-attention");
    return 0;
}
