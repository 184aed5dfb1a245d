#include <stdlib.h>
#include <string.h>

#include "runtime/backend.h"
#include "runtime/host_call.h"
#include "runtime/host_stream.h"

#define MEMORY_ALIGNMENT 64 /* a cache line */

static bool host_is_available(char *why, size_t size)
{
    (void)why;
    (void)size;
    return true;
}

static int host_open(void **state, const struct dt_backend_env *env, struct dtrain_error *err)
{
    struct dt_host *host = calloc(1, sizeof(*host));

    if (host == NULL)
        return dt_error_memory(err, sizeof(*host), "the host backend");
    host->env = *env;
    *state = host;
    return 0;
}

static void host_close(void *state)
{
    free(state);
}

/* ---- Communicators ------------------------------------------------------ */

static void destroy_all(void **comms, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dt_host_comm_destroy(comms[i]);
        comms[i] = NULL;
    }
}

/* All attempts to connect start before the first one is waited for. */
static int start_all(struct dt_host *host, const struct dt_comm_request *requests, size_t n,
                     void **comms, const struct dt_deadline *deadline, struct dtrain_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int size = requests[i].size, rank = requests[i].rank;
        struct dt_host_comm *comm;

        if (dt_host_comm_create(&comm, host, &requests[i], err) != 0)
            return -1;
        comms[i] = comm;
        if (dt_host_comm_connect(comm, (rank + 1) % size, deadline, err) != 0 ||
            dt_host_comm_connect(comm, (rank + size - 1) % size, deadline, err) != 0)
            return -1;
    }
    return 0;
}

static int compare_channels(const void *a, const void *b)
{
    const struct dt_host_comm *const *x = a, *const *y = b;

    return ((*x)->channel > (*y)->channel) - ((*x)->channel < (*y)->channel);
}

/* In the order of channels, which all ranks share: they cannot wait for each other in a circle. */
static int greet_all(void *const *comms, size_t n, const struct dt_deadline *deadline,
                     struct dtrain_error *err)
{
    void **sorted = malloc((n + 1) * sizeof(*sorted));
    int rc = 0;

    if (sorted == NULL)
        return dt_error_memory(err, (n + 1) * sizeof(*sorted), "the order of communicators");
    memcpy(sorted, comms, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_channels);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = dt_host_call_hello(sorted[i], deadline, err);
    free(sorted);
    return rc;
}

static int host_comms_create(void *state, const struct dt_comm_request *requests, size_t n,
                             void **comms, const struct dt_deadline *deadline,
                             struct dtrain_error *err)
{
    if (n == 0)
        return 0;
    memset(comms, 0, n * sizeof(*comms));
    if (start_all(state, requests, n, comms, deadline, err) == 0 &&
        greet_all(comms, n, deadline, err) == 0)
        return 0;
    destroy_all(comms, n);
    return -1;
}

static void host_comm_destroy(void *comm)
{
    dt_host_comm_destroy(comm);
}

static void host_comm_revoke(void *comm, const char *err_text)
{
    dt_host_comm_revoke(comm, err_text);
}

static bool host_comm_has_failed(void *comm)
{
    return dt_host_comm_has_failed(comm);
}

/* ---- Streams ------------------------------------------------------------ */

static int host_stream_create(void *state, void **stream, struct dtrain_error *err)
{
    struct dt_host_stream *made;

    (void)state;
    if (dt_host_stream_create(&made, err) != 0)
        return -1;
    *stream = made;
    return 0;
}

static void host_stream_destroy(void *stream)
{
    dt_host_stream_destroy(stream);
}

static int host_stream_synchronize(void *stream, struct dtrain_error *err)
{
    return dt_host_stream_synchronize(stream, err);
}

static int host_stream_query(void *stream, bool *done, struct dtrain_error *err)
{
    return dt_host_stream_query(stream, done, err);
}

static int host_stream_wait(void *stream, void *other, struct dtrain_error *err)
{
    return dt_host_stream_push_wait(stream, other, err);
}

/* ---- Memory --------------------------------------------------------------- */

static int host_memory_alloc(void *state, size_t bytes, void **memory, struct dtrain_error *err)
{
    (void)state;
    if (posix_memalign(memory, MEMORY_ALIGNMENT, bytes) != 0)
        return dt_error_memory(err, bytes, "buffers");
    memset(*memory, 0, bytes);
    return 0;
}

static void host_memory_free(void *state, void *memory)
{
    (void)state;
    free(memory);
}

/* ---- Operations ----------------------------------------------------------- */

static int host_enqueue(void *comm, const struct dt_operation *operation, void *stream,
                        struct dtrain_error *err)
{
    return dt_host_stream_push(stream, comm, operation, err);
}

static int host_enqueue_copy(void *to, const void *from, size_t bytes, void *stream,
                             struct dtrain_error *err)
{
    return dt_host_stream_push_copy(stream, to, from, bytes, err);
}

static int host_enqueue_math(const struct dt_math *math, void *stream, struct dtrain_error *err)
{
    return dt_host_stream_push_math(stream, math, err);
}

const struct dt_backend dt_backend_host = {
    .name = "host",
    .id_size = 0,
    .is_available = host_is_available,
    .open = host_open,
    .close = host_close,
    .comms_create = host_comms_create,
    .comm_destroy = host_comm_destroy,
    .stream_create = host_stream_create,
    .stream_destroy = host_stream_destroy,
    .stream_synchronize = host_stream_synchronize,
    .stream_query = host_stream_query,
    .stream_wait = host_stream_wait,
    .memory_alloc = host_memory_alloc,
    .memory_free = host_memory_free,
    .enqueue = host_enqueue,
    .enqueue_copy = host_enqueue_copy,
    .enqueue_math = host_enqueue_math,
    .comm_revoke = host_comm_revoke,
    .comm_has_failed = host_comm_has_failed,
};
