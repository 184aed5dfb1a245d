/* Parameter servers when ranks die, when an update fails, and when ranks do not agree. */
#include <signal.h>
#include <stdlib.h>

#include "fork_world.h"
#include "ps_model.h"
#include "tap.h"

#define ENOUGH_MS 50000
#define STEPS 12
#define WORKERS_MAX 8

/* ---- Deaths ------------------------------------------------------------------------- */

struct death_row {
    struct fork_row fork; /* first: bodies get this one; odd: the victim */
    int servers[3];
    size_t server_count;
    int staleness;
    uint64_t dies_at; /* a worker: after this step; a server: in this update of its first piece */
    bool is_server;
    int (*update)(void *context, const struct dtrain_ps_update *update, struct dtrain_error *err);
};

static bool has_died(const struct death_row *row, int worker_rank, uint64_t step)
{
    return (uint32_t)worker_rank == row->fork.odd && !row->is_server && step > row->dies_at;
}

/* One step of those that live. */
static void step_model(const struct death_row *row, const struct dtrain_ps *ps, struct ps_model *model,
                       uint64_t step)
{
    for (size_t e = 0; e < ps_elements(); e++) {
        double gradients[WORKERS_MAX], value = ps_model_value(model, e);
        int n = 0;

        for (int w = 0; w < dtrain_ps_worker_count(ps); w++)
            if (!has_died(row, dtrain_ps_worker(ps, w), step))
                gradients[n++] = ps_gradient(model, w, step, e, value);
        ps_model_update(model, e, gradients, n, step);
    }
}

static int self_of(const struct dtrain_ps *ps, int rank)
{
    int w = 0;

    while (dtrain_ps_worker(ps, w) != rank)
        w++;
    return w;
}

static int train(const struct death_row *row, struct dtrain_ps *ps, int rank, struct ps_side *side,
                 struct ps_model *model, struct dtrain_stream *stream, struct dtrain_error *err)
{
    int self = self_of(ps, rank);

    for (uint64_t step = 1; step <= STEPS; step++) {
        if (has_died(row, rank, step))
            raise(SIGKILL);
        ps_side_compute(side, model, self, step);
        step_model(row, ps, model, step);
        if (dtrain_ps_push(ps, step, stream, err) < 0 || dtrain_ps_pull(ps, stream, err) < 0 ||
            dtrain_ps_wait(ps, err) < 0)
            return -1;
        if (row->staleness == 0 && ps_side_compare(side, model) >= 0)
            return snprintf(err->text, sizeof(err->text), "values differ after step %d", (int)step) * 0 - 1;
    }
    return 0;
}

/* The victim is lost, all others work or have left. */
static int check_status(const struct death_row *row, struct dtrain_ps *ps, struct dtrain_error *err)
{
    struct dtrain_ps_status status[WORKERS_MAX];

    if (dtrain_ps_status_get(ps, status, err) < 0)
        return -1;
    for (int w = 0; w < dtrain_ps_worker_count(ps); w++) {
        bool is_victim = (uint32_t)status[w].rank == row->fork.odd;

        if ((status[w].state == DTRAIN_PS_IS_LOST) != is_victim ||
            (is_victim && status[w].steps != row->dies_at))
            return snprintf(err->text, sizeof(err->text), "status: rank %d is in state %d after %d steps",
                            status[w].rank, (int)status[w].state, (int)status[w].steps) * 0 - 1;
    }
    return 0;
}

static int work(const struct death_row *row, struct dtrain_ps *ps, int rank, struct ps_side *side,
                struct ps_model *model, struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (train(row, ps, rank, side, model, stream, err) < 0 ||
        (!row->is_server && check_status(row, ps, err) < 0))
        return -1;
    return dtrain_ps_leave(ps, err);
}

static const struct death_row *server_row; /* of this process */
static uint32_t server_rank;

static void die_as_server(void *context, const struct dtrain_ps_event *event)
{
    (void)context;
    if (server_row->is_server && server_rank == server_row->fork.odd && event->kind == DTRAIN_PS_PUSHED &&
        event->step == server_row->dies_at)
        raise(SIGKILL);
}

static int run_rank(const struct death_row *row, struct dtrain_world *world, int rank,
                    struct dtrain_error *err)
{
    static struct ps_side side;
    static struct ps_model model;
    struct dtrain_ps_options options = {.servers = row->servers, .server_count = row->server_count, .lr = 0.1,
                                        .momentum = 0.9, .staleness = row->staleness, .watch = die_as_server,
                                        .rule = row->update != NULL ? DTRAIN_PS_USER : DTRAIN_PS_SGD,
                                        .update = row->update};
    struct dtrain_stream *stream;
    struct dtrain_ps *ps;
    int rc;

