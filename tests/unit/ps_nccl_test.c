/* Parameter servers on the NCCL module: all in the device's memory, the bits of one process, and deaths. */
#include <signal.h>

#include "nccl_double.h"
#include "ps_model.h"
#include "tap.h"

enum { STEPS = 6, ENOUGH_MS = 30000, SERVERS = 2, WORKERS = 2 };
#define BYTES sizeof(((struct ps_side *)NULL)->values)

struct gpu_row {
    struct nccl_row nccl; /* first; row.odd: who dies after the third step, 99: nobody */
    struct dtrain_ps_options options;
    enum dtrain_type type, gradient_type;
};

/* A worker's side, and where the device has it. */
struct gpu_side {
    struct ps_side host;
    struct dtrain_ps_parameter parameters[PS_PARAMETERS];
    char *values, *gradients;
};

static int upload(struct gpu_side *side, struct dtrain_world *world, struct dtrain_error *err)
{
    side->values = nccl_double_upload(world, side->host.values, BYTES, err);
    side->gradients = nccl_double_upload(world, side->host.gradients, BYTES, err);
    for (size_t i = 0; i < PS_PARAMETERS; i++) {
        side->parameters[i] = side->host.parameters[i];
        side->parameters[i].value = side->values + i * sizeof(side->host.values[0]);
        side->parameters[i].gradient = side->gradients + i * sizeof(side->host.values[0]);
    }
    return side->values != NULL && side->gradients != NULL ? 0 : -1;
}

static int lives(const struct gpu_row *row, int w, uint64_t step)
{
    return row->nccl.row.odd != (uint32_t)(SERVERS + w) || step <= STEPS / 2;
}

static void step_model(const struct gpu_row *row, struct ps_model *model, uint64_t step)
{
    for (size_t e = 0; e < ps_elements(); e++) {
        double gradients[WORKERS], value = ps_model_value(model, e);
        int n = 0;

        for (int w = 0; w < WORKERS; w++)
            if (lives(row, w, step))
                gradients[n++] = ps_gradient(model, w, step, e, value);
        ps_model_update(model, e, gradients, n, step);
    }
}

/* The stream orders the copies and the transfers; only at the end does the host wait. */
static int step_worker(struct gpu_side *side, const struct ps_model *model, struct dtrain_ps *ps, int w,
                       uint64_t step, struct dtrain_stream *stream, struct dtrain_error *err)
{
    ps_side_compute(&side->host, model, w, step);
    if (dtrain_copy(side->gradients, side->host.gradients, BYTES, stream, err) < 0 ||
        dtrain_ps_push(ps, step, stream, err) < 0 || dtrain_ps_pull(ps, stream, err) < 0 ||
        dtrain_copy(side->host.values, side->values, BYTES, stream, err) < 0 ||
        dtrain_stream_synchronize(stream, err) < 0)
        return -1;
    return dtrain_ps_wait(ps, err);
}

static int work(const struct gpu_row *row, struct gpu_side *side, struct ps_model *model,
                struct dtrain_ps *ps, int rank, struct dtrain_stream *stream, struct dtrain_error *err)
{
    for (uint64_t step = 1; step <= STEPS; step++) {
        if (!lives(row, rank - SERVERS, step))
            raise(SIGKILL);
        step_model(row, model, step);
        if (step_worker(side, model, ps, rank - SERVERS, step, stream, err) < 0)
            return -1;
        if (ps_side_compare(&side->host, model) >= 0) {
            snprintf(err->text, sizeof(err->text), "values differ after step %d", (int)step);
            return -1;
        }
    }
    return dtrain_ps_leave(ps, err);
}

static uint32_t server_odd; /* of this process: UINT32_MAX, or it dies */

static void die_as_server(void *context, const struct dtrain_ps_event *event)
{
    (void)context;
    if (server_odd != UINT32_MAX && event->kind == DTRAIN_PS_PUSHED && event->step == STEPS / 2)
        raise(SIGKILL);
}

static int run_rank(const struct gpu_row *row, struct dtrain_world *world, int rank, struct dtrain_error *err)
{
    static struct gpu_side side;
    static struct ps_model model;
    struct dtrain_ps_options options = row->options;
    struct dtrain_stream *stream = NULL;
    struct dtrain_ps *ps = NULL;
    int rc;

    options.server_count = SERVERS;
    options.watch = die_as_server;
    server_odd = row->nccl.row.odd == (uint32_t)rank ? row->nccl.row.odd : UINT32_MAX;
    ps_model_init(&model, &row->options, row->type, row->gradient_type);
    ps_side_init(&side.host, &model);
    if (upload(&side, world, err) < 0 || dtrain_stream_create(world, &stream, err) < 0 ||
        dtrain_ps_create(&ps, world, side.parameters, PS_PARAMETERS, &options, err) < 0)
        rc = -1;
    else if (dtrain_ps_is_server(ps))
        rc = dtrain_ps_serve(ps, err);
    else
        rc = work(row, &side, &model, ps, rank, stream, err);
    dtrain_ps_destroy(ps);
    dtrain_stream_destroy(stream, NULL);
    dtrain_memory_free(world, side.values);
    dtrain_memory_free(world, side.gradients);
    return rc;
}

static void body(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""};
    struct fake_nccl_counts counts = {0};
    int rc = nccl_double_init(&world, step, rank, &err);

    if (rc == 0)
        rc = run_rank((const struct gpu_row *)(const void *)step->row, world, (int)rank, &err);
    (void)dtrain_finalize(world, NULL);
    if (fake_nccl_counts(&counts) != 0 || counts.violations != 0 || counts.live_comms != 0)
        snprintf(said, FORK_TEXT_MAX, "a rule of NCCL's is broken");
    else
        snprintf(said, FORK_TEXT_MAX, "%s%s", rc == 0 ? "well" : "failed: ", rc == 0 ? "" : err.text);
}

#define LAYOUT {1, SERVERS + WORKERS, 1, 1, 1}

static const struct {
    const char *name;
    struct gpu_row row;
} rows[] = {
    {"momentum and decay",
     {{.row = {.layout = LAYOUT, .words = {"well"}, .odd = 99}},
      {.rule = DTRAIN_PS_SGD, .lr = 0.1, .momentum = 0.9, .decay = 0.01}, DTRAIN_FLOAT32, DTRAIN_FLOAT32}},
    {"AdamW, bfloat16 with float32 gradients",
     {{.row = {.layout = LAYOUT, .words = {"well"}, .odd = 99}},
      {.rule = DTRAIN_PS_ADAMW, .lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .decay = 0.1},
      DTRAIN_BFLOAT16, DTRAIN_FLOAT32}},
    {"a worker dies",
     {{.row = {.layout = LAYOUT, .words = {"well"}, .odd = 3, .killed = 1u << 3}},
      {.rule = DTRAIN_PS_SGD, .lr = 0.1}, DTRAIN_FLOAT32, DTRAIN_FLOAT32}},
    {"a server dies",
     {{.row = {.layout = LAYOUT, .words = {"failed: ", "rank 1 on n1 died"}, .odd = 1, .killed = 1u << 1}},
      {.rule = DTRAIN_PS_SGD, .lr = 0.1}, DTRAIN_FLOAT32, DTRAIN_FLOAT32}},
};

int main(void)
{
    nccl_double_load();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gpu_row row = rows[i].row;

        row.nccl.row.timeout_ms = ENOUGH_MS;
        row.nccl.row.body = body;
        row.nccl.row.backend = &nccl_double;
        tap_ok(nccl_double_check(&row.nccl), "%s", rows[i].name);
    }
    return tap_done();
}
