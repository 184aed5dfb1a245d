/* nccl_abort.h - ncclCommAbort() of several communicators together, in bounded time: it may itself hang. */
#ifndef DT_RUNTIME_NCCL_ABORT_H
#define DT_RUNTIME_NCCL_ABORT_H

#include "runtime/nccl_state.h"

/*
 * In one group, since ranks of a node wait for each other's aborts, and on a thread
 * of its own. -1: NCCL did not come back by the deadline or said why not; then the
 * handles are lost, and the process should end.
 */
int dt_nccl_abort(const struct dt_nccl *nccl, const ncclComm_t *handles, size_t n,
                  const struct dt_deadline *deadline, struct dtrain_error *err);

#endif
