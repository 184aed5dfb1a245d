/*
 * nccl_batch.h - operations of several communicators that one thread queues as
 * one: NCCL's groups, which are a thread's own, as is what is kept here.
 */
#ifndef DT_RUNTIME_NCCL_BATCH_H
#define DT_RUNTIME_NCCL_BATCH_H

#include "runtime/nccl_state.h"

/* They nest; the outermost end queues everything, and waits while NCCL has it in progress. */
int dt_nccl_batch_begin(const struct dt_nccl *nccl, struct dtrain_error *err);
int dt_nccl_batch_end(const struct dt_nccl *nccl, struct dtrain_error *err);

/* Whether this thread has one open: an operation is then not waited for at its call. */
bool dt_nccl_batch_is_open(void);
/* The end of the batch looks at it. */
int dt_nccl_batch_add(struct dt_nccl_comm *comm, struct dtrain_error *err);

#endif
