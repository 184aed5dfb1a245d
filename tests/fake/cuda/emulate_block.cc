/*
 * A warp runs until all of its lanes wait for the whole block or have ended, then the next one does: what
 * two warps do between two barriers is as far apart as it can be. Where nobody can run and somebody waits for
 * what cannot come, that is the violation.
 */
#include "emulate_block.h"

#include <stdarg.h>
#include <stdio.h>

#include "emulate_fiber.h"
#include "emulate_order.h"
#include "emulate_shared.h"

extern "C" {
#include "tests/fake/nccl/fake.h"
}

static_assert((int)EMULATE_THREADS_MAX <= (int)EMULATE_FIBERS_MAX, "a fiber for each thread");

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

enum state { READY, AT_BARRIER, AT_MEETING, ENDED };

struct value {
    unsigned char bytes[16];
};

struct thread {
    enum state state;
    const char *file; /* where it waits */
    int line;
    int vote;      /* for its barrier */
    unsigned mask; /* of its meeting */
    struct value brought;
};

/* What a meeting left to its lanes; kept until all have taken it, as they run before the next one. */
struct meeting {
    unsigned came[EMULATE_WARP]; /* of each lane's own */
    struct value brought[EMULATE_WARP];
};

static struct {
    const struct emulate_job *job;
    unsigned block, count, current;
    bool is_broken;
    int verdict; /* of the last barrier */
    struct thread threads[EMULATE_THREADS_MAX];
    struct meeting meetings[EMULATE_WARPS_MAX];
} b;

void emulate_block_fail(const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (b.is_broken)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    b.is_broken = true;
    fake_violation("kernel %s (%s:%d), block %u: %s", b.job->kernel.name, b.job->kernel.file,
                   b.job->kernel.line, b.block, text);
}

/* ---- Called by a thread ------------------------------------------------------- */

static struct thread *wait_at(enum state state, const char *file, int line)
{
    unsigned at = b.current;
    struct thread *thread = &b.threads[at];

    thread->state = state;
    thread->file = file;
    thread->line = line;
    emulate_fiber_wait(at);
    return thread;
}

int emulate_barrier(int value, const char *file, int line)
{
    b.threads[b.current].vote = value;
    wait_at(AT_BARRIER, file, line);
    return b.verdict;
}

unsigned emulate_lane(void)
{
    return b.current % EMULATE_WARP;
}

unsigned emulate_meet(unsigned mask, const void *value, size_t size, const char *file, int line)
{
    struct thread *thread = &b.threads[b.current];

    if (size > sizeof(thread->brought)) {
        emulate_block_fail("a lane brings %zu bytes to %s:%d: %zu is the most", size, file, line,
                           sizeof(thread->brought));
        size = sizeof(thread->brought);
    }
    memcpy(thread->brought.bytes, value, size);
    thread->mask = mask;
    wait_at(AT_MEETING, file, line);
    return b.meetings[b.current / EMULATE_WARP].came[emulate_lane()];
}

void emulate_take(unsigned lane, void *value, size_t size)
{
    const struct thread *thread = &b.threads[b.current];
    const struct meeting *meeting = &b.meetings[b.current / EMULATE_WARP];

    if (lane >= EMULATE_WARP || (meeting->came[emulate_lane()] >> lane & 1) == 0)
        emulate_block_fail("thread %u takes what lane %u did not bring to %s:%d", b.current, lane,
                           thread->file, thread->line);
    else if (size <= sizeof(meeting->brought[lane].bytes))
        memcpy(value, meeting->brought[lane].bytes, size);
}

/* ---- Who runs next -------------------------------------------------------------- */

static void run_thread(unsigned)
{
    b.job->run(b.job);
}

static void resume(unsigned at)
{
    b.current = at;
    threadIdx.x = at % blockDim.x;
    threadIdx.y = at / blockDim.x % blockDim.y;
    threadIdx.z = at / blockDim.x / blockDim.y;
    if (emulate_fiber_resume(at, run_thread))
        b.threads[at].state = ENDED;
}

static bool is_one_place(const struct thread *a, const struct thread *b)
{
    return a->line == b->line && (a->file == b->file || strcmp(a->file, b->file) == 0);
}

/* Whether the thread `other`, which the mask of `at` names, is where that one waits. */
static bool has_come(unsigned at, unsigned other)
{
    const struct thread *mine = &b.threads[at], *one = &b.threads[other];

    if (one->state == AT_MEETING && is_one_place(one, mine) && one->mask == mine->mask)
        return true;
    emulate_block_fail("thread %u waits at %s:%d for the lanes 0x%08x; thread %u waits at %s:%d", at,
                       mine->file, mine->line, mine->mask, other, one->file, one->line);
    return false;
}

