/* emulate_block.h - the threads of one block: who runs, who waits for whom, and whether that can end. */
#ifndef DT_TESTS_FAKE_CUDA_EMULATE_BLOCK_H
#define DT_TESTS_FAKE_CUDA_EMULATE_BLOCK_H

#include "emulate.h"

enum {
    EMULATE_THREADS_MAX = 1024,
    EMULATE_WARP = 32,
    EMULATE_WARPS_MAX = EMULATE_THREADS_MAX / EMULATE_WARP,
};

/* Runs a block of the launch to its end. false: there was a violation, and the block was left. */
bool emulate_block_run(const struct emulate_job *job, unsigned block);

/* A violation of the block that runs, which ends here; only its first one is said. */
void emulate_block_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
