/*
 * The NCCL module in whole worlds, on the doubles of libnccl and libcudart:
 * a process a rank, a device each, communicators of all axes, their
 * operations, and steps as a training loop makes them. A broken contract of
 * NCCL's, or a leak, changes the rank's exit status.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "fork_world.h"
#include "runtime/backend_nccl.h"
#include "tap.h"
#include "tests/fake/nccl/fake_nccl.h"

#define ENOUGH_MS 20000 /* a deadline that is not meant to pass, under sanitizers and load too */
#define SHORT_MS 600    /* one that is */
#define COUNT 1000
#define SIZE_MAX_ 8
#define STEPS 5
#define GRADIENTS ((size_t)1 << 16)

struct fixture {
    struct dtrain_world *world;
    struct dtrain_stream *stream;
    float *send, *recv;        /* on the device, COUNT * SIZE_MAX_ */
    float host[COUNT * SIZE_MAX_];
};

static void take_place(struct fork_step *step, uint32_t rank)
{
    char text[16];

    snprintf(text, sizeof(text), "n%u", rank / step->row->layout.tasks + 1);
    setenv("NCCL_HOSTID", text, 1);
    snprintf(text, sizeof(text), "%u", rank);
    setenv("FAKE_NCCL_RANK", text, 1);
    cudaSetDevice((int)(rank % step->row->layout.tasks));
}

static int copy(void *to, const void *from, size_t count)
{
    return cudaMemcpy(to, from, count * sizeof(float), cudaMemcpyDefault) == cudaSuccess ? 0 : -1;
}

/* Element i of rank r's data in a group. */
static float value(int rank, size_t i)
{
    return (float)(rank * 3 + (int)(i % 17));
}

static int fill(struct fixture *f, int rank, size_t count)
{
    for (size_t i = 0; i < count; i++)
        f->host[i] = value(rank, i);
    return copy(f->send, f->host, count);
}

static int fetch(struct fixture *f, size_t count, struct dtrain_error *err)
{
    if (dtrain_stream_synchronize(f->stream, err) != 0)
        return -1;
    return copy(f->host, f->recv, count);
}

/* ---- Operations ------------------------------------------------------------- */

static const char *check_reductions(struct fixture *f, struct dtrain_comm *comm, struct dtrain_error *err)
{
    int n = dtrain_comm_size(comm), own = dtrain_comm_rank(comm);
    size_t all = (size_t)n * COUNT;
    float sum;

    if (fill(f, own, all) != 0 ||
        dtrain_all_reduce(comm, f->send, f->recv, all, DTRAIN_FLOAT32, DTRAIN_SUM, f->stream, err) != 0 ||
        fetch(f, all, err) != 0)
        return "dtrain_all_reduce";
    for (size_t i = 0; i < all; i++) {
        sum = 0;
        for (int rank = 0; rank < n; rank++)
            sum += value(rank, i);
        if (f->host[i] != sum)
            return "a sum";
    }
    if (fill(f, own, all) != 0 ||
        dtrain_reduce_scatter(comm, f->send, f->recv, COUNT, DTRAIN_FLOAT32, DTRAIN_MAX, f->stream,
                              err) != 0 ||
        fetch(f, COUNT, err) != 0)
        return "dtrain_reduce_scatter";
    for (size_t i = 0; i < COUNT; i++)
        if (f->host[i] != value(n - 1, (size_t)own * COUNT + i))
            return "a maximum";
    return NULL;
}

static const char *check_moves(struct fixture *f, struct dtrain_comm *comm, struct dtrain_error *err)
{
    int n = dtrain_comm_size(comm), own = dtrain_comm_rank(comm);
    size_t all = (size_t)n * COUNT;

    if (fill(f, own, all) != 0 ||
        dtrain_all_gather(comm, f->send, f->recv, COUNT, DTRAIN_FLOAT32, f->stream, err) != 0 ||
        fetch(f, all, err) != 0)
        return "dtrain_all_gather";
    for (size_t i = 0; i < all; i++)
        if (f->host[i] != value((int)(i / COUNT), i % COUNT))
            return "what was gathered";
    if (fill(f, own, all) != 0 ||
        dtrain_all_to_all(comm, f->send, f->recv, COUNT, DTRAIN_FLOAT32, f->stream, err) != 0 ||
        fetch(f, all, err) != 0)
        return "dtrain_all_to_all";
    for (size_t i = 0; i < all; i++)
        if (f->host[i] != value((int)(i / COUNT), (size_t)own * COUNT + i % COUNT))
            return "what came from all";
    if (fill(f, own, COUNT) != 0 || copy(f->recv, f->send, COUNT) != 0 ||
        dtrain_broadcast(comm, f->recv, COUNT, DTRAIN_FLOAT32, n - 1, f->stream, err) != 0 ||
        fetch(f, COUNT, err) != 0)
        return "dtrain_broadcast";
    for (size_t i = 0; i < COUNT; i++)
        if (f->host[i] != value(n - 1, i))
            return "what was broadcast";
    return dtrain_barrier(comm, f->stream, err) == 0 ? NULL : "dtrain_barrier";
}

