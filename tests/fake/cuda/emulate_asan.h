/*
 * emulate_asan.h - tells AddressSanitizer of another stack; nothing where it is not built in. Its own
 * _longjmp() forgets what it knows of the stack that is left, and asks the kernel each time: here that stack
 * is kept, so it is libc's that jumps.
 */
#ifndef DT_TESTS_FAKE_CUDA_EMULATE_ASAN_H
#define DT_TESTS_FAKE_CUDA_EMULATE_ASAN_H

#include <setjmp.h>
#include <stddef.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define EMULATE_ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define EMULATE_ASAN
#endif

#ifdef EMULATE_ASAN
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define emulate_asan_start  __sanitizer_start_switch_fiber
#define emulate_asan_finish __sanitizer_finish_switch_fiber
#define emulate_asan_clear  __asan_unpoison_memory_region
static inline void emulate_jump(jmp_buf place)
{
    static void (*jump)(jmp_buf place, int value);

    if (jump == NULL)
        *(void **)&jump = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "_longjmp");
    jump(place, 1);
}
#else
#define emulate_jump(place) _longjmp(place, 1)
/* Before the switch to this stack. */
static inline void emulate_asan_start(void **, const void *, size_t)
{
}
/* On it; what was left. */
static inline void emulate_asan_finish(void *, const void **, size_t *)
{
}
/* Before a stack is used again from its start. */
static inline void emulate_asan_clear(const void *, size_t)
{
}
#endif

#endif
