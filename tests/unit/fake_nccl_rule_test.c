/* NCCL's contract on the double: for each rule what keeps it and what breaks it. */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_nccl.h"
#include "tap.h"
#include "tests/fake/nccl/fake_nccl.h"

#define COUNT 64

struct fixture {
    ncclComm_t comm;
    cudaStream_t stream;
    float *a, *b; /* ROW_RANKS_MAX * COUNT */
};

static bool is(const struct row_rank *rank, const char *argument)
{
    return strcmp(rank->argument, argument) == 0;
}

static int set_up(struct row_rank *rank, struct fixture *f, int blocking)
{
    size_t bytes = ROW_RANKS_MAX * COUNT * sizeof(float);

    ROW_WANT(cudaMalloc((void **)&f->a, bytes) == 0 && cudaMalloc((void **)&f->b, bytes) == 0);
    ROW_WANT(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking) == cudaSuccess);
    ROW_WANT(row_comm(rank, 0, blocking, &f->comm) == ncclSuccess);
    return 0;
}

static int release(struct fixture *f)
{
    ROW_WANT(cudaStreamSynchronize(f->stream) == 0 && cudaStreamDestroy(f->stream) == 0);
    ROW_WANT(cudaFree(f->a) == 0 && cudaFree(f->b) == 0);
    return 0;
}

static int tear_down(struct fixture *f)
{
    ROW_WANT(ncclCommAbort(f->comm) == ncclSuccess);
    return release(f);
}

/* ---- Ids ------------------------------------------------------------------ */

static int id_twice(struct row_rank *rank)
{
    ncclUniqueId id = row_id(rank, 0, 1);
    ncclComm_t first, second;

    ROW_WANT(ncclCommInitRank(&first, rank->count, id, rank->rank) == ncclSuccess);
    ROW_WANT(ncclCommInitRank(&second, rank->count, id, rank->rank) == ncclInvalidUsage && second == NULL);
    ROW_WANT(ncclCommDestroy(first) == ncclSuccess);
    return 0;
}

/* The argument: how many ids. */
static int scalable(struct row_rank *rank)
{
    ncclUniqueId ids[ROW_IDS_MAX];
    int nids = atoi(rank->argument), seen, device;
    ncclComm_t comm;

    for (int i = 0; i < nids; i++)
        ids[i] = row_id(rank, i, i);
    ROW_WANT(ncclCommInitRankScalable(&comm, rank->count, rank->rank, nids, ids, NULL) == ncclSuccess);
    ROW_WANT(ncclCommCount(comm, &seen) == ncclSuccess && seen == rank->count);
    ROW_WANT(ncclCommUserRank(comm, &seen) == ncclSuccess && seen == rank->rank);
    ROW_WANT(ncclCommCuDevice(comm, &device) == ncclSuccess && device == rank->rank);
    ROW_WANT(ncclCommFinalize(comm) == ncclSuccess && ncclCommDestroy(comm) == ncclSuccess);
    return 0;
}

static int ids_differ(struct row_rank *rank)
{
    ncclUniqueId ids[2] = {row_id(rank, 0, 0), row_id(rank, 1, 1)}, third = row_id(rank, 2, 0);
    ncclComm_t comm;

    if (rank->rank == 3)
        ids[0] = third;
    ROW_WANT(ncclCommInitRankScalable(&comm, rank->count, rank->rank, 2, ids, NULL) == ncclInvalidUsage);
    return 0;
}

static int wrong_id(struct row_rank *rank)
{
    ncclUniqueId id = {{0}};
    ncclComm_t comm;

    ROW_WANT(ncclCommInitRank(&comm, rank->count, id, rank->rank) == ncclInvalidArgument);
    return 0;
}

static int sizes_differ(struct row_rank *rank)
{
    ncclUniqueId id = row_id(rank, 0, 0);
    ncclComm_t comm;

    ROW_WANT(ncclCommInitRank(&comm, 2 + rank->rank, id, rank->rank) == ncclInvalidUsage);
    return 0;
}

