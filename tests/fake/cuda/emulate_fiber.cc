/* Made by ucontext; switched by _setjmp() and _longjmp(), which ask the kernel for nothing. */
#include "emulate_fiber.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "emulate_asan.h"

enum { STACK = 128 << 10, GUARD = 64 << 10 };

struct fiber {
    char *stack;
    void (*body)(unsigned at);
    bool is_made, is_inside; /* is_inside: of its body */
    jmp_buf place;
    void *fake_stack;
};

static struct fiber fibers[EMULATE_FIBERS_MAX];

/* Who resumes. */
static struct {
    jmp_buf place;
    void *fake_stack;
    const void *stack;
    size_t stack_size;
} outside;

static void leave(struct fiber *fiber)
{
    emulate_asan_start(&fiber->fake_stack, outside.stack, outside.stack_size);
    if (_setjmp(fiber->place) == 0)
        emulate_jump(outside.place);
    emulate_asan_finish(fiber->fake_stack, &outside.stack, &outside.stack_size);
}

static void start(unsigned at)
{
    struct fiber *fiber = &fibers[at];

    emulate_asan_finish(NULL, &outside.stack, &outside.stack_size);
    for (;;) {
        fiber->body(at);
        fiber->is_inside = false;
        leave(fiber);
    }
}

static void make_stack(struct fiber *fiber)
{
    fiber->stack = (char *)mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->stack == MAP_FAILED || mprotect(fiber->stack, GUARD, PROT_NONE) != 0)
        abort();
}

static void enter(unsigned at)
{
    struct fiber *fiber = &fibers[at];
    static ucontext_t context;

    emulate_asan_start(&outside.fake_stack, fiber->stack + GUARD, STACK);
    if (fiber->is_made)
        emulate_jump(fiber->place);
    fiber->is_made = true;
    emulate_asan_clear(fiber->stack + GUARD, STACK);
    if (getcontext(&context) != 0)
        abort();
    context.uc_stack.ss_sp = fiber->stack + GUARD;
    context.uc_stack.ss_size = STACK;
    makecontext(&context, (void (*)(void))start, 1, at);
    setcontext(&context);
    abort();
}

bool emulate_fiber_resume(unsigned at, void (*body)(unsigned at))
{
    if (fibers[at].stack == NULL)
        make_stack(&fibers[at]);
    if (!fibers[at].is_inside)
        fibers[at].body = body;
    fibers[at].is_inside = true;
    if (_setjmp(outside.place) == 0)
        enter(at);
    emulate_asan_finish(outside.fake_stack, NULL, NULL);
    return !fibers[at].is_inside;
}

void emulate_fiber_wait(unsigned at)
{
    leave(&fibers[at]);
}

void emulate_fiber_forget(unsigned at)
{
    fibers[at].is_made = fibers[at].is_inside = false;
}
