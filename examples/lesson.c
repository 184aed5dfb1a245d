#include "lesson.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"

/* ---- What a rank shows and checks ---------------------------------------- */

void lesson_say(const struct lesson *lesson, const char *format, ...)
{
    va_list arguments;

    if (lesson->rank != 0)
        return;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

static void print_row(const double *row, size_t columns)
{
    for (size_t j = 0; j < columns; j++)
        printf("%9.5f", row[j]);
}

void lesson_print(const struct lesson *lesson, const char *name, const double *a, size_t rows, size_t columns)
{
    if (lesson->rank != 0)
        return;
    printf("  %s [%zu, %zu]\n", name, rows, columns);
    for (size_t i = 0; i < rows; i++) {
        fputs("   ", stdout);
        print_row(&a[i * columns], columns);
        putchar('\n');
    }
}

static void print_side_by_side(const char *name, const double *all, size_t rows, size_t columns)
{
    printf("  %s [%zu, %zu]: rank 0's | rank 1's\n", name, rows, columns);
    for (size_t i = 0; i < rows; i++) {
        fputs("   ", stdout);
        for (size_t r = 0; r < LESSON_RANKS; r++) {
            fputs(r > 0 ? "  |" : "", stdout);
            print_row(&all[(r * rows + i) * columns], columns);
        }
        putchar('\n');
    }
}

int lesson_show(struct lesson *lesson, const char *name, const double *a, size_t rows, size_t columns,
                struct dtrain_error *err)
{
    size_t count = rows * columns;
    double *all = malloc(LESSON_RANKS * count * sizeof(*all));
    int rc = -1;

    if (all == NULL)
        snprintf(err->text, sizeof(err->text), "out of memory to show %s", name);
    else if (dtrain_all_gather(lesson->comm, a, all, count, DTRAIN_FLOAT64, lesson->stream, err) == 0)
        rc = dtrain_stream_synchronize(lesson->stream, err);
    if (rc == 0 && lesson->rank == 0)
        print_side_by_side(name, all, rows, columns);
    free(all);
    return rc;
}

void lesson_check(struct lesson *lesson, const char *name, const double *got, const double *expected,
                  size_t count)
{
    size_t i = matrix_difference(got, expected, count);

    lesson->checked += count;
    if (i == count)
        return;
    lesson->wrong++;
    fprintf(stderr, "%s: rank %d: %s: element %zu is %.17g, expected %.17g\n", lesson->name,
            lesson->rank, name, i, got[i], expected[i]);
}

/* ---- The ranks ----------------------------------------------------------- */

struct seat {
    struct lesson lesson;
    unsigned axis;
    lesson_body *body;
    int status; /* of the process that this rank is */
};

/* The verdict of both ranks, so that "ok" is never printed beside an error of the other one. */
static int end_lesson(struct lesson *lesson, struct dtrain_error *err)
{
    int64_t counts[2] = {(int64_t)lesson->checked, (int64_t)lesson->wrong};

    if (dtrain_all_reduce(lesson->comm, counts, counts, 2, DTRAIN_INT64, DTRAIN_SUM, lesson->stream, err) <
            0 ||
        dtrain_stream_synchronize(lesson->stream, err) < 0)
        return -1;
    if (counts[1] == 0)
        lesson_say(lesson, "%s: ok: %lld values are those of one process\n", lesson->name,
                   (long long)counts[0]);
    else
        lesson_say(lesson, "%s: wrong: see stderr\n", lesson->name);
    /* Ranks that are threads share stdout: only the one that prints answers for it. */
    if (lesson->rank != 0 || (fflush(stdout) == 0 && !ferror(stdout)))
        return counts[1] == 0 ? 0 : 1;
    snprintf(err->text, sizeof(err->text), "cannot write to standard output");
    return -1;
}

static int run_lesson(struct seat *seat, struct dtrain_error *err)
{
    struct lesson *lesson = &seat->lesson;
    int rc = -1;

    if (dtrain_stream_create(lesson->world, &lesson->stream, err) < 0)
        return -1;
    if (dtrain_comm_get(lesson->world, seat->axis, &lesson->comm, err) == 0 && seat->body(lesson, err) == 0)
        rc = end_lesson(lesson, err);
    if (rc < 0)
        dtrain_comms_revoke(lesson->world, err->text, NULL);
    if (dtrain_stream_destroy(lesson->stream, rc >= 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

/* One rank from its world, which it ends, to its status; the body of a thread. */
static void *take_seat(void *argument)
{
    struct seat *seat = argument;
    struct dtrain_error err;
    int rc;

    seat->lesson.rank = dtrain_rank(seat->lesson.world);
    rc = run_lesson(seat, &err);
    if (dtrain_finalize(seat->lesson.world, rc >= 0 ? &err : NULL) < 0)
        rc = -1;
    if (rc < 0)
        fprintf(stderr, "%s: rank %d: %s\n", seat->lesson.name, seat->lesson.rank, err.text);
    seat->status = rc == 0 ? 0 : 1;
    return NULL;
}

static int run_threads(const struct seat *seat, struct dtrain_world **worlds)
{
    struct seat seats[LESSON_RANKS];
    pthread_t threads[LESSON_RANKS];
    int status = 0;

    for (int i = 0; i < LESSON_RANKS; i++) {
        seats[i] = *seat;
        seats[i].lesson.world = worlds[i];
        if (pthread_create(&threads[i], NULL, take_seat, &seats[i]) == 0)
            continue;
        /* The ranks that run wait for this one: only the end of the process stops them. */
        fprintf(stderr, "%s: cannot start a thread for rank %d\n", seat->lesson.name, i);
        _Exit(1);
    }
    for (int i = 0; i < LESSON_RANKS; i++) {
        pthread_join(threads[i], NULL);
        status |= seats[i].status;
    }
    return status;
}

static const char *axis_name(unsigned axis)
{
    return axis == DTRAIN_TP ? "tp" : axis == DTRAIN_DP ? "dp" : "pp";
}

static int run_alone(const struct seat *seat)
{
    struct dtrain_local_options options = {.n = LESSON_RANKS, .backend = "host"};
    struct dtrain_world *worlds[LESSON_RANKS];
    struct dtrain_error err;

    options.tp = seat->axis == DTRAIN_TP ? LESSON_RANKS : 1;
    options.pp = seat->axis == DTRAIN_PP ? LESSON_RANKS : 1;
    if (dtrain_init_local(worlds, &options, &err) < 0) {
        fprintf(stderr, "%s: %s\n", seat->lesson.name, err.text);
        return 1;
    }
    printf("%s: %d ranks, threads of one process; as tasks: srun -n%d --dtrain-%s=%d\n", seat->lesson.name,
           LESSON_RANKS, LESSON_RANKS, axis_name(seat->axis), LESSON_RANKS);
    return run_threads(seat, worlds);
}

/* The same on all ranks, so that one of them tells it. */
static bool is_refused(const struct seat *seat)
{
    struct dtrain_world *world = seat->lesson.world;
    struct dtrain_group group = {0};
    const char *name = axis_name(seat->axis);

    dtrain_group_get(world, seat->axis, &group, NULL);
    if (dtrain_size(world) == LESSON_RANKS && group.size == LESSON_RANKS &&
        strcmp(dtrain_backend(world), "host") == 0)
        return false;
    if (dtrain_rank(world) == 0)
        fprintf(stderr,
                "%s: this step has %d ranks, %s=%d, on the %s backend; this program needs %d ranks, %s=%d, "
                "on the host backend: srun -n%d --dtrain-%s=%d --dtrain-backend=host\n",
                seat->lesson.name, dtrain_size(world), name, group.size, dtrain_backend(world), LESSON_RANKS,
                name, LESSON_RANKS, LESSON_RANKS, name, LESSON_RANKS);
    return true;
}

int lesson_main(const char *name, unsigned axis, lesson_body *body)
{
    struct seat seat = {.lesson = {.name = name}, .axis = axis, .body = body};
    struct dtrain_error err;
    bool is_alone;

    if (dtrain_init(&seat.lesson.world, NULL, &err) < 0) {
        fprintf(stderr, "%s: %s\n", name, err.text);
        return 1;
    }
    is_alone = dtrain_size(seat.lesson.world) == 1;
    if (is_alone || is_refused(&seat)) {
        dtrain_finalize(seat.lesson.world, NULL);
        return is_alone ? run_alone(&seat) : 1;
    }
    if (dtrain_rank(seat.lesson.world) == 0)
        printf("%s: %d ranks, tasks of a step\n", name, LESSON_RANKS);
    take_seat(&seat);
    return seat.status;
}
