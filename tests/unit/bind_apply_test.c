/* Binding this process: read back from the kernel; what it does not take is told. */
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"
#include "topo/apply.h"

#define NUMA_BITS 1024

static void test_cpus(void)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    struct dtrain_error err = {""};
    cpu_set_t all, now;
    int last = CPU_SETSIZE - 1;

    sched_getaffinity(0, sizeof(all), &all);
    while (last > 0 && !CPU_ISSET(last, &all))
        last--;
    hwloc_bitmap_only(cpus, (unsigned)last);
    tap_ok(dt_apply_cpus(cpus, &err) == 0, "binds to CPU %d", last);
    sched_getaffinity(0, sizeof(now), &now);
    tap_ok(CPU_COUNT(&now) == 1 && CPU_ISSET(last, &now), "and the kernel says so");
    hwloc_bitmap_only(cpus, 60000);
    tap_ok(dt_apply_cpus(cpus, &err) == -1, "refuses a CPU that is not there");
    tap_holds(err.text, "cannot bind to the 1 CPUs from 60000 to 60000: Invalid argument", "and says why");
    hwloc_bitmap_zero(cpus);
    tap_ok(dt_apply_cpus(cpus, &err) == -1, "refuses no CPUs");
    tap_holds(err.text, "a CPU mask that is empty", "and says why");
    hwloc_bitmap_fill(cpus);
    tap_ok(dt_apply_cpus(cpus, &err) == -1, "refuses a mask without end");
    tap_holds(err.text, "a CPU mask that is without end", "and says why");
    sched_getaffinity(0, sizeof(now), &now);
    tap_ok(CPU_COUNT(&now) == 1 && CPU_ISSET(last, &now), "a refusal changes nothing");
    hwloc_bitmap_free(cpus);
}

static void test_memory(void)
{
    unsigned long nodes[NUMA_BITS / (8 * sizeof(unsigned long))] = {0};
    struct dtrain_error err = {""};
    int mode = -1;

    if (syscall(SYS_get_mempolicy, &mode, nodes, (unsigned long)NUMA_BITS, NULL, 0)) {
        tap_skip("memory policy", "this kernel has none, or forbids it");
        return;
    }
    tap_ok(dt_apply_memory(0, &err) == 0, "prefers NUMA node 0");
    syscall(SYS_get_mempolicy, &mode, nodes, (unsigned long)NUMA_BITS, NULL, 0);
    tap_ok(mode == MPOL_PREFERRED && nodes[0] == 1, "and the kernel says so");
    tap_ok(dt_apply_memory(1000, &err) == -1, "refuses a NUMA node that is not there");
    tap_holds(err.text, "cannot prefer memory of NUMA node 1000: Invalid argument", "and says why");
    tap_ok(dt_apply_memory(-1, &err) == -1 && dt_apply_memory(1024, &err) == -1, "refuses what no node is");
    tap_holds(err.text, "NUMA node 1024: expected 0 to 1023", "and says why");
}

int main(void)
{
    test_cpus();
    test_memory();
    return tap_done();
}
