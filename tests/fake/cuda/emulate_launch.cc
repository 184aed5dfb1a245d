/* Launches: CUDA's limits when they are queued, one block after another when their stream comes to them. */
#include <pthread.h>

#include "emulate.h"
#include "emulate_block.h"
#include "emulate_order.h"
#include "emulate_shared.h"

extern "C" {
#include "tests/fake/nccl/fake.h"
}

enum { GRID_YZ_MAX = 65535, BLOCK_Z_MAX = 64 };

/* Streams run at once, each in a thread of its own; launches do not. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL, or the limit that the launch breaks. */
static const char *limit_of(const struct emulate_config *config)
{
    const dim3 *grid = &config->grid, *block = &config->block;

    if (grid->x == 0 || grid->y == 0 || grid->z == 0)
        return "a grid has at least a block";
    if (grid->x > INT32_MAX || grid->y > GRID_YZ_MAX || grid->z > GRID_YZ_MAX)
        return "a grid has at most 2147483647, 65535 and 65535 blocks";
    if (block->x == 0 || block->y == 0 || block->z == 0)
        return "a block has at least a thread";
    if (block->z > BLOCK_Z_MAX || (uint64_t)block->x * block->y * block->z > EMULATE_THREADS_MAX)
        return "a block has at most 1024 threads, and 64 in z";
    return config->shared > EMULATE_SHARED_MAX ? "a block has at most 48 KiB of shared memory" : NULL;
}

static void CUDART_CB run(void *argument)
{
    struct emulate_job *job = (struct emulate_job *)argument;
    const dim3 *grid = &job->config.grid;
    unsigned blocks = grid->x * grid->y * grid->z;
    unsigned *order = (unsigned *)malloc(blocks * sizeof(*order));
    bool ok = order != NULL;

    if (!ok)
        abort();
    pthread_mutex_lock(&lock);
    emulate_order_make(order, blocks);
    emulate_shared_open(job->config.shared);
    for (unsigned i = 0; i < blocks && ok; i++)
        ok = emulate_block_run(job, order[i]);
    emulate_shared_close();
    pthread_mutex_unlock(&lock);
    free(order);
    free(job);
}

void emulate_enqueue(struct emulate_job *job)
{
    const struct emulate_config *c = &job->config;
    const char *limit = limit_of(c);

    if (limit != NULL)
        fake_violation("kernel %s (%s:%d) is launched with a grid of %u x %u x %u, blocks of %u x %u x %u "
                       "and %zu bytes of shared memory: %s",
                       job->kernel.name, job->kernel.file, job->kernel.line, c->grid.x, c->grid.y, c->grid.z,
                       c->block.x, c->block.y, c->block.z, c->shared, limit);
    /* An error of the stream's is the launch's, and kept for cudaGetLastError(). */
    if (limit != NULL || cudaLaunchHostFunc(c->stream, run, job) != cudaSuccess)
        free(job);
}