    server_row = row;
    server_rank = (uint32_t)rank;
    ps_model_init(&model, &options, DTRAIN_FLOAT32, DTRAIN_FLOAT32);
    ps_side_init(&side, &model);
    if (dtrain_stream_create(world, &stream, err) < 0)
        return -1;
    rc = dtrain_ps_create(&ps, world, side.parameters, PS_PARAMETERS, &options, err);
    if (rc == 0 && dtrain_ps_is_server(ps)) {
        rc = dtrain_ps_serve(ps, err);
        if (rc == 0)
            rc = check_status(row, ps, err);
    } else if (rc == 0) {
        rc = work(row, ps, rank, &side, &model, stream, err);
    }
    dtrain_ps_destroy(ps);
    dtrain_stream_destroy(stream, NULL);
    return rc;
}

/* Says "well" and what the world ended with, or why not. */
static void body_dies(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    const struct death_row *row = (const struct death_row *)step->row;
    struct dtrain_world *world;
    struct dtrain_error err = {""}, end = {""};
    int rc = fork_init(&world, step, rank, NULL, NULL, &err);

    if (rc == 0)
        rc = run_rank(row, world, (int)rank, &err);
    (void)dtrain_finalize(world, &end);
    snprintf(said, FORK_TEXT_MAX, "%s: %.900s", rc == 0 ? "well" : "failed", rc == 0 ? end.text : err.text);
}

static int update_fails(void *context, const struct dtrain_ps_update *update, struct dtrain_error *err)
{
    (void)context;
    if (server_rank != 1 || update->number < 3)
        return 0;
    snprintf(err->text, sizeof(err->text), "the table is full");
    return -1;
}

#define LAYOUT(nodes, tasks) {nodes, tasks, 1, 1, 1}
#define DIES(rank) .odd = rank, .killed = 1u << (rank)

static const struct death_row death_rows[] = {
    {{"a worker dies", LAYOUT(1, 5), .words = {"well: ", "rank 3 on n1 died"}, DIES(3)},
     {0, 1}, 2, 0, 5, false, NULL},
    {{"the first worker dies after its first step", LAYOUT(1, 4),
      .words = {"well: ", "rank 1 on n1 died"}, DIES(1)},
     {0}, 1, 0, 1, false, NULL},
    {{"a worker dies that leads its node, and the tree", LAYOUT(2, 2),
      .words = {"well: ", "died"}, DIES(0)}, {1, 3}, 2, 0, 4, false, NULL},
    {{"a worker dies that leads another node", LAYOUT(2, 3),
      .words = {"well: ", "rank 3 on n2 died"}, DIES(3)},
     {0, 1}, 2, 0, 4, false, NULL},
    {{"one of two workers dies", LAYOUT(1, 3), .words = {"well: ", "rank 2 on n1 died"}, DIES(2)},
     {0}, 1, 0, 6, false, NULL},
    {{"a worker dies, with staleness", LAYOUT(1, 4), .words = {"well: ", "rank 2 on n1 died"}, DIES(2)},
     {0}, 1, 2, 5, false, NULL},
    {{"the only worker dies", LAYOUT(1, 3),
      .words = {"failed: dtrain_ps_serve: all 1 workers are lost", "rank 2 on n1"},
      DIES(2)}, {0, 1}, 2, 0, 5, false, NULL},
    {{"a server dies", LAYOUT(1, 5), .words = {"failed: ", "rank 1 on n1 died"}, DIES(1)},
     {0, 1}, 2, 0, 5, true, NULL},
    {{"a server dies that leads its node", LAYOUT(2, 2), .words = {"failed: ", "rank 2 on n2 died"}, DIES(2)},
     {0, 2}, 2, 0, 5, true, NULL},
    {{"a server dies in the first step", LAYOUT(1, 4), .words = {"failed: ", "rank 0 on n1 died"}, DIES(0)},
     {0, 1}, 2, 0, 1, true, NULL},
    {{"the only server dies", LAYOUT(1, 3), .words = {"failed: ", "rank 0 on n1 died"}, DIES(0)},
     {0}, 1, 0, 3, true, NULL},
    {{"a server dies, with staleness", LAYOUT(1, 5), .words = {"failed: ", "rank 1 on n1 died"}, DIES(1)},
     {0, 1, 2}, 3, 2, 5, true, NULL},
    {{"an update fails on one server", LAYOUT(1, 4), .words = {"failed: ", "the table is full"}, .odd = 99},
     {0, 1}, 2, 1, 0, true, update_fails},
};

