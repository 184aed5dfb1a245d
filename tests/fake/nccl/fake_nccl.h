/*
 * fake_nccl.h - what a test asks of the double of libnccl beside NCCL's own
 * functions.
 *
 * Environment, read when first needed:
 *   FAKE_CUDA_DEVICES=n          devices of a host (8)
 *   FAKE_CUDA_MEMORY_MIB=n       memory of a device (4096)
 *   FAKE_NCCL_RANK=r             this process, for faults and reports; else RANK, SLURM_PROCID
 *   FAKE_NCCL_FAIL=...           faults: "ncclAllReduce:3:ncclSystemError@rank=2;..." (fake_fault.c)
 *   FAKE_NCCL_VIOLATIONS=report  a broken contract does not change the exit status
 *   FAKE_NCCL_VERSION=21900      what ncclGetVersion() says; newer functions are violations
 *   FAKE_NCCL_ALLOW_SIZE1=1      communicators of one rank are no violation
 *   FAKE_NCCL_PROGRESS_US=n      how long a non-blocking call stays in progress at least (2000)
 *   FAKE_NCCL_PEER_ERROR_MS=n    when a lost peer becomes ncclRemoteError (-1: never)
 *   FAKE_NCCL_INIT_MS=n          a creation that took as long is a violation (30000)
 *   FAKE_NCCL_HANG_MS=n          an operation that waited as long is reported as violation (30000)
 *   NCCL_SOCKET_IFNAME, NCCL_HOSTID as for NCCL
 */
#ifndef DT_TESTS_FAKE_NCCL_H
#define DT_TESTS_FAKE_NCCL_H

#include <nccl.h>
#include <stdbool.h>

struct fake_nccl_counts {
    int ids;           /* ncclGetUniqueId */
    int inits;         /* communicators made from ids */
    int size1;         /* communicators of one rank, however made */
    int splits, shrinks, revokes, aborts, finalizes, destroys;
    int groups;        /* outermost ncclGroupEnd */
    int ops;           /* collectives, sends, receives */
    int registrations; /* buffers and windows */
    int polls;         /* ncclCommGetAsyncError */
    int live_comms;
    int violations;
};

/* The configuration that a communicator runs with. 0; -1: it is none. */
int fake_nccl_config(ncclComm_t comm, ncclConfig_t *config);
int fake_nccl_counts(struct fake_nccl_counts *counts);
/* Adds faults, written as in FAKE_NCCL_FAIL. 0; -1: it cannot be read. */
int fake_nccl_fail(const char *text);

#endif
