/*
 * The kernels of the NCCL module beside the host's reference, on random data: every kind, type and size. All
 * arrays of a call are compared afterwards, so what must not be written is seen, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/train/random.h"
#include "gpu.h"
#include "runtime/math.h"
#include "runtime/math_value.h"
#include "runtime/type.h"
#include "tests/unit/tap.h"

enum { ARRAYS_MAX = 8 };

static const enum dtrain_type types[] = {DTRAIN_FLOAT32, DTRAIN_FLOAT64, DTRAIN_BFLOAT16, DTRAIN_FLOAT16};
static const size_t sizes[] = {0, 1, 31, 4099, 1000003};
static const struct {
    size_t rows, n;
} shapes[] = {{0, 5}, {1, 1}, {31, 17}, {7, 301}, {300, 5}, {1003, 997}};

/* One array of a call, on both sides, and where in the call its address stands. */
struct array {
    size_t field;
    enum dtrain_type type; /* DTRAIN_INT32: an index */
    size_t n;
    void *host, *device;
};

/* One call on both sides. */
struct trial {
    struct dtrain_world *world;
    struct dtrain_stream *stream;
    struct dt_math math;
    struct array arrays[ARRAYS_MAX];
    size_t count;
    const char *name;
    double tolerance;
    uint64_t seed;
    bool failed;
    char *said;
};

static size_t bytes_of(const struct array *array)
{
    return array->n * dtrain_type_size(array->type);
}

static void **field_of(struct dt_math *math, const struct array *array)
{
    return (void **)(void *)((char *)math + array->field);
}

static struct array *add(struct trial *trial, void *field, enum dtrain_type type, size_t n)
{
    struct array *array = &trial->arrays[trial->count++];

    *array = (struct array){
        .field = (size_t)((char *)field - (char *)&trial->math), .type = type, .n = n + 1 /* to be kept */};
    array->host = calloc(array->n, dtrain_type_size(type));
    return array;
}

/* Normal random numbers; where they are to be positive their squares and a bit. */
static void values(struct trial *trial, void *field, enum dtrain_type type, size_t n, bool is_positive)
{
    struct array *array = add(trial, field, type, n);

    for (size_t i = 0; i < array->n; i++) {
        double x = random_normal(trial->seed, trial->count, i);

        dt_math_store(array->host, type, i, is_positive ? x * x + 0.1 : x);
    }
}

/* From least to most; each at most once where it is a permutation. */
static void indices(struct trial *trial, void *field, size_t n, int least, int most, bool is_permutation)
{
    struct array *array = add(trial, field, DTRAIN_INT32, n);
    int32_t *index = array->host;

    for (size_t i = 0; i < array->n; i++)
        index[i] =
            is_permutation
                ? (int32_t)(n - 1 - i)
                : least + (int32_t)(random_bits(trial->seed, trial->count, i) % (uint64_t)(most - least + 1));
}

static int upload(struct trial *trial, struct array *array, struct dtrain_error *err)
{
    if (dtrain_memory_alloc(trial->world, bytes_of(array), &array->device, err) != 0)
        return -1;
    return dtrain_copy(array->device, array->host, bytes_of(array), trial->stream, err);
}

static double element(const struct array *array, const void *x, size_t i)
{
    return array->type == DTRAIN_INT32 ? ((const int32_t *)x)[i] : dt_math_load(x, array->type, i);
}

static void compare(struct trial *trial, const struct array *array, const void *got)
{
    for (size_t i = 0; i < array->n && !trial->failed; i++) {
        size_t size = dtrain_type_size(array->type);
        double a = element(array, got, i), b = element(array, array->host, i);

        /* Bits first: what is copied as bytes may be no number. */
        if (memcmp((const char *)got + i * size, (const char *)array->host + i * size, size) == 0 || a == b ||
            fabs(a - b) <= trial->tolerance * (1 + fabs(b)))
            continue;
        trial->failed = true;
        snprintf(trial->said, FORK_TEXT_MAX,
                 "%s: array at offset %zu, element %zu of %zu: %.9g, expected %.9g", trial->name,
                 array->field, i, array->n, a, b);
    }
}

static int run_device(struct trial *trial, struct dtrain_error *err)
{
    struct dt_math math = trial->math;

    for (size_t i = 0; i < trial->count; i++) {
        if (upload(trial, &trial->arrays[i], err) != 0)
            return -1;
        *field_of(&math, &trial->arrays[i]) = trial->arrays[i].device;
    }
    if (dt_math_enqueue(&math, trial->stream, err) != 0)
        return -1;
    return dtrain_stream_synchronize(trial->stream, err);
}

