/*
 * report.h - what the run says on standard output: one line about the layout
 * and the model, one for every step, one at the end. Only the grid's
 * speaker says it; on other ranks these functions do nothing.
 */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H

#include "data.h"
#include "grid.h"
#include "model.h"
#include "options.h"

struct report {
    bool speaks;
    size_t step_tokens; /* of the global batch */
    double started_s, step_started_s;
    uint64_t steps; /* told so far */
    double first_loss, last_loss;
};

void report_start(struct report *report, const struct grid *grid, const struct options *options,
                  const struct model *model, const struct data *data);

/* "step 12 loss 3.45678901 tokens/s 12345" */
void report_step(struct report *report, uint64_t step, double loss);

/* -1 when what was said could not be written. */
int report_end(const struct report *report, struct dtrain_error *err);

#endif
