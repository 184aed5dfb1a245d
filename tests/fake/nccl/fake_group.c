/*
 * fake_group.c - the end of a group: what it mixes is checked, then its jobs
 * run at the same time, then its batches are launched. For non-blocking
 * communicators a thread does that, and they are in progress meanwhile.
 */
#include "fake_group.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "fake_op.h"

struct work {
    struct fake_job *jobs;
    struct fake_batch *batches;
    _Atomic bool cancel; /* one job failed: the others end too, as NCCL's do */
    bool is_blocking;
};

static _Thread_local struct {
    int depth;
    ncclResult_t error;
    struct fake_job *jobs, **jobs_tail;
    struct fake_batch *batches;
} group;

struct fake_job *fake_job_new(const char *function, ncclComm_t comm, ncclResult_t (*run)(struct fake_job *))
{
    struct fake_job *new = calloc(1, sizeof(*new));

    if (new == NULL)
        abort();
    new->function = function;
    new->comm = comm;
    new->run = run;
    return new;
}

struct fake_member fake_job_card(int rank)
{
    struct fake_member card = {
        .rank = rank, .device = fake_device_physical(fake_device_current()), .host = fake_id_host()};

    if (fake_id_own(&card.addr) != 0)
        card.addr.size = 0;
    return card;
}

void fake_group_note(ncclResult_t result)
{
    if (group.depth > 0 && group.error == ncclSuccess && result != ncclInProgress)
        group.error = result;
}

bool fake_group_has_split(ncclComm_t parent)
{
    for (const struct fake_job *job = group.jobs; job != NULL; job = job->next)
        if (job->is_split && job->comm == parent)
            return true;
    return false;
}

void fake_group_add_job(struct fake_job *job)
{
    if (group.jobs == NULL)
        group.jobs_tail = &group.jobs;
    *group.jobs_tail = job;
    group.jobs_tail = &job->next;
    if (job->is_end)
        return;
    fake_comm_hold(job->comm, 1);
    if (job->child != NULL)
        fake_comm_hold(job->child, 1);
}

struct fake_batch *fake_group_batch(ncclComm_t comm)
{
    struct fake_batch **link = &group.batches;

    while (*link != NULL && (*link)->comm != comm)
        link = &(*link)->next;
    if (*link == NULL) {
        *link = fake_batch_new(comm);
        fake_comm_hold(comm, 1);
    }
    return *link;
}

/* ---- Running ------------------------------------------------------------ */

static void *job_main(void *arg)
{
    struct fake_job *job = arg;

    job->result = job->run(job);
    return NULL;
}

static void job_start(struct fake_job *job, struct work *work)
{
    int ms = fake_env_int("FAKE_NCCL_INIT_MS", FAKE_INIT_MS);

    job->cancel = (struct fake_cancel){.flags = {&work->cancel, &job->comm->abort},
                                       .deadline_ns = fake_now_ns() + ms * INT64_C(1000000)};
    if (job->child != NULL)
        job->cancel.flags[2] = &job->child->abort;
    if (pthread_create(&job->thread, NULL, job_main, job) != 0)
        abort();
}

static ncclResult_t run_jobs(struct work *work)
{
    ncclResult_t result = ncclSuccess;

    for (struct fake_job *job = work->jobs; job != NULL; job = job->next)
        if (!job->is_end)
            job_start(job, work);
    for (struct fake_job *job = work->jobs; job != NULL; job = job->next) {
        if (!job->is_end)
            pthread_join(job->thread, NULL);
        else
            job->result = job->run(job);
        if (job->result != ncclSuccess && result == ncclSuccess)
            result = job->result;
        work->cancel = work->cancel || result != ncclSuccess;
    }
    return result;
}

/* Children become visible before their parent's state says so. */
static void jobs_end(struct work *work, ncclResult_t result)
{
    struct fake_job *job;

    for (job = work->jobs; job != NULL; job = job->next) {
        if (result == ncclSuccess && job->child != NULL)
            *job->out = job->child;
        if (result != ncclSuccess && job->undo != NULL)
            job->undo(job);
    }
    while ((job = work->jobs) != NULL) {
        work->jobs = job->next;
        if (!job->is_end && (!work->is_blocking || result != ncclSuccess))
            job->comm->state = (int)result;
        if (!job->is_end)
            fake_comm_hold(job->comm, -1);
        if (job->child != NULL)
            fake_comm_hold(job->child, -1);
        free(job->data);
        free(job);
    }
}

