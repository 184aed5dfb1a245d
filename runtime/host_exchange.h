/*
 * host_exchange.h - the one step that all algorithms are made of: a set of
 * messages to and from several peers that move together until all are through.
 */
#ifndef DT_RUNTIME_HOST_EXCHANGE_H
#define DT_RUNTIME_HOST_EXCHANGE_H

#include "runtime/host_call.h"

/* Messages of a collective operation; buffers stay the caller's, at most one receive reduces. */
void dt_host_message_send(struct dt_host_message *message, const struct dt_host_call *call,
                          int peer, const void *from, size_t bytes);
void dt_host_message_receive(struct dt_host_message *message, const struct dt_host_call *call,
                             int peer, void *to, size_t bytes);
/* to = what arrives op own, by the operation's type and op; to may be own. */
void dt_host_message_reduce(struct dt_host_message *message, const struct dt_host_call *call,
                            int peer, void *to, const void *own, size_t bytes);

/* A message of a transfer; counts it with its peer. */
void dt_host_message_transfer(struct dt_host_message *message, struct dt_host_comm *comm,
                              const struct dtrain_transfer *transfer);

/* Returns when all n messages are through; several with one peer keep their order. */
int dt_host_exchange(struct dt_host_call *call, struct dt_host_message *messages, size_t n,
                     struct dtrain_error *err);

#endif
