#include <stdio.h>

#include "comm_call.h"

#define REASON_MAX (DTRAIN_ERROR_MAX / 2) /* bytes of the caller's reason; the operation is named before it */

/* With the lock held; the text is set once and read without the lock from then on. */
static void end_with(struct dtrain_comm *comm, const char *text)
{
    if (atomic_load(&comm->has_ended))
        return;
    dt_error_set(&comm->end, "%s", text);
    atomic_store(&comm->has_ended, true);
}

/* "revoked by rank 3 on n1: its loss is not a number" */
static void say_revoked(const struct dtrain_comm *comm, const char *why, struct dtrain_error *text)
{
    const struct dt_comm_place *place = &comm->place;
    char who[128] = "this rank";

    if (place->peers != NULL)
        place->peers->describe(place->peers->context, place->rank, who, sizeof(who));
    dt_error_set(text, "revoked by %s: %.*s", who, REASON_MAX, why);
}

/* Without the lock in between: a backend that hangs must not stop who else revokes it. */
static void revoke(struct dtrain_comm *comm, const char *text)
{
    const struct dt_peers *peers = comm->place.peers;
    void *state;

    pthread_mutex_lock(&comm->lock);
    state = comm->state;
    comm->revoker_count += state != NULL;
    if (state == NULL)
        end_with(comm, text);
    pthread_mutex_unlock(&comm->lock);
    if (state == NULL)
        return;
    /* The others first: this rank's own device may be what hangs. */
    if (peers != NULL && peers->revoke != NULL)
        peers->revoke(peers->context, comm->place.channel, text);
    comm->backend->comm_revoke(state, text);
    pthread_mutex_lock(&comm->lock);
    comm->revoker_count--;
    pthread_cond_broadcast(&comm->unused);
    pthread_mutex_unlock(&comm->lock);
}

int dtrain_comm_revoke(struct dtrain_comm *comm, const char *why, struct dtrain_error *err)
{
    struct dtrain_error text;

    if (comm == NULL || why == NULL || why[0] == '\0')
        return dt_error_set(err, "dtrain_comm_revoke: %s: %s",
                            comm == NULL ? "comm is NULL" : "why is empty",
                            comm == NULL ? "take one from dtrain_comm_get()"
                                         : "say what the others shall read");
    say_revoked(comm, why, &text);
    revoke(comm, text.text);
    return 0;
}

bool dt_comm_is_usable(const struct dtrain_comm *comm)
{
    const struct dt_peers *peers = comm->place.peers;

    if (atomic_load(&comm->has_ended))
        return false;
    if (comm->state == NULL)
        return true;
    if (peers != NULL && peers->is_revoked != NULL &&
        peers->is_revoked(peers->context, comm->place.channel, NULL))
        return false;
    return comm->backend->comm_has_failed == NULL || !comm->backend->comm_has_failed(comm->state);
}

void dt_comm_retire(struct dtrain_comm *comm, const char *why)
{
    pthread_mutex_lock(&comm->lock);
    while (comm->revoker_count > 0)
        pthread_cond_wait(&comm->unused, &comm->lock);
    end_with(comm, why);
    if (comm->state != NULL)
        comm->backend->comm_destroy(comm->state);
    comm->state = NULL;
    pthread_mutex_unlock(&comm->lock);
}
