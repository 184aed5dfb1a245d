/* Faults on demand: each kind, by the environment and by a call. */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_nccl.h"
#include "tap.h"
#include "tests/fake/nccl/fake_nccl.h"

#define COUNT 16

struct fixture {
    ncclComm_t comm;
    cudaStream_t stream;
    float *buffer;
};

static int set_up(struct row_rank *rank, struct fixture *f)
{
    ROW_WANT(cudaMalloc((void **)&f->buffer, COUNT * sizeof(float)) == cudaSuccess);
    ROW_WANT(cudaStreamCreate(&f->stream) == cudaSuccess);
    ROW_WANT(row_comm(rank, 0, 0, &f->comm) == ncclSuccess);
    return 0;
}

static int tear_down(struct fixture *f)
{
    ROW_WANT(ncclCommAbort(f->comm) == ncclSuccess);
    ROW_WANT(cudaStreamSynchronize(f->stream) == cudaSuccess && cudaStreamDestroy(f->stream) == cudaSuccess);
    ROW_WANT(cudaFree(f->buffer) == cudaSuccess);
    return 0;
}

static ncclResult_t all_reduce(struct fixture *f)
{
    ncclResult_t result =
        ncclAllReduce(f->buffer, f->buffer, COUNT, ncclFloat, ncclSum, f->comm, f->stream);

    return result == ncclInProgress ? row_settle(f->comm) : result;
}

/* Every function by a call, for each result. */
static int every_result(struct row_rank *rank)
{
    static const struct {
        const char *name;
        ncclResult_t result;
    } results[] = {{"ncclUnhandledCudaError", ncclUnhandledCudaError}, {"ncclSystemError", ncclSystemError},
                   {"ncclInternalError", ncclInternalError}, {"ncclInvalidArgument", ncclInvalidArgument},
                   {"ncclInvalidUsage", ncclInvalidUsage}, {"ncclRemoteError", ncclRemoteError}, {"7", 7}};
    struct fixture f;
    int version;
    char text[80];

    if (set_up(rank, &f))
        return 1;
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        snprintf(text, sizeof(text), "ncclGetVersion:%zu:%s", (size_t)1, results[i].name);
        ROW_WANT(fake_nccl_fail(text) == 0);
        ROW_WANT(ncclGetVersion(&version) == results[i].result);
    }
    ROW_WANT(ncclGetVersion(&version) == ncclSuccess && version == NCCL_VERSION_CODE);
    ROW_WANT(fake_nccl_fail("ncclGetVersion:0:ncclSystemError") == -1);
    ROW_WANT(fake_nccl_fail("ncclGetVersion:1:ncclNoSuchError") == -1);
    ROW_WANT(fake_nccl_fail("ncclGetVersion") == -1 && fake_nccl_fail("a:1:hang@node=1") == -1);
    ROW_WANT(fake_nccl_fail("cudaSetDevice:*:cudaErrorInvalidDevice;ncclGroupEnd:1:ncclSystemError") == 0);
    ROW_WANT(cudaSetDevice(0) == cudaErrorInvalidDevice && cudaSetDevice(0) == cudaErrorInvalidDevice);
    ROW_WANT(ncclGroupStart() == ncclSuccess && ncclGroupEnd() == ncclSystemError);
    ROW_WANT(row_meet(rank, 0));
    return tear_down(&f);
}

/* The second all-reduce of rank 1 fails; rank 0's then waits for it. */
static int one_rank(struct row_rank *rank)
{
    struct fixture f;

    if (set_up(rank, &f))
        return 1;
    ROW_WANT(all_reduce(&f) == ncclSuccess);
    ROW_WANT(all_reduce(&f) == (rank->rank == 1 ? ncclSystemError : ncclSuccess));
    if (rank->rank == 0)
        ROW_WANT(cudaStreamQuery(f.stream) == cudaErrorNotReady);
    ROW_WANT(row_meet(rank, 0));
    return tear_down(&f);
}

