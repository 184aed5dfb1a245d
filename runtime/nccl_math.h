/* nccl_math.h - math.h on a CUDA device: one kernel launch for each call. */
#ifndef DT_RUNTIME_NCCL_MATH_H
#define DT_RUNTIME_NCCL_MATH_H

#include "runtime/math.h"

#ifdef __cplusplus
extern "C" {
#endif

/* stream: a cudaStream_t of the current device. Returns once the launch is queued. */
int dt_nccl_math_enqueue(const struct dt_math *math, void *stream, struct dtrain_error *err);

#ifdef __cplusplus
}
#endif

#endif
