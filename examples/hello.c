/*
 * hello.c - who am I, which are my groups, and one all-reduce in each, on CPUs
 * or on GPUs.
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

/* What every operation of this program needs. */
struct place {
    struct dtrain_world *world;
    struct dtrain_stream *stream;
    void *memory; /* an int of the backend's: on the GPU with NCCL */
    int value;    /* goes there, and comes back */
};

/* The value, reduced over a group. */
static int reduce(struct place *on, struct dtrain_comm *comm, enum dtrain_op op, struct dtrain_error *err)
{
    if (dtrain_copy(on->memory, &on->value, sizeof(on->value), on->stream, err) < 0 ||
        dtrain_all_reduce(comm, on->memory, on->memory, 1, DTRAIN_INT32, op, on->stream, err) < 0 ||
        dtrain_copy(&on->value, on->memory, sizeof(on->value), on->stream, err) < 0)
        return -1;
    return dtrain_stream_synchronize(on->stream, err);
}

/* The sum of all members' world ranks, which every member can compute by itself too. */
static int sum_ranks(struct place *on, unsigned axis, struct dtrain_error *err)
{
    struct dtrain_comm *comm;

    on->value = dtrain_rank(on->world);
    if (dtrain_comm_get(on->world, axis, &comm, err) < 0)
        return -1;
    return reduce(on, comm, DTRAIN_SUM, err);
}

static int expected_sum(const struct dtrain_world *world, const struct dtrain_group *group)
{
    int sum = 0;

    for (int i = 0; i < group->size; i++)
        sum += dtrain_group_member(world, group, i);
    return sum;
}

/* Appends " tp=1/2(0,1)" to the line: coordinate, size, members. */
static int say_axis(struct place *on, size_t i, FILE *line, struct dtrain_error *err)
{
    struct dtrain_world *world = on->world;
    struct dtrain_group group;

    if (dtrain_group_get(world, axes[i].axis, &group, err) < 0 ||
        sum_ranks(on, axes[i].axis, err) < 0)
        return -1;
    if (on->value != expected_sum(world, &group)) {
        snprintf(err->text, sizeof(err->text), "all-reduce over %s gave %d, expected %d", axes[i].name,
                 on->value, expected_sum(world, &group));
        return -1;
    }
    fprintf(line, " %s=%d/%d(", axes[i].name, dtrain_coord(world, axes[i].axis), group.size);
    for (int m = 0; m < group.size; m++)
        fprintf(line, "%s%d", m > 0 ? "," : "", dtrain_group_member(world, &group, m));
    fputc(')', line);
    return 0;
}

static int say_hello(struct place *on, struct dtrain_error *err)
{
    struct dtrain_world *world = on->world;
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
        rc = say_axis(on, i, line, err);
    fclose(line);
    if (rc == 0)
        puts(text);
    fflush(stdout);
    free(text);
    return rc;
}

static int stay(struct place *on, int seconds, struct dtrain_error *err)
{
    time_t end = time(NULL) + seconds;
    struct dtrain_comm *comm;
    int rc;

    if (dtrain_comm_get(on->world, DTRAIN_WORLD, &comm, err) < 0)
        return -1;
    do {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        on->value = time(NULL) < end;
        rc = reduce(on, comm, DTRAIN_MIN, err);
    } while (rc == 0 && on->value);
    return rc;
}

static int run(struct dtrain_world *world, int seconds, struct dtrain_error *err)
{
    struct place on = {.world = world};
    int rc;

    if (dtrain_stream_create(world, &on.stream, err) < 0)
        return -1;
    rc = dtrain_memory_alloc(world, sizeof(int), &on.memory, err);
    if (rc == 0)
        rc = say_hello(&on, err);
    if (rc == 0 && seconds > 0)
        rc = stay(&on, seconds, err);
    if (rc < 0) /* so that nobody waits for this rank */
        dtrain_comms_revoke(world, err->text, NULL);
    if (dtrain_stream_destroy(on.stream, rc == 0 ? err : NULL) < 0)
        rc = -1;
    dtrain_memory_free(world, on.memory);
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
