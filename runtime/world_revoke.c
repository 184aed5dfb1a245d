#define _GNU_SOURCE /* pthread_mutex_clocklock */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "thread.h"
#include "world.h"

#define REVOKE_MS 10000 /* that a device may take to let go of all communicators */

/* Held by the caller and by the thread that may never come back; who is last frees it. */
struct dt_revoke_job {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int holders;
    bool is_done;
    char *why;
    size_t n;
    struct dtrain_comm *comms[];
};

static void job_release(struct dt_revoke_job *job)
{
    bool is_last;

    pthread_mutex_lock(&job->lock);
    is_last = --job->holders == 0;
    pthread_mutex_unlock(&job->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    free(job->why);
    free(job);
}

static struct dt_revoke_job *job_create(const struct dt_world_comms *comms, const char *why,
                                        struct dtrain_error *err)
{
    struct dt_revoke_job *job;
    pthread_condattr_t attributes;
    size_t n = 0;

    for (const struct dt_world_comm *i = comms->list; i != NULL; i = i->next)
        n++;
    job = calloc(1, sizeof(*job) + n * sizeof(job->comms[0]));
    if (job != NULL)
        job->why = strdup(why);
    if (job == NULL || job->why == NULL) {
        free(job);
        dt_error_memory(err, n * sizeof(job->comms[0]), "revoking all communicators");
        return NULL;
    }
    for (const struct dt_world_comm *i = comms->list; i != NULL; i = i->next)
        if (i->comm != NULL)
            job->comms[job->n++] = i->comm;
    job->holders = 2;
    pthread_mutex_init(&job->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&job->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return job;
}

static void *run(void *argument)
{
    struct dt_revoke_job *job = argument;

    for (size_t i = 0; i < job->n; i++)
        (void)dtrain_comm_revoke(job->comms[i], job->why, NULL);
    pthread_mutex_lock(&job->lock);
    job->is_done = true;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    job_release(job);
    return NULL;
}

static struct timespec time_of(const struct dt_deadline *deadline)
{
    return (struct timespec){.tv_sec = deadline->at_ns / 1000000000, .tv_nsec = deadline->at_ns % 1000000000};
}

static bool job_wait(struct dt_revoke_job *job, const struct dt_deadline *deadline)
{
    struct timespec at = time_of(deadline);
    bool is_done;
    int rc = 0;

    pthread_mutex_lock(&job->lock);
    while (!job->is_done && rc == 0)
        rc = pthread_cond_timedwait(&job->changed, &job->lock, &at);
    is_done = job->is_done;
    pthread_mutex_unlock(&job->lock);
    return is_done;
}

bool dt_world_comms_are_stuck(struct dt_world_comms *comms)
{
    struct dt_deadline now = dt_deadline_after_ms(0);

    if (comms->job == NULL)
        return false;
    if (!job_wait(comms->job, &now))
        return true;
    job_release(comms->job);
    comms->job = NULL;
    return false;
}

/* With the lock of the communicators. */
static int revoke(struct dt_world_comms *comms, const char *why, const struct dt_deadline *deadline,
                  struct dtrain_error *err)
{
    pthread_t thread;

    if (!dt_world_comms_are_stuck(comms)) {
        comms->job = job_create(comms, why, err);
        if (comms->job == NULL)
            return -1;
        if (dt_thread_start(&thread, run, comms->job, "the thread that revokes all communicators", err) < 0) {
            job_release(comms->job);
            job_release(comms->job);
            comms->job = NULL;
            return -1;
        }
        pthread_detach(thread);
    }
    if (!job_wait(comms->job, deadline))
        return dt_error_set(err,
                            "dtrain_comms_revoke: the device did not let go of the communicators within %.4g "
                            "s: end this process",
                            deadline->timeout_ms / 1000.0);
    return dt_world_comms_are_stuck(comms) ? -1 : 0;
}

int dtrain_comms_revoke(struct dtrain_world *world, const char *why, struct dtrain_error *err)
{
    struct dt_deadline deadline;
    struct timespec at;
    int rc;

    if (world == NULL || why == NULL || why[0] == '\0')
        return dt_error_set(err, "dtrain_comms_revoke: %s",
                            world == NULL ? "world is NULL" : "why is empty: say what the others shall read");
    deadline = dt_deadline_after_ms(world->settings.timeout_ms < REVOKE_MS ? world->settings.timeout_ms
                                                                           : REVOKE_MS);
    at = time_of(&deadline);
    if (pthread_mutex_clocklock(&world->comms.lock, CLOCK_MONOTONIC, &at) != 0)
        return dt_error_set(err,
                            "dtrain_comms_revoke: another thread made or replaced communicators for more than "
                            "%.4g s: what it waits for ends with its own deadline",
                            deadline.timeout_ms / 1000.0);
    rc = revoke(&world->comms, why, &deadline, err);
    pthread_mutex_unlock(&world->comms.lock);
    return rc;
}
