#include "grid.h"

#include "error.h"

/* What is shared goes in pieces of this size. */
enum { STAGING_BYTES = 1 << 20 };

static int axis_open(struct grid *grid, unsigned bit, struct axis *axis, struct dtrain_comm **comm,
                     struct dtrain_error *err)
{
    if (dtrain_comm_get(grid->world, bit, comm, err) != 0)
        return -1;
    axis->size = dtrain_comm_size(*comm);
    axis->rank = dtrain_comm_rank(*comm);
    return 0;
}

int grid_choose(struct grid *grid, struct dtrain_world *world, const struct options *options,
                struct dtrain_error *err)
{
    struct dtrain_group group;

    *grid = (struct grid){.world = world};
    if (dtrain_group_get(world, DTRAIN_EXPERT | DTRAIN_EP, &group, err) != 0)
        return -1;
    if (group.size > 1 && options->experts == 0)
        return error_set(
            err, "--dtrain-ep=%d: this program has no experts without --experts=N: add it, or leave it out",
            group.size);
    if (options->experts == 0)
        return 0;
    if (dtrain_group_get(world, DTRAIN_EXPERT | DTRAIN_TP, &group, err) != 0)
        return -1;
    if (group.size > 1)
        return error_set(err,
                         "--experts=%d with etp=%d: this program does not split an expert: use "
                         "--dtrain-tp=1 and --dtrain-etp=1",
                         options->experts, group.size);
    return 0;
}

static int experts_open(struct grid *grid, const struct options *options, struct dtrain_error *err)
{
    grid->layout.ep = (struct axis){1, 0};
    if (options->experts == 0)
        return 0;
    return axis_open(grid, DTRAIN_EXPERT | DTRAIN_EP, &grid->layout.ep, &grid->ep, err);
}

int grid_open(struct grid *grid, const struct options *options, struct dtrain_error *err)
{
    if (axis_open(grid, DTRAIN_TP, &grid->layout.tp, &grid->tp, err) != 0 ||
        axis_open(grid, DTRAIN_PP, &grid->layout.pp, &grid->pp, err) != 0 ||
        axis_open(grid, DTRAIN_DP, &grid->layout.dp, &grid->dp, err) != 0 ||
        axis_open(grid, DTRAIN_CP, &grid->layout.cp, &grid->cp, err) != 0 ||
        experts_open(grid, options, err) != 0 || dtrain_stream_create(grid->world, &grid->main, err) != 0 ||
        compute_open(&grid->compute, grid->world, options->type, err) != 0)
        return -1;
    grid->moves = (struct dtrain_tp){
        .comm = grid->tp,
        .stream = grid->main,
        .compute = grid->compute->stream,
        .type = options->type,
        .is_sequence = options->sequence_parallel,
    };
    return dtrain_memory_alloc(grid->world, STAGING_BYTES, &grid->staging, err);
}

void grid_settle(struct grid *grid)
{
    if (grid->main != NULL)
        dtrain_stream_synchronize(grid->main, NULL);
    if (grid->compute != NULL && grid->compute->stream != NULL)
        dtrain_stream_synchronize(grid->compute->stream, NULL);
}

int grid_close(struct grid *grid, struct dtrain_error *err)
{
    int rc = 0;

    if (grid->staging != NULL)
        dtrain_memory_free(grid->world, grid->staging);
    compute_close(grid->compute);
    if (grid->main != NULL)
        rc = dtrain_stream_destroy(grid->main, err);
    *grid = (struct grid){0};
    return rc;
}

struct dtrain_stream *grid_stream(const struct grid *grid)
{
    return grid->compute->stream != NULL ? grid->compute->stream : grid->main;
}

int grid_follow(struct grid *grid, struct dtrain_error *err)
{
    return grid->compute->stream != NULL ? 0 : dtrain_stream_synchronize(grid->main, err);
}

bool grid_is_first(const struct grid *grid)
{
    return dtrain_rank(grid->world) == 0;
}

