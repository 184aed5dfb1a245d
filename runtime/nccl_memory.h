/* nccl_memory.h - memory of the device, as backend.h's memory_alloc and memory_free. */
#ifndef DT_RUNTIME_NCCL_MEMORY_H
#define DT_RUNTIME_NCCL_MEMORY_H

#include "runtime/nccl_state.h"

/* Zeroed. Of cudaMalloc(), or with all.mem_alloc = 1 of ncclMemAlloc(), which can be registered. */
int dt_nccl_memory_alloc(struct dt_nccl *nccl, size_t bytes, void **memory, struct dtrain_error *err);
void dt_nccl_memory_free(struct dt_nccl *nccl, void *memory);

/*
 * On the stream. To memory of the host that is not pinned CUDA copies at the call,
 * after all that is queued: that is waited for here, where a deadline holds.
 */
int dt_nccl_memory_copy(void *to, const void *from, size_t bytes, struct dt_nccl_stream *stream,
                        struct dtrain_error *err);

#endif