static int async_error(struct row_rank *rank)
{
    struct fixture f;

    if (set_up(rank, &f))
        return 1;
    all_reduce(&f);
    if (rank->rank == 1)
        ROW_WANT(row_await_error(f.comm) == ncclRemoteError);
    ROW_WANT(cudaStreamQuery(f.stream) == cudaErrorNotReady && row_meet(rank, 0));
    return tear_down(&f);
}

static int hang(struct row_rank *rank)
{
    struct fixture f;

    if (set_up(rank, &f))
        return 1;
    ROW_WANT(all_reduce(&f) == ncclSuccess && cudaStreamQuery(f.stream) == cudaErrorNotReady);
    ROW_WANT(row_meet(rank, 0));
    return tear_down(&f);
}

/* Rank 1 never joins, or stays in progress when the others are ready. */
static int creation(struct row_rank *rank)
{
    bool never = strcmp(rank->argument, "never") == 0;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id = row_id(rank, 0, 0);
    ncclResult_t state;
    ncclComm_t comm;

    config.blocking = 0;
    ROW_WANT(ncclCommInitRankConfig(&comm, rank->count, id, rank->rank, &config) == ncclInProgress);
    if (!never && rank->rank != 1)
        ROW_WANT(row_settle(comm) == ncclSuccess);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    ROW_WANT(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    ROW_WANT(state == (never || rank->rank == 1 ? ncclInProgress : ncclSuccess) && row_meet(rank, 0));
    ROW_WANT(ncclCommAbort(comm) == ncclSuccess);
    return 0;
}

static int out_of_memory(struct row_rank *rank)
{
    void *ptr;

    ROW_WANT(cudaMalloc(&ptr, 64) == cudaSuccess && cudaFree(ptr) == cudaSuccess);
    ROW_WANT(cudaMalloc(&ptr, 64) == (rank->rank == 1 ? cudaErrorMemoryAllocation : cudaSuccess));
    return rank->rank == 1 ? 0 : (int)cudaFree(ptr);
}

/* Rank 1 aborts; the others hang, or see it after a while. */
static int peer_lost(struct row_rank *rank)
{
    bool sees = strcmp(rank->argument, "sees") == 0;
    struct fixture f;

    if (set_up(rank, &f) || !row_meet(rank, 0))
        return 1;
    if (rank->rank == 1)
        return tear_down(&f);
    ROW_WANT(all_reduce(&f) == ncclSuccess);
    if (sees)
        ROW_WANT(row_await_error(f.comm) == ncclRemoteError);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    ROW_WANT(cudaStreamQuery(f.stream) == cudaErrorNotReady);
    return tear_down(&f);
}

static const struct row rows[] = {
    {"every result, by a call", 2, every_result, NULL, NULL, NULL},
    {"one call of one rank", 2, one_rank, NULL,
     "FAKE_NCCL_FAIL=ncclAllReduce:2:ncclSystemError@rank=1", NULL},
    {"an error found later", 2, async_error, NULL,
     "FAKE_NCCL_FAIL=ncclAllReduce:1:async-ncclRemoteError@rank=1", NULL},
    {"an operation that hangs", 3, hang, NULL, "FAKE_NCCL_FAIL=ncclAllReduce:1:hang@rank=2", NULL},
    {"a rank that never joins", 3, creation, NULL, "FAKE_NCCL_FAIL=ncclCommInitRankConfig:1:never@rank=1",
     "never"},
    {"a creation that stays in progress", 3, creation, NULL,
     "FAKE_NCCL_FAIL=ncclCommInitRankConfig:1:stuck@rank=1", "stuck"},
    {"no memory on one rank", 2, out_of_memory, NULL,
     "FAKE_NCCL_FAIL=cudaMalloc:2:cudaErrorMemoryAllocation@rank=1", NULL},
    {"a rank aborts, the others hang", 3, peer_lost, NULL, NULL, "hangs"},
    {"a rank aborts, the others see it", 3, peer_lost, NULL, "FAKE_NCCL_PEER_ERROR_MS=20", "sees"},
    {"a text that cannot be read", 2, out_of_memory, "cannot be read",
     "FAKE_NCCL_FAIL=cudaMalloc:x:hang", NULL},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(row_run(&rows[i]), "%s", rows[i].name);
    return tap_done();
}
