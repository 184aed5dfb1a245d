/*
 * fake_cuda.h - inside the double of libcudart: one lock and one condition
 * for all of its state, handles that are never reused, and each thread's last
 * error.
 */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_CUDA_H
#define DT_TESTS_FAKE_NCCL_FAKE_CUDA_H

#include <pthread.h>

#include "fake.h"

#define FAKE_DEVICES_MAX 64

extern pthread_mutex_t fake_cuda_lock;
extern pthread_cond_t fake_cuda_changed;

/* Keeps an error for cudaGetLastError(), and returns it. */
cudaError_t fake_cuda_result(cudaError_t result);
/* What FAKE_NCCL_FAIL asks of this call; cudaSuccess: nothing. */
cudaError_t fake_cuda_enter(const char *function);
/* At the head of each function that can be told to fail. */
#define FAKE_CUDA_ENTER()                                                                                    \
    do {                                                                                                     \
        cudaError_t entered = fake_cuda_enter(__func__);                                                     \
        if (entered != cudaSuccess)                                                                          \
            return entered;                                                                                  \
    } while (0)

int fake_device_count(void);

struct fake_allocation {
    struct fake_allocation *next;
    char *ptr;
    size_t size;
    enum cudaMemoryType type;
    int device;
    const char *owner; /* the function that releases it */
};

/* The allocation around ptr, or NULL. With the lock held. */
struct fake_allocation *fake_memory_find(const void *ptr);
/* Whether ptr is host memory that CUDA does not know: pageable. */
bool fake_memory_is_pageable(const void *ptr);
/* Counts what was not released as violations. */
void fake_memory_check_leaks(void);

/* A live stream, 0 the legacy one of the current device, made when needed; NULL: none. With the lock held. */
struct CUstream_st *fake_stream_find(cudaStream_t stream);
/*
 * Checks that the stream lives, that its device is the current one and that
 * no launch is pending on it, and queues: is_ready (NULL: always) is asked
 * with the lock held, run (NULL: nothing) runs without it.
 */
cudaError_t fake_stream_push(const char *function, cudaStream_t stream, bool (*is_ready)(void *arg),
                             void (*run)(void *arg), void *arg);
void fake_stream_wait_device(int device); /* all that is queued on it has run */
void fake_stream_check_leaks(void);
void fake_event_check_leaks(void);

#endif
