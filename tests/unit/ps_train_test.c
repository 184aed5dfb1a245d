/* Parameter servers give the bits of their sequential definition, in step and with bounded staleness. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fork_world.h"
#include "ps_model.h"
#include "runtime/math_value.h"
#include "runtime/ps.h"
#include "tap.h"

#define ENOUGH_MS 50000
#define STEPS 20
#define WORKERS_MAX 4
#define TRACE_MAX 20000

struct ps_row {
    struct fork_row fork; /* first: bodies get this one */
    struct dtrain_ps_options options;
    enum dtrain_type type, gradient_type;
    bool one_by_one; /* a call for each parameter, in another order on each worker */
    uint64_t leaves; /* the last worker's last step; 0: as the others */
    int least_lead;  /* that must have been seen with staleness */
};

static void pause_us(int us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL);
}

/* ---- A worker's step ----------------------------------------------------------------- */

static int push(const struct ps_row *row, struct dtrain_ps *ps, int worker, uint64_t step,
                struct dtrain_stream *stream, struct dtrain_error *err)
{
    int rc = 0;

    if (!row->one_by_one)
        return dtrain_ps_push(ps, step, stream, err);
    for (size_t i = 0; i < PS_PARAMETERS && rc == 0; i++)
        rc = dtrain_ps_push_one(ps, (i + (size_t)worker) % PS_PARAMETERS, step, stream, err);
    return rc;
}

static int pull(const struct ps_row *row, struct dtrain_ps *ps, int worker, struct dtrain_stream *stream,
                struct dtrain_error *err)
{
    int rc = 0;

    if (!row->one_by_one)
        return dtrain_ps_pull(ps, stream, err);
    for (size_t i = 0; i < PS_PARAMETERS && rc == 0; i++)
        rc = dtrain_ps_pull_one(ps, (i * 3 + (size_t)worker) % PS_PARAMETERS, stream, err);
    return rc;
}

/* Values that are wrong before they are pulled, but for the first worker's, which servers start with. */
static void spoil(struct ps_side *side, int worker)
{
    if (worker > 0)
        memset(side->values, 0x3c, sizeof(side->values));
}

static int step_worker(const struct ps_row *row, struct dtrain_ps *ps, struct ps_side *side,
                       const struct ps_model *model, int worker, uint64_t step, struct dtrain_stream *stream,
                       struct dtrain_error *err)
{
    ps_side_compute(side, model, worker, step);
    pause_us(rand() % 3000);
    if (push(row, ps, worker, step, stream, err) < 0 || pull(row, ps, worker, stream, err) < 0)
        return -1;
    return dtrain_ps_wait(ps, err);
}

/* ---- In step --------------------------------------------------------------------------- */

static uint64_t last_step(const struct ps_row *row, int worker, int workers)
{
    return row->leaves > 0 && worker == workers - 1 ? row->leaves : STEPS;
}

/* One step of all, as one process would do it. */
static void step_model(const struct ps_row *row, struct ps_model *model, int workers, uint64_t step)
{
    for (size_t e = 0; e < ps_elements(); e++) {
        double gradients[WORKERS_MAX], value = ps_model_value(model, e);
        int n = 0;

        for (int w = 0; w < workers; w++)
            if (step <= last_step(row, w, workers))
                gradients[n++] = ps_gradient(model, w, step, e, value);
        ps_model_update(model, e, gradients, n, step);
    }
}

static int expect_equal(const struct ps_side *side, const struct ps_model *model, uint64_t step,
                        struct dtrain_error *err)
{
    long odd = ps_side_compare(side, model);

    return odd < 0 ? 0
                   : dt_error_set(err, "element %ld differs after step %llu", odd, (unsigned long long)step);
}

static int train_in_step(const struct ps_row *row, struct dtrain_ps *ps, struct ps_side *side,
                         struct ps_model *model, struct dtrain_stream *stream, struct dtrain_error *err)
{
    int workers = dtrain_ps_worker_count(ps), worker = (int)ps->self;

