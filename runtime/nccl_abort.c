#include "nccl_abort.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nccl_device.h"
#include "thread.h"

/* Shared by who waits and the thread; the last one to leave frees it. */
struct abort_job {
    const struct dt_nccl_api *api;
    int device;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned users;
    bool is_done;
    ncclResult_t result;
    size_t n;
    ncclComm_t handles[];
};

static struct abort_job *job_create(const struct dt_nccl *nccl, const ncclComm_t *handles, size_t n)
{
    struct abort_job *job = calloc(1, sizeof(*job) + n * sizeof(*handles));
    pthread_condattr_t clock;

    if (job == NULL)
        return NULL;
    job->api = nccl->api;
    job->device = nccl->device;
    job->users = 2;
    job->n = n;
    memcpy(job->handles, handles, n * sizeof(*handles));
    pthread_mutex_init(&job->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&job->changed, &clock);
    pthread_condattr_destroy(&clock);
    return job;
}

static void job_destroy(struct abort_job *job)
{
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

/* With the lock, which it gives back. */
static void job_leave(struct abort_job *job)
{
    bool is_last = --job->users == 0;

    pthread_mutex_unlock(&job->lock);
    if (is_last)
        job_destroy(job);
}

static ncclResult_t abort_all(const struct abort_job *job)
{
    ncclResult_t first = job->api->GroupStart(), result;

    for (size_t i = 0; i < job->n; i++) {
        result = job->api->CommAbort(job->handles[i]);
        first = first != ncclSuccess ? first : result;
    }
    result = job->api->GroupEnd();
    return first != ncclSuccess ? first : result;
}

static void *run(void *argument)
{
    struct abort_job *job = argument;
    ncclResult_t result = ncclUnhandledCudaError;

    if (cudaSetDevice(job->device) == cudaSuccess)
        result = abort_all(job);
    pthread_mutex_lock(&job->lock);
    job->is_done = true;
    job->result = result;
    pthread_cond_signal(&job->changed);
    job_leave(job);
    return NULL;
}

static int job_wait(struct abort_job *job, const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct timespec at = {.tv_sec = deadline->at_ns / 1000000000, .tv_nsec = deadline->at_ns % 1000000000};
    int late = 0, rc = 0;

    pthread_mutex_lock(&job->lock);
    while (!job->is_done && late == 0)
        late = pthread_cond_timedwait(&job->changed, &job->lock, &at);
    if (!job->is_done)
        rc = dt_error_set(err, "ncclCommAbort did not come back within %.4g s: end the process",
                          deadline->timeout_ms / 1000.0);
    else if (job->result != ncclSuccess && job->result != ncclInProgress)
        rc = dt_error_set(err, "ncclCommAbort: %s", job->api->GetErrorString(job->result));
    job_leave(job);
    return rc;
}

int dt_nccl_abort(const struct dt_nccl *nccl, const ncclComm_t *handles, size_t n,
                  const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct abort_job *job;
    pthread_t thread;

    if (n == 0)
        return 0;
    job = job_create(nccl, handles, n);
    if (job == NULL)
        return dt_error_memory(err, sizeof(*job) + n * sizeof(*handles), "aborting communicators");
    if (dt_thread_start(&thread, run, job, "the thread that aborts communicators", err) != 0) {
        job_destroy(job);
        return -1;
    }
    pthread_detach(thread);
    return job_wait(job, deadline, err);
}