/* ---- Progress and groups ---------------------------------------------------- */

/* Two communicators, made together; the ranks ask in different orders. */
static int made_together(struct row_rank *rank)
{
    ncclUniqueId ids[2] = {row_id(rank, 0, 0), row_id(rank, 1, 0)};
    int first = is(rank, "alike") ? 0 : rank->rank % 2;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    struct fake_nccl_counts counts;
    ncclComm_t comms[2] = {NULL, NULL};

    config.blocking = 0;
    ROW_WANT(ncclGroupStart() == ncclSuccess && ncclGroupStart() == ncclSuccess);
    for (int i = 0; i < 2; i++)
        ROW_WANT(ncclCommInitRankConfig(&comms[i ^ first], 2, ids[i ^ first], rank->rank, &config) == 0);
    ROW_WANT(ncclGroupEnd() == ncclSuccess && ncclGroupEnd() == ncclInProgress);
    ROW_WANT(row_settle(comms[0]) == ncclSuccess && row_settle(comms[1]) == ncclSuccess);
    ROW_WANT(fake_nccl_counts(&counts) == 0 && counts.inits == 2 && counts.groups == 1 && counts.polls >= 2);
    ROW_WANT(counts.live_comms == 2 && counts.size1 == 0 && counts.ids == (rank->rank == 0 ? 2 : 0));
    ROW_WANT(ncclCommDestroy(comms[0]) == ncclSuccess && ncclCommDestroy(comms[1]) == ncclSuccess);
    return 0;
}

static int other_order(struct row_rank *rank)
{
    ncclUniqueId ids[2] = {row_id(rank, 0, 0), row_id(rank, 1, 0)};
    ncclComm_t comm;

    ROW_WANT(ncclCommInitRank(&comm, 2, ids[rank->rank], rank->rank) == ncclRemoteError);
    return 0;
}

static int in_progress(struct row_rank *rank)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id = row_id(rank, 0, 0);
    ncclComm_t comm;
    int count;

    config.blocking = 0;
    ROW_WANT(ncclCommInitRankConfig(&comm, 2, id, rank->rank, &config) == ncclInProgress);
    if (!is(rank, "polls"))
        ROW_WANT(ncclCommCount(comm, &count) == ncclInvalidUsage);
    ROW_WANT(row_settle(comm) == ncclSuccess && ncclCommCount(comm, &count) == ncclSuccess);
    ROW_WANT(ncclCommDestroy(comm) == ncclSuccess);
    return 0;
}

/* After a non-blocking launch the stream waits for the launch, too. */
static int stream_too_early(struct row_rank *rank)
{
    struct fixture f;

    if (set_up(rank, &f, 0))
        return 1;
    ROW_WANT(ncclAllReduce(f.a, f.b, COUNT, ncclFloat, ncclSum, f.comm, f.stream) == ncclInProgress);
    if (is(rank, "early"))
        ROW_WANT(cudaMemsetAsync(f.a, 0, 4, f.stream) == cudaErrorInvalidResourceHandle);
    ROW_WANT(row_settle(f.comm) == ncclSuccess);
    ROW_WANT(cudaMemsetAsync(f.a, 0, 4, f.stream) == cudaSuccess);
    ROW_WANT(cudaStreamSynchronize(f.stream) == cudaSuccess && row_meet(rank, 0));
    return tear_down(&f);
}