/* A ring: to the next rank, from the one before. */
static const char *check_transfers(struct fixture *f, struct dtrain_comm *comm, struct dtrain_error *err)
{
    int n = dtrain_comm_size(comm), own = dtrain_comm_rank(comm), before = (own + n - 1) % n;
    const struct dtrain_transfer ring[2] = {{true, (own + 1) % n, DTRAIN_FLOAT32, COUNT, f->send},
                                            {false, before, DTRAIN_FLOAT32, COUNT, f->recv}};

    if (fill(f, own, COUNT) != 0 || dtrain_transfer(comm, ring, 2, f->stream, err) != 0 ||
        fetch(f, COUNT, err) != 0)
        return "dtrain_transfer";
    for (size_t i = 0; i < COUNT; i++)
        if (f->host[i] != value(before, i))
            return "what was transferred";
    return NULL;
}

static const char *check_axes(struct fixture *f, struct dtrain_error *err)
{
    static const unsigned sets[] = {DTRAIN_TP, DTRAIN_DP, DTRAIN_PP, DTRAIN_TP | DTRAIN_DP, DTRAIN_WORLD};

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct dtrain_comm *comm;
        const char *wrong;

        if (dtrain_comm_get(f->world, sets[i], &comm, err) != 0)
            return "dtrain_comm_get";
        wrong = check_reductions(f, comm, err);
        wrong = wrong != NULL ? wrong : check_moves(f, comm, err);
        wrong = wrong != NULL ? wrong : check_transfers(f, comm, err);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

/* ---- Steps -------------------------------------------------------------------- */

/* As a trainer queues them: activations to the next stage, a sum inside a layer, the gradients' average. */
static int train_step(struct fixture *f, float *gradients, struct dtrain_error *err)
{
    struct dtrain_comm *tp, *dp, *pp;

    if (dtrain_comm_get(f->world, DTRAIN_TP, &tp, err) != 0 ||
        dtrain_comm_get(f->world, DTRAIN_DP, &dp, err) != 0 ||
        dtrain_comm_get(f->world, DTRAIN_PP, &pp, err) != 0)
        return -1;
    if (dtrain_coord(f->world, DTRAIN_PP) > 0 &&
        dtrain_recv(pp, f->recv, COUNT, DTRAIN_FLOAT32, 0, f->stream, err) != 0)
        return -1;
    if (dtrain_all_reduce(tp, f->send, f->send, COUNT, DTRAIN_FLOAT32, DTRAIN_AVG, f->stream, err) != 0)
        return -1;
    if (dtrain_coord(f->world, DTRAIN_PP) == 0 &&
        dtrain_send(pp, f->send, COUNT, DTRAIN_FLOAT32, 1, f->stream, err) != 0)
        return -1;
    return dtrain_all_reduce(dp, gradients, gradients, GRADIENTS, DTRAIN_FLOAT32, DTRAIN_AVG, f->stream, err);
}

static const char *check_steps(struct fixture *f, struct dtrain_error *err)
{
    float own = (float)dtrain_coord(f->world, DTRAIN_DP), *gradients, *host;
    const char *wrong = NULL;

    host = malloc(GRADIENTS * sizeof(*host));
    for (size_t i = 0; i < GRADIENTS; i++)
        host[i] = own + (float)(i % 8);
    if (cudaMalloc((void **)&gradients, GRADIENTS * sizeof(*host)) != cudaSuccess ||
        copy(gradients, host, GRADIENTS) != 0 || fill(f, 5, COUNT) != 0)
        return "cudaMalloc";
    for (int i = 0; i < STEPS && wrong == NULL; i++)
        wrong = train_step(f, gradients, err) != 0 ? "a step" : NULL;
    if (wrong == NULL &&
        (dtrain_stream_synchronize(f->stream, err) != 0 || copy(host, gradients, GRADIENTS) != 0))
        wrong = "the steps' end";
    for (size_t i = 0; wrong == NULL && i < GRADIENTS; i++)
        wrong = host[i] != 0.5F + (float)(i % 8) ? "an average" : NULL;
    free(host);
    cudaFree(gradients);
    return wrong;
}

/* ---- Worlds ------------------------------------------------------------------- */

/* So many communicators, none of one rank, and nothing against NCCL's rules. */
static const char *check_counts(int inits)
{
    struct fake_nccl_counts counts;

    fake_nccl_counts(&counts);
    if (counts.inits != inits || counts.size1 != 0) {
        printf("# %d communicators, %d of one rank\n", counts.inits, counts.size1);
        return "the count of communicators";
    }
    return counts.violations == 0 ? NULL : "a violation";
}

static const char *check_world(struct fixture *f, struct dtrain_error *err)
{
    size_t bytes = COUNT * SIZE_MAX_ * sizeof(float);
    /* tp, dp, pp, and the experts' dp, which is tp and dp together here */
    const char *wrong = check_counts(4);

    if (wrong != NULL)
        return wrong;
    if (cudaMalloc((void **)&f->send, bytes) != cudaSuccess ||
        cudaMalloc((void **)&f->recv, bytes) != cudaSuccess ||
        dtrain_stream_create(f->world, &f->stream, err) != 0)
        return "the start";
    wrong = check_axes(f, err);
    wrong = wrong != NULL ? wrong : check_steps(f, err);
    wrong = wrong != NULL ? wrong : check_counts(5);
    if (dtrain_stream_destroy(f->stream, wrong == NULL ? err : NULL) != 0 && wrong == NULL)
        wrong = "dtrain_stream_destroy";
    cudaFree(f->send);
    cudaFree(f->recv);
    return wrong;
}

static void body_world(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct dtrain_error err = {"no error"};
    const char *wrong = "fork_init";

    take_place(step, rank);
    if (fork_init(&f->world, step, rank, NULL, NULL, &err) == 0)
        wrong = check_world(f, &err);
    if (wrong != NULL)
        snprintf(said, FORK_TEXT_MAX, "%s: %.900s", wrong, err.text);
    if (dtrain_finalize(f->world, &err) != 0 && wrong == NULL)
        snprintf(said, FORK_TEXT_MAX, "dtrain_finalize: %.900s", err.text);
    else if (wrong == NULL)
        fork_say(said, "all is right");
    free(f);
}

/* Rank 3's creation never ends: the others, too, give up at their deadline, and nothing is left. */
static void body_never(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"it came up"};

    setenv("FAKE_NCCL_FAIL", "ncclCommInitRankConfig:1:never@rank=3", 1);
    take_place(step, rank);
    fork_init(&world, step, rank, NULL, NULL, &err);
    fork_say(said, err.text);
    dtrain_finalize(world, NULL);
}

