/* Every operation, type and reduction on 1 to 9 ranks against a plain reference. */
#include "host_double.h"

#include <stdlib.h>

#include "runtime/host_half.h"
#include "tap.h"

#define TYPES 7
#define PERIOD 30 /* values repeat after so many elements */
#define COUNT_MAX 70001
#define TIMEOUT_MS 60000

static const size_t counts[] = {0, 1, 2, 3, 7, 1000, COUNT_MAX};
static const enum dtrain_op ops[] = {DTRAIN_SUM, DTRAIN_AVG, DTRAIN_MAX, DTRAIN_MIN};

/* ---- The reference ------------------------------------------------------ */

/* Small whole numbers: their sums are exact in every type. */
static int value_of(int rank, size_t i)
{
    return (int)((i * 7 + (size_t)rank * 11) % PERIOD % 9) - 3;
}

static void store(void *buf, size_t i, enum dtrain_type type, double value)
{
    switch (type) {
    case DTRAIN_FLOAT32:
        ((float *)buf)[i] = (float)value;
        break;
    case DTRAIN_BFLOAT16:
        ((uint16_t *)buf)[i] = dt_bf16_of_float((float)value);
        break;
    case DTRAIN_FLOAT16:
        ((uint16_t *)buf)[i] = dt_f16_of_float((float)value);
        break;
    case DTRAIN_FLOAT64:
        ((double *)buf)[i] = value;
        break;
    case DTRAIN_INT32:
        ((int32_t *)buf)[i] = (int32_t)value;
        break;
    case DTRAIN_INT64:
        ((int64_t *)buf)[i] = (int64_t)value;
        break;
    case DTRAIN_INT8:
        ((int8_t *)buf)[i] = (int8_t)value;
        break;
    }
}

/* Division of a float by a float is rounded once, also when it is done in double and then rounded. */
static double reduced(int size, size_t i, enum dtrain_op op)
{
    int result = value_of(0, i);

    for (int rank = 1; rank < size; rank++) {
        int value = value_of(rank, i);

        if (op == DTRAIN_MAX)
            result = value > result ? value : result;
        else if (op == DTRAIN_MIN)
            result = value < result ? value : result;
        else
            result += value;
    }
    return op == DTRAIN_AVG ? (double)(float)((double)result / size) : result;
}

/* In float64 the average is not rounded to float on the way. */
static double expected_value(int size, size_t i, enum dtrain_type type, enum dtrain_op op)
{
    if (op == DTRAIN_AVG && type == DTRAIN_FLOAT64)
        return reduced(size, i, DTRAIN_SUM) / size;
    return reduced(size, i, op);
}

/* ---- One rank's work ---------------------------------------------------- */

struct task {
    struct rank *r;
    enum dtrain_type type;
    enum dtrain_op op;
    size_t count, element;
    char *send, *recv; /* room for size blocks */
    bool is_in_place;
};

static bool fail(const struct task *task, const char *what, size_t i)
{
    if (task->r->err.text[0] == '\0')
        snprintf(task->r->err.text, sizeof(task->r->err.text),
                 "%s type %d op %d count %zu in place %d: an element from %zu on differs", what, task->type,
                 task->op, task->count, task->is_in_place, i);
    return false;
}

/* Elements from the i-th to the end of its period, n at most. */
static size_t run_length(size_t i, size_t n)
{
    return PERIOD - i % PERIOD < n ? PERIOD - i % PERIOD : n;
}

static void fill(char *buf, const struct task *task, size_t n)
{
    char period[PERIOD * 8];

    for (size_t i = 0; i < PERIOD; i++)
        store(period, i, task->type, value_of(task->r->rank, i));
    for (size_t i = 0; i < n; i += PERIOD)
        memcpy(buf + i * task->element, period, run_length(i, n - i) * task->element);
}