static int groups(struct row_rank *rank)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId ids[2] = {row_id(rank, 1, 0), row_id(rank, 2, 0)};
    ncclComm_t first, second, child[2];
    struct fixture f;

    if (is(rank, "end"))
        ROW_WANT(ncclGroupEnd() == ncclInvalidUsage);
    if (is(rank, "blocking mixed")) {
        config.blocking = 0;
        ncclGroupStart();
        ncclCommInitRankConfig(&first, 2, ids[0], rank->rank, &config);
        ncclCommInitRank(&second, 2, ids[1], rank->rank);
        ROW_WANT(ncclGroupEnd() == ncclInvalidArgument && ncclCommAbort(first) == ncclSuccess);
    }
    if (set_up(rank, &f, 1))
        return 1;
    ncclGroupStart();
    if (is(rank, "two splits")) {
        ROW_WANT(ncclCommSplit(f.comm, 0, rank->rank, &child[0], NULL) == ncclSuccess);
        ROW_WANT(ncclCommSplit(f.comm, 0, rank->rank, &child[1], NULL) == ncclInvalidUsage);
        ROW_WANT(ncclGroupEnd() == ncclInvalidUsage);
    } else if (is(rank, "kinds mixed")) {
        ncclCommSplit(f.comm, 0, rank->rank, &child[0], NULL);
        ncclAllReduce(f.a, f.b, COUNT, ncclFloat, ncclSum, f.comm, f.stream);
        ROW_WANT(ncclGroupEnd() == ncclInvalidUsage);
    } else {
        ROW_WANT(ncclGroupEnd() == ncclSuccess);
    }
    return tear_down(&f);
}

/* ---- Matching --------------------------------------------------------------- */

static ncclResult_t all_reduce(struct fixture *f, size_t count, ncclDataType_t type, ncclRedOp_t op)
{
    return ncclAllReduce(f->a, f->b, count, type, op, f->comm, f->stream);
}

static int mismatch(struct row_rank *rank)
{
    bool odd = rank->rank == 1;
    struct fixture f;

    if (set_up(rank, &f, 1))
        return 1;
    if (is(rank, "count"))
        ROW_WANT(all_reduce(&f, COUNT + odd, ncclFloat, ncclSum) == ncclSuccess);
    else if (is(rank, "type"))
        ROW_WANT(all_reduce(&f, COUNT, odd ? ncclInt : ncclFloat, ncclSum) == ncclSuccess);
    else if (is(rank, "op"))
        ROW_WANT(all_reduce(&f, COUNT, ncclFloat, odd ? ncclMax : ncclSum) == ncclSuccess);
    else if (is(rank, "root"))
        ROW_WANT(ncclBroadcast(f.a, f.b, COUNT, ncclFloat, odd, f.comm, f.stream) == ncclSuccess);
    else if (is(rank, "kind") && odd)
        ROW_WANT(ncclAllGather(f.a, f.b, COUNT, ncclFloat, f.comm, f.stream) == ncclSuccess);
    else if (is(rank, "kind"))
        ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclSuccess);
    else if (is(rank, "grouped")) {
        if (odd)
            ncclGroupStart();
        ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclSuccess);
        ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclSuccess);
        if (odd)
            ROW_WANT(ncclGroupEnd() == ncclSuccess);
    }
    ROW_WANT(row_await_error(f.comm) == ncclInvalidUsage && row_meet(rank, 0));
    ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclInvalidUsage);
    return tear_down(&f);
}

static int transfers(struct row_rank *rank)
{
    bool odd = rank->rank == 1;
    int peer = 1 - rank->rank;
    struct fixture f;

    if (set_up(rank, &f, 1))
        return 1;
    ROW_WANT(ncclGroupStart() == ncclSuccess);
    ROW_WANT(ncclSend(f.a, COUNT, ncclFloat, peer, f.comm, f.stream) == ncclSuccess);
    if (!is(rank, "both send"))
        ROW_WANT(ncclRecv(f.b, COUNT + (is(rank, "count") && odd),
                          is(rank, "type") && odd ? ncclInt : ncclFloat, peer, f.comm, f.stream) == 0);
    if (is(rank, "grouped") && odd)
        ROW_WANT(ncclSend(f.a, COUNT, ncclFloat, peer, f.comm, f.stream) == ncclSuccess);
    if (is(rank, "self"))
        ROW_WANT(ncclSend(f.a, COUNT, ncclFloat, rank->rank, f.comm, f.stream) == ncclSuccess);
    ROW_WANT(ncclGroupEnd() == ncclSuccess);
    if (is(rank, "right"))
        ROW_WANT(cudaStreamSynchronize(f.stream) == cudaSuccess);
    else
        ROW_WANT(row_await_error(f.comm) == ncclInvalidUsage);
    ROW_WANT(row_meet(rank, 0));
    return tear_down(&f);
}