/* Those of the mask of a lane that waits, once all are there; 0: a violation. */
static unsigned gather(unsigned at)
{
    unsigned first = at / EMULATE_WARP * EMULATE_WARP, came = 0;
    const struct thread *thread = &b.threads[at];

    if ((thread->mask >> at % EMULATE_WARP & 1) == 0) {
        emulate_block_fail("thread %u is not in the mask 0x%08x that it brings to %s:%d", at, thread->mask,
                           thread->file, thread->line);
        return 0;
    }
    for (unsigned lane = 0; lane < EMULATE_WARP && first + lane < b.count; lane++) {
        if ((thread->mask >> lane & 1) == 0 || b.threads[first + lane].state == ENDED)
            continue;
        if (!has_come(at, first + lane))
            return 0;
        came |= 1u << lane;
    }
    return came;
}

/* Lets all lanes of the warp that wait for each other go on; whether there are any. */
static bool release_warp(unsigned warp)
{
    unsigned first = warp * EMULATE_WARP, came = 0, all = 0;
    struct meeting *meeting = &b.meetings[warp];

    for (unsigned lane = 0; lane < EMULATE_WARP && first + lane < b.count; lane++) {
        struct thread *thread = &b.threads[first + lane];

        if (thread->state != AT_MEETING)
            continue;
        if ((came >> lane & 1) == 0)
            came = gather(first + lane); /* for all of them */
        if (b.is_broken)
            return false;
        meeting->came[lane] = came;
        meeting->brought[lane] = thread->brought;
        all |= 1u << lane;
    }
    for (unsigned lane = 0; lane < EMULATE_WARP; lane++) {
        if (all >> lane & 1)
            b.threads[first + lane].state = READY;
    }
    return all != 0;
}

static void run_warp(unsigned warp)
{
    unsigned order[EMULATE_WARP], first = warp * EMULATE_WARP, lanes = EMULATE_WARP;

    if (lanes > b.count - first)
        lanes = b.count - first;

    do {
        emulate_order_make(order, lanes);
        for (unsigned i = 0; i < lanes; i++) {
            if (b.threads[first + order[i]].state == READY)
                resume(first + order[i]);
        }
    } while (!b.is_broken && release_warp(warp));
}

/* Once no thread can run: lets all go on from one barrier; whether there are any. */
static bool release_block(void)
{
    const struct thread *one = NULL;

    b.verdict = 0;
    for (unsigned at = 0; at < b.count; at++) {
        const struct thread *thread = &b.threads[at];

        if (thread->state == ENDED)
            continue;
        if (one == NULL)
            one = thread;
        if (!is_one_place(thread, one)) {
            emulate_block_fail("thread %u waits at the barrier of %s:%d, thread %u at that of %s:%d",
                               (unsigned)(one - b.threads), one->file, one->line, at, thread->file,
                               thread->line);
            return false;
        }
        b.verdict |= thread->vote != 0;
    }
    for (unsigned at = 0; at < b.count; at++) {
        if (b.threads[at].state == AT_BARRIER)
            b.threads[at].state = READY;
    }
    return one != NULL;
}

static void start(const struct emulate_job *job, unsigned block)
{
    const dim3 *grid = &job->config.grid;

    b.job = job;
    b.block = block;
    b.is_broken = false;
    gridDim = *grid;
    blockDim = job->config.block;
    blockIdx.x = block % grid->x;
    blockIdx.y = block / grid->x % grid->y;
    blockIdx.z = block / grid->x / grid->y;
    b.count = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned at = 0; at < b.count; at++)
        b.threads[at].state = READY;
    emulate_shared_reset();
}

bool emulate_block_run(const struct emulate_job *job, unsigned block)
{
    unsigned order[EMULATE_WARPS_MAX], warps;

    start(job, block);
    warps = (b.count + EMULATE_WARP - 1) / EMULATE_WARP;
    do {
        emulate_order_make(order, warps);
        for (unsigned i = 0; i < warps && !b.is_broken; i++)
            run_warp(order[i]);
    } while (!b.is_broken && release_block());
    for (unsigned at = 0; b.is_broken && at < b.count; at++)
        emulate_fiber_forget(at);
    return !b.is_broken;
}
