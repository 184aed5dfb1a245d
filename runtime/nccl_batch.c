#include "nccl_batch.h"

#include <stdlib.h>

#include "nccl_comm.h"

#define WHAT "a batch"

/* Of this thread, as NCCL's own group is. */
static _Thread_local struct {
    unsigned depth;
    struct dt_nccl_comm **comms; /* with operations in it */
    size_t n;
} batch;

bool dt_nccl_batch_is_open(void)
{
    return batch.depth > 0;
}

int dt_nccl_batch_begin(const struct dt_nccl *nccl, struct dtrain_error *err)
{
    ncclResult_t result = nccl->api->GroupStart();

    if (result != ncclSuccess)
        return dt_error_set(err, "ncclGroupStart: %s", nccl->api->GetErrorString(result));
    batch.depth++;
    return 0;
}

int dt_nccl_batch_add(struct dt_nccl_comm *comm, struct dtrain_error *err)
{
    size_t bytes = (batch.n + 1) * sizeof(struct dt_nccl_comm *);
    struct dt_nccl_comm **more;

    for (size_t i = 0; i < batch.n; i++)
        if (batch.comms[i] == comm)
            return 0;
    more = realloc(batch.comms, bytes);
    if (more == NULL)
        return dt_error_memory(err, bytes, "a batch's communicators");
    batch.comms = more;
    batch.comms[batch.n++] = comm;
    return 0;
}

static int settle(struct dt_nccl_comm *comm, ncclResult_t result, struct dtrain_error *err)
{
    struct dt_deadline deadline = dt_deadline_after_ms(comm->nccl->env.timeout_ms);
    int rc;

    pthread_mutex_lock(&comm->calls);
    rc = dt_nccl_comm_settle(comm, result == ncclSuccess ? ncclInProgress : result, WHAT, &deadline, err);
    pthread_mutex_unlock(&comm->calls);
    if (rc != 0)
        dt_nccl_comms_abort(comm->nccl, &comm, 1);
    return rc;
}

int dt_nccl_batch_end(const struct dt_nccl *nccl, struct dtrain_error *err)
{
    ncclResult_t result;
    int rc = 0;

    if (batch.depth == 0)
        return dt_error_set(err, "a batch ends that this thread did not begin");
    result = nccl->api->GroupEnd();
    if (--batch.depth > 0)
        return 0; /* what failed inside is kept by NCCL for the outermost end */
    if (batch.n == 0 && result != ncclSuccess && result != ncclInProgress)
        rc = dt_error_set(err, "ncclGroupEnd: %s", nccl->api->GetErrorString(result));
    for (size_t i = 0; i < batch.n; i++)
        if (settle(batch.comms[i], result, rc == 0 ? err : NULL) != 0)
            rc = -1;
    free(batch.comms);
    batch.comms = NULL;
    batch.n = 0;
    return rc;
}