/* Rank 1 does not call. */
static int hang(struct row_rank *rank)
{
    struct fixture f;

    if (set_up(rank, &f, 1))
        return 1;
    if (rank->rank == 0)
        ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclSuccess);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    ROW_WANT(row_meet(rank, 0));
    return tear_down(&f);
}

/* ---- Buffers, streams, devices ---------------------------------------------- */

static int buffers(struct row_rank *rank)
{
    static float host[COUNT];
    cudaStream_t dead, other;
    struct fixture f;
    void *mine;

    if (set_up(rank, &f, 1))
        return 1;
    ROW_WANT(cudaStreamCreate(&dead) == cudaSuccess && cudaStreamDestroy(dead) == cudaSuccess);
    if (is(rank, "host"))
        ROW_WANT(ncclAllReduce(host, f.b, COUNT, ncclFloat, ncclSum, f.comm, f.stream) ==
                 ncclInvalidArgument);
    else if (is(rank, "past"))
        ROW_WANT(ncclAllGather(f.a, f.b, ROW_RANKS_MAX * COUNT, ncclFloat, f.comm, f.stream) ==
                 ncclInvalidArgument);
    else if (is(rank, "overlap"))
        ROW_WANT(ncclAllReduce(f.a, f.a + 1, COUNT, ncclFloat, ncclSum, f.comm, f.stream) ==
                 ncclInvalidArgument);
    else if (is(rank, "dead stream"))
        ROW_WANT(ncclAllReduce(f.a, f.b, COUNT, ncclFloat, ncclSum, f.comm, dead) == ncclInvalidArgument);
    else if (is(rank, "thread's device")) {
        cudaSetDevice(rank->rank + 2);
        ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclInvalidUsage);
    } else if (is(rank, "stream's device")) {
        cudaSetDevice(rank->rank + 2);
        ROW_WANT(cudaStreamCreate(&other) == cudaSuccess && cudaSetDevice(rank->rank) == cudaSuccess);
        ROW_WANT(ncclAllReduce(f.a, f.b, COUNT, ncclFloat, ncclSum, f.comm, other) == ncclInvalidArgument);
        ROW_WANT(cudaStreamDestroy(other) == cudaSuccess);
    } else {
        ROW_WANT(ncclAllReduce(NULL, f.b, COUNT, ncclFloat, ncclSum, f.comm, 0) == ncclInvalidArgument);
        ROW_WANT(ncclMemAlloc(&mine, COUNT * sizeof(float)) == ncclSuccess);
        ROW_WANT(ncclAllReduce(f.a, mine, COUNT, ncclFloat, ncclSum, f.comm, 0) == ncclSuccess);
        ROW_WANT(ncclAllGather(f.a + rank->rank * COUNT, f.a, COUNT, ncclFloat, f.comm, 0) == ncclSuccess);
        ROW_WANT(ncclReduceScatter(f.a, f.a + rank->rank * COUNT, COUNT, ncclFloat, ncclSum, f.comm, 0) == 0);
        ROW_WANT(cudaStreamSynchronize(0) == cudaSuccess && ncclMemFree(mine) == ncclSuccess);
    }
    ROW_WANT(row_meet(rank, 0));
    return tear_down(&f);
}

