/* What goes wrong between ranks: mismatched calls, a silent, a dead and a stopped peer. */
#include "host_double.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

#define LONG_MS 60000 /* a deadline that no case here reaches */
#define SHORT_MS 500

static bool expect(struct rank *r, const char *words)
{
    struct dtrain_error got = r->err;

    if (strstr(got.text, words) != NULL)
        return true;
    snprintf(r->err.text, sizeof(r->err.text), "expected \"%.200s\" in: %.700s", words, got.text);
    return false;
}

static bool synchronize(struct rank *r)
{
    return dtrain_stream_synchronize(r->streams[0], &r->err) == 0;
}

/* ---- Mismatched calls --------------------------------------------------- */

struct mismatch {
    const char *name;
    int size;
    int (*call)(struct rank *r, float *values);
    const char *words[4]; /* of every rank's error */
};

static int kinds(struct rank *r, float *values)
{
    if (r->rank == 1)
        return dtrain_broadcast(r->comm, values, 20, DTRAIN_FLOAT32, 0, r->streams[0], &r->err);
    return dtrain_all_reduce(r->comm, values, values, 10, DTRAIN_FLOAT32, DTRAIN_SUM, r->streams[0],
                             &r->err);
}

static int lengths(struct rank *r, float *values)
{
    return dtrain_all_reduce(r->comm, values, values, r->rank == 2 ? 11 : 10, DTRAIN_FLOAT32,
                             DTRAIN_SUM, r->streams[0], &r->err);
}

static int types(struct rank *r, float *values)
{
    return dtrain_all_gather(r->comm, values, values + 100, 10,
                             r->rank == 0 ? DTRAIN_INT32 : DTRAIN_FLOAT32, r->streams[0], &r->err);
}

static int reductions(struct rank *r, float *values)
{
    return dtrain_reduce_scatter(r->comm, values, values + 100, 10, DTRAIN_FLOAT32,
                                 r->rank == 0 ? DTRAIN_MAX : DTRAIN_MIN, r->streams[0], &r->err);
}

static int roots(struct rank *r, float *values)
{
    return dtrain_broadcast(r->comm, values, 10, DTRAIN_FLOAT32, r->rank == 2 ? 1 : 0, r->streams[0],
                            &r->err);
}

static int an_operation_more(struct rank *r, float *values)
{
    if (r->rank == 0 && dtrain_broadcast(r->comm, values, 1, DTRAIN_FLOAT32, 0, r->streams[0],
                                         &r->err) != 0)
        return -1;
    return dtrain_barrier(r->comm, r->streams[0], &r->err);
}

/* Rank 2 waits for rank 0, which never writes to it; rank 1 does. */
static int by_an_idle_peer(struct rank *r, float *values)
{
    if (r->rank == 2)
        return dtrain_broadcast(r->comm, values, 20, DTRAIN_FLOAT32, 0, r->streams[0], &r->err);
    return dtrain_all_reduce(r->comm, values, values, 5000, DTRAIN_FLOAT32, DTRAIN_AVG,
                             r->streams[0], &r->err);
}

static int transfers(struct rank *r, float *values)
{
    if (r->rank == 0)
        return dtrain_send(r->comm, values, 10, DTRAIN_FLOAT32, 1, r->streams[0], &r->err);
    return dtrain_recv(r->comm, values, 8, DTRAIN_FLOAT32, 0, r->streams[0], &r->err);
}

static int a_transfer_and_a_barrier(struct rank *r, float *values)
{
    if (r->rank == 0)
        return dtrain_send(r->comm, values, 10, DTRAIN_FLOAT32, 1, r->streams[0], &r->err);
    return dtrain_barrier(r->comm, r->streams[0], &r->err);
}

