/* fake_summary.c - at the end of a process: what it called, and what each communicator ran with. */
#include <stdio.h>
#include <unistd.h>

#include "fake_comm.h"

#define LINE_MAX_ 512

/* One write: lines of several processes share a pipe. */
static void say(const char *line, int length)
{
    if (length >= LINE_MAX_ || write(STDERR_FILENO, line, (size_t)length) < 0)
        perror("fake nccl: stderr");
}

static void say_counts(void)
{
    struct fake_nccl_counts counts;
    char line[LINE_MAX_];

    fake_nccl_counts(&counts);
    say(line,
        snprintf(line, sizeof(line),
                 "fake nccl: rank %d: ids=%d inits=%d size1=%d splits=%d shrinks=%d revokes=%d aborts=%d "
                 "finalizes=%d destroys=%d live=%d violations=%d\n",
                 fake_rank(), counts.ids, counts.inits, counts.size1, counts.splits, counts.shrinks,
                 counts.revokes, counts.aborts, counts.finalizes, counts.destroys, counts.live_comms,
                 counts.violations));
}

static void say_comm(const struct ncclComm *comm)
{
    const ncclConfig_t *config = &comm->config;
    char line[LINE_MAX_];

    say(line, snprintf(line, sizeof(line),
                       "fake nccl: rank %d: %s: rank %d of %d, minCTAs=%d maxCTAs=%d cgaClusterSize=%d "
                       "netName=%s\n",
                       fake_rank(), comm->name, comm->rank, comm->nranks, config->minCTAs, config->maxCTAs,
                       config->cgaClusterSize, comm->net_name));
}

void fake_summary_say(const struct ncclComm *comms)
{
    if (fake_env_int("FAKE_NCCL_SUMMARY", 0) == 0)
        return;
    say_counts();
    for (const struct ncclComm *one = comms; one != NULL; one = one->next)
        say_comm(one);
}
