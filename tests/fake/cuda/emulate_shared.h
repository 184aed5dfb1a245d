/* emulate_shared.h - the shared memory of the block that runs, a variable after another. */
#ifndef DT_TESTS_FAKE_CUDA_EMULATE_SHARED_H
#define DT_TESTS_FAKE_CUDA_EMULATE_SHARED_H

#include <stddef.h>

enum { EMULATE_SHARED_MAX = 48 << 10 }; /* bytes of a block, where a kernel does not ask for more */

/* A launch, with what it asks for itself; a block of it: all variables are without a value; its end. */
void emulate_shared_open(size_t bytes);
void emulate_shared_reset(void);
void emulate_shared_close(void);

#endif
