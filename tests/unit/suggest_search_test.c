/* The search: all that divides and no more, the fastest first, in the same order again; what does not fit. */
#include "suggest_case.h"
#include "tools/suggest_search.h"

struct brute {
    uint64_t tried, fitting;
    double fastest, least;
};

static void brute_try(struct brute *brute, const struct dt_suggest_layout *layout,
                      const struct dt_suggest_model *model, const struct dt_suggest_machine *machine)
{
    bool is_idle_zero = layout->zero > 0 && layout->dp * layout->cp == 1;
    double bytes, seconds;

    if (is_idle_zero || dt_suggest_layout_check(layout, model, machine, NULL) != 0)
        return;
    bytes = dt_suggest_memory_of(layout, model).total;
    seconds = dt_suggest_time_of(layout, model, machine).total;
    if (brute->tried++ == 0 || bytes < brute->least)
        brute->least = bytes;
    if (bytes > dt_suggest_usable(machine))
        return;
    if (brute->fitting++ == 0 || seconds < brute->fastest)
        brute->fastest = seconds;
}

/* Every value of every size up to 32, whether it divides or not. */
static struct brute brute_search(const struct dt_suggest_model *model,
                                 const struct dt_suggest_machine *machine)
{
    uint32_t world = machine->nodes * machine->gpus;
    struct brute brute = {0, 0, 0, 0};
    struct dt_suggest_layout x;

    for (x.tp = 1; x.tp <= 8; x.tp++)
        for (x.cp = 1; x.cp <= model->seq / DT_SUGGEST_CP_TOKENS; x.cp++)
            for (x.pp = 1; x.pp <= model->layers; x.pp++)
                for (x.microbatch = 1; x.microbatch <= 32; x.microbatch++)
                    for (x.interleave = 1; x.interleave <= model->layers; x.interleave++)
                        for (x.zero = 0; x.zero <= 2; x.zero++)
                            for (unsigned i = 0; i < 6; i++) {
                                x.is_sp = i % 2 == 1;
                                x.recompute = (enum dt_suggest_recompute)(i / 2);
                                x.dp = world / x.tp / x.cp / x.pp;
                                if (x.dp > 0)
                                    brute_try(&brute, &x, model, machine);
                            }
    return brute;
}

static void test_complete(void)
{
    static const struct {
        uint32_t nodes, layers, batch;
        double memory;
        bool is_plain;
    } rows[] = {
        {1, 12, 32, 80e9, true}, {2, 12, 32, 30e9, true}, {3, 18, 24, 40e9, false}, {4, 8, 20, 80e9, false}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_suggest_model model = gpt(rows[i].layers, 4096, 32, 8192, rows[i].batch);
        struct dt_suggest_machine machine = machine_of(rows[i].nodes);
        struct dt_suggest_limits limits;
        struct dt_suggest_result result;
        struct brute brute;
        bool ok;

        model.is_plain = rows[i].is_plain;
        machine.memory = rows[i].memory;
        dt_suggest_limits_init(&limits);
        brute = brute_search(&model, &machine);
        ok = dt_suggest_search(&result, &model, &machine, &limits, NULL) == 0;
        tap_ok(ok && result.tried == brute.tried && brute.tried > 0,
               "row %zu: all %llu layouts that divide are tried", i, (unsigned long long)brute.tried);
        tap_ok(ok && (brute.fitting > 0) == (result.count > 0), "row %zu: what fits is found", i);
        tap_ok(ok && brute.fitting > 0 && result.count > 0 && result.choices[0].time.total == brute.fastest,
               "row %zu: the first is the fastest there is", i);
        tap_ok(ok && result.nearest.memory.total == brute.least, "row %zu: the nearest needs least", i);
        dt_suggest_result_destroy(&result);
    }
}

