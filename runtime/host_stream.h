/* host_stream.h - a stream of the host backend: a thread and the queue that it works off in order. */
#ifndef DT_RUNTIME_HOST_STREAM_H
#define DT_RUNTIME_HOST_STREAM_H

#include "runtime/host_comm.h"

struct dt_host_stream;

int dt_host_stream_create(struct dt_host_stream **stream, struct dtrain_error *err);
/* Waits for what is queued. */
void dt_host_stream_destroy(struct dt_host_stream *stream);

/* As dtrain.h says of dtrain_stream_synchronize() and _query(). */
int dt_host_stream_synchronize(struct dt_host_stream *stream, struct dtrain_error *err);
int dt_host_stream_query(struct dt_host_stream *stream, bool *done, struct dtrain_error *err);

/* Copies the operation and queues it; -1 when the communicator failed before. */
int dt_host_stream_push(struct dt_host_stream *stream, struct dt_host_comm *comm,
                        const struct dt_operation *operation, struct dtrain_error *err);
int dt_host_stream_push_copy(struct dt_host_stream *stream, void *to, const void *from,
                             size_t bytes, struct dtrain_error *err);
int dt_host_stream_push_math(struct dt_host_stream *stream, const struct dt_math *math,
                             struct dtrain_error *err);
/* What is queued later waits for all that is queued on other now. */
int dt_host_stream_push_wait(struct dt_host_stream *stream, struct dt_host_stream *other,
                             struct dtrain_error *err);

#endif
