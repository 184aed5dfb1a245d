/* The model of dtrain suggest: parameters and operations as published, shapes, what is refused. */
#include "suggest_case.h"

/* PTD-P's formulas, written as they stand there. */
static double published_params(const struct dt_suggest_model *m)
{
    double l = m->layers, h = m->hidden, v = m->vocab, s = m->seq;

    return 12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h));
}

static double published_flops(const struct dt_suggest_model *m)
{
    double b = m->batch, l = m->layers, h = m->hidden, v = m->vocab, s = m->seq;

    return 96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
}

static const struct {
    const char *name;
    uint32_t layers, hidden, heads;
    double params;
} rows[] = {
    {"1.7B", 24, 2304, 24, 1.7e9},      {"18.4B", 40, 6144, 48, 18.4e9},
    {"145.6B", 80, 12288, 96, 145.6e9}, {"529.6B", 105, 20480, 128, 529.6e9},
    {"1008B", 128, 25600, 160, 1008e9},
};

static void test_published(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_suggest_model model = gpt(rows[i].layers, rows[i].hidden, rows[i].heads, 2048, 512);

        tap_near(dt_suggest_model_params(&model), rows[i].params, 0.03, rows[i].name);
        tap_near(dt_suggest_model_params(&model), published_params(&model), NEAR,
                 "parameters by the formula");
        tap_near(dt_suggest_step_flops(&model, DT_SUGGEST_FULL), published_flops(&model), NEAR,
                 "operations by the formula");
        tap_ok(dt_suggest_step_flops(&model, DT_SUGGEST_KEEP) <
                       dt_suggest_step_flops(&model, DT_SUGGEST_SELECTIVE) &&
                   dt_suggest_step_flops(&model, DT_SUGGEST_SELECTIVE) <
                       dt_suggest_step_flops(&model, DT_SUGGEST_FULL),
               "what is made again costs operations");
    }
}

/* Llama 2 7B and 70B, whose parameters are known to the unit. */
static void test_gated(void)
{
    struct dt_suggest_model small = {.layers = 32,
                                     .hidden = 4096,
                                     .heads = 32,
                                     .ffn = 11008,
                                     .seq = 4096,
                                     .vocab = 32000,
                                     .batch = 1,
                                     .is_gated = true,
                                     .is_untied = true};
    struct dt_suggest_model large = {.layers = 80,
                                     .hidden = 8192,
                                     .heads = 64,
                                     .kv_heads = 8,
                                     .ffn = 28672,
                                     .seq = 4096,
                                     .vocab = 32000,
                                     .batch = 1,
                                     .is_gated = true,
                                     .is_untied = true};
    struct dt_suggest_model plain = {
        .layers = 1, .hidden = 4096, .heads = 32, .seq = 1, .vocab = 1, .batch = 1, .is_gated = true};

    tap_ok(dt_suggest_model_finish(&small, NULL) == 0 && small.kv_heads == 32, "kv heads are heads");
    tap_ok(dt_suggest_model_params(&small) == 6738415616.0 - 4096, "7B but for the last norm");
    tap_ok(dt_suggest_model_finish(&large, NULL) == 0 && large.kv_heads == 8, "kv heads as given");
    tap_ok(dt_suggest_model_params(&large) == 68976648192.0 - 8192, "70B but for the last norm");
    tap_ok(dt_suggest_model_finish(&plain, NULL) == 0 && plain.ffn == 11008, "a gated ffn's usual width");
}

static void test_guesses(void)
{
    static const double sizes[] = {1.25e8, 2e8, 1.3e9, 7e9, 13e9, 70e9, 175e9, 1e12, 1e13};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct dt_suggest_model model = {.params = sizes[i], .seq = 2048, .vocab = 51200, .batch = 8};
        bool ok = dt_suggest_model_finish(&model, NULL) == 0;

        tap_ok(ok && model.is_guessed && model.hidden == model.heads * 128, "%g parameters have a shape",
               sizes[i]);
        tap_near(dt_suggest_model_params(&model), sizes[i], 0.15, "that has about as many");
    }
}

static const struct {
    struct dt_suggest_model model;
    const char *words;
} bad[] = {
    {{.seq = 1, .vocab = 1, .batch = 1}, "expected --params=N, such as 7B, or all of --layers"},
    {{.layers = 2, .hidden = 64, .seq = 1, .vocab = 1, .batch = 1},
     "or all of --layers, --hidden and --heads"},
    {{.params = 7e9, .layers = 2, .seq = 1, .vocab = 1, .batch = 1}, "--params=7e+09 is a size"},
    {{.params = 7e9, .vocab = 1, .batch = 1}, "expected --seq, --vocab and --batch"},
    {{.layers = 2, .hidden = 100, .heads = 3, .seq = 1, .vocab = 1, .batch = 1},
     "--hidden=100 cannot be divided into --heads=3: expected a multiple, such as 102"},
    {{.layers = 2, .hidden = 64, .heads = 8, .kv_heads = 3, .seq = 1, .vocab = 1, .batch = 1},
     "--heads=8 cannot share --kv-heads=3"},
    {{.layers = DT_SUGGEST_LAYERS_MAX + 1, .hidden = 64, .heads = 8, .seq = 1, .vocab = 1, .batch = 1},
     "4097 layers are too many"},
    {{.params = 1e6, .seq = 1, .vocab = 51200, .batch = 1},
     "--params=1e+06 has no usual shape with --vocab=51200"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct dt_suggest_model model = bad[i].model;
        struct dtrain_error err = {""};

        tap_ok(dt_suggest_model_finish(&model, &err) == -1, "row %zu is refused", i);
        tap_holds(err.text, bad[i].words, "and says why");
    }
}

int main(void)
{
    test_published();
    test_gated();
    test_guesses();
    test_refusals();
    return tap_done();
}
