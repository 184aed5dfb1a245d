/* Communicators that a rank makes fail on purpose: what the others are in ends soon, and says by whom and why. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_double.h"
#include "tap.h"

#define LONG_MS 60000 /* a deadline that no case here reaches */
#define VALUES 4000000
#define WHY "the loss is not a number"

static bool expect(struct rank *r, const struct dtrain_error *got, const char *words)
{
    if (strstr(got->text, words) != NULL)
        return true;
    snprintf(r->err.text, sizeof(r->err.text), "expected \"%.200s\" in: %.700s", words, got->text);
    return false;
}

static bool fail(struct rank *r, const char *text)
{
    snprintf(r->err.text, sizeof(r->err.text), "%s", text);
    return false;
}

/* Whoever revoked: every later call says so, at once or when its stream is waited for. */
static bool expect_revoked(struct rank *r, int revoker)
{
    struct dtrain_error err;
    char words[128];

    snprintf(words, sizeof(words), "revoked by rank %d on n", revoker);
    if (dtrain_barrier(r->comm, r->streams[0], &err) == 0 &&
        dtrain_stream_synchronize(r->streams[0], &err) == 0)
        return fail(r, "a communicator that was revoked takes operations");
    return expect(r, &err, words) && expect(r, &err, WHY);
}

static bool revoke(struct rank *r)
{
    return dtrain_comm_revoke(r->comm, WHY, &r->err) == 0;
}

/* What is queued on stream 0 ends with the reason of `revoker`. */
static bool expect_end(struct rank *r, int revoker, const char *operation)
{
    struct dtrain_error err;
    char words[128];

    snprintf(words, sizeof(words), "revoked by rank %d on n", revoker);
    if (dtrain_stream_synchronize(r->streams[0], &err) == 0)
        return fail(r, "the operation passed");
    return expect(r, &err, words) && expect(r, &err, WHY) && expect(r, &err, operation);
}

/* ---- Rows: rank 0 revokes ------------------------------------------------- */

static bool pass_first(struct rank *r)
{
    bool ok = dtrain_barrier(r->comm, r->streams[0], &r->err) == 0 &&
              dtrain_stream_synchronize(r->streams[0], &r->err) == 0;

    double_meet(r); /* others may still be in it */
    return ok;
}

/* Rank 3 waits for rank 2, which like all but rank 0 does nothing. */
static bool in_recv(struct rank *r)
{
    int32_t value = 0;
    bool ok = pass_first(r);

    if (r->rank == 3)
        ok = ok && dtrain_recv(r->comm, &value, 1, DTRAIN_INT32, 2, r->streams[0], &r->err) == 0;
    double_meet(r);
    if (r->rank == 0)
        ok = ok && revoke(r);
    if (r->rank == 3)
        ok = ok && expect_end(r, 0, "recv #1 on dtrain/tp/0");
    double_meet(r);
    ok = ok && expect_revoked(r, 0);
    double_meet(r);
    return ok;
}

/* All but rank 0 wait for it. */
static bool in_all_reduce(struct rank *r)
{
    float values[100] = {0};
    bool ok = pass_first(r);

    if (r->rank != 0)
        ok = ok && dtrain_all_reduce(r->comm, values, values, 100, DTRAIN_FLOAT32, DTRAIN_SUM, r->streams[0],
                                     &r->err) == 0;
    double_meet(r);
    if (r->rank == 0)
        ok = ok && revoke(r);
    else
        ok = ok && expect_end(r, 0, "all_reduce #2 on dtrain/tp/0");
    ok = ok && expect_revoked(r, 0);
    double_meet(r);
    return ok;
}

/* What waits behind the operation that runs, on either stream, ends too. */
static bool in_a_queue(struct rank *r)
{
    float values[100] = {0};
    struct dtrain_error err;
    bool ok = pass_first(r);

    for (int i = 0; i < 20 && r->rank != 0; i++)
        ok = ok && dtrain_all_reduce(r->comm, values, values, 100, DTRAIN_FLOAT32, DTRAIN_SUM,
                                     r->streams[i % 2], &r->err) == 0;
    double_meet(r);
    if (r->rank == 0)
        ok = ok && revoke(r);
    else
        ok = ok && expect_end(r, 0, "") && dtrain_stream_synchronize(r->streams[1], &err) != 0 &&
             expect(r, &err, WHY);
    double_meet(r);
    return ok;
}

static bool with_nobody_waiting(struct rank *r)
{
    bool ok = pass_first(r);

    if (r->rank == 0)
        ok = ok && revoke(r);
    double_meet(r);
    ok = ok && expect_revoked(r, 0);
    double_meet(r);
    return ok;
}

