/* nccl_init.h - making communicators: backend.h's comms_create. */
#ifndef DT_RUNTIME_NCCL_INIT_H
#define DT_RUNTIME_NCCL_INIT_H

#include "runtime/nccl_state.h"

#define DT_NCCL_RANKS_PER_ID 128 /* NCCL's guide: one id for each 128 ranks or so */

/*
 * All between one ncclGroupStart() and ncclGroupEnd(), waited for until the
 * deadline, then warmed up one after the other, in the order of channels that all
 * ranks share. What one lacks, all of this rank are aborted for, together.
 */
int dt_nccl_comms_create(struct dt_nccl *nccl, const struct dt_comm_request *requests, size_t n, void **comms,
                         const struct dt_deadline *deadline, struct dtrain_error *err);

/* Of this NCCL: before 2.23 a group has one id. */
int dt_nccl_ranks_per_id(const struct dt_nccl_api *api);

#endif
