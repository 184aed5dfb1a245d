/*
 * emulate_fiber.h - a stack for each thread of a block. Only one runs at a time; all calls come from under
 * the emulator's lock, though from any thread of the process.
 */
#ifndef DT_TESTS_FAKE_CUDA_EMULATE_FIBER_H
#define DT_TESTS_FAKE_CUDA_EMULATE_FIBER_H

enum { EMULATE_FIBERS_MAX = 1024 };

/* Runs fiber `at`, at first body(at), until it waits or body returns: true when it returned. */
bool emulate_fiber_resume(unsigned at, void (*body)(unsigned at));
/* Inside a body: back to who resumed it. */
void emulate_fiber_wait(unsigned at);
/* The next resume starts anew: what the body had begun is left where it is. */
void emulate_fiber_forget(unsigned at);

#endif