/* ---- Calls that cannot be ------------------------------------------------------------- */

static float memory[64];

struct bad_row {
    struct fork_row fork; /* first; odd: the rank that registers or wants other things, 99: all do */
    struct dtrain_ps_options options;
    struct dtrain_ps_parameter parameters[2];
    size_t n;
};

#define P(name, count) {name, memory, memory + 32, count, DTRAIN_FLOAT32, DTRAIN_FLOAT32}
#define TWO {P("a", 8), P("b", 5)}, 2
#define ALL .odd = 99

static const struct bad_row bad_rows[] = {
    {{"no worker", LAYOUT(1, 2), .words = {"all 2 ranks are servers: there is no worker"}, ALL},
     {.server_count = 2}, TWO},
    {{"one rank alone", LAYOUT(1, 1), .words = {"all 1 ranks are servers: there is no worker"}, ALL},
     {0}, TWO},
    {{"no worker beside the list", LAYOUT(1, 2), .words = {"there is no worker"}, ALL},
     {.servers = (int[]){1, 0}, .server_count = 2}, TWO},
    {{"no server", LAYOUT(1, 2), .words = {"server_count is 0: there is no server"}, ALL},
     {.servers = (int[]){1}}, TWO},
    {{"more servers than ranks", LAYOUT(1, 2), .words = {"server_count is 3, but only 2 ranks"}, ALL},
     {.server_count = 3}, TWO},
    {{"a server twice", LAYOUT(1, 3), .words = {"servers[1] is 2, which is a server already"}, ALL},
     {.servers = (int[]){2, 2}, .server_count = 2}, TWO},
    {{"a server that there is not", LAYOUT(1, 3),
      .words = {"servers[1] is 3: no rank of this world of 3"}, ALL},
     {.servers = (int[]){2, 3}, .server_count = 2}, TWO},
    {{"a parameter twice", LAYOUT(1, 2), .words = {"two parameters are called a"}, ALL},
     {0}, {P("a", 8), P("a", 8)}, 2},
    {{"no parameters", LAYOUT(1, 2), .words = {"there are no parameters (n is 0)"}, ALL},
     {0}, {P("a", 8)}, 0},
    {{"empty parameters only", LAYOUT(1, 2), .words = {"all 2 parameters have a count of 0"}, ALL},
     {0}, {P("a", 0), P("b", 0)}, 2},
    {{"no name", LAYOUT(1, 2), .words = {"parameter 1 has no name"}, ALL}, {0}, {P("a", 8), P("", 8)}, 2},
    {{"integers", LAYOUT(1, 2), .words = {"parameter 0 (a): type is int32"}, ALL},
     {0}, {{"a", memory, memory, 8, DTRAIN_INT32, DTRAIN_FLOAT32}}, 1},
    {{"an address that is not aligned", LAYOUT(1, 2), .words = {"float32 must be aligned to 4 bytes"}, ALL},
     {0}, {{"a", (char *)memory + 1, memory, 8, DTRAIN_FLOAT32, DTRAIN_FLOAT32}}, 1},
    {{"too many elements", LAYOUT(1, 2), .words = {"more than memory can hold"}, ALL},
     {0}, {P("a", SIZE_MAX / 8)}, 1},
    {{"a negative staleness", LAYOUT(1, 2), .words = {"staleness is -2"}, ALL}, {.staleness = -2}, TWO},
    {{"a rule that there is not", LAYOUT(1, 2), .words = {"rule is 7"}, ALL},
     {.rule = (enum dtrain_ps_rule)7}, TWO},
    {{"no rule of the user's", LAYOUT(1, 2), .words = {"update, which is NULL"}, ALL},
     {.rule = DTRAIN_PS_USER}, TWO},
    {{"momentum 1", LAYOUT(1, 2), .words = {"momentum is 1: expected 0 or more, less than 1"}, ALL},
     {.momentum = 1}, TWO},
    {{"a worker's count", LAYOUT(1, 4),
      .words = {"rank 2 on n1 registered parameter 1 otherwise than rank 0"},
      .odd = 2}, {0}, {P("a", 8), P("b", 6)}, 2},
    {{"a server's count", LAYOUT(1, 4),
      .words = {"rank 0 on n1 registered parameter 1 otherwise than rank 1"},
      .odd = 0}, {0}, {P("a", 8), P("b", 6)}, 2},
    {{"another name", LAYOUT(2, 2), .words = {"rank 3 on n2 registered parameter 0 otherwise than rank 0"},
      .odd = 3}, {0}, {P("c", 8), P("b", 5)}, 2},
    {{"another type", LAYOUT(1, 3), .words = {"rank 1 on n1 registered parameter 0 otherwise than rank 0"},
      .odd = 1}, {0}, {{"a", memory, memory + 32, 8, DTRAIN_BFLOAT16, DTRAIN_FLOAT32}, P("b", 5)}, 2},
    {{"one parameter less", LAYOUT(1, 3),
      .words = {"rank 1 on n1 registered parameter 1 otherwise than rank 0"},
      .odd = 1}, {0}, {P("a", 8)}, 1},
    {{"another staleness", LAYOUT(1, 3), .words = {"rank 1 on n1 has other options than rank 0"}, .odd = 1},
     {.staleness = 3}, TWO},
    {{"other servers", LAYOUT(1, 4), .words = {"rank 3 on n1 has other options than rank 0"}, .odd = 3},
     {.server_count = 2}, TWO},
    {{"one rank alone gives what cannot be", LAYOUT(1, 3),
      .words = {"rank 2 on n1 cannot take part"}, .odd = 2,
      .silent = 1u << 2}, {.staleness = -2}, TWO},
    {{"a worker without a gradient", LAYOUT(1, 3), .words = {"rank 2 on n1 cannot take part"}, .odd = 2,
      .silent = 1u << 2}, {0}, {P("a", 8), {"b", memory, NULL, 5, DTRAIN_FLOAT32, DTRAIN_FLOAT32}}, 2},
};

