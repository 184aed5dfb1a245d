#define _GNU_SOURCE /* sched_setaffinity */
#include "topo/apply.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPUS_MAX 65536 /* more than Linux has; a mask beyond is not a machine's */
#define NUMAS_MAX 1024 /* what Linux has at most */
#define WORD_BITS (8 * (int)sizeof(unsigned long))

int dt_apply_cpus(hwloc_const_bitmap_t cpus, struct dtrain_error *err)
{
    int last = hwloc_bitmap_last(cpus), rc;
    size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *set;

    if (last < 0 || last >= CPUS_MAX)
        return dt_error_set(err, "a CPU mask that is %s: expected some of CPUs 0 to %d",
                            hwloc_bitmap_iszero(cpus) ? "empty" : "without end", CPUS_MAX - 1);
    set = CPU_ALLOC(CPUS_MAX);
    if (set == NULL)
        return dt_error_memory(err, bytes, "a CPU mask");
    CPU_ZERO_S(bytes, set);
    for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu))
        CPU_SET_S((size_t)cpu, bytes, set);
    rc = sched_setaffinity(0, bytes, set);
    CPU_FREE(set);
    if (rc)
        return dt_error_set(err, "cannot bind to the %d CPUs from %d to %d: %s", hwloc_bitmap_weight(cpus),
                            hwloc_bitmap_first(cpus), last, strerror(errno));
    return 0;
}

int dt_apply_memory(int numa, struct dtrain_error *err)
{
    unsigned long mask[NUMAS_MAX / WORD_BITS] = {0};

    if (numa < 0 || numa >= NUMAS_MAX)
        return dt_error_set(err, "NUMA node %d: expected 0 to %d", numa, NUMAS_MAX - 1);
    mask[numa / WORD_BITS] = 1ul << numa % WORD_BITS;
    /* The kernel reads one bit fewer than it is told of. */
    if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask, (unsigned long)NUMAS_MAX + 1))
        return dt_error_set(err, "cannot prefer memory of NUMA node %d: %s", numa, strerror(errno));
    return 0;
}
