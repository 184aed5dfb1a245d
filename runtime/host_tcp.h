/*
 * host_tcp.h - the link that is its socket. Between nodes that is TCP; inside
 * one it is the Unix socket, where memory cannot be shared.
 */
#ifndef DT_RUNTIME_HOST_TCP_H
#define DT_RUNTIME_HOST_TCP_H

#include "runtime/host_link.h"

/* Owns fd (non-blocking) from now on, also when it fails. */
int dt_host_tcp_create(struct dt_host_link **link, int fd, struct dtrain_error *err);

#endif