/* n elements of buf are those of the reference from element `first` on; rank -1: reduced. */
static bool check(const char *buf, const struct task *task, size_t n, int rank, size_t first,
                  const char *what)
{
    size_t element = task->element, length;
    char period[PERIOD * 8];

    for (size_t i = 0; i < PERIOD; i++)
        store(period, i, task->type,
              rank < 0 ? expected_value(task->r->size, i, task->type, task->op) : value_of(rank, i));
    for (size_t i = 0; i < n; i += length) {
        length = run_length(first + i, n - i);
        if (memcmp(buf + i * element, period + (first + i) % PERIOD * element, length * element) != 0)
            return fail(task, what, i);
    }
    return true;
}

static bool finish(const struct task *task, int rc)
{
    return rc == 0 && dtrain_stream_synchronize(task->r->streams[0], &task->r->err) == 0;
}

static bool all_reduce(const struct task *task)
{
    struct rank *r = task->r;
    char *send = task->is_in_place ? task->recv : task->send;

    fill(send, task, task->count);
    return finish(task, dtrain_all_reduce(r->comm, send, task->recv, task->count, task->type,
                                          task->op, r->streams[0], &r->err)) &&
           check(task->recv, task, task->count, -1, 0, "all_reduce");
}

static bool reduce_scatter(const struct task *task)
{
    struct rank *r = task->r;
    size_t first = (size_t)r->rank * task->count;
    char *recv = task->is_in_place ? task->send + first * task->element : task->recv;

    fill(task->send, task, task->count * (size_t)r->size);
    return finish(task, dtrain_reduce_scatter(r->comm, task->send, recv, task->count, task->type,
                                              task->op, r->streams[0], &r->err)) &&
           check(recv, task, task->count, -1, first, "reduce_scatter");
}

static bool all_gather(const struct task *task)
{
    struct rank *r = task->r;
    size_t block = task->count * task->element;
    char *send = task->is_in_place ? task->recv + (size_t)r->rank * block : task->send;
    bool ok;

    fill(send, task, task->count);
    ok = finish(task, dtrain_all_gather(r->comm, send, task->recv, task->count, task->type,
                                        r->streams[0], &r->err));
    for (int i = 0; ok && i < r->size; i++)
        ok = check(task->recv + (size_t)i * block, task, task->count, i, 0, "all_gather");
    return ok;
}

static bool all_to_all(const struct task *task)
{
    struct rank *r = task->r;
    size_t block = task->count * task->element;
    char *send = task->is_in_place ? task->recv : task->send;
    bool ok;

    fill(send, task, task->count * (size_t)r->size);
    ok = finish(task, dtrain_all_to_all(r->comm, send, task->recv, task->count, task->type,
                                        r->streams[0], &r->err));
    for (int i = 0; ok && i < r->size; i++)
        ok = check(task->recv + (size_t)i * block, task, task->count, i,
                   (size_t)r->rank * task->count, "all_to_all");
    return ok;
}

static bool broadcast(const struct task *task)
{
    struct rank *r = task->r;
    int root = (int)(task->count + task->type) % r->size;

    fill(task->recv, task, task->count);
    return finish(task, dtrain_broadcast(r->comm, task->recv, task->count, task->type, root,
                                         r->streams[0], &r->err)) &&
           check(task->recv, task, task->count, root, 0, "broadcast");
}

/* To the next rank and from the one in front, together. */
static bool pass_on(const struct task *task)
{
    struct rank *r = task->r;
    int next = (r->rank + 1) % r->size, previous = (r->rank + r->size - 1) % r->size;
    struct dtrain_transfer transfers[2] = {{true, next, task->type, task->count, task->send},
                                           {false, previous, task->type, task->count, task->recv}};

    fill(task->send, task, task->count);
    return finish(task, dtrain_transfer(r->comm, transfers, 2, r->streams[0], &r->err)) &&
           check(task->recv, task, task->count, previous, 0, "transfer");
}

static bool run_ops(struct task *task)
{
    bool ok = true;

    for (size_t i = 0; ok && i < sizeof(ops) / sizeof(ops[0]); i++) {
        task->op = ops[i];
        ok = all_reduce(task) && reduce_scatter(task);
    }
    return ok && all_gather(task) && all_to_all(task);
}

