/*
 * emulate.h - what kernels of CUDA see when the CPU runs them: convert.awk makes a launch a call of
 * emulate_launch(), which queues the kernel on its stream of the double of libcudart. A block's threads are
 * fibers, and run one at a time from one barrier, shuffle or ballot to the next, in the order that
 * CUDA_EMULATE_ORDER says: forward, reverse or random:SEED.
 *
 * It shows wrong indices, results that depend on an order that no barrier makes, barriers and shuffles that
 * not all threads reach, reads of shared memory that was not written (its bits are 1 when a block starts),
 * launches out of CUDA's limits, and under AddressSanitizer what lies out of an array's bounds. What is wrong
 * is a violation of the double's, with the kernel's name and line. It cannot show a race in an order that was
 * not tried, nor one of two threads inside one step of theirs, nor barriers of two calls on one line; nothing
 * of timing, registers, occupancy and a device's own limits; not the GPU's own rounding, nvcc or cuBLAS.
 */
#ifndef DT_TESTS_FAKE_CUDA_EMULATE_H
#define DT_TESTS_FAKE_CUDA_EMULATE_H

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vector_types.h>

#include <new>
#include <tuple>
#include <type_traits>

/* Of the thread that runs. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

/* ---- Launches -------------------------------------------------------------- */

struct emulate_kernel {
    const char *name, *file;
    int line; /* of the launch */
};

struct emulate_config {
    dim3 grid, block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
};

/* A launch with its arguments, as they were when it was called. */
struct emulate_job {
    struct emulate_kernel kernel;
    struct emulate_config config;
    void (*run)(const struct emulate_job *job); /* by each thread of each block */
};

/* Checks and queues; takes the job, which malloc() gave. */
void emulate_enqueue(struct emulate_job *job);

template <typename F, typename... A> struct emulate_call : emulate_job {
    F call;
    std::tuple<A...> arguments;

    emulate_call(const struct emulate_job &job, F f, A... a) : emulate_job(job), call(f), arguments(a...)
    {
    }
    static void run_call(const struct emulate_job *job)
    {
        const emulate_call *call = static_cast<const emulate_call *>(job);

        std::apply(call->call, call->arguments);
    }
};

template <typename F, typename... A>
void emulate_launch(const struct emulate_kernel &kernel, const struct emulate_config &config, F f, A... a)
{
    using call = emulate_call<F, A...>;
    static_assert(std::is_trivially_destructible_v<call>, "a kernel's arguments are bytes");
    void *memory = malloc(sizeof(call));

    if (memory == NULL)
        abort();
    emulate_enqueue(new (memory) call({kernel, config, call::run_call}, f, a...));
}

/* ---- Inside a block --------------------------------------------------------- */

/* The block's variable of this declaration, made by the first thread that comes to it. */
void *emulate_shared_find(const char *name, const void *key, size_t size, size_t align);

template <typename T> T &emulate_shared(const char *name, const void *key)
{
    return *static_cast<T *>(emulate_shared_find(name, key, sizeof(T), alignof(T)));
}

/* Until all threads of the block that have not ended are here; whether any of them brought one but 0. */
int emulate_barrier(int value, const char *file, int line);
/* Until the lanes of mask are here with what they bring: those that came, and what lane brought. */
unsigned emulate_meet(unsigned mask, const void *value, size_t size, const char *file, int line);
void emulate_take(unsigned lane, void *value, size_t size);
unsigned emulate_lane(void);

inline void __syncthreads(const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    emulate_barrier(0, file, line);
}

inline int __syncthreads_or(int value, const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return emulate_barrier(value, file, line);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T x, int lanes, const char *file = __builtin_FILE(),
                  int line = __builtin_LINE())
{
    emulate_meet(mask, &x, sizeof(x), file, line);
    emulate_take(emulate_lane() ^ (unsigned)lanes, &x, sizeof(x));
    return x;
}

inline unsigned __ballot_sync(unsigned mask, int value, const char *file = __builtin_FILE(),
                              int line = __builtin_LINE())
{
    unsigned came = emulate_meet(mask, &value, sizeof(value), file, line), ballot = 0;

    for (unsigned lane = 0; lane < 32; lane++) {
        if ((came >> lane & 1) == 0)
            continue;
        emulate_take(lane, &value, sizeof(value));
        ballot |= (value != 0 ? 1u : 0u) << lane;
    }
    return ballot;
}

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

#endif
