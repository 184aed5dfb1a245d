/* f, g, gather and scatter on 1 to 8 ranks, with shards that do not divide, against the whole tensors. */
#include "dtrain_tp.h"

#include <stdlib.h>

#include "host_double.h"
#include "runtime/math_value.h"
#include "runtime/type.h"
#include "tap.h"

#define TIMEOUT_MS 60000
#define ELEMENTS_MAX 512

struct shape {
    size_t rows, n;
    bool is_sequence, has_compute;
    enum dtrain_type type;
};

static const struct shape shapes[] = {
    {8, 3, false, false, DTRAIN_FLOAT32},  {8, 3, true, false, DTRAIN_FLOAT64},
    {13, 5, false, true, DTRAIN_BFLOAT16}, {13, 5, true, true, DTRAIN_FLOAT32},
    {3, 7, true, true, DTRAIN_BFLOAT16},   {1, 4, true, false, DTRAIN_FLOAT32},
    {0, 4, true, true, DTRAIN_FLOAT32},    {24, 2, true, true, DTRAIN_FLOAT16},
};

/* One rank's buffers; each row of a type's elements lies as the shape says. */
struct buffers {
    double whole[ELEMENTS_MAX], own[ELEMENTS_MAX], workspace[ELEMENTS_MAX];
};

static bool wrong(struct rank *r, const char *what)
{
    snprintf(r->err.text, sizeof(r->err.text), "%s", what);
    return false;
}

/* Small integers: exact in every type, also their sums. */
static double value_at(size_t i, int rank)
{
    return (double)(i % 7) - 2 + rank;
}

static void fill(void *x, enum dtrain_type type, size_t n, size_t first, int rank)
{
    for (size_t i = 0; i < n; i++)
        dt_math_store(x, type, i, value_at(first + i, rank));
}

/* x[n] = elements first.. of what rank 0 has, or of the sum over all ranks. */
static bool is_there(const void *x, enum dtrain_type type, size_t n, size_t first, int summed)
{
    for (size_t i = 0; i < n; i++) {
        double want = 0;

        for (int rank = 0; rank < summed; rank++)
            want += value_at(first + i, rank);
        if (dt_math_load(x, type, i) != (summed > 0 ? want : value_at(first + i, 0)))
            return false;
    }
    return true;
}

static struct dtrain_tp tp_of(struct rank *r, const struct shape *shape)
{
    return (struct dtrain_tp){.comm = r->comm,
                              .stream = r->streams[0],
                              .compute = shape->has_compute ? r->streams[1] : NULL,
                              .type = shape->type,
                              .is_sequence = shape->is_sequence};
}

/* The own shard in elements. */
static struct dtrain_tp_shard own_of(struct rank *r, const struct shape *shape)
{
    struct dtrain_tp_shard shard = {0, shape->rows, shape->rows};

    if (shape->is_sequence)
        dtrain_tp_shard(shape->rows, r->size, r->rank, 1, DTRAIN_TP_UNEVEN, &shard, NULL);
    shard.first *= shape->n;
    shard.count *= shape->n;
    return shard;
}

/* Ends what was started: the CPU looks at the results. */
static bool finish(struct rank *r, const struct dtrain_tp *tp)
{
    return dtrain_tp_finish(tp, &r->err) == 0 &&
           (tp->compute == NULL || dtrain_stream_synchronize(tp->compute, &r->err) == 0);
}

typedef int widening(const struct dtrain_tp *, const void *, void *, size_t, size_t, struct dtrain_error *);
typedef int summing(const struct dtrain_tp *, void *, void *, size_t, size_t, struct dtrain_error *);

static bool widens(struct rank *r, const struct shape *shape, struct buffers *b, widening *call)
{
    struct dtrain_tp tp = tp_of(r, shape);
    struct dtrain_tp_shard own = own_of(r, shape);

    memset(b, 0, sizeof(*b));
    fill(b->own, shape->type, own.count, own.first, 0);
    if (call(&tp, b->own, b->whole, shape->rows, shape->n, &r->err) != 0 || !finish(r, &tp))
        return false;
    return is_there(b->whole, shape->type, shape->rows * shape->n, 0, 0) ||
           wrong(r, "the whole is not there");
}

