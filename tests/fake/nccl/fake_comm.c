/* fake_comm.c - communicators: checks before use, turns, connections. */
#include "fake_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static ncclComm_t comms;

static bool is_known(ncclComm_t comm)
{
    ncclComm_t one;

    pthread_mutex_lock(&list_lock);
    for (one = comms; one != NULL && one != comm; one = one->next)
        ;
    pthread_mutex_unlock(&list_lock);
    return one != NULL;
}

static const char *misuse(ncclComm_t comm, enum fake_use use)
{
    switch ((int)comm->life) {
    case FAKE_GONE:
        return "after it was destroyed or aborted";
    case FAKE_MAKING:
        return comm->state == ncclInProgress ? "while it is in progress" : "before it was made";
    case FAKE_FINALIZED:
        return use == FAKE_USE_END || use == FAKE_USE_ANY ? NULL : "after ncclCommFinalize";
    case FAKE_REVOKED:
        return use != FAKE_USE_OPS ? NULL
                                   : "after ncclCommRevoke: only Destroy, Split and Shrink are left";
    default:
        return NULL;
    }
}

ncclResult_t fake_comm_use(ncclComm_t comm, const char *function, enum fake_use use)
{
    int state;
    const char *wrong;

    if (comm == NULL)
        return fake_fail(ncclInvalidArgument, "%s: the communicator is NULL", function);
    if (!is_known(comm))
        return fake_break(ncclInvalidArgument, "%s on a communicator that was never made", function);
    state = comm->state;
    if (state == ncclInProgress)
        return fake_break(ncclInvalidUsage, "%s on %s while it is in progress", function, comm->name);
    wrong = misuse(comm, use);
    if (wrong != NULL && !(comm->life == FAKE_MAKING && use == FAKE_USE_END && state != ncclSuccess))
        return fake_break(ncclInvalidUsage, "%s on %s %s", function, comm->name, wrong);
    if (state != ncclSuccess && (use == FAKE_USE_OPS || use == FAKE_USE_MANAGE))
        return fake_fail((ncclResult_t)state, "%s on %s, which failed before", function, comm->name);
    if (use == FAKE_USE_OPS && comm->device != fake_device_current())
        return fake_break(ncclInvalidUsage, "%s on %s of device %d by a thread whose device is %d", function,
                          comm->name, comm->device, fake_device_current());
    return ncclSuccess;
}

ncclComm_t fake_comm_new(int nranks, int rank, const ncclConfig_t *config)
{
    ncclComm_t new = calloc(1, sizeof(*new));

    if (new == NULL)
        abort();
    new->life = FAKE_MAKING;
    new->nranks = nranks;
    new->rank = rank;
    new->device = fake_device_current();
    new->config = *config;
    snprintf(new->name, sizeof(new->name), "%s", config->commName != NULL ? config->commName : "unnamed");
    snprintf(new->net_name, sizeof(new->net_name), "%s", config->netName != NULL ? config->netName : "");
    new->config.commName = new->name;
    new->config.netName = config->netName != NULL ? new->net_name : NULL;
    pthread_mutex_init(&new->lock, NULL);
    pthread_cond_init(&new->changed, NULL);
    pthread_mutex_lock(&list_lock);
    new->next = comms;
    comms = new;
    pthread_mutex_unlock(&list_lock);
    return new;
}

bool fake_comm_is_blocking(ncclComm_t comm)
{
    return comm->config.blocking != 0;
}

/* ---- Connections -------------------------------------------------------- */

static ncclResult_t check_size1(ncclComm_t comm)
{
    if (comm->nranks > 1)
        return ncclSuccess;
    fake_count(&fake_counts.size1);
    if (fake_env_int("FAKE_NCCL_ALLOW_SIZE1", 0))
        return ncclSuccess;
    return fake_break(ncclInvalidUsage, "communicator %s has one rank: it costs memory for nothing",
                      comm->name);
}

ncclResult_t fake_comm_connect(ncclComm_t comm, const struct fake_cancel *cancel)
{
    ncclResult_t result = check_size1(comm);

    if (result != ncclSuccess)
        return result;
    comm->fds = malloc(sizeof(*comm->fds) * (size_t)comm->nranks);
    if (comm->fds == NULL)
        abort();
    for (int i = 0; i < comm->nranks; i++)
        comm->fds[i] = -1;
    for (int i = 0; i < comm->nranks; i++) {
        if (i == comm->rank)
            continue;
        comm->fds[i] = fake_id_link(comm->key, comm->rank, &comm->members[i], cancel);
        if (comm->fds[i] < 0)
            return fake_fail(ncclRemoteError, "%s: rank %d was not reached", comm->name, i);
    }
    return ncclSuccess;
}

