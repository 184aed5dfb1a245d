/* The host's arithmetic on rows and on a split vocabulary, against values worked out by hand. */
#include "runtime/math.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/math_value.h"
#include "runtime/type.h"
#include "tap.h"

static const enum dtrain_type types[] = {DTRAIN_FLOAT32, DTRAIN_FLOAT64, DTRAIN_BFLOAT16, DTRAIN_FLOAT16};
#define TYPES (sizeof(types) / sizeof(types[0]))
#define MAX 16

static void store(void *x, enum dtrain_type type, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dt_math_store(x, type, i, values[i]);
}

static bool is_equal(const void *x, enum dtrain_type type, const double *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        double got = dt_math_load(x, type, i);

        if (!(got == want[i] || fabs(got - want[i]) <= tolerance * fmax(1, fabs(want[i])))) {
            printf("# element %zu is %g, expected %g\n", i, got, want[i]);
            return false;
        }
    }
    return true;
}

static void test_gather_scatter(enum dtrain_type type)
{
    const int32_t index[] = {2, -1, 0, 2};
    const float weight[] = {0.5f, 9, 2, -1};
    double from[MAX], to[MAX];
    struct dt_math math = {.kind = DT_MATH_GATHER_ROWS,
                           .rows = {.to = to, .from = from, .type = type, .index = index, .rows = 4, .n = 2}};

    store(from, type, (double[]){1, 2, 3, 4, 5, 6}, 6);
    dt_math_run(&math);
    tap_ok(is_equal(to, type, (double[]){5, 6, 0, 0, 1, 2, 5, 6}, 8, 0), "rows of %s are gathered",
           dt_type_name(type));
    math.rows.weight = weight;
    dt_math_run(&math);
    tap_ok(is_equal(to, type, (double[]){2.5, 3, 0, 0, 2, 4, -5, -6}, 8, 0), "  with weights");
    math.kind = DT_MATH_SCATTER_ROWS;
    store(from, type, (double[]){1, 2, 3, 4, 5, 6, 7, 8}, 8);
    store(to, type, (double[]){10, 20, 30, 40, 50, 60}, 6);
    dt_math_run(&math);
    tap_ok(is_equal(to, type, (double[]){20, 32, 30, 40, 43.5, 53}, 6, 0), "  scattered, one row twice");
}

static void test_dots(enum dtrain_type type)
{
    const int32_t to_index[] = {1, 0, 3}, a_index[] = {1, 0, -1};
    double a[MAX], b[MAX];
    float dots[] = {9, 9, 9, 9};
    struct dt_math math = {.kind = DT_MATH_DOT_ROWS, .dot_rows = {dots, a, b, type, to_index, a_index, 3, 2}};

    store(a, type, (double[]){1, 2, 3, 4}, 4);
    store(b, type, (double[]){5, 6, 7, 8, 1, 1}, 6);
    dt_math_run(&math);
    tap_ok(dots[0] == 23 && dots[1] == 39 && dots[2] == 9 && dots[3] == 0, "dots of rows of %s",
           dt_type_name(type));
}

/* Keys with logits 0, 0 | 0: thirds; none | some, some | none, none | none. */
static void test_merge(enum dtrain_type type)
{
    enum dtrain_type lse_type = type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
    double out[MAX], add[MAX], lse[4], add_lse[4], tolerance = type == DTRAIN_BFLOAT16 ? 1e-2 : 1e-3;
    struct dt_math math = {.kind = DT_MATH_SOFTMAX_MERGE,
                           .softmax_merge = {out, lse, add, add_lse, type, 4, 2}};

    store(out, type, (double[]){3, 6, 0, 0, 7, 8, 0, 0}, 8);
    store(add, type, (double[]){0, 3, 5, 6, 9, 9, 9, 9}, 8);
    store(lse, lse_type, (double[]){log(2), -INFINITY, 1000, -INFINITY}, 4);
    store(add_lse, lse_type, (double[]){0, -1000, -INFINITY, -INFINITY}, 4);
    dt_math_run(&math);
    tap_ok(is_equal(out, type, (double[]){2, 5, 5, 6, 7, 8, 0, 0}, 8, tolerance) &&
               is_equal(lse, lse_type, (double[]){log(3), -1000, 1000, -INFINITY}, 4, 1e-6),
           "parts of a softmax in %s are merged", dt_type_name(type));
}

static void test_embedding(enum dtrain_type type, enum dtrain_type table_type)
{
    const int32_t tokens[] = {5, 4, 7, 6, -1, 5};
    double out[MAX], table[MAX];
    struct dt_math math = {.kind = DT_MATH_EMBEDDING,
                           .embedding = {out, table, type, table_type, tokens, 5, 2, 6, 2}};

    store(table, table_type, (double[]){1, 2, 3, 4, 9, 9}, 6); /* tokens 5 and 6; the rest is padding */
    dt_math_run(&math);
    tap_ok(is_equal(out, type, (double[]){1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 1, 2}, 12, 0),
           "an embedding of %s from %s", dt_type_name(type), dt_type_name(table_type));
    math.kind = DT_MATH_EMBEDDING_GRADIENT;
    dt_math_run(&math);
    tap_ok(is_equal(table, table_type, (double[]){3, 6, 6, 8, 9, 9}, 6, 0),
           "  its gradient is added, padding stays");
}

int main(void)
{
    for (size_t i = 0; i < TYPES; i++) {
        test_gather_scatter(types[i]);
        test_dots(types[i]);
        test_merge(types[i]);
        test_embedding(types[i], types[i]);
        test_embedding(types[i], DTRAIN_FLOAT32);
    }
    return tap_done();
}
