/* host_wait.h - sleeping until a peer moves, and the reasons to stop waiting. */
#ifndef DT_RUNTIME_HOST_WAIT_H
#define DT_RUNTIME_HOST_WAIT_H

#include "runtime/host_call.h"

/* How long the operation waits for the reason after a peer closed its connection. */
#define DT_HOST_GRACE_MS 1000

/*
 * Called when nothing could be moved. 0: try again. -1: a member died, gave up
 * or is in another operation; a peer left and no reason came; the deadline passed.
 */
int dt_host_wait(struct dt_host_call *call, struct dtrain_error *err);

/* -1 when a member is known to be dead, or the communicator was revoked elsewhere. */
int dt_host_check_news(struct dt_host_call *call, struct dtrain_error *err);

/* "rank 5 on n2, rank 7 on n2": peers that the operation cannot move on without. Returns buf. */
char *dt_host_awaited_text(const struct dt_host_call *call, char *buf, size_t size);

/* The error of an operation whose deadline passed: it names whom it waited for. */
int dt_host_report_deadline(const struct dt_host_call *call, struct dtrain_error *err);

#endif