static bool sums(struct rank *r, const struct shape *shape, struct buffers *b, summing *call)
{
    struct dtrain_tp tp = tp_of(r, shape);
    struct dtrain_tp_shard own = own_of(r, shape);

    memset(b, 0, sizeof(*b));
    fill(b->whole, shape->type, shape->rows * shape->n, 0, r->rank);
    if (call(&tp, b->whole, b->own, shape->rows, shape->n, &r->err) != 0 || !finish(r, &tp))
        return false;
    return is_there(b->own, shape->type, own.count, own.first, r->size) || wrong(r, "the sum is not there");
}

/* Without sequence parallel one buffer serves as both. */
static bool sums_in_place(struct rank *r, const struct shape *shape, struct buffers *b)
{
    struct dtrain_tp tp = tp_of(r, shape);

    if (shape->is_sequence)
        return true;
    fill(b->whole, shape->type, shape->rows * shape->n, 0, r->rank);
    if (dtrain_tp_g_forward(&tp, b->whole, b->whole, shape->rows, shape->n, &r->err) != 0 || !finish(r, &tp))
        return false;
    return is_there(b->whole, shape->type, shape->rows * shape->n, 0, r->size) ||
           wrong(r, "in place: no sum");
}

static bool regions(struct rank *r)
{
    const struct shape *shape = r->argument;
    struct buffers *b = malloc(sizeof(*b));
    bool ok = b != NULL && widens(r, shape, b, dtrain_tp_f_forward) &&
              widens(r, shape, b, dtrain_tp_g_backward) && sums(r, shape, b, dtrain_tp_f_backward) &&
              sums(r, shape, b, dtrain_tp_g_forward) && sums_in_place(r, shape, b);

    free(b);
    return ok;
}

/* ---- Gather and scatter --------------------------------------------------- */

static const struct dtrain_tp_split splits[] = {
    {8, 6, DTRAIN_TP_ROWS, 1},     {5, 6, DTRAIN_TP_ROWS, 2},    {4, 16, DTRAIN_TP_COLUMNS, 1},
    {4, 13, DTRAIN_TP_COLUMNS, 0}, {1, 9, DTRAIN_TP_COLUMNS, 4}, {6, 3, DTRAIN_TP_COLUMNS, 1},
    {0, 3, DTRAIN_TP_COLUMNS, 1},
};

struct split_case {
    const struct dtrain_tp_split *split;
    struct shape shape;
};

static bool gathers_and_scatters(struct rank *r)
{
    const struct split_case *it = r->argument;
    const struct dtrain_tp_split *split = it->split;
    struct dtrain_tp tp = tp_of(r, &it->shape);
    size_t count = split->rows * split->columns;
    struct buffers *b = calloc(1, sizeof(*b));
    bool ok;

    /* The own shard comes from the whole and goes back to another whole. */
    fill(b->whole, tp.type, count, 0, 0);
    ok = dtrain_tp_scatter(&tp, split, b->whole, b->own, &r->err) == 0 && finish(r, &tp);
    if (ok)
        memset(b->whole, 0, sizeof(b->whole));
    ok = ok && dtrain_tp_gather(&tp, split, b->own, b->whole, b->workspace, &r->err) == 0 && finish(r, &tp) &&
         (is_there(b->whole, tp.type, count, 0, 0) || wrong(r, "gathered otherwise than scattered"));
    free(b);
    return ok;
}

/* Rank 1 of 2 has columns 2 and 3 of 4. */
static bool scatters_columns(struct rank *r)
{
    float whole[] = {0, 1, 2, 3, 4, 5, 6, 7}, own[4] = {0};
    struct dtrain_tp tp = {r->comm, r->streams[0], NULL, DTRAIN_FLOAT32, false};
    struct dtrain_tp_split split = {2, 4, DTRAIN_TP_COLUMNS, 1};
    float first = r->rank == 0 ? 0 : 2;

    if (dtrain_tp_scatter(&tp, &split, whole, own, &r->err) != 0 || !finish(r, &tp))
        return false;
    return (own[0] == first && own[1] == first + 1 && own[2] == first + 4 && own[3] == first + 5) ||
           wrong(r, "other columns");
}