static int registrations(struct row_rank *rank)
{
    struct fixture f;
    ncclWindow_t window;
    void *handle;

    if (set_up(rank, &f, 1))
        return 1;
    ROW_WANT(ncclCommRegister(f.comm, f.a, COUNT, &handle) == ncclSuccess);
    ROW_WANT(ncclCommWindowRegister(f.comm, f.b, COUNT, &window, NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess);
    ROW_WANT(ncclCommWindowRegister(f.comm, f.b + 1, COUNT, &window, 0) == ncclInvalidArgument);
    if (!is(rank, "leak")) {
        ROW_WANT(ncclCommDeregister(f.comm, handle) == ncclSuccess);
        ROW_WANT(ncclCommWindowDeregister(f.comm, window) == ncclSuccess);
    }
    if (is(rank, "twice"))
        ROW_WANT(ncclCommDeregister(f.comm, handle) == ncclInvalidArgument);
    ROW_WANT(ncclCommFinalize(f.comm) == ncclSuccess && ncclCommDestroy(f.comm) == ncclSuccess);
    return release(&f);
}

static int duplicate(struct row_rank *rank)
{
    ncclComm_t comm;

    cudaSetDevice(0);
    if (is(rank, "two hosts")) {
        setenv("NCCL_HOSTID", rank->rank == 0 ? "n1" : "n2", 1);
        ROW_WANT(row_comm(rank, 0, 1, &comm) == ncclSuccess && ncclCommDestroy(comm) == ncclSuccess);
        return 0;
    }
    ROW_WANT(row_comm(rank, 0, 1, &comm) == ncclInvalidUsage);
    ROW_WANT(strstr(ncclGetLastError(NULL), "Duplicate GPU detected : rank 0 and rank 1") != NULL);
    return 0;
}

static int size1(struct row_rank *rank)
{
    struct fake_nccl_counts counts;
    ncclComm_t comm;
    bool is_allowed = is(rank, "allowed");

    ROW_WANT((row_comm(rank, 0, 1, &comm) == ncclSuccess) == is_allowed);
    ROW_WANT(fake_nccl_counts(&counts) == 0 && counts.size1 == 1);
    ROW_WANT(!is_allowed || ncclCommDestroy(comm) == ncclSuccess);
    return 0;
}

/* ---- Configurations and versions --------------------------------------------- */

static int configurations(struct row_rank *rank)
{
    ncclConfig_t bad = NCCL_CONFIG_INITIALIZER, good = NCCL_CONFIG_INITIALIZER, seen;
    ncclUniqueId id = row_id(rank, 0, 0);
    ncclComm_t comm, child;

#define BAD(field, value)                                                                                    \
    bad = good;                                                                                              \
    bad.field = value;                                                                                       \
    ROW_WANT(ncclCommInitRankConfig(&comm, 2, id, rank->rank, &bad) == ncclInvalidArgument)

    BAD(magic, 0);
    BAD(size, 8);
    BAD(version, 21900);
    BAD(blocking, 2);
    BAD(cgaClusterSize, 9);
    BAD(minCTAs, 0);
    BAD(maxCTAs, 0);
    BAD(splitShare, 2);
    BAD(trafficClass, -1);
    BAD(collnetEnable, 2);
    BAD(CTAPolicy, 3);
    BAD(shrinkShare, -1);
    BAD(nvlsCTAs, 0);
    BAD(nChannelsPerNetPeer, 0);
    BAD(nvlinkCentricSched, 2);
    BAD(netName, "");
    good.minCTAs = 8;
    good.maxCTAs = 4;
    ROW_WANT(ncclCommInitRankConfig(&comm, 2, id, rank->rank, &good) == ncclInvalidArgument);
    good.maxCTAs = 16;
    good.commName = "dtrain/tp/0";
    ROW_WANT(ncclCommInitRankConfig(&comm, 2, id, rank->rank, &good) == ncclSuccess);
    ROW_WANT(ncclCommSplit(comm, 0, -rank->rank, &child, NULL) == ncclSuccess && child != NULL);
    ROW_WANT(fake_nccl_config(child, &seen) == 0 && seen.minCTAs == 8 && seen.maxCTAs == 16);
    ROW_WANT(seen.blocking == 1 && strcmp(seen.commName, "dtrain/tp/0") == 0);
    ROW_WANT(ncclCommDestroy(child) == ncclSuccess && ncclCommDestroy(comm) == ncclSuccess);
    return 0;
}

static int old_version(struct row_rank *rank)
{
    int version;
    void *ptr;

    (void)rank;
    ROW_WANT(ncclGetVersion(&version) == ncclSuccess && version == 21900);
    ROW_WANT(ncclMemAlloc(&ptr, 64) == ncclInternalError);
    return 0;
}

/* ---- The ends of a communicator ------------------------------------------------ */

static int ends(struct row_rank *rank)
{
    ncclComm_t child;
    struct fixture f;
    int count;

    if (set_up(rank, &f, 1))
        return 1;
    if (is(rank, "after destroy"))
        ROW_WANT(ncclCommDestroy(f.comm) == ncclSuccess && ncclCommCount(f.comm, &count) != ncclSuccess);
    else if (is(rank, "after abort"))
        ROW_WANT(ncclCommAbort(f.comm) == ncclSuccess && ncclCommAbort(f.comm) != ncclSuccess);
    else if (is(rank, "after finalize")) {
        ROW_WANT(ncclCommFinalize(f.comm) == ncclSuccess);
        ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclInvalidUsage);
        ROW_WANT(ncclCommDestroy(f.comm) == ncclSuccess);
    } else if (strstr(rank->argument, "revoke") != NULL) {
        ROW_WANT(ncclCommRevoke(f.comm, 1) == ncclInvalidArgument);
        ROW_WANT(ncclCommRevoke(f.comm, 0) == ncclSuccess);
        if (is(rank, "revoke twice"))
            ROW_WANT(ncclCommRevoke(f.comm, 0) == ncclInvalidUsage);
        else if (is(rank, "revoke, use"))
            ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclInvalidUsage);
        else if (is(rank, "revoke, finalize"))
            ROW_WANT(ncclCommFinalize(f.comm) == ncclInvalidUsage);
        ROW_WANT(ncclCommSplit(f.comm, 0, 0, &child, NULL) == ncclSuccess && child != NULL);
        ROW_WANT(ncclCommDestroy(child) == ncclSuccess && ncclCommDestroy(f.comm) == ncclSuccess);
    }
    return release(&f);
}

