/* suggest_case.h - models and machines of the suggest tests. */
#ifndef DT_TESTS_SUGGEST_CASE_H
#define DT_TESTS_SUGGEST_CASE_H

#include "tap.h"
#include "tools/suggest_layout.h"

#define NEAR 1e-9 /* relative: of formulas that are the same but for rounding */

static inline bool is_near(double got, double expected, double relative)
{
    double off = got > expected ? got - expected : expected - got;

    return off <= relative * (expected > 0 ? expected : -expected);
}

static inline bool __attribute__((unused))
tap_near(double got, double expected, double relative, const char *name)
{
    bool ok = tap_ok(is_near(got, expected, relative), "%s", name);

    if (!ok)
        printf("# got %.12g, expected %.12g\n", got, expected);
    return ok;
}

/* GPT: ffn is 4 hidden, plain attention, vocabulary 51200. */
static inline struct dt_suggest_model gpt(uint32_t layers, uint32_t hidden, uint32_t heads, uint32_t seq,
                                          uint32_t batch)
{
    struct dt_suggest_model model = {.layers = layers,
                                     .hidden = hidden,
                                     .heads = heads,
                                     .seq = seq,
                                     .vocab = 51200,
                                     .batch = batch,
                                     .is_plain = true};
    struct dtrain_error err;

    if (dt_suggest_model_finish(&model, &err) != 0)
        printf("# %s\n", err.text);
    return model;
}

/* Nodes of 8 GPUs at a switch with 8 NICs: 80 GB, 300 TFLOP/s, 300 GB/s inside, 25 GB/s a NIC. */
static inline struct dt_suggest_machine machine_of(uint32_t nodes)
{
    struct dt_suggest_machine machine = {.source = "test",
                                         .nodes = nodes,
                                         .gpus = 8,
                                         .nics = 8,
                                         .memory = 80e9,
                                         .memory_bytes_s = 2e12,
                                         .flops = 3e14,
                                         .node = {3e11, 3e-6, DT_PATH_NVSWITCH},
                                         .nic = {2e11, 8e-6, DT_PATH_UNKNOWN}};

    for (uint32_t tp = 1; tp <= machine.gpus; tp *= 2)
        machine.tp[tp] = machine.node;
    return machine;
}

#endif