/* ---- Bad calls ------------------------------------------------------------ */

struct bad {
    const char *words;
    int (*call)(struct dtrain_tp tp, float *x, struct dtrain_error *err);
};

static int no_tp(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    (void)tp;
    return dtrain_tp_f_forward(NULL, x, x, 1, 1, err);
}

static int no_comm(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    tp.comm = NULL;
    return dtrain_tp_g_forward(&tp, x, x, 1, 1, err);
}

static int no_stream(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    (void)x;
    tp.stream = NULL;
    return dtrain_tp_finish(&tp, err);
}

static int integers(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    tp.type = DTRAIN_INT32;
    return dtrain_tp_f_backward(&tp, x, x, 1, 1, err);
}

static int no_whole(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    return dtrain_tp_f_forward(&tp, x, NULL, 2, 3, err);
}

static int no_own(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    return dtrain_tp_f_backward(&tp, x, NULL, 2, 3, err);
}

static int huge(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    return dtrain_tp_f_forward(&tp, x, x, SIZE_MAX / 2, 3, err);
}

static int no_split(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    return dtrain_tp_gather(&tp, NULL, x, x, x, err);
}

static int no_dimension(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    return dtrain_tp_scatter(&tp, &(struct dtrain_tp_split){1, 1, (enum dtrain_tp_dimension)5, 1}, x, x, err);
}

static int no_workspace(struct dtrain_tp tp, float *x, struct dtrain_error *err)
{
    return dtrain_tp_gather(&tp, &(struct dtrain_tp_split){1, 2, DTRAIN_TP_COLUMNS, 1}, x, x, NULL, err);
}

static const struct bad bads[] = {
    {"dtrain_tp_f_forward: tp is NULL", no_tp},
    {"dtrain_tp_g_forward: comm is NULL", no_comm},
    {"dtrain_tp_finish: stream is NULL", no_stream},
    {"dtrain_tp_f_backward: type is int32 (4): expected float32", integers},
    {"dtrain_tp_f_forward: whole is NULL: expected a buffer of 24 bytes", no_whole},
    {"dtrain_tp_f_backward: own is NULL", no_own},
    {"more than memory can hold", huge},
    {"dtrain_tp_gather: split is NULL", no_split},
    {"dtrain_tp_scatter: dimension 5 is not known", no_dimension},
    {"dtrain_tp_gather: workspace is NULL", no_workspace},
};

static bool refuses(struct rank *r)
{
    struct dtrain_tp tp = {r->comm, r->streams[0], NULL, DTRAIN_FLOAT32, false};
    float x[8] = {0};

    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
        struct dtrain_error err = {""};

        tap_ok(bads[i].call(tp, x, &err) == -1, "refused: %s", bads[i].words);
        tap_holds(err.text, bads[i].words, "  in these words");
    }
    return true;
}

int main(void)
{
    for (int size = 1; size <= 8; size++) {
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
            tap_ok(double_run(size, i % PLACEMENT_COUNT, TIMEOUT_MS, regions, (void *)&shapes[i]) == 0,
                   "f and g of [%zu, %zu] %s on %d ranks%s%s", shapes[i].rows, shapes[i].n,
                   dt_type_name(shapes[i].type), size, shapes[i].is_sequence ? ", sequence parallel" : "",
                   shapes[i].has_compute ? ", beside a stream" : "");
        for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
            struct split_case it = {&splits[i], shapes[i]};

            tap_ok(double_run(size, ALL_LOCAL, TIMEOUT_MS, gathers_and_scatters, &it) == 0,
                   "%s of [%zu, %zu] over %d ranks and back",
                   splits[i].dimension == DTRAIN_TP_ROWS ? "rows" : "columns", splits[i].rows,
                   splits[i].columns, size);
        }
    }
    tap_ok(double_run(2, ALL_LOCAL, TIMEOUT_MS, scatters_columns, NULL) == 0, "each rank has its columns");
    tap_ok(double_run(1, ALL_LOCAL, TIMEOUT_MS, refuses, NULL) == 0, "bad calls");
    return tap_done();
}