static int splits(struct row_rank *rank)
{
    int color = rank->rank == 3 ? NCCL_SPLIT_NOCOLOR : 0, place;
    float host = (float)(rank->rank + 1);
    ncclComm_t child;
    struct fixture f;

    if (set_up(rank, &f, 0))
        return 1;
    ROW_WANT(ncclCommSplit(f.comm, color, -rank->rank, &child, NULL) == ncclInProgress);
    ROW_WANT(row_settle(f.comm) == ncclSuccess && (child != NULL) == (color == 0));
    if (child != NULL) {
        ROW_WANT(ncclCommUserRank(child, &place) == ncclSuccess && place == 2 - rank->rank);
        ROW_WANT(cudaMemcpyAsync(f.a, &host, sizeof(host), cudaMemcpyDefault, f.stream) == cudaSuccess);
        ROW_WANT(ncclAllReduce(f.a, f.a, 1, ncclFloat, ncclSum, child, f.stream) == ncclInProgress);
        ROW_WANT(row_settle(child) == ncclSuccess);
        ROW_WANT(cudaMemcpyAsync(&host, f.a, sizeof(host), cudaMemcpyDefault, f.stream) == cudaSuccess);
        ROW_WANT(host == 6 && ncclCommDestroy(child) == ncclSuccess);
    }
    ROW_WANT(row_meet(rank, 0));
    return tear_down(&f);
}