static const struct mismatch mismatches[] = {
    {"kinds", 2, kinds,
     {"rank 1 on n1 called broadcast of 80 bytes (float32, root 0), "
      "rank 0 on n1 all_reduce of 40 bytes (float32, sum) (operation #1 on dtrain/tp/0)",
      "must call the same operations in the same order"}},
    {"kinds", 4, kinds, {"broadcast of 80 bytes", "all_reduce of 40 bytes", "(operation #1 on"}},
    {"lengths", 3, lengths, {"called all_reduce of 4", "all_reduce of 40 bytes", "of 44 bytes"}},
    {"types", 3, types, {"all_gather of 40 bytes (int32)", "all_gather of 40 bytes (float32)"}},
    {"reductions", 3, reductions, {"(float32, max)", "(float32, min)"}},
    {"roots", 3, roots, {"rank 2 on n1 called broadcast of 40 bytes (float32, root 1), rank "}},
    {"an operation more", 3, an_operation_more, {"barrier", "must call the same operations"}},
    {"kinds, seen by an idle peer", 3, by_an_idle_peer,
     {"rank 2 on n1 called broadcast of 80 bytes", "rank 1 on n1 all_reduce of 20000 bytes"}},
    {"lengths of a transfer", 2, transfers,
     {"rank 1 on n1 called recv of 32 bytes (float32), rank 0 on n1 send of 40 bytes (float32)"}},
    {"a transfer and a barrier", 2, a_transfer_and_a_barrier,
     {"rank 1 on n1 called barrier, rank 0 on n1 send of 40 bytes (float32)"}},
};

static bool pass_barrier(struct rank *r)
{
    return dtrain_barrier(r->comm, r->streams[0], &r->err) == 0 && synchronize(r);
}

/* A rank whose own part was through already learns of it in a later operation. */
static bool call_mismatched(struct rank *r)
{
    const struct mismatch *mismatch = r->argument;
    float values[5000 + 200] = {0};

    double_meet(r); /* all are connected */
    if (mismatch->call(r, values) == 0 && synchronize(r) && pass_barrier(r) && pass_barrier(r)) {
        snprintf(r->err.text, sizeof(r->err.text), "the mismatch was not found");
        return false;
    }
    for (int i = 0; i < 4 && mismatch->words[i] != NULL; i++) {
        if (!expect(r, mismatch->words[i]))
            return false;
    }
    return true;
}

/* ---- A peer that does not come ------------------------------------------ */

static bool silent_peer(struct rank *r)
{
    bool ok = true;

    double_meet(r);
    if (r->rank != 2)
        ok = dtrain_barrier(r->comm, r->streams[0], &r->err) == 0 && !synchronize(r) &&
             expect(r, "barrier #1 on dtrain/tp/0") && expect(r, "waited 0.5 s for rank 2 on n");
    double_meet(r);
    return ok;
}

/* Rank 2 is no neighbour of rank 0: even the connection has to be made. */
static bool silent_peer_without_a_connection(struct rank *r)
{
    int32_t value = 0;
    bool ok = true;

    if (r->rank == 0)
        ok = dtrain_send(r->comm, &value, 1, DTRAIN_INT32, 2, r->streams[0], &r->err) == 0 &&
             !synchronize(r) &&
             expect(r, "send #1 on dtrain/tp/0 waited 0.5 s for rank 2 on n");
    double_meet(r);
    return ok;
}

/* ---- A peer that died --------------------------------------------------- */

static bool expect_failed(struct rank *r, const char *words)
{
    struct dtrain_error err;

    if (dtrain_barrier(r->comm, r->streams[0], &err) == 0) {
        snprintf(r->err.text, sizeof(r->err.text), "a communicator that failed takes operations");
        return false;
    }
    r->err = err;
    return expect(r, words);
}

/* Everything on the communicator fails, with the first reason; the others go on. */
static bool dead_peer(struct rank *r)
{
    static const uint32_t members[2] = {0, 1};
    const char *words = "barrier #1 on dtrain/tp/0: rank 2 on n";
    struct dtrain_comm *other = NULL;
    int32_t sum = 1;
    bool ok = true;

    double_meet(r); /* all are connected */
    if (r->rank == 2) {
        double_mark_dead(r->world, 2);
    } else {
        other = double_comm(r, "dtrain/pp/0", 2, members, 2);
        ok = other != NULL && dtrain_barrier(r->comm, r->streams[0], &r->err) == 0 &&
             dtrain_all_reduce(other, &sum, &sum, 1, DTRAIN_INT32, DTRAIN_SUM, r->streams[0],
                               &r->err) == 0 &&
             !synchronize(r) && expect(r, words) && expect(r, "died: signal 9") && synchronize(r) &&
             sum == 2 && expect_failed(r, words);
        dt_comm_destroy(other);
    }
    double_meet(r);
    return ok;
}