static int compare_all(struct trial *trial, struct dtrain_error *err)
{
    for (size_t i = 0; i < trial->count; i++) {
        const struct array *array = &trial->arrays[i];
        void *got = malloc(bytes_of(array));
        int rc = dtrain_copy(got, array->device, bytes_of(array), trial->stream, err);

        if (rc == 0)
            rc = dtrain_stream_synchronize(trial->stream, err);
        if (rc == 0)
            compare(trial, array, got);
        free(got);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static void clear(struct trial *trial)
{
    for (size_t i = 0; i < trial->count; i++) {
        dtrain_memory_free(trial->world, trial->arrays[i].device);
        free(trial->arrays[i].host);
    }
    trial->count = 0;
}

/* Runs what was set up; a trial that failed before runs nothing more. */
static void finish(struct trial *trial, const char *name, double tolerance)
{
    struct dtrain_error err = {""};
    int rc;

    trial->name = name;
    trial->tolerance = tolerance;
    if (trial->failed) {
        clear(trial);
        return;
    }
    rc = run_device(trial, &err); /* before the host changes its arrays */
    for (size_t i = 0; i < trial->count; i++)
        *field_of(&trial->math, &trial->arrays[i]) = trial->arrays[i].host;
    dt_math_run(&trial->math);
    if (rc == 0)
        rc = compare_all(trial, &err);
    if (rc != 0) {
        trial->failed = true;
        snprintf(trial->said, FORK_TEXT_MAX, "%s: %s", name, err.text);
    }
    clear(trial);
}

/* Of one operation on values about 1; the host rounds at each step what a kernel may round once. */
static double tolerance_of(enum dtrain_type type)
{
    if (type == DTRAIN_FLOAT64)
        return 1e-11;
    if (type == DTRAIN_FLOAT32)
        return 2e-5;
    return type == DTRAIN_BFLOAT16 ? 0x1p-5 : 0x1p-8;
}

static double larger_tolerance(enum dtrain_type a, enum dtrain_type b)
{
    return fmax(tolerance_of(a), tolerance_of(b));
}

/* ---- Kinds, for one type and size ------------------------------------------------ */

static void try_fill(struct trial *trial, enum dtrain_type type, size_t n)
{
    static const double fills[] = {0, -1.375};

    for (int i = 0; i < 2; i++) {
        trial->math =
            (struct dt_math){.kind = DT_MATH_FILL, .fill = {.type = type, .n = n, .value = fills[i]}};
        values(trial, &trial->math.fill.x, type, n, false);
        finish(trial, "fill", 0);
    }
}

static void try_scale(struct trial *trial, enum dtrain_type type, size_t n)
{
    for (int i = 0; i < 8; i++) {
        enum dtrain_type from = types[i / 2];
        struct dt_math_scale *s = &trial->math.scale;

        trial->math = (struct dt_math){.kind = DT_MATH_SCALE};
        *s = (struct dt_math_scale){
            .to_type = type, .from_type = from, .n = n, .by = {-1.5, NULL, 0.5}, .accumulate = i % 2 == 1};
        values(trial, &s->to, type, n, false);
        values(trial, &s->from, from, n, false);
        if (i >= 4)
            values(trial, &s->by.squares, DTRAIN_FLOAT64, 1, true);
        finish(trial, "scale", larger_tolerance(type, from));
    }
}

static void try_sum_squares(struct trial *trial, enum dtrain_type type, size_t n)
{
    trial->math =
        (struct dt_math){.kind = DT_MATH_SUM_SQUARES, .sum_squares = {.type = type, .n = n, .weight = 0.75}};
    values(trial, &trial->math.sum_squares.sum, DTRAIN_FLOAT64, 1, false);
    values(trial, &trial->math.sum_squares.x, type, n, false);
    finish(trial, "sum_squares", type == DTRAIN_FLOAT64 ? 1e-11 : 1e-6);
}

static void try_adamw(struct trial *trial, enum dtrain_type type, size_t n)
{
    for (int i = 0; i < 4; i++) {
        enum dtrain_type state = i % 2 == 0 ? DTRAIN_FLOAT32 : DTRAIN_FLOAT64;
        struct dt_math_adamw *a = &trial->math.adamw;

        trial->math = (struct dt_math){.kind = DT_MATH_ADAMW};
        *a = (struct dt_math_adamw){.state_type = state,
                                    .gradient_type = type,
                                    .copy_type = types[(i + 1) % 4],
                                    .n = n,
                                    .lr = 0.1,
                                    .beta1 = 0.9,
                                    .beta2 = 0.95,
                                    .epsilon = 1e-8,
                                    .decay = 0.1,
                                    .correction1 = 0.1,
                                    .correction2 = 0.05,
                                    .by = {0.5, NULL, 1}};
        values(trial, &a->w, state, n, false);
        values(trial, &a->m, state, n, false);
        values(trial, &a->v, state, n, true);
        values(trial, &a->g, type, n, false);
        if (i >= 2)
            values(trial, &a->copy, a->copy_type, n, false);
        finish(trial, "adamw", larger_tolerance(state, i >= 2 ? a->copy_type : state));
    }
}

/* As bytes: every unit that a row can be copied in, and rows that are further apart. */
static void try_copy_2d(struct trial *trial, enum dtrain_type type, size_t n)
{
    static const size_t widths[] = {1, 2, 12, 24, 64};

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        size_t rows = n / 64, pitch = 64 + (i % 2) * widths[i];
        struct dt_math_copy_2d *copy = &trial->math.copy_2d;

        trial->math = (struct dt_math){.kind = DT_MATH_COPY_2D};
        *copy =
            (struct dt_math_copy_2d){.to_pitch = pitch, .from_pitch = 64, .width = widths[i], .rows = rows};
        values(trial, &copy->to, type, rows * pitch / dtrain_type_size(type) + 1, false);
        values(trial, &copy->from, type, rows * 64 / dtrain_type_size(type) + 1, false);
        finish(trial, "copy_2d", 0);
    }
}

static void try_elements(struct trial *trial, enum dtrain_type type, size_t n)
{
    try_fill(trial, type, n);
    try_scale(trial, type, n);
    try_sum_squares(trial, type, n);
    try_adamw(trial, type, n);
    try_copy_2d(trial, type, n);
}

static void try_embedding(struct trial *trial, enum dtrain_type type, size_t rows, size_t n)
{
    enum { FIRST = 10, REAL = 300 };
    struct dt_math_embedding *e = &trial->math.embedding;

    for (int i = 0; i < 4; i++) {
        bool is_gradient = i % 2 == 1;
        enum dtrain_type table = i < 2 ? type : DTRAIN_FLOAT32;

        trial->math = (struct dt_math){.kind = is_gradient ? DT_MATH_EMBEDDING_GRADIENT : DT_MATH_EMBEDDING};
        *e = (struct dt_math_embedding){
            .type = type, .table_type = table, .first = FIRST, .real = REAL, .rows = rows, .n = n};
        values(trial, &e->out, type, rows * n, false);
        values(trial, &e->table, table, (REAL + 1) * n, false);
        indices(trial, &e->tokens, rows, -1, FIRST + REAL + 1, false);
        finish(trial, is_gradient ? "embedding_gradient" : "embedding", larger_tolerance(type, table));
    }
}

/* The three pieces in turn; two columns are no tokens, some labels are held elsewhere or ignored. */
static void try_loss(struct trial *trial, enum dtrain_type type, size_t rows, size_t n)
{
    enum dtrain_type sum = type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
    struct dt_math_loss *loss = &trial->math.loss;

    for (int i = 0; i < 3; i++) {
        trial->math = (struct dt_math){.kind = DT_MATH_LOSS_MAXIMUM + (unsigned)i};
        *loss = (struct dt_math_loss){.type = type,
                                      .first = 5,
                                      .real = n > 2 ? n - 2 : n,
                                      .rows = rows,
                                      .n = n,
                                      .scale = 0.25,
                                      .smoothing = 0.1,
                                      .vocabulary = 2 * n};
        values(trial, &loss->logits, type, rows * n, i == 2);
        indices(trial, &loss->labels, rows, -2, (int)n + 10, false);
        values(trial, &loss->maximum, sum, rows, true);
        values(trial, &loss->sums, sum, 3 * rows, true);
        values(trial, &loss->losses, sum, rows, false);
        finish(trial,
               i == 0   ? "loss_maximum"
               : i == 1 ? "loss_sums"
                        : "loss_finish",
               i == 0 ? 0 : tolerance_of(type));
    }
}

static void try_merge(struct trial *trial, enum dtrain_type type, size_t rows, size_t n)
{
    enum dtrain_type lse = type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
    struct dt_math_softmax_merge *merge = &trial->math.softmax_merge;

    trial->math = (struct dt_math){.kind = DT_MATH_SOFTMAX_MERGE};
    *merge = (struct dt_math_softmax_merge){.type = type, .rows = rows, .n = n};
    values(trial, &merge->out, type, rows * n, false);
    values(trial, &merge->add, type, rows * n, false);
    values(trial, &merge->lse, lse, rows, false);
    values(trial, &merge->add_lse, lse, rows, false);
    for (size_t row = 0; row < rows; row++) {
        if (row % 3 == 1)
            dt_math_store(trial->arrays[2].host, lse, row, -INFINITY);
        if (row % 5 < 2)
            dt_math_store(trial->arrays[3].host, lse, row, -INFINITY);
    }
    finish(trial, "softmax_merge", tolerance_of(type));
}

static void try_rows(struct trial *trial, enum dtrain_type type, size_t rows, size_t n)
{
    struct dt_math_rows *r = &trial->math.rows;

    for (int i = 0; i < 4; i++) {
        bool is_scatter = i % 2 == 1;

        trial->math = (struct dt_math){.kind = is_scatter ? DT_MATH_SCATTER_ROWS : DT_MATH_GATHER_ROWS};
        *r = (struct dt_math_rows){.type = type, .rows = rows, .n = n};
        values(trial, &r->to, type, rows * n + n, false);
        values(trial, &r->from, type, rows * n + n, false);
        indices(trial, &r->index, rows, -1, (int)(rows / 2), false);
        if (i >= 2)
            values(trial, &r->weight, DTRAIN_FLOAT32, rows, true);
        finish(trial, is_scatter ? "scatter_rows" : "gather_rows", tolerance_of(type));
    }
}

static void try_dots(struct trial *trial, enum dtrain_type type, size_t rows, size_t n)
{
    struct dt_math_dot_rows *dots = &trial->math.dot_rows;

    trial->math = (struct dt_math){.kind = DT_MATH_DOT_ROWS};
    *dots = (struct dt_math_dot_rows){.type = type, .rows = rows, .n = n};
    values(trial, &dots->dots, DTRAIN_FLOAT32, rows, false);
    values(trial, &dots->a, type, rows * n + n, false);
    values(trial, &dots->b, type, rows * n, false);
    indices(trial, &dots->to_index, rows, 0, 0, true);
    indices(trial, &dots->a_index, rows, -1, (int)rows, false);
    finish(trial, "dot_rows", 1e-3);
}

static void try_all(struct trial *trial, enum dtrain_type type)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i] <= gpu_kind.most)
            try_elements(trial, type, sizes[i]);
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (shapes[i].rows * shapes[i].n > gpu_kind.most)
            continue;
        try_embedding(trial, type, shapes[i].rows, shapes[i].n);
        try_loss(trial, type, shapes[i].rows, shapes[i].n);
        try_merge(trial, type, shapes[i].rows, shapes[i].n);
        try_rows(trial, type, shapes[i].rows, shapes[i].n);
        try_dots(trial, type, shapes[i].rows, shapes[i].n);
    }
}

static enum dtrain_type row_type; /* of the row that runs; its process has it from here */

static void body(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_error err = {""};
    struct trial trial = {.seed = 1, .said = said};

    if (fork_init(&trial.world, step, rank, NULL, NULL, &err) != 0 ||
        dtrain_stream_create(trial.world, &trial.stream, &err) != 0) {
        snprintf(said, FORK_TEXT_MAX, "%s", err.text);
        return;
    }
    try_all(&trial, row_type);
    dtrain_stream_destroy(trial.stream, NULL);
    dtrain_finalize(trial.world, NULL);
    if (!trial.failed)
        snprintf(said, FORK_TEXT_MAX, "well");
}

int main(void)
{
    const char *order;
    char why[256];

    if (gpu_count(why, sizeof(why)) == 0)
        return gpu_skip(why);
    for (size_t k = 0; (order = gpu_order(k)) != NULL; k++) {
        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
            row_type = types[i];
            tap_ok(gpu_run("kernels", (struct fork_layout){1, 1, 1, 1, 1}, body),
                   "%s: each kind of math, in each size, is the host's%s", dt_type_name(types[i]), order);
        }
    }
    return tap_done();
}
