/* math_rows.h - the host's arithmetic on rows: merged softmax, permuted rows, their dots. */
#ifndef DT_RUNTIME_MATH_ROWS_H
#define DT_RUNTIME_MATH_ROWS_H

#include "runtime/math.h"

void dt_math_softmax_merge_run(const struct dt_math *math);
void dt_math_gather_rows_run(const struct dt_math *math);
void dt_math_scatter_rows_run(const struct dt_math *math);
void dt_math_dot_rows_run(const struct dt_math *math);

#endif
