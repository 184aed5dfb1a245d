/* Order: streams, several communicators at once, transfers that cross. */
#include "host_double.h"

#include <stdlib.h>

#include "tap.h"

#define TIMEOUT_MS 60000
#define N 3000

static bool synchronize(struct rank *r)
{
    return dtrain_stream_synchronize(r->streams[0], &r->err) == 0 &&
           dtrain_stream_synchronize(r->streams[1], &r->err) == 0;
}

static bool wrong(struct rank *r, const char *what)
{
    snprintf(r->err.text, sizeof(r->err.text), "%s", what);
    return false;
}

/* ---- Streams ------------------------------------------------------------ */

/* Each operation needs the result of the one before. */
static bool one_stream_keeps_order(struct rank *r)
{
    int64_t values[4] = {1, 2, 3, 4}, want = 1;
    bool done = false;

    for (int i = 0; i < 20; i++, want *= r->size) {
        if (dtrain_all_reduce(r->comm, values, values, 4, DTRAIN_INT64, DTRAIN_SUM, r->streams[0],
                              &r->err) != 0)
            return false;
    }
    if (!synchronize(r) || dtrain_stream_query(r->streams[0], &done, &r->err) != 0)
        return false;
    return (done && values[0] == want && values[3] == 4 * want) || wrong(r, "order was lost");
}

/* One communicator from two streams: its operations still run in the order of the calls. */
static bool two_streams_share_a_communicator(struct rank *r)
{
    int32_t values[40];

    for (int i = 0; i < 40; i++) {
        values[i] = r->rank == i % r->size ? i : -1;
        if (dtrain_broadcast(r->comm, &values[i], 1, DTRAIN_INT32, i % r->size, r->streams[i % 2],
                             &r->err) != 0)
            return false;
    }
    if (!synchronize(r))
        return false;
    for (int i = 0; i < 40; i++) {
        if (values[i] != i)
            return wrong(r, "operations of two streams were mixed up");
    }
    return true;
}

/* A stream's operations of one communicator wait for nothing that another stream waits for. */
static bool streams_run_at_the_same_time(struct rank *r)
{
    uint32_t all[DOUBLE_RANKS_MAX];
    struct dtrain_comm *other;
    int32_t first = r->rank, second = r->rank;
    int peer = 1 - r->rank;
    bool ok;

    for (uint32_t i = 0; i < DOUBLE_RANKS_MAX; i++)
        all[i] = i;
    other = double_comm(r, "dtrain/pp/0", 2, all, r->size);
    if (other == NULL)
        return false;
    /* Rank 0 sends on stream 0 only after it received on stream 1, and rank 1 the other way round. */
    if (r->rank == 0)
        ok = dtrain_recv(r->comm, &first, 1, DTRAIN_INT32, peer, r->streams[0], &r->err) == 0 &&
             dtrain_send(other, &second, 1, DTRAIN_INT32, peer, r->streams[1], &r->err) == 0;
    else
        ok = dtrain_recv(other, &first, 1, DTRAIN_INT32, peer, r->streams[0], &r->err) == 0 &&
             dtrain_send(r->comm, &second, 1, DTRAIN_INT32, peer, r->streams[1], &r->err) == 0;
    ok = ok && synchronize(r) && (first == peer || wrong(r, "another value came"));
    dt_comm_destroy(other);
    return ok;
}

#define CHAIN 50