static ncclResult_t work_run(struct work *work)
{
    ncclResult_t result = run_jobs(work);
    struct fake_batch *batch;

    jobs_end(work, result);
    while ((batch = work->batches) != NULL) {
        ncclComm_t comm = batch->comm;
        ncclResult_t launched;

        work->batches = batch->next;
        launched = fake_batch_launch(batch, !work->is_blocking);
        result = result == ncclSuccess ? launched : result;
        if (!work->is_blocking)
            atomic_compare_exchange_strong(&comm->state, &(int){ncclInProgress}, (int)launched);
        fake_comm_hold(comm, -1);
    }
    return result;
}

static void *work_main(void *arg)
{
    struct work *work = arg;

    fake_pause_us(fake_env_int("FAKE_NCCL_PROGRESS_US", FAKE_PROGRESS_US));
    work_run(work);
    free(work);
    return NULL;
}

static ncclResult_t work_start(struct work *work)
{
    pthread_t thread;

    for (struct fake_job *job = work->jobs; job != NULL; job = job->next)
        job->comm->state = ncclInProgress;
    for (struct fake_batch *batch = work->batches; batch != NULL; batch = batch->next) {
        batch->comm->state = ncclInProgress;
        fake_batch_pend(batch, 1);
    }
    if (pthread_create(&thread, NULL, work_main, work) != 0)
        abort();
    pthread_detach(thread);
    return ncclInProgress;
}

/* ---- The end of a group ------------------------------------------------- */

/* Releases count for neither kind. */
static ncclResult_t check_mix(bool *is_blocking)
{
    int jobs = 0, batches = 0, blocking = 0, not_blocking = 0;

    for (const struct fake_job *job = group.jobs; job != NULL; job = job->next) {
        jobs += !job->is_end;
        blocking += !job->is_end && fake_comm_is_blocking(job->comm);
        not_blocking += !job->is_end && !fake_comm_is_blocking(job->comm);
    }
    for (const struct fake_batch *batch = group.batches; batch != NULL; batch = batch->next) {
        batches++;
        blocking += fake_comm_is_blocking(batch->comm);
        not_blocking += !fake_comm_is_blocking(batch->comm);
    }
    *is_blocking = not_blocking == 0;
    if (blocking > 0 && not_blocking > 0)
        return fake_break(ncclInvalidArgument, "blocking and non-blocking communicators in one group");
    if (jobs > 0 && batches > 0)
        return fake_break(ncclInvalidUsage, "creations and operations in one group");
    return ncclSuccess;
}

static void drop(struct work *work, ncclResult_t error)
{
    struct fake_batch *batch;

    jobs_end(work, error);
    while ((batch = work->batches) != NULL) {
        ncclComm_t comm = batch->comm;

        work->batches = batch->next;
        fake_batch_drop(batch);
        fake_comm_hold(comm, -1);
    }
}

static ncclResult_t group_run(void)
{
    bool is_blocking;
    ncclResult_t result = check_mix(&is_blocking);
    struct work *work = calloc(1, sizeof(*work));

    if (work == NULL)
        abort();
    result = group.error != ncclSuccess ? group.error : result;
    work->jobs = group.jobs;
    work->batches = group.batches;
    work->is_blocking = is_blocking;
    group.jobs = NULL;
    group.batches = NULL;
    group.error = ncclSuccess;
    if (result == ncclSuccess && !is_blocking)
        return work_start(work);
    if (result == ncclSuccess)
        result = work_run(work);
    else
        drop(work, result);
    free(work);
    return result;
}

void fake_group_open(void)
{
    if (group.depth++ == 0)
        group.error = ncclSuccess;
}

/* Inner ends only say what failed so far. */
ncclResult_t fake_group_close(void)
{
    if (--group.depth > 0)
        return group.error;
    return group_run();
}

/* nccl.h declares these without a prototype. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

ncclResult_t ncclGroupStart(void)
{
    ncclResult_t result = fake_enter("ncclGroupStart", NULL);

    if (result == ncclSuccess)
        fake_group_open();
    return result;
}

ncclResult_t ncclGroupEnd(void)
{
    ncclResult_t result;

    if (group.depth == 0)
        return fake_break(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
    result = fake_enter("ncclGroupEnd", NULL);
    if (group.depth == 1)
        fake_count(&fake_counts.groups);
    if (result == ncclSuccess)
        return fake_group_close();
    fake_group_close();
    return result;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
    (void)info;
    return fake_fail(ncclInvalidUsage, "ncclGroupSimulateEnd: this double does not simulate");
}