/* A death before the operation is known when it starts; so is one while a connection is made. */
static bool dead_peer_without_a_connection(struct rank *r)
{
    int32_t value = 0;
    bool ok = true;

    double_meet(r);
    if (r->rank == 0)
        ok = dtrain_recv(r->comm, &value, 1, DTRAIN_INT32, 3, r->streams[0], &r->err) == 0 &&
             !synchronize(r) && expect(r, "recv #1 on dtrain/tp/0: rank 2 on n") &&
             expect(r, "died: signal 9");
    if (r->rank == 2)
        double_mark_dead(r->world, 2);
    double_meet(r);
    return ok;
}

/* ---- Processes ---------------------------------------------------------- */

#define VICTIM 2
#define VALUES 300000

struct blow {
    const char *name;
    int signal;
    bool is_told; /* the survivors learn of it as of a death */
    int size;
    int timeout_ms;
    size_t count; /* of an all_reduce; 0: a barrier, in which all wait for the victim itself */
    const char *words[2]; /* of every survivor's error */
};

static const struct blow blows[] = {
    {"a killed process is known", SIGKILL, true, 4, LONG_MS, VALUES,
     {"rank 2 on n", "died: signal 9"}},
    {"a killed process is missed", SIGKILL, false, 4, LONG_MS, VALUES,
     {"rank 2 on n", "closed its connection before"}},
    {"a stopped process is named at the deadline", SIGSTOP, false, 3, 1200, 0,
     {"barrier #4 on dtrain/tp/0", "waited 1.2 s for rank 2 on n"}},
};

static int enqueue(struct rank *r, const struct blow *blow, float *values)
{
    if (blow->count == 0)
        return dtrain_barrier(r->comm, r->streams[0], &r->err);
    return dtrain_all_reduce(r->comm, values, values, blow->count, DTRAIN_FLOAT32, DTRAIN_SUM,
                             r->streams[0], &r->err);
}

/* The survivors go on until it fails; the victim strikes itself in its fourth operation. */
static bool run_until_struck(struct rank *r)
{
    const struct blow *blow = r->argument;
    float *values = calloc(VALUES, sizeof(*values));
    int i;

    for (i = 0; i < 100; i++) {
        if (r->rank == VICTIM && i == 3 && blow->count == 0)
            kill(getpid(), blow->signal);
        if (enqueue(r, blow, values) != 0)
            break;
        if (r->rank == VICTIM && i == 3)
            kill(getpid(), blow->signal);
        if (!synchronize(r))
            break;
    }
    free(values);
    if (i < 100)
        return expect(r, blow->words[0]) && expect(r, blow->words[1]);
    snprintf(r->err.text, sizeof(r->err.text), "100 operations passed without the victim");
    return false;
}

/* ---- Table -------------------------------------------------------------- */

struct row {
    const char *name;
    rank_body *body;
    int size;
    int timeout_ms;
};

static const struct row rows[] = {
    {"a silent peer is named at the deadline", silent_peer, 3, SHORT_MS},
    {"so is one without a connection", silent_peer_without_a_connection, 5, SHORT_MS},
    {"a death ends a wait", dead_peer, 3, LONG_MS},
    {"a death ends connecting to another", dead_peer_without_a_connection, 6, LONG_MS},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(mismatches) / sizeof(mismatches[0]); i++)
        tap_ok(double_run(mismatches[i].size, ALL_LOCAL, LONG_MS, call_mismatched,
                          (void *)&mismatches[i]) == 0, "mismatched %s on %d ranks",
               mismatches[i].name, mismatches[i].size);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (enum placement placement = 0; placement < PLACEMENT_COUNT; placement++)
            tap_ok(double_run(rows[i].size, placement, rows[i].timeout_ms, rows[i].body, NULL) == 0,
                   "%s, %s", rows[i].name, placement_names[placement]);
    }
    for (size_t i = 0; i < sizeof(blows) / sizeof(blows[0]); i++) {
        for (enum placement placement = 0; placement < PLACEMENT_COUNT; placement++)
            tap_ok(double_run_forked(blows[i].size, placement, blows[i].timeout_ms, run_until_struck,
                                     (void *)&blows[i], VICTIM, blows[i].is_told) == 0, "%s, %s",
                   blows[i].name, placement_names[placement]);
    }
    return tap_done();
}
