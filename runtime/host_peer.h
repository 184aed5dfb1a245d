/* host_peer.h - moving the messages of one peer over its link, without waiting. */
#ifndef DT_RUNTIME_HOST_PEER_H
#define DT_RUNTIME_HOST_PEER_H

#include "runtime/host_call.h"

/* Bytes were moved: 1, none: 0, failed: -1. */
int dt_host_peer_push(struct dt_host_call *call, int peer, struct dtrain_error *err);

/*
 * Also with nothing to receive: then it looks at the header of what arrives, so
 * that a peer which is in another operation, or gave up, is noticed.
 */
int dt_host_peer_pull(struct dt_host_call *call, int peer, struct dtrain_error *err);

#endif
