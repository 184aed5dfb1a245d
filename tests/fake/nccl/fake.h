/*
 * fake.h - what the doubles of libcudart and libnccl share: reports of broken
 * contracts, faults on demand, and what NCCL needs of memory and streams.
 * libcudart.so.13 holds it and exports it under its own version node FAKE.
 * All functions may be called from any thread.
 */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_H
#define DT_TESTS_FAKE_NCCL_FAKE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define FAKE_EXIT_STATUS 86 /* of a process that broke the contract */

/* ---- Reports (fake_report.c) -------------------------------------------- */

/*
 * "fake nccl: VIOLATION rank R: ..." on stderr, once for each call; the
 * process then ends with FAKE_EXIT_STATUS, unless FAKE_NCCL_VIOLATIONS=report.
 */
void fake_violation(const char *fmt, ...) FAKE_PRINTF(1, 2);
int fake_violation_count(void);
/* The status is changed at the very end: called by the last destructor. */
void fake_report_end(void);

int fake_env_int(const char *name, int otherwise);
int fake_rank(void); /* FAKE_NCCL_RANK, RANK or SLURM_PROCID; -1: none */
int64_t fake_now_ns(void);
void fake_pause_us(long us);

/* ---- Faults (fake_fault.c) ---------------------------------------------- */

enum fake_fault_kind {
    FAKE_FAULT_NONE,
    FAKE_FAULT_RESULT, /* the call returns .result */
    FAKE_FAULT_ASYNC,  /* the operation fails later, on its stream, with .result */
    FAKE_FAULT_HANG,   /* the operation never ends, until an abort */
    FAKE_FAULT_NEVER,  /* a creation in which this rank never joins */
    FAKE_FAULT_STUCK,  /* a creation that all ranks join, but that stays in progress here */
};

struct fake_fault {
    enum fake_fault_kind kind;
    int result;
};

/* Counts one invocation of a function, and says what was asked to happen to it. */
struct fake_fault fake_fault_take(const char *function);
/* Adds faults, written as in FAKE_NCCL_FAIL. false: it cannot be read; nothing is added. */
bool fake_fault_add(const char *text);

/* ---- Devices, memory, streams ------------------------------------------- */

int fake_device_current(void);
int fake_device_physical(int device); /* on this host, whatever CUDA_VISIBLE_DEVICES shows */

/* Device memory that only `owner` (a function's name) may release. */
cudaError_t fake_memory_alloc(void **ptr, size_t size, const char *owner);
cudaError_t fake_memory_free(void *ptr, const char *owner);
/* Whether [ptr, ptr + bytes) lies in one allocation that devices can reach. */
bool fake_memory_holds(const void *ptr, size_t bytes);

/* 0 with the stream's device; -1: destroyed or never created. */
int fake_stream_device(cudaStream_t stream, int *device);
/* Queues run(arg) for the stream's thread. */
cudaError_t fake_stream_enqueue(cudaStream_t stream, void (*run)(void *arg), void *arg);
/* What is queued on `to` from now on waits for what is queued on `from`. */
void fake_stream_join(cudaStream_t to, cudaStream_t from);
/* NCCL has not launched yet what it was given for this stream (+1, then -1): a call on it is too early. */
void fake_stream_pend(cudaStream_t stream, int change);

#endif