/* Rank 0 dies in the middle; the others go on without it. */
static int shrinks(struct row_rank *rank)
{
    int excluded[1] = {0};
    float host = 1;
    ncclComm_t child;
    struct fixture f;

    if (set_up(rank, &f, 1) || !row_meet(rank, 0))
        return 1;
    if (rank->rank == 0)
        return tear_down(&f);
    ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclSuccess);
    ROW_WANT(cudaStreamQuery(f.stream) == cudaErrorNotReady);
    ROW_WANT(ncclCommShrink(f.comm, excluded, 1, &child, NULL, NCCL_SHRINK_ABORT) == ncclSuccess);
    ROW_WANT(cudaMemcpyAsync(f.a, &host, sizeof(host), cudaMemcpyDefault, f.stream) == cudaSuccess);
    ROW_WANT(ncclAllReduce(f.a, f.a, 1, ncclFloat, ncclSum, child, f.stream) == ncclSuccess);
    ROW_WANT(cudaMemcpyAsync(&host, f.a, sizeof(host), cudaMemcpyDefault, f.stream) == cudaSuccess);
    ROW_WANT(host == (float)(rank->count - 1) && ncclCommDestroy(child) == ncclSuccess);
    if (is(rank, "destroy"))
        ROW_WANT(ncclCommDestroy(f.comm) == ncclInvalidUsage);
    return tear_down(&f);
}

/* Both communicators' operations hang on one stream: only a group of aborts ends them. */
static int abort_together(struct row_rank *rank)
{
    ncclComm_t second;
    struct fixture f;

    if (set_up(rank, &f, 1) || row_comm(rank, 1, 1, &second) != ncclSuccess || !row_meet(rank, 0))
        return 1;
    if (rank->rank == 0) {
        ROW_WANT(all_reduce(&f, COUNT, ncclFloat, ncclSum) == ncclSuccess);
        ROW_WANT(ncclAllReduce(f.a, f.b, 1, ncclFloat, ncclSum, second, f.stream) == ncclSuccess);
    }
    ROW_WANT(row_meet(rank, 1) && ncclGroupStart() == ncclSuccess);
    ROW_WANT(ncclCommAbort(second) == ncclSuccess && ncclCommAbort(f.comm) == ncclSuccess);
    ROW_WANT(ncclGroupEnd() == ncclSuccess);
    return release(&f);
}

#define REVOKED "after ncclCommRevoke: only"

