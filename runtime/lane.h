/*
 * lane.h - communication beside computation: a communicator with the stream that
 * its operations are queued on, and the stream of the caller's computation, or
 * NULL where the CPU computes when the library is called.
 */
#ifndef DT_RUNTIME_LANE_H
#define DT_RUNTIME_LANE_H

#include "dtrain.h"

struct dt_lane {
    struct dtrain_comm *comm;
    struct dtrain_stream *stream, *compute;
};

/* Handles are there and of one backend, type is a floating-point one. function: as errors name it. */
int dt_lane_check(const struct dt_lane *lane, const char *function, enum dtrain_type type,
                  struct dtrain_error *err);

/* What is queued on stream from now on sees what compute has done. */
int dt_lane_start(const struct dt_lane *lane, struct dtrain_error *err);

/* What is queued on compute from now on sees what stream has done; waits for it where compute is NULL. */
int dt_lane_finish(const struct dt_lane *lane, struct dtrain_error *err);

/* Where arithmetic on what compute wrote is queued. */
struct dtrain_stream *dt_lane_math(const struct dt_lane *lane);

/*
 * Room of a * b * c elements of type, in bytes; -1 with an error that names `what` when no memory can
 * hold them.
 */
int dt_lane_bytes(size_t a, size_t b, size_t c, enum dtrain_type type, const char *what, size_t *bytes,
                  struct dtrain_error *err);

/* Bytes that a part of a workspace takes, so that the next one is aligned like memory of its own. */
size_t dt_lane_aligned(size_t bytes);

/* A buffer of `bytes` may be NULL only when that is 0. */
int dt_lane_check_buffer(const char *function, const char *name, const void *buffer, size_t bytes,
                         struct dtrain_error *err);

#endif