/* Each addition must see the one before, which ran on the other stream. */
static bool a_stream_waits_for_another(struct rank *r)
{
    float value[2] = {1, 0};

    for (int i = 0; i < CHAIN; i++) {
        struct dtrain_stream *on = r->streams[i % 2], *other = r->streams[1 - i % 2];
        struct dt_math add = {.kind = DT_MATH_SCALE,
                              .scale = {.to = &value[(i + 1) % 2], .from = &value[i % 2], .n = 1,
                                        .to_type = DTRAIN_FLOAT32, .from_type = DTRAIN_FLOAT32,
                                        .by.factor = 1, .accumulate = true}};

        if (dtrain_all_reduce(r->comm, &value[i % 2], &value[i % 2], 1, DTRAIN_FLOAT32, DTRAIN_AVG,
                              other, &r->err) != 0 ||
            dtrain_stream_wait(on, other, &r->err) != 0 || dt_math_enqueue(&add, on, &r->err) != 0 ||
            dtrain_stream_wait(other, on, &r->err) != 0)
            return false;
    }
    if (!synchronize(r))
        return false;
    /* Fibonacci's numbers, as long as a float holds them; then their rounded sums. */
    float a = 1, b = 0;
    for (int i = 0; i < CHAIN; i++) {
        if (i % 2 == 0)
            b += a;
        else
            a += b;
    }
    return (value[0] == a && value[1] == b) || wrong(r, "a wait was passed too early");
}

static bool waits_are_refused(struct rank *r)
{
    struct dtrain_error err = {""};

    if (dtrain_stream_wait(r->streams[0], NULL, &err) == 0 || strstr(err.text, "other is NULL") == NULL)
        return wrong(r, "a wait for no stream was taken");
    return dtrain_stream_wait(r->streams[0], r->streams[0], &r->err) == 0 && synchronize(r);
}

/* In the stream's order: what the copy took is what the operation before it left. */
static bool copies_are_in_order(struct rank *r)
{
    int64_t value = 1, copy = 0;
    struct dtrain_error err = {""};

    if (dtrain_all_reduce(r->comm, &value, &value, 1, DTRAIN_INT64, DTRAIN_SUM, r->streams[0], &r->err) != 0 ||
        dtrain_copy(&copy, &value, sizeof(copy), r->streams[0], &r->err) != 0 ||
        dtrain_all_reduce(r->comm, &value, &value, 1, DTRAIN_INT64, DTRAIN_SUM, r->streams[0], &r->err) != 0 ||
        !synchronize(r))
        return false;
    if (copy != r->size || value != r->size * r->size)
        return wrong(r, "the copy was not made in order");
    return (dtrain_copy(NULL, &value, 1, r->streams[0], &err) != 0 && strstr(err.text, "to is NULL") != NULL) ||
           wrong(r, "a copy to nowhere was taken");
}

/* ---- Communicators ------------------------------------------------------ */

#define GRID_COMMS 4

/* A grid of 2 columns: rows, columns, all, and all in another order of ranks. */
static bool create_grid(struct rank *r, struct dtrain_comm *comms[GRID_COMMS])
{
    uint32_t row[2], column[DOUBLE_RANKS_MAX], all[DOUBLE_RANKS_MAX], reversed[DOUBLE_RANKS_MAX];
    uint32_t x = (uint32_t)r->rank % 2, y = (uint32_t)r->rank / 2;

    for (uint32_t i = 0; i < (uint32_t)r->size; i++) {
        all[i] = i;
        reversed[i] = (uint32_t)r->size - 1 - i;
        column[i / 2] = 2 * (i / 2) + x;
    }
    row[0] = 2 * y;
    row[1] = 2 * y + 1;
    comms[0] = double_comm(r, "dtrain/tp/0", 10 + y, row, 2);
    comms[1] = double_comm(r, "dtrain/dp/0", 20 + x, column, r->size / 2);
    comms[2] = double_comm(r, "dtrain/dp-tp/0", 30, all, r->size);
    comms[3] = double_comm(r, "dtrain/pp/0", 31, reversed, r->size);
    return comms[0] != NULL && comms[1] != NULL && comms[2] != NULL && comms[3] != NULL;
}

