/*
 * allreduce_dtrain.c - the same program with dtrain: the communicator of the
 * data-parallel group comes ready, on the task's own GPU, without MPI. Here
 * every rank is in it; with --dtrain-tp=8 there would be one for each axis.
 *
 *     cc allreduce_dtrain.c allreduce.c $(pkg-config --cflags --libs dtrain) -lnccl -lcudart
 *     srun --dtrain=on ./a.out
 */
#include <dtrain_nccl.h>
#include <stdio.h>

#include "allreduce.h"

int main(void)
{
    struct dtrain_world *world;
    struct dtrain_comm *group;
    struct dtrain_error err;
    ncclComm_t comm;
    int rank, size, rc;

    if (dtrain_init(&world, NULL, &err) != 0 || dtrain_comm_get(world, DTRAIN_DP, &group, &err) != 0 ||
        dtrain_nccl_comm(group, &comm, &err) != 0) {
        fprintf(stderr, "%s\n", err.text); /* who did not come, or differs, and why */
        return 1;
    }
    cudaSetDevice(dtrain_nccl_device(world));
    rank = dtrain_comm_rank(group);
    size = dtrain_comm_size(group);

    rc = allreduce_run(comm, rank, size, 1 << 20);
    printf("rank %d of %d: %s\n", rank, size, rc == 0 ? "right" : "wrong");

    dtrain_finalize(world, NULL);
    return rc;
}
