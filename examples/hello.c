/*
 * hello.c - who am I, which are my groups, and one all-reduce in each.
 *
 *   srun -N4 --ntasks-per-node=8 --dtrain-tp=8 --dtrain-pp=2 ./hello
 *
 * hello SECONDS stays that long, all-reducing over the whole world, so that one
 * can watch a failure.
 */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct {
    const char *name;
    unsigned axis;
} axes[] = {
    {"tp", DTRAIN_TP},
    {"cp", DTRAIN_CP},
    {"dp", DTRAIN_DP},
    {"pp", DTRAIN_PP},
    {"etp", DTRAIN_EXPERT | DTRAIN_TP},
    {"ep", DTRAIN_EXPERT | DTRAIN_EP},
    {"edp", DTRAIN_EXPERT | DTRAIN_DP},
};

#define AXES (sizeof(axes) / sizeof(axes[0]))

/* The sum of all members' world ranks, which every member can compute by itself too. */
static int sum_ranks(struct dtrain_world *world, unsigned axis, struct dtrain_stream *stream, int *sum,
                     struct dtrain_error *err)
{
    struct dtrain_comm *comm;

    *sum = dtrain_rank(world);
    if (dtrain_comm_get(world, axis, &comm, err) < 0 ||
        dtrain_all_reduce(comm, sum, sum, 1, DTRAIN_INT32, DTRAIN_SUM, stream, err) < 0)
        return -1;
    return dtrain_stream_synchronize(stream, err);
}

static int expected_sum(const struct dtrain_world *world, const struct dtrain_group *group)
{
    int sum = 0;

    for (int i = 0; i < group->size; i++)
        sum += dtrain_group_member(world, group, i);
    return sum;
}

/* Appends " tp=1/2(0,1)" to the line: coordinate, size, members. */
static int say_axis(struct dtrain_world *world, size_t i, struct dtrain_stream *stream, FILE *line,
                    struct dtrain_error *err)
{
    struct dtrain_group group;
    int sum;

    if (dtrain_group_get(world, axes[i].axis, &group, err) < 0 ||
        sum_ranks(world, axes[i].axis, stream, &sum, err) < 0)
        return -1;
    if (sum != expected_sum(world, &group)) {
        snprintf(err->text, sizeof(err->text), "all-reduce over %s gave %d, expected %d", axes[i].name, sum,
                 expected_sum(world, &group));
        return -1;
    }
    fprintf(line, " %s=%d/%d(", axes[i].name, dtrain_coord(world, axes[i].axis), group.size);
    for (int m = 0; m < group.size; m++)
        fprintf(line, "%s%d", m > 0 ? "," : "", dtrain_group_member(world, &group, m));
    fputc(')', line);
    return 0;
}

static int say_hello(struct dtrain_world *world, struct dtrain_stream *stream, struct dtrain_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&text, &size);
    int rank = dtrain_rank(world), rc = 0;

    if (line == NULL) {
        snprintf(err->text, sizeof(err->text), "out of memory");
        return -1;
    }
    fprintf(line, "rank %d of %d on %s (node %d of %d, local rank %d of %d, %s):", rank, dtrain_size(world),
            dtrain_node_name(world, rank), dtrain_node(world), dtrain_node_count(world),
            dtrain_local_rank(world), dtrain_local_size(world), dtrain_backend(world));
    for (size_t i = 0; i < AXES && rc == 0; i++)
        rc = say_axis(world, i, stream, line, err);
    fclose(line);
    if (rc == 0)
        puts(text);
    fflush(stdout);
    free(text);
    return rc;
}

static int stay(struct dtrain_world *world, int seconds, struct dtrain_stream *stream,
                struct dtrain_error *err)
{
    time_t end = time(NULL) + seconds;
    int sum, rc = 0, go_on = seconds > 0;
    struct dtrain_comm *comm;

    if (dtrain_comm_get(world, DTRAIN_WORLD, &comm, err) < 0)
        return -1;
    while (rc == 0 && go_on) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        sum = time(NULL) < end;
        rc = dtrain_all_reduce(comm, &sum, &sum, 1, DTRAIN_INT32, DTRAIN_MIN, stream, err);
        if (rc == 0)
            rc = dtrain_stream_synchronize(stream, err);
        go_on = sum;
    }
    return rc;
}

static int run(struct dtrain_world *world, int seconds, struct dtrain_error *err)
{
    struct dtrain_stream *stream;
    int rc;

    if (dtrain_stream_create(world, &stream, err) < 0)
        return -1;
    rc = say_hello(world, stream, err);
    if (rc == 0 && seconds > 0)
        rc = stay(world, seconds, stream, err);
    if (dtrain_stream_destroy(stream, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

int main(int argc, char **argv)
{
    struct dtrain_world *world;
    struct dtrain_error err;
    int seconds = argc > 1 ? atoi(argv[1]) : 0, rank, rc;

    if (dtrain_init(&world, NULL, &err) < 0) {
        fprintf(stderr, "hello: %s\n", err.text);
        return 1;
    }
    rank = dtrain_rank(world);
    rc = run(world, seconds, &err);
    if (rc < 0)
        fprintf(stderr, "hello: rank %d: %s\n", rank, err.text);
    if (dtrain_finalize(world, &err) < 0 && rc == 0) {
        fprintf(stderr, "hello: rank %d: %s\n", rank, err.text);
        rc = -1;
    }
    return rc == 0 ? 0 : 1;
}