static void test_order(void)
{
    struct dt_suggest_model model = gpt(32, 4096, 32, 2048, 256);
    struct dt_suggest_machine machine = machine_of(8);
    struct dt_suggest_limits limits;
    struct dt_suggest_result a, b;
    bool is_sorted = true, is_same, fits = true;

    dt_suggest_limits_init(&limits);
    if (dt_suggest_search(&a, &model, &machine, &limits, NULL) != 0 ||
        dt_suggest_search(&b, &model, &machine, &limits, NULL) != 0)
        return (void)tap_ok(false, "the search works");
    is_same = a.count == b.count;
    for (size_t i = 0; i < a.count && is_same; i++) {
        const struct dt_suggest_layout *x = &a.choices[i].layout, *y = &b.choices[i].layout;

        fits = fits && a.choices[i].memory.total <= dt_suggest_usable(&machine);
        is_sorted = is_sorted && (i == 0 || a.choices[i - 1].time.total <= a.choices[i].time.total);
        is_same = x->tp == y->tp && x->pp == y->pp && x->dp == y->dp && x->microbatch == y->microbatch &&
                  x->zero == y->zero && x->is_sp == y->is_sp && x->recompute == y->recompute;
        for (size_t k = 0; k < i; k++)
            if (a.choices[k].layout.tp == x->tp && a.choices[k].layout.pp == x->pp &&
                a.choices[k].layout.cp == x->cp)
                is_sorted = false;
    }
    tap_ok(a.count > 5 && is_sorted, "fastest first, each of the sizes once");
    tap_ok(fits, "all of them fit");
    tap_ok(is_same, "a second search gives the same order");
    dt_suggest_result_destroy(&a);
    dt_suggest_result_destroy(&b);
}

/* A better machine's best is never slower. */
static void test_better(void)
{
    struct dt_suggest_model model = gpt(32, 8192, 64, 2048, 256);
    struct dt_suggest_machine machine = machine_of(8), better[4];
    struct dt_suggest_limits limits;
    double before = 0;

    for (unsigned i = 0; i < 4; i++)
        better[i] = machine;
    better[1].memory *= 2;
    better[2].nic.bytes_s *= 4;
    better[3].nodes *= 2;
    dt_suggest_limits_init(&limits);
    for (unsigned i = 0; i < 4; i++) {
        struct dt_suggest_result result;
        bool ok = dt_suggest_search(&result, &model, &better[i], &limits, NULL) == 0 && result.count > 0;

        if (i == 0 && ok)
            before = result.choices[0].time.total;
        tap_ok(ok && result.choices[0].time.total <= before, "machine %u is not slower than the first", i);
        dt_suggest_result_destroy(&result);
    }
}

static const struct {
    const char *name;
    struct dt_suggest_limits fixed; /* 0: free */
    uint32_t tp, cp, pp, dp;        /* of all results; 0: any */
} fixes[] = {
    {"tp", {.tp = 4}, 4, 0, 0, 0},
    {"pp", {.pp = 2}, 0, 0, 2, 0},
    {"dp", {.dp = 4}, 0, 0, 0, 4},
    {"cp, past its usual bound", {.cp = 2}, 0, 2, 0, 0},
    {"all", {.tp = 8, .pp = 2, .dp = 2, .cp = 1}, 8, 1, 2, 2},
    {"max tp", {.max_tp = 1}, 1, 0, 0, 0},
    {"max pp", {.max_pp = 1}, 0, 0, 1, 0},
};

static void fix(uint32_t *limit, uint32_t value)
{
    if (value != 0)
        *limit = value;
}

static void test_fixed(void)
{
    for (size_t i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++) {
        struct dt_suggest_model model = gpt(16, 2048, 16, 2048, 64);
        struct dt_suggest_machine machine = machine_of(4);
        struct dt_suggest_limits limits;
        struct dt_suggest_result result;
        bool ok;

        dt_suggest_limits_init(&limits);
        fix(&limits.tp, fixes[i].fixed.tp);
        fix(&limits.cp, fixes[i].fixed.cp);
        fix(&limits.pp, fixes[i].fixed.pp);
        fix(&limits.dp, fixes[i].fixed.dp);
        limits.max_tp = fixes[i].fixed.max_tp;
        limits.max_pp = fixes[i].fixed.max_pp;
        ok = dt_suggest_search(&result, &model, &machine, &limits, NULL) == 0 && result.count > 0;
        for (size_t k = 0; k < result.count; k++) {
            const struct dt_suggest_layout *layout = &result.choices[k].layout;

            ok = ok && (fixes[i].tp == 0 || layout->tp == fixes[i].tp) &&
                 (fixes[i].cp == 0 || layout->cp == fixes[i].cp) &&
                 (fixes[i].pp == 0 || layout->pp == fixes[i].pp) &&
                 (fixes[i].dp == 0 || layout->dp == fixes[i].dp);
        }
        tap_ok(ok, "%s is kept", fixes[i].name);
        dt_suggest_result_destroy(&result);
    }
}