int grid_reduce(struct grid *grid, struct dtrain_comm *comm, void *x, size_t count, enum dtrain_type type,
                enum dtrain_op op, struct dtrain_error *err)
{
    if (dtrain_comm_size(comm) == 1)
        return 0;
    if (compute_precede(grid->compute, grid->main, err) != 0 ||
        dtrain_all_reduce(comm, x, x, count, type, op, grid->main, err) != 0)
        return -1;
    return compute_follow(grid->compute, grid->main, err);
}

int grid_gather(struct grid *grid, const void *from, void *to, size_t count, enum dtrain_type type,
                struct dtrain_error *err)
{
    if (compute_precede(grid->compute, grid->main, err) != 0 ||
        dtrain_all_gather(grid->tp, from, to, count, type, grid->main, err) != 0)
        return -1;
    return compute_follow(grid->compute, grid->main, err);
}

int grid_transfer(struct grid *grid, const struct dtrain_transfer *transfers, size_t n,
                  struct dtrain_error *err)
{
    if (compute_precede(grid->compute, grid->main, err) != 0 ||
        dtrain_transfer(grid->pp, transfers, n, grid->main, err) != 0)
        return -1;
    return compute_follow(grid->compute, grid->main, err);
}

int grid_reduce_values(struct grid *grid, struct dtrain_comm *comm, double *values, size_t n,
                       enum dtrain_op op, struct dtrain_error *err)
{
    if (compute_copy_in(grid->compute, grid->staging, values, n * sizeof(*values), err) != 0 ||
        grid_reduce(grid, comm, grid->staging, n, DTRAIN_FLOAT64, op, err) != 0)
        return -1;
    return compute_copy_out(grid->compute, values, grid->staging, n * sizeof(*values), err);
}

static int broadcast(struct grid *grid, struct dtrain_comm *comm, size_t bytes, struct dtrain_error *err)
{
    if (dtrain_comm_size(comm) == 1)
        return 0;
    if (compute_precede(grid->compute, grid->main, err) != 0 ||
        dtrain_broadcast(comm, grid->staging, bytes, DTRAIN_INT8, 0, grid->main, err) != 0)
        return -1;
    return compute_follow(grid->compute, grid->main, err);
}

/* Along one axis after the other; groups that do not have it yet carry what is overwritten. */
static int share_piece(struct grid *grid, void *host, size_t bytes, struct dtrain_error *err)
{
    if (compute_copy_in(grid->compute, grid->staging, host, bytes, err) != 0 ||
        broadcast(grid, grid->pp, bytes, err) != 0 || broadcast(grid, grid->dp, bytes, err) != 0 ||
        broadcast(grid, grid->cp, bytes, err) != 0 || broadcast(grid, grid->tp, bytes, err) != 0)
        return -1;
    return compute_copy_out(grid->compute, host, grid->staging, bytes, err);
}

int grid_share(struct grid *grid, void *host, size_t bytes, struct dtrain_error *err)
{
    if (dtrain_size(grid->world) == 1)
        return 0;
    for (size_t done = 0; done < bytes; done += STAGING_BYTES) {
        size_t piece = bytes - done < STAGING_BYTES ? bytes - done : STAGING_BYTES;

        if (share_piece(grid, (char *)host + done, piece, err) != 0)
            return -1;
    }
    return 0;
}

int grid_agree(struct grid *grid, int rc, struct dtrain_error *err)
{
    struct dtrain_error later = {""};
    double worst = rc;

    if (grid_reduce_values(grid, grid->tp, &worst, 1, DTRAIN_MIN, &later) != 0 ||
        grid_reduce_values(grid, grid->pp, &worst, 1, DTRAIN_MIN, &later) != 0 ||
        grid_reduce_values(grid, grid->dp, &worst, 1, DTRAIN_MIN, &later) != 0 ||
        grid_reduce_values(grid, grid->cp, &worst, 1, DTRAIN_MIN, &later) != 0 || (rc == 0 && worst != 0)) {
        if (rc == 0)
            *err = later;
        return -1;
    }
    return rc;
}
