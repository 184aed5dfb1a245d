/* math_vocabulary.h - the host's arithmetic on a split vocabulary: embedding and cross-entropy. */
#ifndef DT_RUNTIME_MATH_VOCABULARY_H
#define DT_RUNTIME_MATH_VOCABULARY_H

#include "runtime/math.h"

void dt_math_embedding_run(const struct dt_math *math);
void dt_math_embedding_gradient_run(const struct dt_math *math);
void dt_math_loss_maximum_run(const struct dt_math *math);
void dt_math_loss_sums_run(const struct dt_math *math);
void dt_math_loss_finish_run(const struct dt_math *math);

#endif
