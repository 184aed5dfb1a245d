/*
 * comm.h - communicators and streams as dtrain.h shows them: arguments are
 * checked here, then the backend gets a struct dt_operation.
 */
#ifndef DT_RUNTIME_COMM_H
#define DT_RUNTIME_COMM_H

#include "runtime/backend.h"

#define DT_TRANSFERS_MAX (1u << 20) /* in one dtrain_transfer() */

/*
 * state: the backend's communicator, owned from now on, also when this fails;
 * NULL for a group of one. The world destroys what it created.
 */
int dt_comm_create(struct dtrain_comm **comm, const struct dt_backend *backend, void *state,
                   int size, int rank, struct dtrain_error *err);

/* Where the communicator is in the world; what a revocation needs. Borrowed, and outlives it. */
struct dt_comm_place {
    const struct dt_peers *peers; /* NULL: nobody else is told */
    uint32_t rank;                /* this one's in the world */
    uint64_t channel;
    const uint32_t *members; /* world ranks; NULL: not known */
};
void dt_comm_set_place(struct dtrain_comm *comm, const struct dt_comm_place *place);

/* Whether it takes operations: it was not revoked, and did not fail. */
bool dt_comm_is_usable(const struct dtrain_comm *comm);

/* Ends the backend's communicator, of which nothing is queued; every call on it then fails with why. */
void dt_comm_retire(struct dtrain_comm *comm, const char *why);

/* NULL allowed. */
void dt_comm_destroy(struct dtrain_comm *comm);

/* backend_state: what open() gave. dtrain_stream_destroy() ends it. */
int dt_stream_create(struct dtrain_stream **stream, const struct dt_backend *backend,
                     void *backend_state, struct dtrain_error *err);

#endif