static bool reduce_grid(struct rank *r, struct dtrain_comm *const comms[GRID_COMMS])
{
    int64_t *values = calloc(GRID_COMMS * N, sizeof(*values));
    bool ok = values != NULL;

    for (int i = 0; ok && i < GRID_COMMS * N; i++)
        values[i] = 1;
    for (int round = 0; ok && round < 5; round++) {
        for (int c = 0; ok && c < GRID_COMMS; c++)
            ok = dtrain_all_reduce(comms[c], values + c * N, values + c * N, N, DTRAIN_INT64,
                                   DTRAIN_SUM, r->streams[c % 2], &r->err) == 0;
    }
    ok = ok && synchronize(r);
    for (int c = 0; ok && c < GRID_COMMS; c++) {
        int64_t n = dtrain_comm_size(comms[c]), want = n * n * n * n * n;

        ok = (values[c * N] == want && values[c * N + N - 1] == want) || wrong(r, "a sum is wrong");
    }
    free(values);
    return ok;
}

static bool many_communicators(struct rank *r)
{
    struct dtrain_comm *comms[GRID_COMMS] = {NULL};
    bool ok = create_grid(r, comms) && reduce_grid(r, comms);

    for (int i = 0; i < GRID_COMMS; i++)
        dt_comm_destroy(comms[i]);
    return ok;
}

/* ---- Transfers ---------------------------------------------------------- */

#define LONG_N 500000 /* more than a link holds */

/* Every rank sends to every other one, several messages each, longer than the links' memory. */
static bool transfers_cross(struct rank *r)
{
    size_t n = (size_t)r->size * 2 * 2;
    struct dtrain_transfer *transfers = calloc(n, sizeof(*transfers));
    int8_t *sent = malloc(LONG_N), *got = calloc((size_t)r->size * 2, LONG_N);
    size_t k = 0;
    bool ok;

    memset(sent, r->rank + 1, LONG_N);
    for (int peer = 0; peer < r->size; peer++) {
        for (int i = 0; i < 2; i++) {
            int8_t *to = got + (size_t)(peer * 2 + i) * LONG_N;

            transfers[k++] = (struct dtrain_transfer){true, peer, DTRAIN_INT8, LONG_N - i, sent};
            transfers[k++] = (struct dtrain_transfer){false, peer, DTRAIN_INT8, LONG_N - i, to};
        }
    }
    ok = dtrain_transfer(r->comm, transfers, n, r->streams[0], &r->err) == 0;
    memset(transfers, 0xff, n * sizeof(*transfers)); /* the array was copied */
    ok = ok && synchronize(r);
    for (int i = 0; ok && i < r->size * 2; i++) {
        const int8_t *from = got + (size_t)i * LONG_N;

        ok = (from[0] == i / 2 + 1 && from[LONG_N - 2] == i / 2 + 1 &&
              from[LONG_N - 1] == (i % 2 == 0 ? i / 2 + 1 : 0)) || wrong(r, "another message came");
    }
    free(transfers);
    free(sent);
    free(got);
    return ok;
}

#define MANY 256 /* sends to each peer, and receives from each */

/* More operations in one group than what some libraries split at places that differ between ranks. */
static bool many_transfers_in_one_batch(struct rank *r)
{
    size_t n = (size_t)r->size * MANY, k = 0;
    struct dtrain_transfer *transfers = calloc(2 * n, sizeof(*transfers));
    int32_t *sent = calloc(n, sizeof(*sent)), *got = calloc(n, sizeof(*got));
    bool ok;

    for (int i = 0; i < r->size * MANY; i++) {
        int peer = i / MANY;

        if (peer == r->rank)
            continue;
        sent[i] = r->rank * MANY + i % MANY;
        transfers[k++] = (struct dtrain_transfer){true, peer, DTRAIN_INT32, 1, &sent[i]};
        transfers[k++] = (struct dtrain_transfer){false, peer, DTRAIN_INT32, 1, &got[i]};
    }
    ok = dtrain_transfer(r->comm, transfers, k, r->streams[0], &r->err) == 0 && synchronize(r);
    for (int i = 0; ok && i < r->size * MANY; i++)
        ok = i / MANY == r->rank || got[i] == i || wrong(r, "another message came");
    free(transfers);
    free(sent);
    free(got);
    return ok;
}

