#include "tools/suggest_limits.h"

#include <string.h>

void dt_suggest_limits_init(struct dt_suggest_limits *limits)
{
    *limits = (struct dt_suggest_limits){
        .tp = DT_SUGGEST_ANY,
        .cp = DT_SUGGEST_ANY,
        .pp = DT_SUGGEST_ANY,
        .dp = DT_SUGGEST_ANY,
        .microbatch = DT_SUGGEST_ANY,
        .interleave = DT_SUGGEST_ANY,
        .zero = DT_SUGGEST_ANY,
        .is_sp = DT_SUGGEST_ANY,
        .recompute = DT_SUGGEST_ANY,
    };
}

bool dt_suggest_limits_is_free(const struct dt_suggest_limits *limits)
{
    struct dt_suggest_limits none;

    dt_suggest_limits_init(&none);
    return memcmp(limits, &none, sizeof(none)) == 0;
}
