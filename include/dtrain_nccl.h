/*
 * dtrain_nccl.h - NCCL's own handles behind the world's, for programs that call
 * NCCL or CUDA themselves. The only header of dtrain's that names their types.
 *
 * The rules of dtrain.h hold. Every function returns -1 with the reason where
 * the backend is host (dtrain_backend() says which it is); a program that calls
 * NCCL itself links with -ldtrain -lnccl -lcudart.
 *
 * Handles.  What is given out stays the world's: do not destroy, finalize or
 *           abort it. It is valid until the communicator fails or is revoked,
 *           and at most until dtrain_finalize().
 * Order.    Operations on a raw ncclComm_t and dtrain's on its struct
 *           dtrain_comm are operations of one communicator: one thread at a
 *           time issues them, in the same order on all ranks.
 * Progress. Communicators are non-blocking (config.blocking = 0): a call of
 *           NCCL's may return ncclInProgress, and until
 *           ncclCommGetAsyncError() says ncclSuccess no other call is allowed
 *           on that communicator. dtrain's own functions wait for it.
 * Failure.  What fails in a call of the program's own is found by the next
 *           call of dtrain's on the communicator.
 * Streams.  A dtrain_stream is a CUDA stream of the world's device: what the
 *           program launches on it is ordered with dtrain's operations.
 *           Between streams dtrain_stream_wait() orders, or CUDA's events.
 */
#ifndef DTRAIN_NCCL_H
#define DTRAIN_NCCL_H

#include <nccl.h>

#include "dtrain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The CUDA device of the world's rank, as cudaSetDevice() counts; -1 on the host backend. */
int dtrain_nccl_device(const struct dtrain_world *world);

/*
 * The communicator of NCCL's behind comm. -1 for a group of one, which has
 * none: its operations are copies. Borrowed.
 */
int dtrain_nccl_comm(struct dtrain_comm *comm, ncclComm_t *handle, struct dtrain_error *err);

/* The CUDA stream behind stream. Borrowed. */
int dtrain_nccl_stream(struct dtrain_stream *stream, cudaStream_t *handle, struct dtrain_error *err);

/*
 * A dtrain_stream over a CUDA stream of the program's own, which belongs to the
 * world's device; 0 is the default stream. dtrain_stream_destroy() waits for it
 * and leaves the CUDA stream alone, which must live until then.
 */
int dtrain_nccl_stream_wrap(struct dtrain_world *world, cudaStream_t handle,
                            struct dtrain_stream **stream, struct dtrain_error *err);

/*
 * Registers memory with a communicator, so that NCCL moves it without copies of
 * its own: [buf, buf + bytes) is of one allocation, best of ncclMemAlloc(), which
 * is where dtrain_memory_alloc() takes it from with all.mem_alloc = 1
 * (dtrain.conf(5)). Local; *handle goes to deregister, before the memory is
 * freed and before dtrain_finalize().
 */
int dtrain_nccl_register(struct dtrain_comm *comm, void *buf, size_t bytes, void **handle,
                         struct dtrain_error *err);
int dtrain_nccl_deregister(struct dtrain_comm *comm, void *handle, struct dtrain_error *err);

#if NCCL_VERSION_CODE >= 22700
/*
 * The same as a window (NCCL 2.27): collective over the group, with the same
 * bytes and flags (NCCL_WIN_COLL_SYMMETRIC) on all ranks; buf is aligned to 4096
 * bytes. Waits until the window is there, at most the deadline of an operation.
 */
int dtrain_nccl_window_register(struct dtrain_comm *comm, void *buf, size_t bytes, int flags,
                                ncclWindow_t *window, struct dtrain_error *err);
int dtrain_nccl_window_deregister(struct dtrain_comm *comm, ncclWindow_t window,
                                  struct dtrain_error *err);
#endif

#ifdef __cplusplus
}
#endif

#endif
