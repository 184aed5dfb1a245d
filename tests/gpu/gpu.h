/*
 * gpu.h - what the tests on a GPU share. CUDA does not survive a fork: the test
 * itself never calls it, its rows' processes do (fork_world.h).
 */
#ifndef DT_TESTS_GPU_H
#define DT_TESTS_GPU_H

#include "tests/unit/fork_world.h"

/* What the tests run on: a test is linked with gpu_device.c, or with gpu_emulated.c for make check. */
struct gpu_kind {
    const char *backend; /* the NCCL module, below the build tree */
    const char *compute; /* examples/train's */
    size_t most;         /* elements of an array that it is fast enough for */
};
extern const struct gpu_kind gpu_kind;

/*
 * In which order threads run, where that can be chosen: sets up the i'th way for the rows that follow. Its
 * words for their names; NULL: there are no more.
 */
const char *gpu_order(size_t i);

/* The NCCL module of the build tree as a backend, for rows; name is NULL where it cannot be loaded. */
extern struct dt_backend gpu_backend;

/* GPUs that the module can use, asked in a process of its own; 0 with the reason in why. */
int gpu_count(char *why, size_t size);

/* The test's whole output where there are too few GPUs. */
int gpu_skip(const char *why);

/* Runs body on each rank of a world on this node's GPUs; whether all said "well". */
bool gpu_run(const char *name, struct fork_layout layout, fork_body *body);

#endif
