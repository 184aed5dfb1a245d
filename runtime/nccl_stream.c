#include "nccl_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "nccl_comm.h"
#include "nccl_device.h"
#include "nccl_op.h"

/* ---- Life --------------------------------------------------------------------- */

static unsigned take_slot(struct dt_nccl *nccl)
{
    unsigned slot = 0;

    pthread_mutex_lock(&nccl->lock);
    while (slot < DT_NCCL_SLOTS - 1 && (nccl->slots >> slot & 1) != 0)
        slot++;
    nccl->slots |= UINT64_C(1) << slot;
    pthread_mutex_unlock(&nccl->lock);
    return slot;
}

/* What was on the stream is on none from here on. */
static void give_slot(const struct dt_nccl_stream *stream)
{
    struct dt_nccl *nccl = stream->nccl;

    pthread_mutex_lock(&nccl->lock);
    for (struct dt_nccl_comm *i = nccl->comms; i != NULL; i = i->next)
        dt_nccl_op_forget(i, stream);
    nccl->slots &= ~(UINT64_C(1) << stream->slot);
    pthread_mutex_unlock(&nccl->lock);
}

int dt_nccl_stream_open(struct dt_nccl_stream *stream, struct dt_nccl *nccl, struct dtrain_error *err)
{
    *stream = (struct dt_nccl_stream){.nccl = nccl, .is_owned = true, .slot = take_slot(nccl)};
    if (dt_nccl_device_use(nccl, err) != 0)
        return -1;
    return dt_nccl_cuda_check(cudaStreamCreateWithFlags(&stream->handle, cudaStreamNonBlocking),
                              "cudaStreamCreateWithFlags", err);
}

void dt_nccl_stream_close(struct dt_nccl_stream *stream)
{
    if (stream->nccl != NULL)
        give_slot(stream);
    if (stream->is_owned && stream->handle != NULL && dt_nccl_device_use(stream->nccl, NULL) == 0)
        cudaStreamDestroy(stream->handle);
    stream->handle = NULL;
}

int dt_nccl_stream_create(struct dt_nccl *nccl, struct dt_nccl_stream **stream, struct dtrain_error *err)
{
    struct dt_nccl_stream *made = malloc(sizeof(*made));

    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a stream");
    if (dt_nccl_stream_open(made, nccl, err) != 0) {
        dt_nccl_stream_close(made);
        free(made);
        return -1;
    }
    *stream = made;
    return 0;
}

int dt_nccl_stream_wrap(struct dt_nccl *nccl, cudaStream_t handle, struct dt_nccl_stream **stream,
                        struct dtrain_error *err)
{
    struct dt_nccl_stream *made = malloc(sizeof(*made));

    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a stream");
    *made = (struct dt_nccl_stream){.nccl = nccl, .handle = handle, .slot = take_slot(nccl)};
    *stream = made;
    return 0;
}

void dt_nccl_stream_destroy(struct dt_nccl_stream *stream)
{
    if (stream == NULL)
        return;
    dt_nccl_stream_synchronize(stream, NULL);
    dt_nccl_stream_close(stream);
    free(stream);
}

/* ---- What runs on it ------------------------------------------------------------ */

enum view {
    VIEW_DONE,    /* the stream is empty: only failures that are known already count */
    VIEW_RUNNING, /* looks whether what runs there failed */
    VIEW_LATE,    /* its deadline passed */
};

/* "it did not end within 600 s, seen by rank 3 on n1" */
static int fail_late(struct dt_nccl_comm *comm, const char *what, struct dtrain_error *err)
{
    const struct dt_backend_env *env = &comm->nccl->env;
    char who[128] = "", why[256];

    if (env->peers != NULL)
        env->peers->describe(env->peers->context, env->rank, who, sizeof(who));
    snprintf(why, sizeof(why), "it did not end within %.4g s, seen by %s", env->timeout_ms / 1000.0, who);
    return dt_nccl_comm_fail(comm, what, why, err);
}

/* One communicator that has something on the stream. */
static int look_at(struct dt_nccl_comm *comm, const char *what, enum view view, struct dtrain_error *err)
{
    switch (view) {
    case VIEW_DONE:
        return dt_nccl_comm_check(comm, err);
    case VIEW_RUNNING:
        return dt_nccl_comm_look(comm, what, err);
    case VIEW_LATE:
        return fail_late(comm, what, err);
    }
    return 0;
}

/*
 * All that have something on the stream; the first failure is in err. What ended,
 * well or not, is forgotten, so that a stream says a failure once.
 */
