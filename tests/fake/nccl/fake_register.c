/* fake_register.c - registered buffers and windows, and NCCL's own memory. */
#include <stdlib.h>

#include "fake_group.h"
#include "fake_op.h"

/* What a handle points at; kept after its release, so that a second one is recognised. */
struct registration {
    struct registration *next; /* of all that were made */
    ncclComm_t comm; /* NULL: released */
    bool is_window;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registration *registrations;

static void count_registrations(ncclComm_t comm, int change)
{
    pthread_mutex_lock(&comm->lock);
    comm->registrations += change;
    pthread_mutex_unlock(&comm->lock);
}

static struct registration *registration_new(ncclComm_t comm, bool is_window)
{
    struct registration *new = malloc(sizeof(*new));

    if (new == NULL)
        abort();
    pthread_mutex_lock(&lock);
    *new = (struct registration){registrations, comm, is_window};
    registrations = new;
    pthread_mutex_unlock(&lock);
    count_registrations(comm, 1);
    fake_count(&fake_counts.registrations);
    return new;
}

static ncclResult_t check(const char *function, ncclComm_t comm, const void *buffer, size_t size,
                          const void *handle, struct fake_fault *fault)
{
    ncclResult_t result = fake_enter(function, fault);

    if (result == ncclSuccess)
        result = fake_comm_use(comm, function, FAKE_USE_OPS);
    if (result == ncclSuccess && (buffer == NULL || size == 0 || handle == NULL))
        result = fake_fail(ncclInvalidArgument, "%s: buffer %p, size %zu", function, buffer, size);
    if (result == ncclSuccess && !fake_memory_holds(buffer, size))
        result = fake_break(ncclInvalidArgument,
                            "%s: %p with %zu bytes is not inside an allocation of CUDA's", function, buffer,
                            size);
    return result;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t size, void **handle)
{
    ncclResult_t result = check("ncclCommRegister", comm, buffer, size, handle, NULL);

    if (result == ncclSuccess)
        *handle = registration_new(comm, false);
    return result;
}

/* Whether it was a live one of the communicator's, and of this kind. */
static bool registration_end(const struct registration *handle, ncclComm_t comm, bool is_window)
{
    struct registration *one;
    bool ok;

    pthread_mutex_lock(&lock);
    for (one = registrations; one != NULL && one != handle; one = one->next)
        ;
    ok = one != NULL && one->comm == comm && one->is_window == is_window;
    if (ok)
        one->comm = NULL;
    pthread_mutex_unlock(&lock);
    return ok;
}

static ncclResult_t release(const char *function, ncclComm_t comm, struct registration *one,
                            bool is_window)
{
    ncclResult_t result = fake_enter(function, NULL);

    if (result == ncclSuccess)
        result = fake_comm_use(comm, function, FAKE_USE_END);
    if (result != ncclSuccess || one == NULL)
        return result;
    if (!registration_end(one, comm, is_window))
        return fake_break(ncclInvalidArgument, "%s on %s of a handle that is none of its", function,
                          comm->name);
    count_registrations(comm, -1);
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    return release("ncclCommDeregister", comm, handle, false);
}

/* ---- Windows: collective ------------------------------------------------ */

struct window {
    size_t size;
    int flags;
    ncclWindow_t *out;
};

static ncclResult_t window_run(struct fake_job *job)
{
    const struct window *window = job->data;
    struct fake_desc desc = {.kind = FAKE_WINDOW, .count = window->size, .type = window->flags};
    uint64_t ticket = fake_comm_ticket(job->comm);
    enum fake_moved moved = FAKE_STOPPED;

    if (fake_comm_await_turn(job->comm, ticket))
        moved = fake_mesh_agree(job->comm, &desc);
    fake_comm_pass_turn(job->comm, ticket);
    if (moved != FAKE_MOVED)
        return moved == FAKE_MISMATCH ? ncclInvalidUsage : ncclRemoteError;
    *window->out = (ncclWindow_t)(void *)registration_new(job->comm, true);
    return ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t size, ncclWindow_t *out, int flags)
{
    struct fake_fault fault = {FAKE_FAULT_NONE, 0};
    ncclResult_t result = check("ncclCommWindowRegister", comm, buffer, size, out, &fault);
    struct window *window;
    struct fake_job *job;

    if (result != ncclSuccess)
        return result;
    if ((uintptr_t)buffer % NCCL_WIN_REQUIRED_ALIGNMENT != 0 || (flags & ~NCCL_WIN_COLL_SYMMETRIC) != 0)
        return fake_fail(ncclInvalidArgument,
                         "ncclCommWindowRegister: buffer %p must be aligned to %d, flags 0x%x", buffer,
                         NCCL_WIN_REQUIRED_ALIGNMENT, (unsigned)flags);
    *out = NULL;
    window = malloc(sizeof(*window));
    if (window == NULL)
        abort();
    *window = (struct window){size, flags, out};
    job = fake_job_new("ncclCommWindowRegister", comm, window_run);
    job->data = window;
    job->fault = fault;
    fake_group_open();
    fake_group_add_job(job);
    return fake_group_close();
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
    return release("ncclCommWindowDeregister", comm, (struct registration *)(void *)window, true);
}

/* ---- Memory ------------------------------------------------------------- */

ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
    ncclResult_t result = fake_enter("ncclMemAlloc", NULL);

    if (result != ncclSuccess)
        return result;
    if (ptr == NULL || size == 0)
        return fake_fail(ncclInvalidArgument, "ncclMemAlloc: ptr %p, size %zu", (void *)ptr, size);
    if (fake_memory_alloc(ptr, size, "ncclMemFree") != cudaSuccess)
        return fake_fail(ncclUnhandledCudaError, "ncclMemAlloc: out of memory");
    return ncclSuccess;
}

ncclResult_t ncclMemFree(void *ptr)
{
    ncclResult_t result = fake_enter("ncclMemFree", NULL);

    if (result != ncclSuccess)
        return result;
    if (fake_memory_free(ptr, "ncclMemFree") != cudaSuccess)
        return fake_fail(ncclInvalidArgument, "ncclMemFree of %p", ptr);
    return ncclSuccess;
}
