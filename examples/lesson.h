/*
 * lesson.h - what the small examples share: two ranks to show something with,
 * printed by rank 0, and compared with what one process computes.
 *
 * Under srun the ranks are the step's tasks. A process of its own makes two
 * ranks of its threads, so that a lesson runs without Slurm, too.
 */
#ifndef EXAMPLES_LESSON_H
#define EXAMPLES_LESSON_H

#include <dtrain.h>

#define LESSON_RANKS 2

/* One rank's view. All functions below are called by its thread. */
struct lesson {
    const char *name; /* the program's */
    struct dtrain_world *world;
    struct dtrain_stream *stream;
    struct dtrain_comm *comm; /* all ranks, which is the group of the lesson's axis */
    int rank;
    size_t checked; /* values compared so far */
    size_t wrong;   /* comparisons that found a difference */
};

/* What a rank does. -1 with the reason: it cannot go on, and the other rank is told. */
typedef int lesson_body(struct lesson *lesson, struct dtrain_error *err);

/*
 * All of main(): the body on both ranks, which are neighbours on axis (DTRAIN_TP, DTRAIN_DP or DTRAIN_PP).
 * The exit status: 0, or 1 after a failure or a difference, which stderr tells; a step of another layout is
 * refused.
 */
int lesson_main(const char *name, unsigned axis, lesson_body *body);

/* Rank 0 prints; the others do nothing. */
void lesson_say(const struct lesson *lesson, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "name [rows, columns]" and the numbers, of something that all ranks have. */
void lesson_print(const struct lesson *lesson, const char *name, const double *a, size_t rows,
                  size_t columns);
/* The same of what each rank has one of, side by side. Collective; waits for the lesson's stream. */
int lesson_show(struct lesson *lesson, const char *name, const double *a, size_t rows, size_t columns,
                struct dtrain_error *err);

/* Compares with what one process has; says on stderr what differs first, and counts. */
void lesson_check(struct lesson *lesson, const char *name, const double *got, const double *expected,
                  size_t count);

#endif
