#include "nccl_comm.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUSY_TURNS 64     /* looks before the first sleep: an enqueue is in progress for microseconds */
#define PAUSE_NS 50000
#define GRACE_MS 1000     /* that the news of a death may come after NCCL lost the peer */

/* ---- Life ------------------------------------------------------------------ */

static void init_locks(struct dt_nccl_comm *comm)
{
    pthread_mutex_init(&comm->calls, NULL);
    pthread_mutex_init(&comm->lock, NULL);
}

static void link_comm(struct dt_nccl_comm *comm)
{
    pthread_mutex_lock(&comm->nccl->lock);
    comm->next = comm->nccl->comms;
    comm->nccl->comms = comm;
    pthread_mutex_unlock(&comm->nccl->lock);
}

static void unlink_comm(struct dt_nccl_comm *comm)
{
    struct dt_nccl_comm **link = &comm->nccl->comms;

    pthread_mutex_lock(&comm->nccl->lock);
    while (*link != comm)
        link = &(*link)->next;
    *link = comm->next;
    pthread_mutex_unlock(&comm->nccl->lock);
}

int dt_nccl_comm_create(struct dt_nccl_comm **comm, struct dt_nccl *nccl,
                        const struct dt_comm_request *request, struct dtrain_error *err)
{
    size_t bytes = (size_t)request->size * sizeof(uint32_t);
    struct dt_nccl_comm *made = calloc(1, sizeof(*made));

    if (made != NULL)
        made->members = malloc(bytes);
    if (made == NULL || made->members == NULL) {
        free(made);
        return dt_error_memory(err, sizeof(*made) + bytes, "a communicator");
    }
    made->nccl = nccl;
    memcpy(made->name, request->name, sizeof(made->name));
    memcpy(made->members, request->members, bytes);
    made->config = request->config;
    made->channel = request->channel;
    made->size = request->size;
    made->rank = request->rank;
    init_locks(made);
    link_comm(made);
    *comm = made;
    return 0;
}

void dt_nccl_comm_free(struct dt_nccl_comm *comm)
{
    unlink_comm(comm);
    pthread_mutex_destroy(&comm->calls);
    pthread_mutex_destroy(&comm->lock);
    free(comm->members);
    free(comm);
}

/* ---- Failure ---------------------------------------------------------------- */

static int failure_of(const struct dt_nccl_comm *comm, struct dtrain_error *err)
{
    return comm->has_failed ? dt_error_set(err, "%s", comm->failure.text) : 0;
}

int dt_nccl_comm_check(struct dt_nccl_comm *comm, struct dtrain_error *err)
{
    int rc;

    pthread_mutex_lock(&comm->lock);
    rc = failure_of(comm, err);
    pthread_mutex_unlock(&comm->lock);
    return rc;
}

/* With the lock. */
static int fail_locked(struct dt_nccl_comm *comm, const char *text, struct dtrain_error *err)
{
    if (!comm->has_failed)
        dt_error_set(&comm->failure, "%s", text);
    comm->has_failed = true;
    return failure_of(comm, err);
}

int dt_nccl_comm_fail(struct dt_nccl_comm *comm, const char *what, const char *why, struct dtrain_error *err)
{
    struct dtrain_error text;
    int rc;

    dt_error_set(&text, "%s on %s: %s", what, comm->name, why);
    pthread_mutex_lock(&comm->lock);
    rc = fail_locked(comm, text.text, err);
    pthread_mutex_unlock(&comm->lock);
    return rc;
}

/* Changes with every death and revocation that the world learns of. */
static uint32_t count_news(const struct dt_peers *peers)
{
    if (peers == NULL)
        return 0;
    return *peers->death_count + (peers->revoke_count != NULL ? *peers->revoke_count : 0);
}

static bool is_ended(const struct dt_nccl_comm *comm, const struct dt_peers *peers, struct dtrain_error *why)
{
    if (peers->is_revoked != NULL && peers->is_revoked(peers->context, comm->channel, why))
        return true;
    for (int i = 0; i < comm->size; i++)
        if (i != comm->rank && peers->is_dead(peers->context, comm->members[i], why))
            return true;
    return false;
}

/* Whether a member died or another rank revoked it; looks only when there is news. */
static bool has_ended(struct dt_nccl_comm *comm, struct dtrain_error *why)
{
    uint32_t news = count_news(comm->nccl->env.peers);
    bool is_news;

    pthread_mutex_lock(&comm->lock);
    is_news = news != comm->news_seen;
    pthread_mutex_unlock(&comm->lock);
    if (!is_news)
        return false;
    if (is_ended(comm, comm->nccl->env.peers, why))
        return true;
    pthread_mutex_lock(&comm->lock);
    comm->news_seen = news;
    pthread_mutex_unlock(&comm->lock);
    return false;
}