/* The first reason of a rank stays, and no call fails. */
static bool twice(struct rank *r)
{
    struct dtrain_error err;
    bool ok = pass_first(r);

    if (r->rank == 0)
        ok = ok && revoke(r) && dtrain_comm_revoke(r->comm, "a second reason", &r->err) == 0;
    double_meet(r);
    ok = ok && expect_revoked(r, 0) && dtrain_comm_revoke(r->comm, "a third reason", &r->err) == 0;
    if (ok && dtrain_barrier(r->comm, r->streams[0], &err) == 0)
        ok = fail(r, "it takes operations");
    ok = ok && expect(r, &err, WHY);
    double_meet(r);
    return ok;
}

static void *revoke_beside(void *argument)
{
    struct rank *r = argument;

    return revoke(r) ? argument : NULL;
}

/* Rank 0 is in a long operation itself, as the others are, when another thread of it revokes. */
static bool beside_an_operation(struct rank *r)
{
    float *values = calloc(VALUES, sizeof(*values));
    void *is_ok = r;
    pthread_t thread;
    int queued = 0;
    bool ok = pass_first(r);

    while (ok && queued < 100 &&
           dtrain_all_reduce(r->comm, values, values, VALUES, DTRAIN_FLOAT32, DTRAIN_SUM, r->streams[0],
                             &r->err) == 0)
        queued++;
    double_meet(r);
    if (r->rank == 0) {
        pthread_create(&thread, NULL, revoke_beside, r);
        pthread_join(thread, &is_ok);
    }
    ok = ok && is_ok != NULL && expect_end(r, 0, "") && expect_revoked(r, 0);
    double_meet(r);
    free(values);
    return ok;
}

static bool all_at_once(struct rank *r)
{
    struct dtrain_error err;
    bool ok = pass_first(r) && revoke(r);

    if (ok && dtrain_barrier(r->comm, r->streams[0], &err) == 0 &&
        dtrain_stream_synchronize(r->streams[0], &err) == 0)
        ok = fail(r, "it takes operations");
    ok = ok && expect(r, &err, WHY);
    double_meet(r);
    return ok;
}

/* Nobody else has it: the mark is local, and the others' communicators go on. */
static bool alone(struct rank *r)
{
    const uint32_t self = (uint32_t)r->rank;
    struct dtrain_comm *comm = double_comm(r, "dtrain/dp/0", 9, &self, 1);
    struct dtrain_error err;
    bool ok = comm != NULL && dtrain_barrier(comm, r->streams[0], &r->err) == 0 &&
              dtrain_comm_revoke(comm, WHY, &r->err) == 0;

    if (ok && dtrain_barrier(comm, r->streams[0], &err) == 0)
        ok = fail(r, "it takes operations");
    ok = ok && expect(r, &err, "dtrain_barrier: revoked by rank ") && expect(r, &err, WHY) && pass_first(r);
    double_meet(r);
    dt_comm_destroy(comm);
    return ok;
}

static bool with_no_reason(struct rank *r)
{
    struct dtrain_error err;
    bool ok = dtrain_comm_revoke(NULL, WHY, &err) != 0 && expect(r, &err, "comm is NULL") &&
              dtrain_comm_revoke(r->comm, NULL, &err) != 0 && expect(r, &err, "why is empty") &&
              dtrain_comm_revoke(r->comm, "", &err) != 0 && expect(r, &err, "why is empty") && pass_first(r);

    double_meet(r);
    return ok;
}

static const struct row {
    const char *name;
    rank_body *body;
    int size;
} rows[] = {
    {"in recv, told by nobody that it is linked to", in_recv, 6},
    {"in recv from a neighbour", in_recv, 4},
    {"in all_reduce", in_all_reduce, 4},
    {"in all_reduce", in_all_reduce, 2},
    {"in the queues of two streams", in_a_queue, 3},
    {"with nobody waiting", with_nobody_waiting, 5},
    {"twice", twice, 3},
    {"from a thread beside a running operation", beside_an_operation, 3},
    {"by all ranks at once", all_at_once, 4},
    {"a group of one", alone, 2},
    {"NULL and no reason are refused", with_no_reason, 2},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (enum placement placement = 0; placement < PLACEMENT_COUNT; placement++)
            tap_ok(double_run(rows[i].size, placement, LONG_MS, rows[i].body, NULL) == 0,
                   "revoked %s on %d ranks, %s", rows[i].name, rows[i].size, placement_names[placement]);
    }
    return tap_done();
}
