/*
 * grid.h - this rank's place in the step and what it talks through: a
 * communicator for each axis and a stream. Communication on it comes after what
 * was computed before it and before what is computed later; nothing waits for it
 * but the device (compute.h). What the library moves beside computing (buckets of
 * gradients, the pipeline's transfers) has streams of the library's.
 */
#ifndef TRAIN_GRID_H
#define TRAIN_GRID_H

#include "compute.h"
#include "dtrain_tp.h"
#include "shape.h"

struct grid {
    struct dtrain_world *world; /* borrowed */
    struct compute *compute;
    struct layout layout;
    struct dtrain_comm *tp, *pp, *dp, *cp;
    struct dtrain_comm *ep; /* of the expert grid; NULL without experts */
    struct dtrain_stream *main;
    struct dtrain_tp moves; /* what tensor parallel layers move through */
    void *staging;          /* device memory for what travels from host to host */
    bool is_apart;          /* parameter servers: layout.dp is that of workers, who reduce nothing over dp */
    int speaker;            /* world rank that reports */
};

/* Starts *grid. Refuses a world with axes that these options have no use for; every rank finds the same. */
int grid_choose(struct grid *grid, struct dtrain_world *world, const struct options *options,
                struct dtrain_error *err);

/* Gets what a run of these options needs. The caller ends it with grid_close(), also after a failure. */
int grid_open(struct grid *grid, const struct options *options, struct dtrain_error *err);
int grid_close(struct grid *grid, struct dtrain_error *err);

/* Waits until nothing queued uses any memory, whether it failed or not. */
void grid_settle(struct grid *grid);

/*
 * Where work of the library's for the device is queued, in the order of operations; then grid_follow(),
 * before what is computed or read next.
 */
struct dtrain_stream *grid_stream(const struct grid *grid);
int grid_follow(struct grid *grid, struct dtrain_error *err);

bool grid_is_first(const struct grid *grid); /* world rank 0, which reads and writes files */

/* x[count] = op over the ranks of comm, in place, in device memory. */
int grid_reduce(struct grid *grid, struct dtrain_comm *comm, void *x, size_t count, enum dtrain_type type,
                enum dtrain_op op, struct dtrain_error *err);

/* to[tp, count] = the count elements at `from` of each tp rank, in device memory. */
int grid_gather(struct grid *grid, const void *from, void *to, size_t count, enum dtrain_type type,
                struct dtrain_error *err);

/* Transfers between pipeline stages, in device memory. */
int grid_transfer(struct grid *grid, const struct dtrain_transfer *transfers, size_t n,
                  struct dtrain_error *err);

/* grid_reduce() for a few doubles in host memory; n <= GRID_VALUES_MAX. */
#define GRID_VALUES_MAX 8
int grid_reduce_values(struct grid *grid, struct dtrain_comm *comm, double *values, size_t n,
                       enum dtrain_op op, struct dtrain_error *err);

/* Host memory of world rank 0 to all ranks. */
int grid_share(struct grid *grid, void *host, size_t bytes, struct dtrain_error *err);

/*
 * Whether all ranks succeeded: 0 if rc was 0 on all of them, else -1. Where rc was 0 and another
 * rank failed, err becomes empty, so that the failure is told once, by who met it.
 */
int grid_agree(struct grid *grid, int rc, struct dtrain_error *err);

#endif