static const struct row rows[] = {
    {"an id for one communicator", 2, scalable, NULL, NULL, "1"},
    {"an id twice", 2, id_twice, "unique id that was used before", NULL, NULL},
    {"two ids for 5 ranks", 5, scalable, NULL, NULL, "2"},
    {"three ids for 7 ranks", 7, scalable, NULL, NULL, "3"},
    {"ids that differ", 4, ids_differ, "differ in their lists", "FAKE_NCCL_INIT_MS=1000", NULL},
    {"an id of nobody", 2, wrong_id, "was not made by ncclGetUniqueId", NULL, NULL},
    {"sizes that differ", 2, sizes_differ, "makes a communicator of", "FAKE_NCCL_INIT_MS=1000", NULL},
    {"two communicators in one group, asked for alike", 2, made_together, NULL, NULL, "alike"},
    {"two communicators in one group, in any order", 2, made_together, NULL, NULL, "unlike"},
    {"blocking creations in another order", 2, other_order, "another order on shared ranks",
     "FAKE_NCCL_INIT_MS=300", NULL},
    {"polls in progress", 2, in_progress, NULL, NULL, "polls"},
    {"a call in progress", 2, in_progress, "ncclCommCount on unnamed while it is in progress", NULL, "calls"},
    {"a stream after the launch", 2, stream_too_early, NULL, NULL, "late"},
    {"a stream before the launch", 2, stream_too_early, "has not launched yet", NULL, "early"},
    {"an empty group", 2, groups, NULL, NULL, "empty"},
    {"a group's end without its start", 2, groups, "ncclGroupEnd without", NULL, "end"},
    {"blocking and non-blocking in a group", 2, groups, "blocking and non-blocking", NULL, "blocking mixed"},
    {"two splits of one parent in a group", 2, groups, "two children of row in one group", NULL,
     "two splits"},
    {"creations and operations in a group", 2, groups, "creations and operations", NULL, "kinds mixed"},
    {"counts differ", 2, mismatch, "rank 0 calls ncclAllReduce(count 64", NULL, "count"},
    {"types differ", 2, mismatch, "mismatch on row", NULL, "type"},
    {"operators differ", 2, mismatch, "mismatch on row", NULL, "op"},
    {"roots differ", 2, mismatch, "mismatch on row", NULL, "root"},
    {"kinds differ", 2, mismatch, "rank 1 calls ncclAllGather", NULL, "kind"},
    {"groups of collectives differ", 2, mismatch, "1 of 2 in its group", NULL, "grouped"},
    {"sends and receives match", 2, transfers, NULL, NULL, "right"},
    {"transfers' counts differ", 2, transfers, "mismatch on row: rank", NULL, "count"},
    {"transfers' types differ", 2, transfers, "mismatch on row: rank", NULL, "type"},
    {"groups of transfers differ", 2, transfers, "a group of 1 sends and 1 receives", NULL, "grouped"},
    {"a send to itself without a receive", 2, transfers, "1 sends and 0 receives with itself", NULL, "self"},
    {"both send, and none receives", 2, transfers, "a group of 1 sends and 0 receives", NULL, "both send"},
    {"an operation that a rank does not call", 2, hang, "waits for its ranks 1", "FAKE_NCCL_HANG_MS=100",
     NULL},
    {"buffers as allowed, on the default stream", 2, buffers, NULL, NULL, "right"},
    {"a buffer of the host's", 2, buffers, "is not inside an allocation", NULL, "host"},
    {"a buffer too short", 2, buffers, "is not inside an allocation", NULL, "past"},
    {"buffers that overlap", 2, buffers, "overlap in a way", NULL, "overlap"},
    {"a destroyed stream", 2, buffers, "a stream that was destroyed", NULL, "dead stream"},
    {"a thread on another device", 2, buffers, "by a thread whose device is", NULL, "thread's device"},
    {"a stream of another device", 2, buffers, "on a stream of device", NULL, "stream's device"},
    {"registrations, released", 2, registrations, NULL, NULL, "released"},
    {"registrations, released twice", 2, registrations, "of a handle that is none of its", NULL, "twice"},
    {"registrations, left", 2, registrations, "leak: 2 registrations of row", NULL, "leak"},
    {"one device twice is an error of NCCL's", 2, duplicate, NULL, NULL, "one host"},
    {"one device's number on two hosts", 2, duplicate, NULL, NULL, "two hosts"},
    {"a communicator of one", 1, size1, "has one rank", NULL, "refused"},
    {"a communicator of one, allowed", 1, size1, NULL, "FAKE_NCCL_ALLOW_SIZE1=1", "allowed"},
    {"configurations", 2, configurations, NULL, NULL, NULL},
    {"a function newer than the library", 1, old_version, "ncclMemAlloc is not in NCCL 21900",
     "FAKE_NCCL_VERSION=21900", NULL},
    {"use after destroy", 2, ends, "after it was destroyed or aborted", NULL, "after destroy"},
    {"use after abort", 2, ends, "a communicator that is no more", NULL, "after abort"},
    {"use after finalize", 2, ends, "after ncclCommFinalize", NULL, "after finalize"},
    {"revoke, then split and destroy", 2, ends, NULL, NULL, "revoke"},
    {"revoke twice", 2, ends, "was revoked before", NULL, "revoke twice"},
    {"revoke, then an operation", 2, ends, REVOKED, NULL, "revoke, use"},
    {"revoke, then finalize", 2, ends, "ncclCommFinalize on row after", NULL, "revoke, finalize"},
    {"a communicator is left", 2, ends, "leak: 1 communicators", NULL, "leak"},
    {"split by color and key", 4, splits, NULL, NULL, NULL},
    {"shrink with an abort, without rank 0", 4, shrinks, NULL, NULL, "abort"},
    {"shrink with an abort, then destroy", 4, shrinks, "shrunk with NCCL_SHRINK_ABORT", NULL, "destroy"},
    {"aborts in one group", 2, abort_together, NULL, NULL, NULL},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(row_run(&rows[i]), "%s", rows[i].name);
    return tap_done();
}