void fake_comm_close(ncclComm_t comm)
{
    for (int i = 0; comm->fds != NULL && i < comm->nranks; i++)
        if (comm->fds[i] >= 0)
            close(comm->fds[i]);
    free(comm->fds);
    free(comm->members);
    comm->fds = NULL;
    comm->members = NULL;
}

/* ---- Turns -------------------------------------------------------------- */

void fake_comm_raise(ncclComm_t comm, _Atomic bool *flag)
{
    pthread_mutex_lock(&comm->lock);
    *flag = true;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

uint64_t fake_comm_ticket(ncclComm_t comm)
{
    uint64_t ticket;

    pthread_mutex_lock(&comm->lock);
    ticket = comm->tickets++;
    pthread_mutex_unlock(&comm->lock);
    return ticket;
}

bool fake_comm_await_turn(ncclComm_t comm, uint64_t ticket)
{
    pthread_mutex_lock(&comm->lock);
    while (comm->turn != ticket)
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    return !comm->abort && !comm->stop;
}

void fake_comm_pass_turn(ncclComm_t comm, uint64_t ticket)
{
    pthread_mutex_lock(&comm->lock);
    comm->turn = ticket + 1;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

void fake_comm_await_stop(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    while (!comm->abort && !comm->stop)
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
}

static bool is_idle(ncclComm_t comm, bool with_jobs)
{
    return comm->turn == comm->tickets && (!with_jobs || comm->jobs == 0);
}

/* Behind another communicator's operation on one stream this never comes: said once. */
void fake_comm_await_idle(ncclComm_t comm, const char *function, bool with_jobs)
{
    int ms = fake_env_int("FAKE_NCCL_HANG_MS", FAKE_HANG_MS);
    struct timespec at;
    bool is_late = false;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000L;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    pthread_mutex_lock(&comm->lock);
    while (!is_idle(comm, with_jobs) && !is_late)
        is_late = pthread_cond_timedwait(&comm->changed, &comm->lock, &at) != 0;
    if (!is_idle(comm, with_jobs))
        fake_violation("%s of %s waits for its operations: what hangs before them on a stream has to be "
                       "aborted in the same group",
                       function, comm->name);
    while (!is_idle(comm, with_jobs))
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
}

void fake_comm_hold(ncclComm_t comm, int change)
{
    pthread_mutex_lock(&comm->lock);
    comm->jobs += change;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

/* ---- Queries ------------------------------------------------------------ */

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    ncclResult_t result = fake_enter("ncclCommGetAsyncError", NULL);

    if (result != ncclSuccess)
        return result;
    if (comm == NULL || error == NULL)
        return fake_fail(ncclInvalidArgument, "ncclCommGetAsyncError: an argument is NULL");
    if (!is_known(comm) || comm->life == FAKE_GONE)
        return fake_break(ncclInvalidArgument, "ncclCommGetAsyncError on a communicator that is no more");
    fake_count(&fake_counts.polls);
    *error = (ncclResult_t)comm->state;
    return ncclSuccess;
}

static ncclResult_t get(ncclComm_t comm, const char *function, const int *from, int *to)
{
    ncclResult_t result = fake_enter(function, NULL);

    if (result == ncclSuccess)
        result = fake_comm_use(comm, function, FAKE_USE_ANY);
    if (result == ncclSuccess)
        *to = *from;
    return result;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    return get(comm, "ncclCommCount", &comm->nranks, count);
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    return get(comm, "ncclCommCuDevice", &comm->device, device);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    return get(comm, "ncclCommUserRank", &comm->rank, rank);
}

int fake_nccl_config(ncclComm_t comm, ncclConfig_t *config)
{
    if (comm == NULL || !is_known(comm))
        return -1;
    *config = comm->config;
    return 0;
}

static int count_live(void)
{
    int count = 0;

    pthread_mutex_lock(&list_lock);
    for (ncclComm_t one = comms; one != NULL; one = one->next)
        count += one->life != FAKE_GONE;
    pthread_mutex_unlock(&list_lock);
    return count;
}

int fake_nccl_counts(struct fake_nccl_counts *counts)
{
    *counts = fake_counts;
    counts->live_comms = count_live();
    counts->violations = fake_violation_count();
    return 0;
}

__attribute__((destructor)) static void check_at_exit(void)
{
    int count = count_live();

    if (count > 0)
        fake_violation("leak: %d communicators were neither destroyed nor aborted", count);
}
