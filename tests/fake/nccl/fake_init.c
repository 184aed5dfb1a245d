/* fake_init.c - communicators from unique ids. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_group.h"

/* Hangs until the group or the communicator is cancelled. */
static ncclResult_t never(struct fake_job *job)
{
    while (!fake_cancel_is_set(&job->cancel))
        fake_pause_us(1000);
    if (fake_cancel_is_late(&job->cancel))
        fake_violation("%s on %s did not end in time", job->function, job->comm->name);
    return ncclRemoteError;
}

static ncclResult_t init_run(struct fake_job *job)
{
    ncclComm_t comm = job->comm;
    char why[FAKE_TEXT_MAX] = "";
    ncclResult_t result;

    if (job->fault.kind == FAKE_FAULT_NEVER || job->fault.kind == FAKE_FAULT_HANG)
        return never(job);
    if (job->fault.kind == FAKE_FAULT_ASYNC)
        return fake_fail((ncclResult_t)job->fault.result, "%s: fault on demand", job->function);
    result = fake_id_meet(&job->meeting, &job->card, &job->cancel, &comm->members, why);
    if (result != ncclSuccess)
        return fake_fail(result, "%s", why);
    comm->key = fake_key_child(job->meeting.main_key, 0);
    result = fake_comm_connect(comm, &job->cancel);
    if (result == ncclSuccess && job->fault.kind == FAKE_FAULT_STUCK)
        result = never(job);
    if (result == ncclSuccess)
        comm->life = FAKE_READY;
    return result;
}

/* Blocking callers get no handle back; the others abort what failed. */
static void init_undo(struct fake_job *job)
{
    if (!fake_comm_is_blocking(job->comm))
        return;
    fake_comm_close(job->comm);
    job->comm->life = FAKE_GONE;
    *job->out = NULL;
}

static ncclResult_t check_ids(const char *function, const ncclUniqueId *ids, int nids)
{
    for (int i = 0; i < nids; i++)
        if (!fake_id_is_one(&ids[i]))
            return fake_break(ncclInvalidArgument, "%s: id %d was not made by ncclGetUniqueId", function, i);
    return ncclSuccess;
}

static ncclResult_t check_arguments(const char *function, const ncclComm_t *comm, int nranks, int rank,
                                    const ncclUniqueId *ids, int nids)
{
    if (comm == NULL || ids == NULL)
        return fake_fail(ncclInvalidArgument, "%s: an argument is NULL", function);
    if (nranks < 1 || rank < 0 || rank >= nranks)
        return fake_fail(ncclInvalidArgument, "%s: rank %d of %d", function, rank, nranks);
    if (nids < 1 || nids > nranks)
        return fake_fail(ncclInvalidArgument, "%s: %d ids for %d ranks", function, nids, nranks);
    if (fake_device_physical(fake_device_current()) < 0)
        return fake_fail(ncclUnhandledCudaError, "%s: there is no CUDA device", function);
    return check_ids(function, ids, nids);
}

static ncclResult_t init(const char *function, ncclComm_t *comm, int nranks, int rank,
                         const ncclUniqueId *ids, int nids, const ncclConfig_t *given)
{
    ncclConfig_t config;
    struct fake_fault fault = {FAKE_FAULT_NONE, 0};
    struct fake_job *job;
    ncclResult_t result = fake_enter(function, &fault);

    if (result == ncclSuccess)
        result = check_arguments(function, comm, nranks, rank, ids, nids);
    if (result == ncclSuccess)
        result = fake_config_read(&config, given, NULL);
    if (result != ncclSuccess)
        return result;
    fake_count(&fake_counts.inits);
    *comm = fake_comm_new(nranks, rank, &config);
    job = fake_job_new(function, *comm, init_run);
    job->undo = init_undo;
    job->out = comm;
    job->fault = fault;
    job->card = fake_job_card(rank);
    fake_id_meeting(&job->meeting, ids, nids, rank, nranks);
    fake_group_open();
    fake_group_add_job(job);
    return fake_group_close();
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    return init("ncclCommInitRank", comm, nranks, rank, &id, 1, NULL);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    return init("ncclCommInitRankConfig", comm, nranks, rank, &id, 1, config);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids, ncclUniqueId *ids,
                                      ncclConfig_t *config)
{
    return init("ncclCommInitRankScalable", comm, nranks, rank, ids, nids, config);
}

/* The current device is the caller's own again afterwards. */
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int ndev, const int *devices)
{
    int before = fake_device_current();
    ncclUniqueId id;
    ncclResult_t result = ncclGetUniqueId(&id);

    if (result != ncclSuccess)
        return result;
    fake_group_open();
    for (int i = 0; i < ndev; i++)
        if (cudaSetDevice(devices != NULL ? devices[i] : i) != cudaSuccess)
            fake_fail(ncclUnhandledCudaError, "ncclCommInitAll: no such device");
        else
            init("ncclCommInitAll", &comms[i], ndev, i, &id, 1, NULL);
    result = fake_group_close();
    cudaSetDevice(before);
    return result;
}