static int look(const struct dt_nccl_stream *stream, enum view view, struct dtrain_error *err)
{
    struct dt_nccl *nccl = stream->nccl;
    int rc = 0;

    pthread_mutex_lock(&nccl->lock);
    for (struct dt_nccl_comm *i = nccl->comms; i != NULL; i = i->next) {
        char what[DT_NCCL_OP_TEXT_MAX];
        int its;

        if (!dt_nccl_op_is_on(i, stream, what))
            continue;
        its = look_at(i, what, view, rc == 0 ? err : NULL);
        if (its != 0 || view == VIEW_DONE)
            dt_nccl_op_forget(i, stream);
        rc = rc != 0 ? rc : its;
    }
    pthread_mutex_unlock(&nccl->lock);
    return rc;
}

/* A kernel that waits for a peer that is gone ends only when its communicator is aborted. */
static int look_and_abort(const struct dt_nccl_stream *stream, enum view view, struct dtrain_error *err)
{
    int rc = look(stream, view, err);

    if (rc != 0)
        dt_nccl_comms_abort_failed(stream->nccl);
    return rc;
}

int dt_nccl_stream_query(struct dt_nccl_stream *stream, bool *done, struct dtrain_error *err)
{
    cudaError_t result;

    *done = false;
    if (dt_nccl_device_use(stream->nccl, err) != 0)
        return -1;
    result = cudaStreamQuery(stream->handle);
    if (result != cudaSuccess && result != cudaErrorNotReady)
        return dt_nccl_cuda_check(result, "the stream failed: cudaStreamQuery", err);
    *done = result == cudaSuccess;
    return look_and_abort(stream, *done ? VIEW_DONE : VIEW_RUNNING, err);
}

static int report_late(struct dt_nccl_stream *stream, const struct dt_deadline *deadline,
                       struct dtrain_error *err)
{
    if (look_and_abort(stream, VIEW_LATE, err) != 0)
        return -1;
    return dt_error_set(err, "what is queued on a stream of device %d did not end within %.4g s, and no "
                             "communicator has an operation on it",
                        stream->nccl->device, deadline->timeout_ms / 1000.0);
}

int dt_nccl_stream_synchronize(struct dt_nccl_stream *stream, struct dtrain_error *err)
{
    struct dt_deadline deadline = dt_deadline_after_ms(stream->nccl->env.timeout_ms);
    unsigned turns = 0;
    bool done = false;

    for (;;) {
        if (dt_nccl_stream_query(stream, &done, err) != 0)
            return -1;
        if (done)
            return 0;
        if (dt_deadline_passed(&deadline))
            return report_late(stream, &deadline, err);
        dt_nccl_pause(&turns);
    }
}

int dt_nccl_stream_await(const struct dt_nccl_stream *stream, struct dt_nccl_comm *comm, const char *what,
                         const struct dt_deadline *deadline, struct dtrain_error *err)
{
    char why[160];
    unsigned turns = 0;
    cudaError_t result;

    while ((result = cudaStreamQuery(stream->handle)) == cudaErrorNotReady) {
        if (dt_nccl_comm_look(comm, what, err) != 0)
            return -1;
        if (dt_deadline_passed(deadline)) {
            snprintf(why, sizeof(why), "it did not end within %.4g s", deadline->timeout_ms / 1000.0);
            return dt_nccl_comm_fail(comm, what, why, err);
        }
        dt_nccl_pause(&turns);
    }
    if (result == cudaSuccess)
        return dt_nccl_comm_look(comm, what, err);
    snprintf(why, sizeof(why), "%s (%s)", cudaGetErrorName(result), cudaGetErrorString(result));
    return dt_nccl_comm_fail(comm, what, why, err);
}

/* ---- Order between two ------------------------------------------------------------ */

/* What fails on the other fails on this one, too. */
static void follow(const struct dt_nccl_stream *stream, const struct dt_nccl_stream *other)
{
    struct dt_nccl *nccl = stream->nccl;

    pthread_mutex_lock(&nccl->lock);
    for (struct dt_nccl_comm *i = nccl->comms; i != NULL; i = i->next)
        dt_nccl_op_follow(i, stream, other);
    pthread_mutex_unlock(&nccl->lock);
}

int dt_nccl_stream_wait(struct dt_nccl_stream *stream, struct dt_nccl_stream *other, struct dtrain_error *err)
{
    cudaEvent_t event;
    int rc;

    if (dt_nccl_device_use(stream->nccl, err) != 0 ||
        dt_nccl_cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                           "cudaEventCreateWithFlags", err) != 0)
        return -1;
    rc = dt_nccl_cuda_check(cudaEventRecord(event, other->handle), "cudaEventRecord", err);
    if (rc == 0)
        rc = dt_nccl_cuda_check(cudaStreamWaitEvent(stream->handle, event, 0), "cudaStreamWaitEvent", err);
    cudaEventDestroy(event); /* once it happened, says CUDA */
    if (rc == 0)
        follow(stream, other);
    return rc;
}
