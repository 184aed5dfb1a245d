/* nccl_op.h - operations of backend.h as calls of NCCL's, and which of them a stream waits for. */
#ifndef DT_RUNTIME_NCCL_OP_H
#define DT_RUNTIME_NCCL_OP_H

#include "runtime/nccl_state.h"

#define DT_NCCL_OP_TEXT_MAX 48 /* bytes of "reduce_scatter #12" with the NUL */

int dt_nccl_op_enqueue(struct dt_nccl_comm *comm, const struct dt_operation *operation,
                       struct dt_nccl_stream *stream, struct dtrain_error *err);

/*
 * Whether the stream has, or waits for, an operation of the communicator and was
 * not seen empty since; then text names the last one.
 */
bool dt_nccl_op_is_on(struct dt_nccl_comm *comm, const struct dt_nccl_stream *stream,
                      char text[DT_NCCL_OP_TEXT_MAX]);
void dt_nccl_op_forget(struct dt_nccl_comm *comm, const struct dt_nccl_stream *stream);
/* stream waits for what is on other. */
void dt_nccl_op_follow(struct dt_nccl_comm *comm, const struct dt_nccl_stream *stream,
                       const struct dt_nccl_stream *other);

#endif