/* NCCL sees that a connection ended before control can say whose rank died. */
static bool await_death(struct dt_nccl_comm *comm, ncclResult_t result, struct dtrain_error *why)
{
    struct dt_deadline grace = dt_deadline_after_ms(GRACE_MS);
    unsigned turns = 0;

    if (result != ncclRemoteError && result != ncclSystemError)
        return false;
    while (!has_ended(comm, why)) {
        if (dt_deadline_passed(&grace))
            return false;
        dt_nccl_pause(&turns);
    }
    return true;
}

/* What NCCL found on this rank alone the others would wait for until their deadline. */
static void tell_others(const struct dt_nccl_comm *comm, const char *what, const char *why)
{
    const struct dt_backend_env *env = &comm->nccl->env;
    char who[128];
    struct dtrain_error text;

    if (env->peers == NULL || env->peers->revoke == NULL)
        return;
    dt_error_set(&text, "revoked by %s: %s on %s: %.400s",
                 env->peers->describe(env->peers->context, env->rank, who, sizeof(who)), what, comm->name,
                 why);
    env->peers->revoke(env->peers->context, comm->channel, text.text);
}

static int fail_by(struct dt_nccl_comm *comm, ncclResult_t result, const char *what, struct dtrain_error *err)
{
    const struct dt_nccl_api *api = comm->nccl->api;
    struct dtrain_error why;
    const char *last;
    int rc;

    if (await_death(comm, result, &why))
        return dt_nccl_comm_fail(comm, what, why.text, err);
    last = api->GetLastError(NULL);
    dt_error_set(&why, "%s%s%s%s", api->GetErrorString(result), last != NULL && last[0] != '\0' ? " (" : "",
                 last != NULL ? last : "", last != NULL && last[0] != '\0' ? ")" : "");
    rc = dt_nccl_comm_fail(comm, what, why.text, err);
    tell_others(comm, what, why.text);
    return rc;
}

/* What NCCL says now. A communicator that failed or has no handle says nothing: -1. */
static int ask(struct dt_nccl_comm *comm, ncclResult_t *result, struct dtrain_error *err)
{
    ncclResult_t asked = ncclSuccess;
    int rc;

    *result = ncclSuccess;
    pthread_mutex_lock(&comm->lock);
    rc = failure_of(comm, err);
    if (rc == 0 && comm->handle != NULL)
        asked = comm->nccl->api->CommGetAsyncError(comm->handle, result);
    pthread_mutex_unlock(&comm->lock);
    if (asked != ncclSuccess)
        *result = asked;
    return rc;
}

int dt_nccl_comm_poll(struct dt_nccl_comm *comm, const char *what, bool *done, struct dtrain_error *err)
{
    struct dtrain_error why;
    ncclResult_t result;

    *done = false;
    if (ask(comm, &result, err) != 0)
        return -1;
    if (has_ended(comm, &why))
        return dt_nccl_comm_fail(comm, what, why.text, err);
    *done = result == ncclSuccess;
    return *done || result == ncclInProgress ? 0 : fail_by(comm, result, what, err);
}

int dt_nccl_comm_look(struct dt_nccl_comm *comm, const char *what, struct dtrain_error *err)
{
    bool is_done;

    return dt_nccl_comm_poll(comm, what, &is_done, err);
}

/* ---- In progress -------------------------------------------------------------- */

void dt_nccl_pause(unsigned *turns)
{
    if ((*turns)++ < BUSY_TURNS)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

int dt_nccl_comm_settle(struct dt_nccl_comm *comm, ncclResult_t result, const char *what,
                        const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dtrain_error why;
    unsigned turns = 0;

    while (result == ncclInProgress) {
        if (ask(comm, &result, err) != 0)
            return -1;
        if (result != ncclInProgress)
            break;
        if (has_ended(comm, &why))
            return dt_nccl_comm_fail(comm, what, why.text, err);
        if (dt_deadline_passed(deadline)) {
            dt_error_set(&why, "NCCL has it in progress for %.4g s: a member does not come, or cannot be "
                                "reached", deadline->timeout_ms / 1000.0);
            return dt_nccl_comm_fail(comm, what, why.text, err);
        }
        dt_nccl_pause(&turns);
    }
    return result == ncclSuccess ? dt_nccl_comm_check(comm, err) : fail_by(comm, result, what, err);
}
