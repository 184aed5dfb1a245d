/* What the small examples check themselves with: a difference is found, named, and ends with status 1. */
#include "examples/lesson.h"

#include <math.h>
#include <stdio.h>

#include "examples/matrix.h"
#include "tap.h"

/* ---- Differences --------------------------------------------------------- */

#define COUNT 3

static const struct difference_row {
    const char *name;
    double got[COUNT], expected[COUNT];
    size_t first;
} difference_rows[] = {
    {"the same", {1, 2, 3}, {1, 2, 3}, COUNT},
    {"the first", {1.1, 2, 3}, {1, 2, 3}, 0},
    {"the last", {1, 2, 3}, {1, 2, 3.001}, 2},
    {"the first of two", {1, 5, 5}, {1, 2, 3}, 1},
    {"rounding of a large number", {1e6 + 1e-7, 2, 3}, {1e6, 2, 3}, COUNT},
    {"more than rounding of a small one", {1e-7, 2, 3}, {0, 2, 3}, 0},
    {"no number", {1, NAN, 3}, {1, 2, 3}, 1},
    {"a number where none is expected", {1, 2, 3}, {1, 2, NAN}, 2},
    {"infinity", {1, 2, INFINITY}, {1, 2, 3}, 2},
    {"a sign", {1, -2, 3}, {1, 2, 3}, 1},
};

static void test_difference(const struct difference_row *row)
{
    tap_ok(matrix_difference(row->got, row->expected, COUNT) == row->first, "difference: %s", row->name);
}

/* ---- Products, by hand --------------------------------------------------- */

static void test_products(void)
{
    static const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, -1, 2, 1, 1}, bt[] = {1, -1, 1, 0, 2, 1};
    static const double ab[] = {2, 7, 5, 16}, ata[] = {18, 22, 27, 22, 29, 36, 27, 36, 45};
    static const double middle[] = {2, 5};
    double c[9] = {0}, sum[9] = {1};

    matrix_product(c, a, b, 2, 3, 2);
    tap_ok(matrix_difference(c, ab, 4) == 4, "a b");
    matrix_product_transposed(c, a, bt, 2, 3, 2);
    tap_ok(matrix_difference(c, ab, 4) == 4, "a b' of the transposed");
    matrix_add_product(sum, a, a, 2, 3, 3);
    tap_ok(matrix_difference(sum, ata, 9) == 9, "1 + a' a");
    matrix_columns(c, a, 2, 3, 1, 1);
    tap_ok(matrix_difference(c, middle, 2) == 2, "columns of a");
}

/* ---- Whole lessons, on two threads --------------------------------------- */

static int compare(struct lesson *lesson, double rank0, double rank1)
{
    const double expected = 1;

    lesson_check(lesson, "a value", lesson->rank == 0 ? &rank0 : &rank1, &expected, 1);
    return 0;
}

static int right(struct lesson *lesson, struct dtrain_error *err)
{
    double own = lesson->rank, both[] = {0, 1};

    compare(lesson, 1, 1);
    lesson_print(lesson, "both", both, 1, 2);
    return lesson_show(lesson, "each", &own, 1, 1, err);
}

static int wrong_on_rank0(struct lesson *lesson, struct dtrain_error *err)
{
    (void)err;
    return compare(lesson, 2, 1);
}

static int wrong_on_rank1(struct lesson *lesson, struct dtrain_error *err)
{
    (void)err;
    return compare(lesson, 1, 2);
}

/* The other rank waits, and is told. */
static int gives_up_on_rank1(struct lesson *lesson, struct dtrain_error *err)
{
    double value = 0;

    if (lesson->rank == 0)
        return lesson_show(lesson, "value", &value, 1, 1, err);
    snprintf(err->text, sizeof(err->text), "cannot go on");
    return -1;
}

static const struct lesson_row {
    const char *name;
    unsigned axis;
    lesson_body *body;
    int status;
} lesson_rows[] = {
    {"right, tp", DTRAIN_TP, right, 0},
    {"right, dp", DTRAIN_DP, right, 0},
    {"right, pp", DTRAIN_PP, right, 0},
    {"wrong on rank 0", DTRAIN_DP, wrong_on_rank0, 1},
    {"wrong on rank 1", DTRAIN_DP, wrong_on_rank1, 1},
    {"given up on rank 1", DTRAIN_DP, gives_up_on_rank1, 1},
};

static void test_lesson(const struct lesson_row *row)
{
    tap_ok(lesson_main("lesson_test", row->axis, row->body) == row->status, "lesson: %s", row->name);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(difference_rows) / sizeof(difference_rows[0]); i++)
        test_difference(&difference_rows[i]);
    test_products();
    for (size_t i = 0; i < sizeof(lesson_rows) / sizeof(lesson_rows[0]); i++)
        test_lesson(&lesson_rows[i]);
    return tap_done();
}
