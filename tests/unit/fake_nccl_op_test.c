/* Data of every collective, type and operator on the double of libnccl, against a plain reference. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_nccl.h"
#include "tap.h"

#define COUNT 37 /* elements of a block: no multiple of the ranks */
#define RANKS_MAX 4

static const struct type {
    ncclDataType_t type;
    const char *name;
    size_t size;
    int exponent, mantissa; /* of a small float; 0: none */
} types[] = {
    {ncclInt8, "int8", 1, 0, 0},        {ncclUint8, "uint8", 1, 0, 0},     {ncclInt32, "int32", 4, 0, 0},
    {ncclUint32, "uint32", 4, 0, 0},    {ncclInt64, "int64", 8, 0, 0},     {ncclUint64, "uint64", 8, 0, 0},
    {ncclFloat16, "float16", 2, 5, 10}, {ncclFloat32, "float32", 4, 0, 0}, {ncclFloat64, "float64", 8, 0, 0},
    {ncclBfloat16, "bfloat16", 2, 8, 7}, {ncclFloat8e4m3, "float8e4m3", 1, 4, 3},
    {ncclFloat8e5m2, "float8e5m2", 1, 5, 2},
};

static const ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};

/* Small values that every type holds, and so do their sums and products: 1, 2, or 0. */
static double input(int rank, size_t i)
{
    return (double)((i * 7 + (size_t)rank * 3) % 5 % 3);
}

/* Writes a non-negative number that the small float holds exactly. */
static unsigned small_bits(double value, const struct type *type)
{
    int exponent, bias = (1 << (type->exponent - 1)) - 1;
    double fraction = frexp(value, &exponent);

    if (value == 0)
        return 0;
    return (unsigned)(exponent - 1 + bias) << type->mantissa |
           (unsigned)ldexp(fraction * 2 - 1, type->mantissa);
}

static void put(void *to, size_t i, double value, const struct type *type)
{
    unsigned bits = type->exponent != 0 ? small_bits(value, type) : 0;

    switch (type->type) {
    case ncclInt8:
    case ncclUint8:
        ((uint8_t *)to)[i] = (uint8_t)value;
        break;
    case ncclInt32:
    case ncclUint32:
        ((uint32_t *)to)[i] = (uint32_t)value;
        break;
    case ncclInt64:
    case ncclUint64:
        ((uint64_t *)to)[i] = (uint64_t)value;
        break;
    case ncclFloat32:
        ((float *)to)[i] = (float)value;
        break;
    case ncclFloat64:
        ((double *)to)[i] = value;
        break;
    default:
        memcpy((char *)to + i * type->size, &bits, type->size); /* little-endian */
    }
}

static double reduced(ncclRedOp_t op, int ranks, size_t i, bool is_integer)
{
    double value = input(0, i);

    for (int rank = 1; rank < ranks; rank++) {
        double other = input(rank, i);

        value = op == ncclProd  ? value * other
                : op == ncclMax ? fmax(value, other)
                : op == ncclMin ? fmin(value, other)
                                : value + other;
    }
    if (op == ncclAvg)
        value = is_integer ? trunc(value / ranks) : value / ranks;
    return value;
}

/* ---- Collectives ---------------------------------------------------------- */

struct buffers {
    char *send, *recv, *want; /* RANKS_MAX * COUNT elements */
    cudaStream_t stream;
    ncclComm_t comm;
};

static bool is_integer(const struct type *type)
{
    return type->type <= ncclUint64;
}

static int compare(struct buffers *b, size_t elements, const struct type *type)
{
    ROW_WANT(cudaStreamSynchronize(b->stream) == cudaSuccess);
    if (memcmp(b->recv, b->want, elements * type->size) == 0)
        return 0;
    fprintf(stderr, "type %s\n", type->name);
    ROW_WANT(!"the data is right");
    return 0;
}

