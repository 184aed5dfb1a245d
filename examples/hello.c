/* hello.c - who am I, and a sum over my data-parallel group. For the host backend: the value is in memory. */
#include <dtrain.h>
#include <stdio.h>

static int sum(struct dtrain_world *world, float *value, struct dtrain_error *err)
{
    struct dtrain_stream *stream;
    struct dtrain_comm *comm;
    int rc = -1;

    if (dtrain_stream_create(world, &stream, err) != 0)
        return -1;
    if (dtrain_comm_get(world, DTRAIN_DP, &comm, err) == 0 &&
        dtrain_all_reduce(comm, value, value, 1, DTRAIN_FLOAT32, DTRAIN_SUM, stream, err) == 0 &&
        dtrain_stream_synchronize(stream, err) == 0)
        rc = 0;
    dtrain_stream_destroy(stream, rc == 0 ? err : NULL);
    return rc;
}

int main(void)
{
    struct dtrain_world *world;
    struct dtrain_error err;
    float value;
    int rc;

    if (dtrain_init(&world, NULL, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    value = (float)dtrain_rank(world);
    rc = sum(world, &value, &err);
    if (rc == 0)
        printf("rank %d of %d on %s: tp %d, dp %d, pp %d, sum %g\n", dtrain_rank(world), dtrain_size(world),
               dtrain_node_name(world, dtrain_rank(world)), dtrain_coord(world, DTRAIN_TP),
               dtrain_coord(world, DTRAIN_DP), dtrain_coord(world, DTRAIN_PP), value);
    else
        fprintf(stderr, "%s\n", err.text);
    if (dtrain_finalize(world, rc == 0 ? &err : NULL) != 0 && rc == 0) {
        fprintf(stderr, "%s\n", err.text);
        rc = -1;
    }
    return rc == 0 ? 0 : 1;
}
