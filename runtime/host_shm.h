/*
 * host_shm.h - the link between two processes of a node: two rings of bytes,
 * one each way, in a sealed memory file without a name, which the lower rank
 * makes and passes over the Unix socket. The socket stays as the doorbell of a
 * side that sleeps, and tells of the other side's end.
 */
#ifndef DT_RUNTIME_HOST_SHM_H
#define DT_RUNTIME_HOST_SHM_H

#include "runtime/deadline.h"
#include "runtime/host_link.h"

#define DT_HOST_SHM_RING_BYTES (256u * 1024u) /* a power of two */

/*
 * Both sides call, the lower rank with is_lower. Owns fd from now on, also when
 * it fails. Where memory cannot be shared (memfd_create or passing descriptors
 * is forbidden) both sides get the socket as a link. Fails early when cancel_fd becomes readable.
 */
int dt_host_shm_create(struct dt_host_link **link, int fd, bool is_lower, int cancel_fd,
                       const struct dt_deadline *deadline, struct dtrain_error *err);

#endif