static int reductions(struct row_rank *rank, struct buffers *b, const struct type *type, ncclRedOp_t op)
{
    int n = rank->count;
    size_t all = (size_t)n * COUNT;

    for (size_t i = 0; i < all; i++) {
        put(b->send, i, input(rank->rank, i), type);
        put(b->want, i, reduced(op, n, i, is_integer(type)), type);
    }
    ROW_WANT(ncclAllReduce(b->send, b->recv, all, type->type, op, b->comm, b->stream) == ncclSuccess);
    if (compare(b, all, type))
        return 1;
    memcpy(b->recv, b->send, all * type->size);
    ROW_WANT(ncclAllReduce(b->recv, b->recv, all, type->type, op, b->comm, b->stream) == ncclSuccess);
    if (compare(b, all, type))
        return 1;
    ROW_WANT(ncclReduce(b->send, b->recv, all, type->type, op, n - 1, b->comm, b->stream) == ncclSuccess);
    if (rank->rank == n - 1 && compare(b, all, type))
        return 1;
    ROW_WANT(ncclReduceScatter(b->send, b->recv, COUNT, type->type, op, b->comm, b->stream) == ncclSuccess);
    memmove(b->want, b->want + (size_t)rank->rank * COUNT * type->size, COUNT * type->size);
    return compare(b, COUNT, type);
}

/* Block i of rank r holds input(r, i * COUNT + k). */
static int moves(struct row_rank *rank, struct buffers *b, const struct type *type)
{
    int n = rank->count, root = 1 % n;
    size_t block = COUNT * type->size;

    for (size_t i = 0; i < (size_t)n * COUNT; i++)
        put(b->send, i, input(rank->rank, i), type);
    for (size_t i = 0; i < (size_t)n * COUNT; i++)
        put(b->want, i, input((int)(i / COUNT), i % COUNT), type);
    ROW_WANT(ncclAllGather(b->send, b->recv, COUNT, type->type, b->comm, b->stream) == ncclSuccess);
    if (compare(b, (size_t)n * COUNT, type))
        return 1;
    memset(b->recv, 0, (size_t)n * block);
    ROW_WANT(ncclGather(b->send, b->recv, COUNT, type->type, root, b->comm, b->stream) == ncclSuccess);
    if (rank->rank == root && compare(b, (size_t)n * COUNT, type))
        return 1;
    for (size_t i = 0; i < (size_t)n * COUNT; i++)
        put(b->want, i, input((int)(i / COUNT), (size_t)rank->rank * COUNT + i % COUNT), type);
    ROW_WANT(ncclAlltoAll(b->send, b->recv, COUNT, type->type, b->comm, b->stream) == ncclSuccess);
    if (compare(b, (size_t)n * COUNT, type))
        return 1;
    for (size_t i = 0; i < COUNT; i++)
        put(b->want, i, input(root, (size_t)rank->rank * COUNT + i), type);
    ROW_WANT(ncclScatter(b->send, b->recv, COUNT, type->type, root, b->comm, b->stream) == ncclSuccess);
    if (compare(b, COUNT, type))
        return 1;
    for (size_t i = 0; i < COUNT; i++)
        put(b->want, i, input(root, i), type);
    ROW_WANT(ncclBroadcast(b->send, b->recv, COUNT, type->type, root, b->comm, b->stream) == ncclSuccess);
    return compare(b, COUNT, type);
}

/* A ring in both directions, and to itself, in one group. */
static int transfers(struct row_rank *rank, struct buffers *b, const struct type *type)
{
    int n = rank->count, next = (rank->rank + 1) % n, before = (rank->rank + n - 1) % n;
    int from[3] = {before, next, rank->rank};
    size_t block = COUNT * type->size;

    for (size_t i = 0; i < COUNT; i++)
        put(b->send, i, input(rank->rank, i), type);
    for (size_t i = 0; i < 3 * COUNT; i++)
        put(b->want, i, input(from[i / COUNT], i % COUNT), type);
    ROW_WANT(ncclGroupStart() == ncclSuccess);
    ROW_WANT(ncclSend(b->send, COUNT, type->type, next, b->comm, b->stream) == ncclSuccess);
    ROW_WANT(ncclRecv(b->recv, COUNT, type->type, before, b->comm, b->stream) == ncclSuccess);
    ROW_WANT(ncclSend(b->send, COUNT, type->type, before, b->comm, b->stream) == ncclSuccess);
    ROW_WANT(ncclRecv(b->recv + block, COUNT, type->type, next, b->comm, b->stream) == ncclSuccess);
    ROW_WANT(ncclSend(b->send, COUNT, type->type, rank->rank, b->comm, b->stream) == ncclSuccess);
    ROW_WANT(ncclRecv(b->recv + 2 * block, COUNT, type->type, rank->rank, b->comm, b->stream) == ncclSuccess);
    ROW_WANT(ncclGroupEnd() == ncclSuccess);
    return compare(b, 3 * COUNT, type);
}