/* An error that NCCL finds later is in the words of the next synchronisation; finalize still returns. */
static void body_async(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_stream *stream = NULL;
    struct dtrain_error err = {"no error"};
    struct dtrain_comm *comm;
    float *buffer = NULL;

    setenv("FAKE_NCCL_FAIL", "ncclAllReduce:1:async-ncclRemoteError", 1);
    take_place(step, rank);
    if (fork_init(&world, step, rank, NULL, NULL, &err) == 0 &&
        cudaMalloc((void **)&buffer, sizeof(*buffer)) == cudaSuccess &&
        dtrain_comm_get(world, DTRAIN_TP, &comm, &err) == 0 &&
        dtrain_stream_create(world, &stream, &err) == 0) {
        if (dtrain_all_reduce(comm, buffer, buffer, 1, DTRAIN_FLOAT32, DTRAIN_SUM, stream, &err) == 0)
            dtrain_stream_synchronize(stream, &err);
        fork_say(said, err.text);
        dtrain_stream_destroy(stream, NULL);
    }
    dtrain_finalize(world, NULL);
    cudaFree(buffer);
}

static struct fork_row rows[] = {
    {.name = "8 ranks, tp 2, pp 2, dp 2: communicators, operations, steps",
     .layout = {2, 4, 2, 2, 1},
     .timeout_ms = ENOUGH_MS,
     .body = body_world,
     .words = {"all is right"}},
    {.name = "4 ranks, one never joins",
     .layout = {1, 4, 4, 1, 1},
     .timeout_ms = SHORT_MS,
     .body = body_never,
     .words = {"did not end within"}},
    {.name = "4 ranks, an operation fails later",
     .layout = {1, 4, 4, 1, 1},
     .timeout_ms = ENOUGH_MS,
     .body = body_async,
     .words = {"remote process exited"}},
};

static const struct dt_backend *find_module(void)
{
    const char *folder = getenv("DT_BUILDDIR");
    char path[4096];
    void *module;

    snprintf(path, sizeof(path), "%s/.libs/%s", folder != NULL ? folder : ".", DT_BACKEND_NCCL_MODULE);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL)
        printf("# %s\n", dlerror());
    return module != NULL ? dlsym(module, DT_BACKEND_NCCL_SYMBOL) : NULL;
}

int main(void)
{
    const struct dt_backend *backend = find_module();

    if (!tap_ok(backend != NULL, "the module loads on the doubles"))
        return tap_done();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rows[i].backend = backend;
        tap_ok(fork_check(&rows[i]), "%s", rows[i].name);
    }
    return tap_done();
}
