#include "lane.h"

#include "comm_call.h"
#include "core/error.h"
#include "type.h"

#define ALIGNMENT 64 /* as dtrain_memory_alloc() */

static bool is_float(enum dtrain_type type)
{
    return type == DTRAIN_FLOAT32 || type == DTRAIN_FLOAT64 || type == DTRAIN_BFLOAT16 ||
           type == DTRAIN_FLOAT16;
}

int dt_lane_check(const struct dt_lane *lane, const char *function, enum dtrain_type type,
                  struct dtrain_error *err)
{
    if (lane->comm == NULL)
        return dt_error_set(err, "%s: comm is NULL: take one from dtrain_comm_get()", function);
    if (lane->stream == NULL)
        return dt_error_set(err, "%s: stream is NULL: create one with dtrain_stream_create()", function);
    if (lane->stream->backend != lane->comm->backend ||
        (lane->compute != NULL && lane->compute->backend != lane->comm->backend))
        return dt_error_set(err,
                            "%s: a stream is of another backend than the communicator, %s: use those "
                            "of one world",
                            function, lane->comm->backend->name);
    if (!is_float(type))
        return dt_error_set(err, "%s: type is %s (%d): expected float32, float64, bfloat16 or float16",
                            function, dt_type_name(type), (int)type);
    return 0;
}

int dt_lane_start(const struct dt_lane *lane, struct dtrain_error *err)
{
    return lane->compute == NULL ? 0 : dtrain_stream_wait(lane->stream, lane->compute, err);
}

int dt_lane_finish(const struct dt_lane *lane, struct dtrain_error *err)
{
    return lane->compute == NULL ? dtrain_stream_synchronize(lane->stream, err)
                                 : dtrain_stream_wait(lane->compute, lane->stream, err);
}

struct dtrain_stream *dt_lane_math(const struct dt_lane *lane)
{
    return lane->compute != NULL ? lane->compute : lane->stream;
}

int dt_lane_bytes(size_t a, size_t b, size_t c, enum dtrain_type type, const char *what, size_t *bytes,
                  struct dtrain_error *err)
{
    if (__builtin_mul_overflow(a, b, bytes) || __builtin_mul_overflow(*bytes, c, bytes) ||
        __builtin_mul_overflow(*bytes, dtrain_type_size(type), bytes) || *bytes > PTRDIFF_MAX)
        return dt_error_set(err, "%s of %zu x %zu x %zu elements of %s is more than memory can hold", what, a,
                            b, c, dt_type_name(type));
    return 0;
}

size_t dt_lane_aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

int dt_lane_check_buffer(const char *function, const char *name, const void *buffer, size_t bytes,
                         struct dtrain_error *err)
{
    if (buffer != NULL || bytes == 0)
        return 0;
    return dt_error_set(err, "%s: %s is NULL: expected a buffer of %zu bytes", function, name, bytes);
}