/* The largest count takes the time: each type meets it in one placement of every size. */
static bool is_skipped(const struct task *task)
{
    const enum placement *placement = task->r->argument;

    return task->count == COUNT_MAX && (*placement + task->type) % PLACEMENT_COUNT != 0;
}

static bool run_type(struct task *task)
{
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        task->count = counts[i];
        /* Every other case in place: each operation, type and count meets both. */
        task->is_in_place = (i + task->type + (size_t)task->r->size) % 2 == 1;
        if (!is_skipped(task) && (!run_ops(task) || !broadcast(task) || !pass_on(task)))
            return false;
    }
    return dtrain_barrier(task->r->comm, task->r->streams[0], &task->r->err) == 0;
}

static bool run_all(struct rank *r)
{
    size_t room = (size_t)r->size * COUNT_MAX * 8;
    struct task task = {.r = r, .send = malloc(room), .recv = malloc(room)};
    bool ok = task.send != NULL && task.recv != NULL;

    for (int type = 0; ok && type < TYPES; type++) {
        task.type = (enum dtrain_type)type;
        task.element = dtrain_type_size(task.type);
        ok = run_type(&task);
    }
    free(task.send);
    free(task.recv);
    return ok;
}

/* ---- Bits --------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 32 | *state << 32;
}

struct results {
    size_t bytes;
    char *of_rank[DOUBLE_RANKS_MAX];
};

/* Any bits: numbers of all sizes, both zeros, infinities and NaNs with payloads. */
static bool reduce_random(struct rank *r)
{
    static const size_t sizes[] = {1000, 1023, COUNT_MAX};
    struct results *results = r->argument;
    uint64_t state = (uint64_t)r->rank + 1;
    char *at = results->of_rank[r->rank];

    for (size_t i = 0; i < 4 * 4 * 3; i++) {
        enum dtrain_type type = (enum dtrain_type)(i % 4); /* the float ones */
        size_t count = sizes[i / 16], bytes = count * dtrain_type_size(type);

        for (size_t k = 0; k < bytes / 8 * 8; k += 8)
            memcpy(at + k, &(uint64_t){next_random(&state)}, 8);
        memset(at + bytes / 8 * 8, 0, bytes % 8);
        if (dtrain_all_reduce(r->comm, at, at, count, type, ops[i / 4 % 4], r->streams[0],
                              &r->err) != 0)
            return false;
        at += (bytes + 7) / 8 * 8;
    }
    return dtrain_stream_synchronize(r->streams[0], &r->err) == 0;
}

static void test_bits(int size)
{
    struct results results = {.bytes = (size_t)4 * 18 * (1000 + 1023 + COUNT_MAX + 24)};
    bool is_same = true;

    for (int i = 0; i < size; i++)
        results.of_rank[i] = calloc(1, results.bytes);
    tap_ok(double_run(size, MIXED, TIMEOUT_MS, reduce_random, &results) == 0,
           "%d ranks reduce random bits", size);
    for (int i = 1; i < size; i++)
        is_same = is_same && memcmp(results.of_rank[0], results.of_rank[i], results.bytes) == 0;
    tap_ok(is_same, "all %d ranks get the same bits", size);
    for (int i = 0; i < size; i++)
        free(results.of_rank[i]);
}

int main(void)
{
    static const int bit_sizes[] = {2, 3, 6, 7};

    for (int size = 1; size <= 9; size++) {
        for (enum placement placement = 0; placement < PLACEMENT_COUNT; placement++)
            tap_ok(double_run(size, placement, TIMEOUT_MS, run_all, &placement) == 0,
                   "%d ranks, %s", size, placement_names[placement]);
    }
    for (size_t i = 0; i < sizeof(bit_sizes) / sizeof(bit_sizes[0]); i++)
        test_bits(bit_sizes[i]);
    return tap_done();
}