/*
 * Rank 0 groups sends to 1 and 2; rank 1 first waits for rank 2, which first
 * waits for rank 0. None of these connections existed before.
 */
static bool groups_wait_for_no_order(struct rank *r)
{
    int32_t own = r->rank, got[2] = {-1, -1};
    struct dtrain_transfer both[2] = {{true, 1, DTRAIN_INT32, 1, &own},
                                      {true, 2, DTRAIN_INT32, 1, &own}};
    uint32_t members[5] = {0, 3, 1, 4, 2}; /* ranks 0, 1, 2 are no neighbours in this ring */
    struct dtrain_comm *comm = double_comm(r, "dtrain/pp/0", 2, members, 5);
    struct dtrain_stream *stream = r->streams[0];
    bool ok = comm != NULL;

    both[0].peer = 2; /* in the group, the world's ranks 1 and 2 have the numbers 2 and 4 */
    both[1].peer = 4;
    if (ok && r->rank == 0)
        ok = dtrain_transfer(comm, both, 2, stream, &r->err) == 0;
    if (ok && r->rank == 1)
        ok = dtrain_recv(comm, &got[0], 1, DTRAIN_INT32, 4, stream, &r->err) == 0 &&
             dtrain_recv(comm, &got[1], 1, DTRAIN_INT32, 0, stream, &r->err) == 0;
    if (ok && r->rank == 2)
        ok = dtrain_recv(comm, &got[1], 1, DTRAIN_INT32, 0, stream, &r->err) == 0 &&
             dtrain_send(comm, &own, 1, DTRAIN_INT32, 2, stream, &r->err) == 0;
    ok = ok && synchronize(r);
    if (ok && ((r->rank == 1 && got[0] != 2) || ((r->rank == 1 || r->rank == 2) && got[1] != 0)))
        ok = wrong(r, "another value came");
    dt_comm_destroy(comm);
    return ok;
}

/* Messages wait for their receive, whatever order the receiver chooses among its peers. */
static bool early_messages_wait(struct rank *r)
{
    int32_t token = r->rank, got[3] = {-1, -1, -1};
    struct dtrain_stream *stream = r->streams[0];
    bool ok = true;

    if (r->rank > 0)
        ok = dtrain_send(r->comm, &token, 1, DTRAIN_INT32, 0, stream, &r->err) == 0;
    for (int peer = r->size - 1; ok && r->rank == 0 && peer > 0; peer--)
        ok = dtrain_recv(r->comm, &got[peer], 1, DTRAIN_INT32, peer, stream, &r->err) == 0;
    if (!ok || !synchronize(r))
        return false;
    return r->rank != 0 || (got[1] == 1 && got[2] == 2) || wrong(r, "another value came");
}

/* ---- Table -------------------------------------------------------------- */

struct row {
    const char *name;
    rank_body *body;
    int size;
};

static const struct row rows[] = {
    {"one stream keeps its order", one_stream_keeps_order, 3},
    {"two streams share a communicator", two_streams_share_a_communicator, 4},
    {"streams run at the same time", streams_run_at_the_same_time, 2},
    {"a stream waits for another", a_stream_waits_for_another, 2},
    {"waits for nothing", waits_are_refused, 1},
    {"copies are in order", copies_are_in_order, 3},
    {"many communicators at once", many_communicators, 8},
    {"many communicators of 16 ranks at once", many_communicators, 16},
    {"transfers cross", transfers_cross, 4},
    {"pytorch#174288: 1536 transfers in one batch", many_transfers_in_one_batch, 4},
    {"grouped transfers wait for no order of connecting", groups_wait_for_no_order, 5},
    {"early messages wait", early_messages_wait, 3},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (enum placement placement = 0; placement < PLACEMENT_COUNT; placement++)
            tap_ok(double_run(rows[i].size, placement, TIMEOUT_MS, rows[i].body, NULL) == 0, "%s, %s",
                   rows[i].name, placement_names[placement]);
    }
    return tap_done();
}