static const struct {
    uint32_t tp, pp, dp, heads, batch, interleave, zero, recompute;
    const char *words;
} bad[] = {
    {3, 0, 0, 24, 64, 0, 9, 9, "--tp=3 does not divide the 8 GPUs of a node"},
    {16, 0, 0, 32, 64, 0, 9, 9, "--tp=16 does not divide the 8 GPUs of a node"},
    {8, 0, 0, 12, 64, 0, 9, 9, "--heads=12 cannot be divided into --tp=8"},
    {0, 7, 0, 24, 64, 0, 9, 9, "tp 1 x cp 1 x pp 7 x dp 2 are 14 ranks: expected the 16 GPUs"},
    {0, 8, 0, 24, 64, 4, 9, 9, "--layers=24 cannot be divided into pp 8 x interleave 4"},
    {0, 1u << 24, 1u << 24, 24, 64, 0, 9, 9, "are 281474976710656 ranks: expected the 16 GPUs"},
    {0, 1u << 24, 0, 24, 64, 1u << 12, 9, 9, "are 16777216 ranks: expected the 16 GPUs"},
    {0, 0, 5, 24, 64, 0, 9, 9, "tp 1 x cp 1 x pp 1 x dp 5 are 5 ranks: expected the 16 GPUs"},
    {1, 1, 0, 24, 20, 0, 9, 9, "--batch=20 cannot be divided into dp 16 x microbatch 1"},
    {0, 1, 0, 24, 64, 2, 9, 9, "--interleave=2 needs pp over 1"},
    {0, 2, 0, 24, 64, 0, 2, 9, "--zero=2 with pp 2 would reduce gradients once a microbatch"},
    {0, 0, 0, 24, 64, 0, 9, DT_SUGGEST_SELECTIVE, "--recompute=selective makes scores again"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct dt_suggest_model model = gpt(24, bad[i].heads * 64, bad[i].heads, 2048, bad[i].batch);
        struct dt_suggest_machine machine = machine_of(2);
        struct dtrain_error err = {""};
        struct dt_suggest_limits limits;
        struct dt_suggest_result result;

        model.is_plain = false;
        dt_suggest_limits_init(&limits);
        fix(&limits.tp, bad[i].tp);
        fix(&limits.pp, bad[i].pp);
        fix(&limits.dp, bad[i].dp);
        fix(&limits.interleave, bad[i].interleave);
        if (bad[i].zero != 9)
            limits.zero = bad[i].zero;
        if (bad[i].recompute != 9)
            limits.recompute = bad[i].recompute;
        tap_ok(dt_suggest_search(&result, &model, &machine, &limits, &err) == -1, "row %zu is refused", i);
        tap_holds(err.text, bad[i].words, "and says why");
        dt_suggest_result_destroy(&result);
    }
}

/* 175B on one node does not fit; on more it does. */
static void test_nothing_fits(void)
{
    struct dt_suggest_model model = gpt(96, 12288, 96, 2048, 1536);
    struct dt_suggest_machine machine = machine_of(1);
    struct dt_suggest_limits limits;
    struct dt_suggest_result result;
    struct dt_suggest_choice choice;
    uint32_t nodes = 0;

    dt_suggest_limits_init(&limits);
    tap_ok(dt_suggest_search(&result, &model, &machine, &limits, NULL) == 0 && result.count == 0,
           "175B fits no single node");
    tap_ok(result.nearest.memory.total > dt_suggest_usable(&machine), "the nearest needs more than there is");
    dt_suggest_result_destroy(&result);
    tap_ok(dt_suggest_search_nodes(&nodes, &choice, &model, &machine, &limits), "more nodes help");
    machine.nodes = nodes / 2;
    tap_ok(dt_suggest_search(&result, &model, &machine, &limits, NULL) == 0 && result.count == 0,
           "and half of them do not");
    dt_suggest_result_destroy(&result);
    machine.nics = 0;
    tap_ok(!dt_suggest_search_nodes(&nodes, &choice, &model, &machine, &limits),
           "nodes without a NIC cannot be joined");
}

int main(void)
{
    test_complete();
    test_order();
    test_better();
    test_fixed();
    test_refusals();
    test_nothing_fits();
    return tap_done();
}
