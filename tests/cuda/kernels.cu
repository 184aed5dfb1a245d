#include "tests/cuda/kernels.h"

enum { WARP = 32, WARPS = KERNELS_THREADS / WARP };

/* ---- Right ones ----------------------------------------------------------- */

/* The sum of all threads' places: in warps by shuffles, then through shared memory. */
template <typename T> static __global__ void sum(int *to, T first)
{
    __shared__ T parts[WARPS], all;
    T x = first + (T)threadIdx.x;

    for (int step = WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    if (threadIdx.x % WARP == 0)
        parts[threadIdx.x / WARP] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        all = 0;
        for (int i = 0; i < WARPS; i++)
            all += parts[i];
    }
    __syncthreads();
    if (threadIdx.x == KERNELS_THREADS - 1)
        to[0] = (int)all;
}

/* Lanes that ended are named by the mask, and have no say. */
static __global__ void vote(int *to)
{
    unsigned ballot;

    if (threadIdx.x % 4 == 3)
        return;
    ballot = __ballot_sync(0xffffffffu, threadIdx.x % 2 == 0);
    if (__syncthreads_or(threadIdx.x == 2) != 0 && threadIdx.x == 1)
        to[0] = __popc(ballot);
}

/* Two halves of a warp meet each for itself. */
static __global__ void halves(int *to)
{
    bool is_high = threadIdx.x % WARP >= WARP / 2;
    unsigned ballot = is_high ? __ballot_sync(0xffff0000u, 1) : __ballot_sync(0x0000ffffu, threadIdx.x == 0);

    if (threadIdx.x == 0)
        to[0] = (int)ballot;
}

/* Each block and thread in three dimensions adds one: they run one at a time. */
static __global__ void places(int *to)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

    to[0] += (int)(block * 100 + thread);
}

/* ---- Wrong ones ------------------------------------------------------------- */

static __global__ void nothing()
{
}

/* Reads what no barrier has ordered before the read. */
static __global__ void unordered(int *to)
{
    __shared__ int x[KERNELS_THREADS];

    x[threadIdx.x] = (int)threadIdx.x;
    if (threadIdx.x == 0)
        to[0] = x[KERNELS_THREADS - 1];
}

/* Writes before the barrier that would let others finish reading. */
static __global__ void early(int *to)
{
    __shared__ int x;

    if (threadIdx.x == 0)
        x = 7;
    __syncthreads();
    if (threadIdx.x == KERNELS_THREADS - 1)
        to[0] = x;
    if (threadIdx.x == 0)
        x = 100;
}

static __global__ void two_barriers()
{
    if (threadIdx.x < WARP)
        __syncthreads();
    else
        __syncthreads();
}

static __global__ void barrier_and_shuffle(int *to)
{
    if (threadIdx.x == 5)
        __syncthreads();
    to[0] = __shfl_xor_sync(0xffffffffu, 1, 1);
}

static __global__ void outside_mask(int *to)
{
    to[0] = (int)__ballot_sync(0x0000fffeu, 1);
}

static __global__ void two_masks(int *to)
{
    to[0] = (int)__ballot_sync(threadIdx.x == 0 ? 0xffffffffu : 0xfffffffeu, 1);
}

static __global__ void from_ended(int *to)
{
    if (threadIdx.x == 1)
        return;
    to[0] = __shfl_xor_sync(0xffffffffu, 1, 1);
}

static __global__ void much_shared(int *to)
{
    __shared__ double x[4096], y[4096];

    x[threadIdx.x] = y[threadIdx.x] = 1;
    to[0] = 1;
}

/* ---- Launches ------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*launch)(int *to, cudaStream_t stream);
} kernels[] = {
    {"sum", [](int *to, cudaStream_t s) { sum<int><<<1, KERNELS_THREADS, 0, s>>>(to, 1); }},
    {"sum_double", [](int *to, cudaStream_t s) { sum<<<1, KERNELS_THREADS, 0, s>>>(to, 0.0); }},
    {"vote", [](int *to, cudaStream_t s) { vote<<<1, KERNELS_THREADS, 0, s>>>(to); }},
    {"halves", [](int *to, cudaStream_t s) { halves<<<1, KERNELS_THREADS, 0, s>>>(to); }},
    {"places", [](int *to, cudaStream_t s) { places<<<dim3(2, 2, 1), dim3(3, 2, 2), 0, s>>>(to); }},
    {"no_blocks", [](int *, cudaStream_t s) { nothing<<<0, KERNELS_THREADS, 0, s>>>(); }},
    {"no_threads", [](int *, cudaStream_t s) { nothing<<<1, 0, 0, s>>>(); }},
    {"many_threads", [](int *, cudaStream_t s) { nothing<<<1, dim3(32, 33), 0, s>>>(); }},
    {"deep_grid", [](int *, cudaStream_t s) { nothing<<<dim3(1, 65536), 1, 0, s>>>(); }},
    {"much_launched", [](int *, cudaStream_t s) { nothing<<<1, 1, 65536, s>>>(); }},
    {"much_shared", [](int *to, cudaStream_t s) { much_shared<<<1, KERNELS_THREADS, 0, s>>>(to); }},
    {"unordered", [](int *to, cudaStream_t s) { unordered<<<1, KERNELS_THREADS, 0, s>>>(to); }},
    {"early", [](int *to, cudaStream_t s) { early<<<1, KERNELS_THREADS, 0, s>>>(to); }},
    {"two_barriers", [](int *, cudaStream_t s) { two_barriers<<<1, KERNELS_THREADS, 0, s>>>(); }},
    {"barrier_and_shuffle",
     [](int *to, cudaStream_t s) { barrier_and_shuffle<<<1, KERNELS_THREADS, 0, s>>>(to); }},
    {"outside_mask", [](int *to, cudaStream_t s) { outside_mask<<<1, KERNELS_THREADS, 0, s>>>(to); }},
    {"two_masks", [](int *to, cudaStream_t s) { two_masks<<<1, KERNELS_THREADS, 0, s>>>(to); }},
    {"from_ended", [](int *to, cudaStream_t s) { from_ended<<<1, KERNELS_THREADS, 0, s>>>(to); }},
};

extern "C" int kernels_launch(const char *name, int *to, cudaStream_t stream)
{
    for (const auto &kernel : kernels) {
        if (strcmp(kernel.name, name) == 0) {
            kernel.launch(to, stream);
            return 0;
        }
    }
    return -1;
}
