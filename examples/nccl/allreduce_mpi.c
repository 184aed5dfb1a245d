/*
 * allreduce_mpi.c - an NCCL program as it is often written: MPI hands out the
 * id. Compare with allreduce_dtrain.c. Built where there is an MPI:
 *
 *     mpicc allreduce_mpi.c allreduce.c -lnccl -lcudart
 *     srun --mpi=pmix ./a.out
 */
#include <mpi.h>
#include <stdio.h>

#include "allreduce.h"

int main(int argc, char **argv)
{
    int rank, size, local, rc;
    ncclUniqueId id;
    ncclComm_t comm;
    MPI_Comm node;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    if (rank == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    cudaSetDevice(local);
    if (ncclCommInitRank(&comm, size, id, rank) != ncclSuccess)
        return 1; /* which rank did not come, nobody says */

    rc = allreduce_run(comm, rank, size, 1 << 20);
    printf("rank %d of %d: %s\n", rank, size, rc == 0 ? "right" : "wrong");

    ncclCommDestroy(comm);
    MPI_Finalize();
    return rc;
}
