#include "tools/suggest_model.h"

#define HEAD 128u     /* width of a head, and of hidden a layer, where a shape is guessed */
#define WIDE 4096u    /* up to here a guessed width has heads for groups of 4, from here on of 8 */
#define SOME 2u       /* layers over hidden / HEAD that a guess may have */
#define OFF 0.25      /* by how much a guess may miss the parameters */
#define FFN_STEP 256u /* a gated feed-forward's default width is a multiple */

const char *const dt_suggest_precision_words[DT_SUGGEST_PRECISION_COUNT] = {"bf16", "fp16", "fp32"};
const char *const dt_suggest_recompute_words[DT_SUGGEST_RECOMPUTE_COUNT] = {"none", "selective", "full"};

/* ---- Counts ---- */

static double kv_share(const struct dt_suggest_model *model)
{
    return (double)model->kv_heads / model->heads;
}

/* Of the matrices of a layer. */
static double matrix_params(const struct dt_suggest_model *model)
{
    double h = model->hidden;

    return h * h * (2 + 2 * kv_share(model)) + (model->is_gated ? 3 : 2) * h * model->ffn;
}

double dt_suggest_layer_params(const struct dt_suggest_model *model)
{
    double h = model->hidden;
    double biases = h * (1 + 2 * kv_share(model)) + h + model->ffn + h;

    if (model->is_gated)
        return matrix_params(model) + 2 * h;
    return matrix_params(model) + biases + 4 * h;
}

double dt_suggest_embedding_params(const struct dt_suggest_model *model)
{
    return (double)model->vocab * model->hidden;
}

double dt_suggest_position_params(const struct dt_suggest_model *model)
{
    return model->is_gated ? 0 : (double)model->seq * model->hidden;
}

double dt_suggest_model_params(const struct dt_suggest_model *model)
{
    return model->layers * dt_suggest_layer_params(model) +
           dt_suggest_embedding_params(model) * (model->is_untied ? 2 : 1) +
           dt_suggest_position_params(model);
}

double dt_suggest_layer_flops(const struct dt_suggest_model *model)
{
    return 2 * matrix_params(model);
}

double dt_suggest_attention_flops(const struct dt_suggest_model *model)
{
    return 4.0 * model->seq * model->hidden;
}

double dt_suggest_output_flops(const struct dt_suggest_model *model)
{
    return 2.0 * model->hidden * model->vocab;
}

double dt_suggest_step_flops(const struct dt_suggest_model *model, enum dt_suggest_recompute recompute)
{
    double matrices = dt_suggest_layer_flops(model) * (recompute == DT_SUGGEST_FULL ? 4 : 3);
    double attention = dt_suggest_attention_flops(model) * (recompute == DT_SUGGEST_KEEP ? 3 : 4);
    double tokens = (double)model->batch * model->seq;

    return tokens * (model->layers * (matrices + attention) + 3 * dt_suggest_output_flops(model));
}

/* ---- Completing ---- */

static void fill_widths(struct dt_suggest_model *model)
{
    uint32_t gated = (8 * model->hidden / 3 + FFN_STEP - 1) / FFN_STEP * FFN_STEP;

    if (model->kv_heads == 0)
        model->kv_heads = model->heads;
    if (model->ffn == 0)
        model->ffn = model->is_gated ? gated : 4 * model->hidden;
}

/* What a guessed number of layers is a multiple of, so that pipelines can divide it. */
static uint32_t layer_step(uint32_t layers)
{
    if (layers >= 96)
        return 16;
    if (layers >= 32)
        return 8;
    return layers >= 8 ? 4 : 1;
}

/* Layers that make the parameters at this width. */
static uint32_t layers_at(const struct dt_suggest_model *model)
{
    struct dt_suggest_model none = *model;
    double left;
    uint32_t layers, step;

    none.layers = 0;
    left = model->params - dt_suggest_model_params(&none);
    if (left <= 0)
        return 1;
    layers = (uint32_t)(left / dt_suggest_layer_params(model) + 0.5);
    step = layer_step(layers);
    layers = (layers + step / 2) / step * step;
    return layers > 0 ? layers : 1;
}

/* The first width at which layers of that width make no more of them than hidden / HEAD, or some. */
static void guess_shape(struct dt_suggest_model *model)
{
    uint32_t ffn = model->ffn, kv_heads = model->kv_heads;

    model->is_guessed = true;
    for (uint32_t h = 4 * HEAD; h <= DT_SUGGEST_WIDTH_MAX; h += h >= WIDE ? 8 * HEAD : 4 * HEAD) {
        model->hidden = h;
        model->heads = h / HEAD;
        model->ffn = ffn;
        model->kv_heads = kv_heads;
        fill_widths(model);
        model->layers = layers_at(model);
        if (model->layers <= h / HEAD + SOME)
            return;
    }
}

static int guess(struct dt_suggest_model *model, struct dtrain_error *err)
{
    double made;

    guess_shape(model);
    made = dt_suggest_model_params(model);
    if (made < model->params * (1 - OFF) || made > model->params * (1 + OFF))
        return dt_error_set(
            err,
            "--params=%.4g has no usual shape with --vocab=%u: expected --layers, --hidden and "
            "--heads instead",
            model->params, model->vocab);
    return 0;
}

static int check_shape(const struct dt_suggest_model *model, struct dtrain_error *err)
{
    if (model->hidden % model->heads != 0)
        return dt_error_set(
            err, "--hidden=%u cannot be divided into --heads=%u: expected a multiple, such as %u",
            model->hidden, model->heads, (model->hidden + model->heads - 1) / model->heads * model->heads);
    if (model->heads % model->kv_heads != 0)
        return dt_error_set(err, "--heads=%u cannot share --kv-heads=%u evenly: expected a divisor of %u",
                            model->heads, model->kv_heads, model->heads);
    if (model->layers > DT_SUGGEST_LAYERS_MAX)
        return dt_error_set(err, "%u layers are too many: expected at most %u", model->layers,
                            DT_SUGGEST_LAYERS_MAX);
    return 0;
}

int dt_suggest_model_finish(struct dt_suggest_model *model, struct dtrain_error *err)
{
    bool has_any = model->layers != 0 || model->hidden != 0 || model->heads != 0;
    bool has_all = model->layers != 0 && model->hidden != 0 && model->heads != 0;

    if (model->params != 0 && has_any)
        return dt_error_set(err,
                            "--params=%.4g is a size and --layers, --hidden, --heads are a shape: give one",
                            model->params);
    if (model->params == 0 && !has_all)
        return dt_error_set(err,
                            "the model is not known: expected --params=N, such as 7B, or all of --layers, "
                            "--hidden and --heads");
    if (model->seq == 0 || model->vocab == 0 || model->batch == 0)
        return dt_error_set(
            err, "the step is not known: expected --seq, --vocab and --batch (sequences of a step)");
    if (model->params == 0)
        fill_widths(model);
    else if (guess(model, err) != 0)
        return -1;
    return check_shape(model, err);
}
