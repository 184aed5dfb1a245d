/* The emulator of CUDA's kernels: results of right ones in each order, and what it says of wrong ones. */
#include <stdio.h>

#include "kernels.h"
#include "tests/unit/fake_nccl.h"
#include "tests/unit/tap.h"

/* Launches the argument's kernel twice and compares what it left: "name", or "name number". */
static int body(struct row_rank *rank)
{
    char name[64];
    int expected = 0, got = 0, *device;
    cudaStream_t stream;
    int words = sscanf(rank->argument, "%63s %d", name, &expected);

    ROW_WANT(cudaStreamCreate(&stream) == cudaSuccess);
    ROW_WANT(cudaMalloc((void **)&device, sizeof(*device)) == cudaSuccess);
    for (int i = 0; i < 2; i++) {
        ROW_WANT(cudaMemsetAsync(device, 0, sizeof(*device), stream) == cudaSuccess);
        ROW_WANT(kernels_launch(name, device, stream) == 0);
        ROW_WANT(cudaMemcpyAsync(&got, device, sizeof(got), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
        ROW_WANT(cudaStreamSynchronize(stream) == cudaSuccess);
        ROW_WANT(words < 2 || got == expected);
    }
    ROW_WANT(cudaFree(device) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
    return 0;
}

#define FORWARD "CUDA_EMULATE_ORDER=forward"
#define REVERSE "CUDA_EMULATE_ORDER=reverse"
#define RANDOM  "CUDA_EMULATE_ORDER=random:3"

static const struct row rows[] = {
    {"shuffles and shared memory, forward", 1, body, NULL, FORWARD, "sum 4656"},
    {"shuffles and shared memory, in reverse", 1, body, NULL, REVERSE, "sum 4656"},
    {"shuffles and shared memory, in a random order", 1, body, NULL, RANDOM, "sum 4656"},
    {"shuffles of float64", 1, body, NULL, NULL, "sum_double 4560"},
    {"votes without the lanes that ended", 1, body, NULL, REVERSE, "vote 16"},
    {"meetings of half a warp", 1, body, NULL, RANDOM, "halves 1"},
    {"three dimensions", 1, body, NULL, RANDOM, "places 7464"},
    {"a missing barrier, forward", 1, body, NULL, FORWARD, "unordered -1"},
    {"a missing barrier, in reverse", 1, body, NULL, REVERSE, "unordered 95"},
    {"a missing barrier after a read, forward", 1, body, NULL, FORWARD, "early 100"},
    {"a missing barrier after a read, in reverse", 1, body, NULL, REVERSE, "early 7"},
    {"an unknown order", 1, body, "expected forward, reverse or random:SEED", "CUDA_EMULATE_ORDER=up",
     "sum"},
    {"a grid of nothing", 1, body,
     "kernel nothing (tests/cuda/kernels.cu:140) is launched with a grid of 0 x 1 x 1, blocks of 96 x 1 x 1 "
     "and 0 bytes of shared memory: a grid has at least a block",
     NULL, "no_blocks"},
    {"a block of nothing", 1, body, "a block has at least a thread", NULL, "no_threads"},
    {"a block of too many threads", 1, body, "a block has at most 1024 threads", NULL, "many_threads"},
    {"a grid that is too high", 1, body, "65535 and 65535 blocks", NULL, "deep_grid"},
    {"too much shared memory, launched", 1, body, "at most 48 KiB", NULL, "much_launched"},
    {"too much shared memory, declared", 1, body,
     "y makes it 65536 bytes of shared memory: 49152 is the most",
     NULL, "much_shared"},
    {"a barrier that is two", 1, body,
     "kernel two_barriers (tests/cuda/kernels.cu:148), block 0: thread 0 waits at the barrier of "
     "tests/cuda/kernels.cu:92, thread 32 at that of tests/cuda/kernels.cu:94",
     NULL, "two_barriers"},
    {"a lane at a barrier, the others at a shuffle", 1, body,
     "thread 0 waits at tests/cuda/kernels.cu:101 for the lanes 0xffffffff; thread 5 waits at "
     "tests/cuda/kernels.cu:100",
     NULL, "barrier_and_shuffle"},
    {"a lane outside of its mask", 1, body, "thread 0 is not in the mask 0x0000fffe", NULL, "outside_mask"},
    {"lanes of two masks", 1, body,
     "thread 0 waits at tests/cuda/kernels.cu:111 for the lanes 0xffffffff; thread 1",
     NULL, "two_masks"},
    {"a shuffle from a lane that ended", 1, body, "thread 0 takes what lane 1 did not bring", NULL,
     "from_ended"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(row_run(&rows[i]), "%s", rows[i].name);
    return tap_done();
}
