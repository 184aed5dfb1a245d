#include "ps_model.h"

#include <math.h>
#include <string.h>

#include "runtime/math_value.h"

const size_t ps_counts[PS_PARAMETERS] = {70, 5, 0, 333};

size_t ps_element(size_t parameter, size_t i)
{
    for (size_t p = 0; p < parameter; p++)
        i += ps_counts[p];
    return i;
}

size_t ps_elements(void)
{
    return ps_element(PS_PARAMETERS, 0);
}

/* ---- Rounding ------------------------------------------------------------------ */

static double round_to(enum dtrain_type type, double x)
{
    double memory = 0;

    dt_math_store(&memory, type, 0, x);
    return dt_math_load(&memory, type, 0);
}

static enum dtrain_type state_type(const struct ps_model *model)
{
    return model->type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

static double rounded(const struct ps_model *model, double x)
{
    return round_to(state_type(model), x);
}

/* a + b * c. */
static double fused(const struct ps_model *model, double a, double b, double c)
{
    return rounded(model, a + rounded(model, rounded(model, b) * c));
}

/* ---- The model -------------------------------------------------------------------- */

void ps_model_init(struct ps_model *model, const struct dtrain_ps_options *options, enum dtrain_type type,
                   enum dtrain_type gradient_type)
{
    *model = (struct ps_model){.options = *options, .type = type, .gradient_type = gradient_type};
    for (size_t e = 0; e < ps_elements(); e++)
        model->weight[e] = round_to(type, sin((double)e + 1));
}

double ps_model_value(const struct ps_model *model, size_t element)
{
    return round_to(model->type, model->weight[element]);
}

double ps_gradient(const struct ps_model *model, int worker, uint64_t step, size_t element, double value)
{
    double noise = sin((double)(worker * 7919 + (int)step * 131) + (double)element * 0.7);

    return round_to(model->gradient_type, 0.5 * value + noise);
}

double ps_rate(void *context, uint64_t number)
{
    (void)context;
    return 0.1 / (double)number;
}

static double rate_of(const struct ps_model *model, uint64_t number)
{
    return model->options.rate != NULL ? ps_rate(NULL, number) : model->options.lr;
}

static void update_sgd(struct ps_model *model, size_t e, double g, uint64_t number)
{
    const struct dtrain_ps_options *o = &model->options;

    if (o->decay != 0)
        g = fused(model, g, o->decay, model->weight[e]);
    if (o->momentum != 0)
        g = model->first[e] = rounded(model,
                                      rounded(model, rounded(model, o->momentum) * model->first[e]) + g);
    model->weight[e] = fused(model, model->weight[e], -rate_of(model, number), g);
}

/* In the order of operations of DT_MATH_ADAMW. */
static void update_adamw(struct ps_model *model, size_t e, double g, uint64_t number)
{
    const struct dtrain_ps_options *o = &model->options;
    double b1 = rounded(model, o->beta1), b2 = rounded(model, o->beta2), t = (double)number;
    double c1 = rounded(model, 1 - pow(o->beta1, t)), c2 = rounded(model, 1 - pow(o->beta2, t));
    double *m = &model->first[e], *v = &model->second[e], *w = &model->weight[e], root, move;

    *m = rounded(model, rounded(model, b1 * *m) + rounded(model, rounded(model, 1 - b1) * g));
    *v = rounded(model, rounded(model, b2 * *v) +
                            rounded(model, rounded(model, rounded(model, 1 - b2) * g) * g));
    root = rounded(model, sqrt(rounded(model, *v / c2)));
    move = rounded(model, rounded(model, *m / c1) / rounded(model, root + rounded(model, o->epsilon)));
    move = rounded(model, move + rounded(model, rounded(model, o->decay) * *w));
    *w = rounded(model, *w - rounded(model, rounded(model, rate_of(model, number)) * move));
}

void ps_model_update(struct ps_model *model, size_t e, const double *gradients, int n, uint64_t number)
{
    double sum = rounded(model, gradients[0]);

    for (int i = 1; i < n; i++)
        sum = rounded(model, sum + rounded(model, gradients[i]));
    if (!model->options.sum && n > 1)
        sum = rounded(model, rounded(model, 1.0 / n) * sum);
    if (model->options.rule == DTRAIN_PS_SGD)
        update_sgd(model, e, sum, number);
    else if (model->options.rule == DTRAIN_PS_ADAMW)
        update_adamw(model, e, sum, number);
    else
        model->weight[e] = rounded(model, rounded(model, model->weight[e] * 0.5) + sum);
}

int ps_user_rule(void *context, const struct dtrain_ps_update *update, struct dtrain_error *err)
{
    (void)context;
    if (dtrain_stream_synchronize(update->stream, err) < 0)
        return -1;
    for (size_t i = 0; i < update->count; i++) {
        double half = dt_math_load(update->weight, update->type, i) * 0.5;

        dt_math_store(update->weight, update->type, i,
                      half + dt_math_load(update->gradient, update->type, i));
    }
    return 0;
}

/* ---- A side ------------------------------------------------------------------------- */

void ps_side_init(struct ps_side *side, const struct ps_model *model)
{
    static const char *const names[PS_PARAMETERS] = {"embedding", "bias", "nothing", "layer.0"};

    for (size_t p = 0; p < PS_PARAMETERS; p++) {
        side->parameters[p] = (struct dtrain_ps_parameter){
            names[p], side->values[p], side->gradients[p], ps_counts[p], model->type, model->gradient_type};
        for (size_t i = 0; i < ps_counts[p]; i++)
            dt_math_store(side->values[p], model->type, i, ps_model_value(model, ps_element(p, i)));
    }
}

void ps_side_compute(struct ps_side *side, const struct ps_model *model, int worker, uint64_t step)
{
    for (size_t p = 0; p < PS_PARAMETERS; p++)
        for (size_t i = 0; i < ps_counts[p]; i++)
            dt_math_store(side->gradients[p], model->gradient_type, i,
                          ps_gradient(model, worker, step, ps_element(p, i),
                                      dt_math_load(side->values[p], model->type, i)));
}

long ps_side_compare(const struct ps_side *side, const struct ps_model *model)
{
    for (size_t p = 0; p < PS_PARAMETERS; p++)
        for (size_t i = 0; i < ps_counts[p]; i++) {
            double got = dt_math_load(side->values[p], model->type, i);
            double expected = ps_model_value(model, ps_element(p, i));

            if (memcmp(&got, &expected, sizeof(got)) != 0)
                return (long)ps_element(p, i);
        }
    return -1;
}
