/*
 * suggest_time.h - seconds of a step of a layout, by part. Pure.
 *
 * A matrix product of m x k by k x n takes 2 m n k / (rate E f(m) f(n) f(k)), f(x) = x / (x + DIMENSION).
 * What is not a product moves each activation that is kept once to memory and back. An all-reduce of V bytes
 * over n ranks takes 2 (n - 1)/n V / bandwidth and the latency of its messages, a reduce-scatter or
 * all-gather half. The pipeline idles (p - 1)/(v m) of the time of its microbatches (Narayanan et al. 2021).
 */
#ifndef DT_TOOLS_SUGGEST_TIME_H
#define DT_TOOLS_SUGGEST_TIME_H

#include "tools/suggest_layout.h"

enum dt_suggest_time_part {
    DT_SUGGEST_COMPUTE,
    DT_SUGGEST_TP, /* all-reduces of activations, none hidden */
    DT_SUGGEST_CP, /* keys and values that come later than the attention before them ends */
    DT_SUGGEST_PP, /* activations and their gradients between stages, none hidden */
    DT_SUGGEST_BUBBLE,
    DT_SUGGEST_DP,     /* of gradients and weights, what compute does not hide */
    DT_SUGGEST_UPDATE, /* the optimizer's pass over its state */
    DT_SUGGEST_TIME_PARTS
};
extern const char *const dt_suggest_time_words[DT_SUGGEST_TIME_PARTS];

struct dt_suggest_time {
    double part[DT_SUGGEST_TIME_PARTS];
    double total;
    double dp_hidden;
};

/* Of the slowest stage, the last, which has the output. The layout was checked. */
struct dt_suggest_time dt_suggest_time_of(const struct dt_suggest_layout *layout,
                                          const struct dt_suggest_model *model,
                                          const struct dt_suggest_machine *machine);

/* An all-reduce of `bytes` over n ranks by a ring; bytes_s is what is achieved. */
double dt_suggest_time_ring(double bytes, uint32_t n, double bytes_s, double latency_s);

/* Share of the rate that a product reaches. */
double dt_suggest_time_efficiency(double m, double n, double k);

#endif
