/* suggest_print.h - what was found, for people and for programs. */
#ifndef DT_TOOLS_SUGGEST_PRINT_H
#define DT_TOOLS_SUGGEST_PRINT_H

#include "core/out.h"
#include "tools/suggest_search.h"

/* Everything that is printed of; borrowed. */
struct dt_suggest_view {
    const struct dt_suggest_model *model;
    const struct dt_suggest_machine *machine;
    const struct dt_suggest_result *result; /* with one layout at least */
    size_t top;                             /* layouts to show, if there are as many */
};

int dt_suggest_print_text(struct dt_out *out, const struct dt_suggest_view *view, struct dtrain_error *err);

/*
 * {"model": {...}, "machine": {...}, "tried", "fitting", "layouts": [{"tp", ..., "memory": {...}, "time":
 * {...}, "model_tflops", "hardware_tflops", "srun"}]}: bytes, seconds, and TFLOP/s a GPU without and with
 * what is computed again.
 */
void dt_suggest_print_json(struct dt_out *out, const struct dt_suggest_view *view);

/* "srun --nodes=4 --ntasks-per-node=8 ... ./train" */
void dt_suggest_print_srun(struct dt_out *out, const struct dt_suggest_layout *layout,
                           const struct dt_suggest_machine *machine);

/* Operations of the step, a second and a GPU, in TFLOP/s. */
double dt_suggest_print_tflops(const struct dt_suggest_view *view, const struct dt_suggest_choice *choice,
                               enum dt_suggest_recompute recompute);

#endif
