/* host_call.h - one operation while it runs. */
#ifndef DT_RUNTIME_HOST_CALL_H
#define DT_RUNTIME_HOST_CALL_H

#include "runtime/host_comm.h"

#define DT_HOST_CALL_TEXT_MAX (DT_COMM_NAME_MAX + 48)

struct dt_host_call {
    struct dt_host_comm *comm;
    const struct dt_operation *operation;
    struct dt_host_header header; /* of a collective operation's messages */
    const char *name;             /* "all_reduce" */
    uint64_t number;              /* from 1; 0: the communicator's own bring-up */
    struct dt_deadline deadline;
    int64_t grace_at_ns; /* a peer left: when to stop waiting for the reason. 0: none did */
    int left;            /* the first that did */
};

/* Waits for the ticket's turn, runs the operation, and lets the next one run. */
int dt_host_call_run(struct dt_host_comm *comm, const struct dt_operation *operation,
                     uint64_t ticket, struct dtrain_error *err);

/*
 * The first exchange on a new communicator, with the neighbours in its ring: what
 * then fails on one rank reaches all, because all are linked in a circle.
 */
int dt_host_call_hello(struct dt_host_comm *comm, const struct dt_deadline *deadline,
                       struct dtrain_error *err);

/* "all_reduce #12 on dtrain/dp/3". Returns buf. */
char *dt_host_call_text(const struct dt_host_call *call, char buf[DT_HOST_CALL_TEXT_MAX]);

#endif
