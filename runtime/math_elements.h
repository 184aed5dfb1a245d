/* math_elements.h - the host's arithmetic on elements, one function a kind of math.h. */
#ifndef DT_RUNTIME_MATH_ELEMENTS_H
#define DT_RUNTIME_MATH_ELEMENTS_H

#include "runtime/math.h"

void dt_math_fill_run(const struct dt_math *math);
void dt_math_scale_run(const struct dt_math *math);
void dt_math_sum_squares_run(const struct dt_math *math);
void dt_math_adamw_run(const struct dt_math *math);
void dt_math_copy_2d_run(const struct dt_math *math);

/* min(1, limit / sqrt(*squares)) times factor. */
double dt_math_factor_value(const struct dt_math_factor *factor);

#endif
