/* suggest_why.h - why a layout is suggested, or none fits, in words. */
#ifndef DT_TOOLS_SUGGEST_WHY_H
#define DT_TOOLS_SUGGEST_WHY_H

#include "core/out.h"
#include "tools/suggest_search.h"

#define DT_SUGGEST_LAYOUT_TEXT_MAX 96

/* "tp 8 x pp 4 x dp 16": sizes of 1 are left out, but for dp. Returns buf. */
const char *dt_suggest_why_layout(char buf[DT_SUGGEST_LAYOUT_TEXT_MAX],
                                  const struct dt_suggest_layout *layout);

/* A line for each axis and each thing that the layout splits. */
void dt_suggest_why_print(struct dt_out *out, const struct dt_suggest_choice *choice,
                          const struct dt_suggest_model *model, const struct dt_suggest_machine *machine);

/* Nothing fits: what comes nearest, what it needs by part, and what would fit. Always returns -1. */
int dt_suggest_why_not(const struct dt_suggest_result *result, const struct dt_suggest_model *model,
                       const struct dt_suggest_machine *machine, const struct dt_suggest_limits *limits,
                       struct dtrain_error *err);

#endif
