/* Memory of a layout by part, against sums made by hand of the published formulas. */
#include "suggest_case.h"
#include "tools/suggest_memory.h"

#define PLAIN                                                                                                \
    {                                                                                                        \
        1, 1, 1, 1, 1, 1, 0, false, DT_SUGGEST_KEEP                                                          \
    }

/* Korthikanti et al.: s b h (10 + 24/t) and 5 a s^2 b / t, with s 2048, b 4, h 6144, a 64: s b h is 50331648.
 */
static const struct {
    const char *name;
    uint32_t tp, cp;
    bool is_sp;
    double layer, scores;
} layers[] = {
    {"one rank", 1, 1, false, 1711276032.0, 5368709120.0},
    {"tp 8", 8, 1, false, 654311424.0, 671088640.0},
    {"tp 8 with sequence parallelism: a straight 34/t", 8, 1, true, 213909504.0, 671088640.0},
    {"cp 2 halves all of it", 1, 2, false, 855638016.0, 2684354560.0},
};

static void test_layers(void)
{
    struct dt_suggest_model model = gpt(48, 6144, 64, 2048, 64);

    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
        struct dt_suggest_layout layout = PLAIN;

        layout.tp = layers[i].tp;
        layout.cp = layers[i].cp;
        layout.is_sp = layers[i].is_sp;
        layout.microbatch = 4;
        tap_near(dt_suggest_memory_layer(&layout, &model), layers[i].layer, NEAR, layers[i].name);
        tap_near(dt_suggest_memory_scores(&layout, &model), layers[i].scores, NEAR, "its scores");
    }
    model.is_plain = false;
    tap_ok(dt_suggest_memory_scores(&(struct dt_suggest_layout)PLAIN, &model) == 0,
           "flash attention keeps no scores");
}

/* Bytes a parameter of weights, gradients and optimizer: 18, 6 + 12/d, 2 + 16/d; fp32: 4 + 4 + 8. */
static const struct {
    const char *name;
    uint32_t dp, cp, zero;
    enum dt_suggest_precision precision;
    double weights, gradients, optimizer;
} states[] = {
    {"18", 8, 1, 0, DT_SUGGEST_BF16, 2, 4, 12},
    {"6 + 12/8", 8, 1, 1, DT_SUGGEST_BF16, 2, 4, 1.5},
    {"2 + 16/8", 8, 1, 2, DT_SUGGEST_FP16, 2, 0.5, 1.5},
    {"cp shares the weights, too: 6 + 12/8", 2, 4, 1, DT_SUGGEST_BF16, 2, 4, 1.5},
    {"fp32 has no second copy: 16", 8, 1, 0, DT_SUGGEST_FP32, 4, 4, 8},
    {"fp32: 8 + 8/4", 4, 1, 1, DT_SUGGEST_FP32, 4, 4, 2},
};

static void test_states(void)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct dt_suggest_model model = gpt(4, 1024, 8, 2048, 64);
        struct dt_suggest_layout layout = PLAIN;
        struct dt_suggest_memory memory;
        double params = dt_suggest_model_params(&model), sum = 0;

        model.precision = states[i].precision;
        layout.dp = states[i].dp;
        layout.cp = states[i].cp;
        layout.zero = states[i].zero;
        memory = dt_suggest_memory_of(&layout, &model);
        for (unsigned part = 0; part < DT_SUGGEST_MEMORY_PARTS; part++)
            sum += memory.part[part];
        tap_ok(is_near(memory.part[DT_SUGGEST_WEIGHTS], states[i].weights * params, NEAR) &&
                   is_near(memory.part[DT_SUGGEST_GRADIENTS], states[i].gradients * params, NEAR) &&
                   is_near(memory.part[DT_SUGGEST_OPTIMIZER], states[i].optimizer * params, NEAR),
               "%s", states[i].name);
        tap_near(memory.total, sum, NEAR, "the total is the sum");
    }
}

/* Peaks of the schedules, of stage s of p with v chunks and m microbatches. */
static const struct {
    uint32_t p, v, m, s, chunks;
} peaks[] = {
    {1, 1, 8, 0, 1},  {4, 1, 8, 0, 4}, {4, 1, 8, 3, 1},  {4, 1, 2, 0, 2}, {4, 1, 1, 3, 1},
    {4, 2, 8, 0, 11}, {4, 2, 8, 3, 5}, {4, 3, 4, 0, 12}, {2, 4, 8, 0, 9}, {2, 4, 8, 1, 7},
};

static void test_peaks(void)
{
    for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++) {
        struct dt_suggest_layout layout = PLAIN;

        layout.pp = peaks[i].p;
        layout.interleave = peaks[i].v;
        tap_ok(dt_suggest_memory_chunks(&layout, peaks[i].m, peaks[i].s) == peaks[i].chunks,
               "pp %u, v %u, %u microbatches: stage %u holds %u chunks", peaks[i].p, peaks[i].v, peaks[i].m,
               peaks[i].s, peaks[i].chunks);
    }
}

/*
 * Activations by hand: h 1024, a 8, s 2048, b 1: s b h is 2097152; a layer keeps 34 of it and 5 a s/h = 80 of
 * it for scores; the logits' stage adds 4 s b h and 4 s b V = 419430400.
 */
static const struct {
    const char *name;
    uint32_t pp, interleave;
    enum dt_suggest_recompute recompute;
    double bytes;
} kept[] = {
    {"all kept, 8 layers", 1, 1, DT_SUGGEST_KEEP, 8 * 114 * 2097152.0 + 4 * 2097152.0 + 419430400.0},
    {"selective: a layer's scores once", 1, 1, DT_SUGGEST_SELECTIVE,
     8 * 34 * 2097152.0 + 80 * 2097152.0 + 4 * 2097152.0 + 419430400.0},
    {"full: 2 s b h a layer, and one layer", 1, 1, DT_SUGGEST_FULL,
     8 * 2 * 2097152.0 + 114 * 2097152.0 + 4 * 2097152.0 + 419430400.0},
    {"two stages: the first holds two microbatches of 4 layers", 2, 1, DT_SUGGEST_KEEP,
     2 * 4 * 114 * 2097152.0},
    {"interleaved: 5 chunks of 2 layers", 2, 2, DT_SUGGEST_KEEP, 5 * 2 * 114 * 2097152.0},
};

static void test_activations(void)
{
    struct dt_suggest_model model = gpt(8, 1024, 8, 2048, 64);

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        struct dt_suggest_layout layout = PLAIN;

        layout.pp = kept[i].pp;
        layout.interleave = kept[i].interleave;
        layout.recompute = kept[i].recompute;
        tap_near(dt_suggest_memory_of(&layout, &model).part[DT_SUGGEST_ACTIVATIONS], kept[i].bytes, NEAR,
                 kept[i].name);
    }
}

/* A last stage with a large vocabulary and few layers needs more than the first. */
static void test_last_stage(void)
{
    struct dt_suggest_model model = gpt(2, 1024, 8, 2048, 64);
    struct dt_suggest_layout layout = PLAIN;

    layout.pp = 2;
    layout.recompute = DT_SUGGEST_FULL;
    tap_near(dt_suggest_memory_of(&layout, &model).part[DT_SUGGEST_ACTIVATIONS],
             (2 + 114 + 4) * 2097152.0 + 419430400.0, NEAR, "the last stage counts where it needs more");
}

int main(void)
{
    test_layers();
    test_states();
    test_peaks();
    test_activations();
    test_last_stage();
    return tap_done();
}
