/*
 * sum.c - who am I, and a sum over my data-parallel group. The value lies in
 * memory of the backend's: the host's, or the GPU's with NCCL.
 */
#include <dtrain.h>
#include <stdio.h>

static int reduce(struct dtrain_comm *comm, float *value, void *memory,
                  struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (dtrain_copy(memory, value, sizeof(*value), stream, err) != 0 ||
        dtrain_all_reduce(comm, memory, memory, 1, DTRAIN_FLOAT32,
                          DTRAIN_SUM, stream, err) != 0 ||
        dtrain_copy(value, memory, sizeof(*value), stream, err) != 0)
        return -1;
    return dtrain_stream_synchronize(stream, err);
}

static int sum(struct dtrain_world *world, float *value,
               struct dtrain_error *err)
{
    struct dtrain_stream *stream;
    struct dtrain_comm *comm;
    void *memory = NULL;
    int rc = -1;

    if (dtrain_stream_create(world, &stream, err) != 0)
        return -1;
    if (dtrain_comm_get(world, DTRAIN_DP, &comm, err) == 0 &&
        dtrain_memory_alloc(world, sizeof(*value), &memory, err) == 0)
        rc = reduce(comm, value, memory, stream, err);
    if (dtrain_stream_destroy(stream, rc == 0 ? err : NULL) != 0)
        rc = -1;
    dtrain_memory_free(world, memory);
    return rc;
}

static int show(struct dtrain_world *world, struct dtrain_error *err)
{
    int rank = dtrain_rank(world);
    float value = (float)rank;

    if (sum(world, &value, err) != 0)
        return -1;
    printf("rank %d of %d on %s: tp %d, dp %d, pp %d, sum %g\n", rank,
           dtrain_size(world), dtrain_node_name(world, rank),
           dtrain_coord(world, DTRAIN_TP), dtrain_coord(world, DTRAIN_DP),
           dtrain_coord(world, DTRAIN_PP), value);
    return 0;
}

static int report(int rc, const struct dtrain_error *err)
{
    if (rc != 0)
        fprintf(stderr, "%s\n", err->text);
    return rc;
}

int main(void)
{
    struct dtrain_world *world;
    struct dtrain_error err;
    int rc;

    if (report(dtrain_init(&world, NULL, &err), &err) != 0)
        return 1;
    rc = report(show(world, &err), &err);
    if (report(dtrain_finalize(world, &err), &err) != 0)
        rc = -1;
    return rc == 0 ? 0 : 1;
}