static int all_data(struct row_rank *rank)
{
    struct buffers b;
    size_t bytes = RANKS_MAX * COUNT * sizeof(double);

    ROW_WANT(cudaMalloc((void **)&b.send, bytes) == cudaSuccess);
    ROW_WANT(cudaMalloc((void **)&b.recv, bytes) == cudaSuccess);
    ROW_WANT(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking) == cudaSuccess);
    b.want = malloc(bytes);
    ROW_WANT(row_comm(rank, 0, 1, &b.comm) == ncclSuccess);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
            /* A third is no number of any float: averages of floats are for 2 and 4 ranks. */
            if ((ops[k] != ncclAvg || rank->count != 3 || is_integer(&types[i])) &&
                reductions(rank, &b, &types[i], ops[k]))
                return 1;
        if (moves(rank, &b, &types[i]) || transfers(rank, &b, &types[i]))
            return 1;
    }
    free(b.want);
    ROW_WANT(ncclCommFinalize(b.comm) == ncclSuccess && ncclCommDestroy(b.comm) == ncclSuccess);
    ROW_WANT(cudaFree(b.send) == cudaSuccess && cudaFree(b.recv) == cudaSuccess);
    ROW_WANT(cudaStreamDestroy(b.stream) == cudaSuccess);
    return 0;
}

/* ---- A training loop's size ------------------------------------------------ */

#define LARGE ((size_t)1 << 18) /* float32: 1 MiB */

static int large(struct row_rank *rank)
{
    ncclComm_t comm;
    cudaStream_t stream;
    float *device, *host = malloc(LARGE * sizeof(*host));

    ROW_WANT(cudaMalloc((void **)&device, LARGE * sizeof(*host)) == cudaSuccess);
    ROW_WANT(cudaStreamCreate(&stream) == cudaSuccess);
    ROW_WANT(row_comm(rank, 0, 0, &comm) == ncclSuccess);
    for (size_t i = 0; i < LARGE; i++)
        host[i] = (float)(i % 100) + (float)rank->rank;
    for (int step = 0; step < 10; step++) {
        ncclResult_t result;

        ROW_WANT(cudaMemcpyAsync(device, host, LARGE * sizeof(*host), cudaMemcpyHostToDevice, stream) == 0);
        result = ncclAllReduce(device, device, LARGE, ncclFloat, ncclAvg, comm, stream);
        ROW_WANT(result == ncclInProgress && row_settle(comm) == ncclSuccess);
        ROW_WANT(cudaMemcpyAsync(host, device, LARGE * sizeof(*host), cudaMemcpyDeviceToHost, stream) == 0);
        ROW_WANT(cudaStreamSynchronize(stream) == cudaSuccess);
    }
    for (size_t i = 0; i < LARGE; i++)
        ROW_WANT(host[i] == (float)(i % 100) + (float)(rank->count - 1) / 2);
    free(host);
    ROW_WANT(ncclCommFinalize(comm) == ncclInProgress && row_settle(comm) == ncclSuccess);
    ROW_WANT(ncclCommDestroy(comm) == ncclSuccess);
    ROW_WANT(cudaFree(device) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
    return 0;
}

static const struct row rows[] = {
    {"2 ranks: data of every collective, type and operator", 2, all_data, NULL, NULL, NULL},
    {"3 ranks: the same, but no averages of floats", 3, all_data, NULL, NULL, NULL},
    {"4 ranks: data of every collective, type and operator", 4, all_data, NULL, NULL, NULL},
    {"4 ranks over loopback by NCCL_SOCKET_IFNAME", 4, all_data, NULL, "NCCL_SOCKET_IFNAME==lo", NULL},
    {"8 ranks average 1 MiB ten times, non-blocking", 8, large, NULL, NULL, NULL},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(row_run(&rows[i]), "%s", rows[i].name);
    return tap_done();
}