static void body_bad(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    const struct bad_row *row = (const struct bad_row *)step->row;
    const struct dtrain_ps_parameter usual[2] = {P("a", 8), P("b", 5)};
    const struct dtrain_ps_options options = {0};
    bool is_odd = row->fork.odd == 99 || row->fork.odd == rank;
    struct dtrain_world *world;
    struct dtrain_error err = {""};
    struct dtrain_ps *ps = NULL;
    int rc = fork_init(&world, step, rank, NULL, NULL, &err);

    if (rc == 0 && dtrain_ps_create(&ps, world, is_odd ? row->parameters : usual, is_odd ? row->n : 2,
                                    is_odd ? &row->options : &options, &err) == 0)
        fork_say(err.text, "it was taken");
    dtrain_ps_destroy(ps);
    if (dtrain_finalize(world, NULL) == 0 && (row->fork.silent >> rank & 1) == 0)
        fork_say(said, err.text);
}

/* ---- Calls out of place ----------------------------------------------------------------- */

static bool refuses(int rc, const struct dtrain_error *err, const char *words, char said[FORK_TEXT_MAX])
{
    if (rc < 0 && strstr(err->text, words) != NULL)
        return true;
    snprintf(said, FORK_TEXT_MAX, "expected \"%.200s\" in: %.700s", words,
             rc < 0 ? err->text : "(it was taken)");
    return false;
}

static bool misuse_server(struct dtrain_ps *ps, struct dtrain_stream *s, struct dtrain_error *e,
                          char said[FORK_TEXT_MAX])
{
    return refuses(dtrain_ps_push(ps, 1, s, e), e, "dtrain_ps_push: rank 0 is a server", said) &&
           refuses(dtrain_ps_pull(ps, s, e), e, "dtrain_ps_pull: rank 0 is a server", said) &&
           refuses(dtrain_ps_leave(ps, e), e, "dtrain_ps_leave: rank 0 is a server", said) &&
           (dtrain_ps_serve(ps, e) == 0 || refuses(0, e, e->text, said)) &&
           refuses(dtrain_ps_serve(ps, e), e, "has served already", said);
}

static bool misuse_worker(struct dtrain_ps *ps, struct dtrain_stream *s, struct dtrain_error *e,
                          char said[FORK_TEXT_MAX])
{
    bool ok = refuses(dtrain_ps_serve(ps, e), e, "dtrain_ps_serve: rank 1 is a worker", said) &&
              refuses(dtrain_ps_push(ps, 2, s, e), e, "parameter 0 (a) was pushed 0 times: expected step 1",
                      said) &&
              refuses(dtrain_ps_push(ps, 1, NULL, e), e, "dtrain_ps_push: stream is NULL", said) &&
              refuses(dtrain_ps_push_one(ps, 2, 1, s, e), e, "index is 2: 2 parameters", said) &&
              refuses(dtrain_ps_pull_one(ps, 2, s, e), e, "index is 2: 2 parameters", said) &&
              dtrain_ps_push_one(ps, 1, 1, s, e) == 0 &&
              refuses(dtrain_ps_push_one(ps, 1, 1, s, e), e, "parameter 1 (b) was pushed 1 times", said) &&
              refuses(dtrain_ps_push(ps, 1, s, e), e, "parameter 1 (b) was pushed 1 times", said);

    return dtrain_ps_leave(ps, e) == 0 && ok &&
           refuses(dtrain_ps_pull(ps, s, e), e, "dtrain_ps_leave() is the last call", said);
}

