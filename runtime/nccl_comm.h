/* nccl_comm.h - one communicator: its life, its first failure, and waiting while NCCL has it in progress. */
#ifndef DT_RUNTIME_NCCL_COMM_H
#define DT_RUNTIME_NCCL_COMM_H

#include "runtime/nccl_state.h"

/* Without a handle; in the state's list. dt_nccl_comm_free() ends it, whose handle is gone then. */
int dt_nccl_comm_create(struct dt_nccl_comm **comm, struct dt_nccl *nccl,
                        const struct dt_comm_request *request, struct dtrain_error *err);
void dt_nccl_comm_free(struct dt_nccl_comm *comm);

/*
 * The failure becomes the communicator's first one unless it has one; "WHAT on
 * dtrain/dp/3: WHY". Always returns -1, with the first one in err.
 */
int dt_nccl_comm_fail(struct dt_nccl_comm *comm, const char *what, const char *why, struct dtrain_error *err);
/* 0, or -1 with its first failure. */
int dt_nccl_comm_check(struct dt_nccl_comm *comm, struct dtrain_error *err);
/* The same, and looks first whether a member died or NCCL found something by itself. */
int dt_nccl_comm_look(struct dt_nccl_comm *comm, const char *what, struct dtrain_error *err);

/*
 * With comm->calls. result: of the call that what describes ("all_reduce #12");
 * waits while it is in progress. -1: it failed, as the communicator does then; a
 * member died; somebody else made it fail; or the deadline passed.
 */
int dt_nccl_comm_settle(struct dt_nccl_comm *comm, ncclResult_t result, const char *what,
                        const struct dt_deadline *deadline, struct dtrain_error *err);

/*
 * Aborts those of n communicators that have a handle, together; NULLs among them
 * are skipped, and those at rest after ncclCommRevoke(). Logs what fails.
 */
void dt_nccl_comms_abort(struct dt_nccl *nccl, struct dt_nccl_comm *const *comms, size_t n);
/* All that failed. Without locks. */
void dt_nccl_comms_abort_failed(struct dt_nccl *nccl);

/* backend.h's comm_revoke and comm_destroy. */
void dt_nccl_comm_revoke(struct dt_nccl_comm *comm, const char *err_text);
void dt_nccl_comm_destroy(struct dt_nccl_comm *comm);

/* For NCCL to end something: DT_NCCL_END_MS, or an operation's deadline if that is shorter. */
struct dt_deadline dt_nccl_end_deadline(const struct dt_nccl *nccl);

/* Sleeps between two looks, short at first. turns starts at 0. */
void dt_nccl_pause(unsigned *turns);

#endif
