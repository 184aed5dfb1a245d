/* nccl_stream.h - CUDA streams behind backend.h, and what failed on them. */
#ifndef DT_RUNTIME_NCCL_STREAM_H
#define DT_RUNTIME_NCCL_STREAM_H

#include "runtime/nccl_state.h"

int dt_nccl_stream_create(struct dt_nccl *nccl, struct dt_nccl_stream **stream, struct dtrain_error *err);
/* Over one of the program's, which stays its own. */
int dt_nccl_stream_wrap(struct dt_nccl *nccl, cudaStream_t handle, struct dt_nccl_stream **stream,
                        struct dtrain_error *err);
void dt_nccl_stream_destroy(struct dt_nccl_stream *stream);

/* The one that the backend itself uses; dt_nccl_stream_close() ends it. */
int dt_nccl_stream_open(struct dt_nccl_stream *stream, struct dt_nccl *nccl, struct dtrain_error *err);
void dt_nccl_stream_close(struct dt_nccl_stream *stream);

int dt_nccl_stream_synchronize(struct dt_nccl_stream *stream, struct dtrain_error *err);
int dt_nccl_stream_query(struct dt_nccl_stream *stream, bool *done, struct dtrain_error *err);
int dt_nccl_stream_wait(struct dt_nccl_stream *stream, struct dt_nccl_stream *other,
                        struct dtrain_error *err);

/* Waits for what of one communicator is on it, which `what` describes. -1: it failed then. */
int dt_nccl_stream_await(const struct dt_nccl_stream *stream, struct dt_nccl_comm *comm, const char *what,
                         const struct dt_deadline *deadline, struct dtrain_error *err);

#endif