static void body_misuse(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    const struct dtrain_ps_parameter usual[2] = {P("a", 8), P("b", 5)};
    struct dtrain_stream *stream = NULL;
    struct dtrain_world *world;
    struct dtrain_error err = {""};
    struct dtrain_ps *ps = NULL;
    bool ok = fork_init(&world, step, rank, NULL, NULL, &err) == 0 &&
              dtrain_stream_create(world, &stream, &err) == 0 &&
              dtrain_ps_create(&ps, world, usual, 2, NULL, &err) == 0;

    if (ok)
        ok = rank == 0 ? misuse_server(ps, stream, &err, said) : misuse_worker(ps, stream, &err, said);
    else
        fork_say(said, err.text);
    dtrain_ps_destroy(ps);
    dtrain_stream_destroy(stream, NULL);
    if (dtrain_finalize(world, &err) == 0 && ok)
        fork_say(said, "well");
}

/* ---- Who is a server ---------------------------------------------------------------------- */

struct role_row {
    const char *name;
    struct fork_layout layout;
    size_t server_count;
    const char *words; /* servers, then workers */
};

static size_t role_count; /* of the row that runs */

static const struct role_row role_rows[] = {
    {"the first rank of each node", LAYOUT(3, 2), 0, "0 2 4 / 1 3 5"},
    {"two over three nodes", LAYOUT(3, 2), 2, "0 2 / 1 3 4 5"},
    {"four over three nodes", LAYOUT(3, 2), 4, "0 2 4 1 / 3 5"},
    {"one", LAYOUT(1, 4), 1, "0 / 1 2 3"},
};

static void body_roles(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    const struct dtrain_ps_parameter usual[2] = {P("a", 8), P("b", 5)};
    struct dtrain_ps_options options = {.server_count = role_count};
    struct dtrain_world *world;
    struct dtrain_error err = {""};
    struct dtrain_ps *ps = NULL;
    size_t used = 0;

    if (fork_init(&world, step, rank, NULL, NULL, &err) == 0 &&
        dtrain_ps_create(&ps, world, usual, 2, &options, &err) == 0) {
        for (int i = 0; dtrain_ps_server(ps, i) >= 0; i++)
            used += (size_t)snprintf(said + used, FORK_TEXT_MAX - used, "%d ", dtrain_ps_server(ps, i));
        used += (size_t)snprintf(said + used, FORK_TEXT_MAX - used, "/");
        for (int i = 0; dtrain_ps_worker(ps, i) >= 0; i++)
            used += (size_t)snprintf(said + used, FORK_TEXT_MAX - used, " %d", dtrain_ps_worker(ps, i));
    } else {
        fork_say(said, err.text);
    }
    dtrain_ps_destroy(ps);
    dtrain_finalize(world, NULL);
}

/* ---- All -------------------------------------------------------------------------------------- */

int main(void)
{
    struct fork_row misuse = {
        .layout = LAYOUT(1, 2), .timeout_ms = ENOUGH_MS, .body = body_misuse, .words = {"well"}};

    for (size_t i = 0; i < sizeof(death_rows) / sizeof(death_rows[0]); i++) {
        struct death_row row = death_rows[i];

        row.fork.timeout_ms = ENOUGH_MS;
        row.fork.body = body_dies;
        tap_ok(fork_check(&row.fork), "%s", row.fork.name);
    }
    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
        struct bad_row row = bad_rows[i];

        row.fork.timeout_ms = ENOUGH_MS;
        row.fork.body = body_bad;
        tap_ok(fork_check(&row.fork), "%s", row.fork.name);
    }
    for (size_t i = 0; i < sizeof(role_rows) / sizeof(role_rows[0]); i++) {
        struct fork_row row = {.layout = role_rows[i].layout, .timeout_ms = ENOUGH_MS, .body = body_roles,
                               .words = {role_rows[i].words}};

        role_count = role_rows[i].server_count;
        tap_ok(fork_check(&row), "%s", role_rows[i].name);
    }
    tap_ok(fork_check(&misuse), "calls out of place");
    return tap_done();
}
