/* fake_end.c - the ways in which a communicator ends. */
#include <stdlib.h>
#include <unistd.h>

#include "fake_group.h"
#include "fake_mesh.h"
#include "fake_op.h"

/* ---- Finalize and revoke: collective and local, both in progress -------- */

static ncclResult_t finalize_run(struct fake_job *job)
{
    struct fake_desc desc = {.kind = FAKE_FINALIZE};
    uint64_t ticket = fake_comm_ticket(job->comm);
    enum fake_moved moved = FAKE_STOPPED;

    if (fake_comm_await_turn(job->comm, ticket)) {
        if (job->fault.kind == FAKE_FAULT_HANG)
            fake_comm_await_stop(job->comm);
        else
            moved = fake_mesh_agree(job->comm, &desc);
    }
    fake_comm_pass_turn(job->comm, ticket);
    if (moved == FAKE_MOVED) {
        job->comm->life = FAKE_FINALIZED;
        return ncclSuccess;
    }
    return moved == FAKE_MISMATCH ? ncclInvalidUsage : ncclRemoteError;
}

static ncclResult_t submit(const char *function, ncclComm_t comm, ncclResult_t (*run)(struct fake_job *),
                           const struct fake_fault *fault)
{
    struct fake_job *job = fake_job_new(function, comm, run);

    job->fault = *fault;
    fake_group_open();
    fake_group_add_job(job);
    return fake_group_close();
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    struct fake_fault fault = {FAKE_FAULT_NONE, 0};
    ncclResult_t result = fake_enter("ncclCommFinalize", &fault);

    if (result == ncclSuccess)
        result = fake_comm_use(comm, "ncclCommFinalize", FAKE_USE_MANAGE);
    if (result == ncclSuccess && comm->life == FAKE_REVOKED)
        result = fake_break(ncclInvalidUsage, "ncclCommFinalize on %s after ncclCommRevoke", comm->name);
    if (result != ncclSuccess)
        return result;
    fake_count(&fake_counts.finalizes);
    return submit("ncclCommFinalize", comm, finalize_run, &fault);
}

static ncclResult_t revoke_run(struct fake_job *job)
{
    fake_comm_await_idle(job->comm, job->function, false);
    job->comm->life = FAKE_REVOKED;
    return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
    struct fake_fault fault = {FAKE_FAULT_NONE, 0};
    ncclResult_t result = fake_enter("ncclCommRevoke", &fault);

    if (result == ncclSuccess && flags != NCCL_REVOKE_DEFAULT)
        result = fake_fail(ncclInvalidArgument, "ncclCommRevoke: flags %d: expected 0", flags);
    if (result == ncclSuccess)
        result = fake_comm_use(comm, "ncclCommRevoke", FAKE_USE_END);
    if (result == ncclSuccess && comm->life != FAKE_READY)
        result = fake_break(ncclInvalidUsage, "ncclCommRevoke on %s, which was %s before", comm->name,
                            comm->life == FAKE_REVOKED ? "revoked" : "finalized or not made");
    if (result != ncclSuccess)
        return result;
    fake_count(&fake_counts.revokes);
    comm->state = ncclSuccess;
    fake_comm_raise(comm, &comm->stop);
    return submit("ncclCommRevoke", comm, revoke_run, &fault);
}

/* ---- Destroy and abort: at the group's end, before it returns ----------- */

static ncclResult_t end_run(struct fake_job *job)
{
    ncclComm_t comm = job->comm;

    fake_comm_await_idle(comm, job->function, true);
    fake_comm_close(comm);
    comm->life = FAKE_GONE;
    while (job->fault.kind == FAKE_FAULT_HANG) /* as when a thread of NCCL's cannot be joined */
        pause();
    return ncclSuccess;
}

static ncclResult_t end(const char *function, ncclComm_t comm, const struct fake_fault *fault)
{
    struct fake_job *job = fake_job_new(function, comm, end_run);

    job->fault = *fault;
    job->is_end = true;
    fake_group_open();
    fake_group_add_job(job);
    return fake_group_close();
}

/* NCCL takes NULL here. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    const struct fake_fault none = {FAKE_FAULT_NONE, 0};
    ncclResult_t result = fake_enter("ncclCommDestroy", NULL);

    if (result != ncclSuccess || comm == NULL)
        return result;
    result = fake_comm_use(comm, "ncclCommDestroy", FAKE_USE_END);
    if (result == ncclSuccess && comm->must_abort)
        result = fake_break(ncclInvalidUsage,
                            "ncclCommDestroy on %s, which was shrunk with NCCL_SHRINK_ABORT: expected "
                            "ncclCommAbort",
                            comm->name);
    if (result != ncclSuccess)
        return result;
    if (comm->registrations > 0)
        fake_violation("leak: %d registrations of %s were not released", comm->registrations, comm->name);
    fake_count(&fake_counts.destroys);
    return end("ncclCommDestroy", comm, &none);
}

/* Allowed at any time, also in progress. Told to hang, it releases all and does not come back. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    struct fake_fault fault = {FAKE_FAULT_NONE, 0};
    ncclResult_t result = fake_enter("ncclCommAbort", &fault), state = ncclSuccess;

    if (result == ncclSuccess && fault.kind != FAKE_FAULT_NONE && fault.kind != FAKE_FAULT_HANG)
        result = fake_break(ncclInvalidUsage, "ncclCommAbort cannot be told to fail in this way");
    if (result != ncclSuccess || comm == NULL)
        return result;
    result = ncclCommGetAsyncError(comm, &state);
    if (result != ncclSuccess)
        return result;
    fake_count(&fake_counts.aborts);
    fake_comm_raise(comm, &comm->abort);
    return end("ncclCommAbort", comm, &fault);
}
