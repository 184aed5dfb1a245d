/* suggest_limits.h - what the user fixes of a layout, and how far the search goes. */
#ifndef DT_TOOLS_SUGGEST_LIMITS_H
#define DT_TOOLS_SUGGEST_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define DT_SUGGEST_ANY UINT32_MAX
#define DT_SUGGEST_MICROBATCH_MAX 64u
#define DT_SUGGEST_CP_TOKENS                                                                                 \
    4096u /* that context parallel parts have at least, unless --max-cp says more                            \
           */

/* DT_SUGGEST_ANY: the search chooses. dp follows from the others, and is then compared. */
struct dt_suggest_limits {
    uint32_t tp, cp, pp, dp, microbatch, interleave, zero, is_sp, recompute;
    uint32_t max_tp, max_cp, max_pp,
        max_microbatch; /* 0: as far as it divides, microbatches and cp as above */
};

void dt_suggest_limits_init(struct dt_suggest_limits *limits);
bool dt_suggest_limits_is_free(const struct dt_suggest_limits *limits); /* nothing is fixed or bounded */

#endif