    if (pull(row, ps, worker, stream, err) < 0 || dtrain_ps_wait(ps, err) < 0 ||
        expect_equal(side, model, 0, err) < 0)
        return -1;
    for (uint64_t step = 1; step <= last_step(row, worker, workers); step++) {
        step_model(row, model, workers, step);
        if (step_worker(row, ps, side, model, worker, step, stream, err) < 0 ||
            expect_equal(side, model, step, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- With staleness ---------------------------------------------------------------------- */

/* On a server: what happened, in order. */
static struct dtrain_ps_event trace[TRACE_MAX];
static size_t trace_count;

static void record(void *context, const struct dtrain_ps_event *event)
{
    (void)context;
    if (trace_count < TRACE_MAX)
        trace[trace_count++] = *event;
}

/* The first worker is slow, so that the others are ahead of it as far as they may. */
static int train_stale(const struct ps_row *row, struct dtrain_ps *ps, struct ps_side *side,
                       const struct ps_model *model, struct dtrain_stream *stream, struct dtrain_error *err)
{
    int worker = (int)ps->self;

    if (pull(row, ps, worker, stream, err) < 0 || dtrain_ps_wait(ps, err) < 0)
        return -1;
    for (uint64_t step = 1; step <= STEPS; step++) {
        if (worker == 0)
            pause_us(8000);
        if (step_worker(row, ps, side, model, worker, step, stream, err) < 0)
            return -1;
    }
    return 0;
}

/* State of the replay on one server: what each worker saw last, and its steps. */
struct replay {
    const struct dtrain_ps *ps;
    struct ps_model model;
    double seen[WORKERS_MAX][PS_ELEMENTS_MAX];
    uint64_t pushed[WORKERS_MAX][PS_ELEMENTS_MAX], updates[PS_ELEMENTS_MAX];
    bool has_left[WORKERS_MAX];
    uint64_t lead; /* the longest */
};

static int worker_of(const struct dtrain_ps *ps, int rank)
{
    int w = 0;

    while (ps->workers[w] != rank)
        w++;
    return w;
}

static const struct dt_ps_part *part_of(const struct dtrain_ps *ps, const struct dtrain_ps_event *event)
{
    size_t i = 0;

    while (ps->parts[i].piece.parameter != event->parameter || ps->parts[i].piece.first != event->first)
        i++;
    return &ps->parts[i];
}

/* Before a push or a pull: how far ahead of the slowest. */
static uint64_t lead_of(const struct replay *replay, int worker, size_t element)
{
    uint64_t least = UINT64_MAX;

    for (size_t w = 0; w < replay->ps->worker_count; w++)
        if (!replay->has_left[w] && replay->pushed[w][element] < least)
            least = replay->pushed[w][element];
    return replay->pushed[worker][element] - least;
}

static int replay_event(struct replay *replay, const struct dtrain_ps_event *event)
{
    const struct dt_ps_part *part;
    int w = worker_of(replay->ps, event->worker);
    uint64_t lead;

    if (event->kind == DTRAIN_PS_LEFT || event->kind == DTRAIN_PS_LOST) {
        replay->has_left[w] = true;
        return event->kind == DTRAIN_PS_LEFT ? 0 : -1;
    }
    part = part_of(replay->ps, event);
    lead = lead_of(replay, w, ps_element(event->parameter, event->first));
    if (lead > replay->lead)
        replay->lead = lead;
    for (size_t i = 0; i < part->piece.count; i++) {
        size_t e = ps_element(event->parameter, event->first + i);

        if (event->kind == DTRAIN_PS_PULLED) {
            replay->seen[w][e] = ps_model_value(&replay->model, e);
        } else {
            double gradient = ps_gradient(&replay->model, w, event->step, e, replay->seen[w][e]);

            if (event->step != ++replay->pushed[w][e])
                return -1;
            ps_model_update(&replay->model, e, &gradient, 1, ++replay->updates[e]);
        }
    }
    return 0;
}

/* The recorded order gives the server's parameters, and nobody was further ahead than allowed. */
static int check_trace(const struct ps_row *row, const struct dtrain_ps *ps, const struct ps_model *start,
                       struct dtrain_error *err)
{
    struct replay *replay = calloc(1, sizeof(*replay));
    int rc = 0;

    replay->ps = ps;
    replay->model = *start;
    for (size_t i = 0; i < trace_count && rc == 0; i++)
        if (replay_event(replay, &trace[i]) < 0)
            rc = dt_error_set(err, "event %zu is out of order", i);
    for (size_t i = 0; i < ps->part_count && rc == 0; i++)
        for (size_t j = 0; j < ps->parts[i].piece.count && rc == 0; j++) {
            const struct dt_ps_piece *piece = &ps->parts[i].piece;

            if (dt_math_load(ps->parts[i].value, ps->parts[i].type, j) !=
                ps_model_value(&replay->model, ps_element(piece->parameter, piece->first + j)))
                rc = dt_error_set(err, "element %zu of parameter %zu differs from its replay",
                                  piece->first + j, piece->parameter);
        }
    if (rc == 0 && row->options.staleness > 0 && replay->lead > (uint64_t)row->options.staleness)
        rc = dt_error_set(err, "a worker was %llu ahead", (unsigned long long)replay->lead);
    if (rc == 0 && replay->lead < (uint64_t)row->least_lead)
        rc = dt_error_set(err, "no worker was more than %llu ahead", (unsigned long long)replay->lead);
    free(replay);
    return rc;
}

/* ---- A rank -------------------------------------------------------------------------------- */

static int run_server(const struct ps_row *row, struct dtrain_ps *ps, const struct ps_model *model,
                      struct dtrain_error *err)
{
    if (dtrain_ps_serve(ps, err) < 0)
        return -1;
    return row->options.staleness != 0 ? check_trace(row, ps, model, err) : 0;
}

static int run_worker(const struct ps_row *row, struct dtrain_ps *ps, struct ps_side *side,
                      struct ps_model *model, struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct dtrain_ps_status status[WORKERS_MAX];
    int rc = row->options.staleness == 0 ? train_in_step(row, ps, side, model, stream, err)
                                         : train_stale(row, ps, side, model, stream, err);

    if (rc < 0 || dtrain_ps_status_get(ps, status, err) < 0)
        return -1;
    if (status[ps->self].rank != dtrain_rank(ps->world) || status[ps->self].state != DTRAIN_PS_WORKS ||
        status[ps->self].steps != last_step(row, (int)ps->self, (int)ps->worker_count))
        return dt_error_set(err, "the status tells of %llu steps",
                            (unsigned long long)status[ps->self].steps);
    return dtrain_ps_leave(ps, err);
}

static int run_rank(const struct ps_row *row, struct dtrain_world *world, struct dtrain_error *err)
{
    static struct ps_side side;
    static struct ps_model model;
    struct dtrain_ps_options options = row->options;
    struct dtrain_stream *stream;
    struct dtrain_ps *ps;
    int rc = -1;

    options.watch = row->options.staleness != 0 ? record : NULL;
    ps_model_init(&model, &row->options, row->type, row->gradient_type);
    ps_side_init(&side, &model);
    if (dtrain_stream_create(world, &stream, err) < 0)
        return -1;
    if (dtrain_ps_create(&ps, world, side.parameters, PS_PARAMETERS, &options, err) == 0) {
        if (dtrain_ps_is_server(ps)) {
            rc = run_server(row, ps, &model, err);
        } else {
            spoil(&side, (int)ps->self);
            rc = run_worker(row, ps, &side, &model, stream, err);
        }
    }
    dtrain_ps_destroy(ps);
    dtrain_stream_destroy(stream, NULL);
    return rc;
}

static void body(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    const struct ps_row *row = (const struct ps_row *)step->row;
    struct dtrain_world *world;
    struct dtrain_error err = {""};
    int rc = fork_init(&world, step, rank, NULL, NULL, &err);

    srand((unsigned)(getpid() ^ time(NULL)));
    if (rc == 0)
        rc = run_rank(row, world, &err);
    if (dtrain_finalize(world, rc == 0 ? &err : NULL) < 0)
        rc = -1;
    fork_say(said, rc == 0 ? "well" : err.text);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool check(struct ps_row row, uint32_t servers, uint32_t workers, uint32_t nodes)
{
    row.fork.layout = (struct fork_layout){nodes, (servers + workers) / nodes, 1, 1, 1};
    row.fork.timeout_ms = ENOUGH_MS;
    row.fork.body = body;
    row.fork.words[0] = "well";
    row.options.server_count = servers;
    return fork_check(&row.fork);
}

#define SGD .rule = DTRAIN_PS_SGD, .lr = 0.1
#define ADAMW .rule = DTRAIN_PS_ADAMW, .lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .decay = 0.1
#define USER .rule = DTRAIN_PS_USER, .update = ps_user_rule

struct case_row {
    const char *name;
    uint32_t servers, workers, nodes;
    struct ps_row row;
};

static const struct case_row rows[] = {
    {"momentum and decay", 2, 3, 1, {.options = {SGD, .momentum = 0.9, .decay = 0.01}}},
    {"sums, and a rate by step", 2, 2, 2, {.options = {SGD, .sum = true, .rate = ps_rate}}},
    {"AdamW", 2, 2, 1, {.options = {ADAMW}}},
    {"AdamW in float64", 2, 2, 1,
     {.options = {ADAMW}, .type = DTRAIN_FLOAT64, .gradient_type = DTRAIN_FLOAT64}},
    {"bfloat16 with float32 gradients", 2, 2, 1,
     {.options = {ADAMW}, .type = DTRAIN_BFLOAT16, .gradient_type = DTRAIN_FLOAT32}},
    {"float32 with float16 gradients", 2, 2, 1,
     {.options = {SGD, .momentum = 0.5}, .type = DTRAIN_FLOAT32, .gradient_type = DTRAIN_FLOAT16}},
    {"float16 with float64 gradients", 1, 2, 1,
     {.options = {SGD}, .type = DTRAIN_FLOAT16, .gradient_type = DTRAIN_FLOAT64}},
    {"a rule of the user's", 2, 2, 1, {.options = {USER}}},
    {"calls for each parameter", 3, 3, 1, {.options = {SGD, .momentum = 0.9}, .one_by_one = true}},
    {"a worker that leaves early", 2, 3, 1, {.options = {SGD}, .leaves = 7}},
    {"staleness 1", 1, 3, 1, {.options = {SGD, .staleness = 1}, .least_lead = 1}},
    {"staleness 3, over nodes", 2, 4, 2,
     {.options = {SGD, .momentum = 0.9, .staleness = 3}, .least_lead = 2}},
    {"staleness 2, AdamW in bfloat16", 2, 3, 1,
     {.options = {ADAMW, .staleness = 2}, .type = DTRAIN_BFLOAT16, .least_lead = 1}},
    {"staleness 2, each parameter for itself", 2, 3, 1,
     {.options = {USER, .staleness = 2}, .one_by_one = true, .least_lead = 1}},
    {"unbounded", 1, 3, 1, {.options = {SGD, .staleness = DTRAIN_PS_UNBOUNDED}, .least_lead = 6}},
};

int main(void)
{
    for (uint32_t servers = 1; servers <= 4; servers++)
        for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++)
            tap_ok(check((struct ps_row){.options = {SGD}}, servers, workers, 1),
                   "%u servers, %u workers: %d steps as in one process", servers, workers, STEPS);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(check(rows[i].row, rows[i].servers, rows[i].workers, rows[i].nodes), "%s", rows[i].name);
    return tap_done();
}
