#include <stdio.h>

#include "comm_call.h"

#define REASON_MAX (DTRAIN_ERROR_MAX / 2) /* bytes of the caller's reason; the operation is named before it */

/* Text that is set once and read without the lock from then on. */
static void end_with(struct dtrain_comm *comm, const char *text)
{
    pthread_mutex_lock(&comm->lock);
    if (!atomic_load(&comm->has_ended)) {
        dt_error_set(&comm->end, "%s", text);
        atomic_store(&comm->has_ended, true);
    }
    pthread_mutex_unlock(&comm->lock);
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

/* The own communicator first: what comes back from the others is then no news. */
int dtrain_comm_revoke(struct dtrain_comm *comm, const char *why, struct dtrain_error *err)
{
    const struct dt_peers *peers;
    struct dtrain_error text;

    if (comm == NULL || why == NULL || why[0] == '\0')
        return dt_error_set(err, "dtrain_comm_revoke: %s: %s",
                            comm == NULL ? "comm is NULL" : "why is empty",
                            comm == NULL ? "take one from dtrain_comm_get()" : "say what the others shall read");
    say_revoked(comm, why, &text);
    if (comm->state == NULL) {
        end_with(comm, text.text);
        return 0;
    }
    peers = comm->place.peers;
    comm->backend->comm_revoke(comm->state, text.text);
    if (peers != NULL && peers->revoke != NULL)
        peers->revoke(peers->context, comm->place.channel, text.text);
    return 0;
}
