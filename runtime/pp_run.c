#include <stdio.h>
#include <stdlib.h>

#include "pp.h"
#include "runtime/deadline.h"

/* ---- Callbacks -------------------------------------------------------------------- */

static void *buffer_of(const struct dtrain_pp *pp, int index)
{
    return index < 0 ? NULL : (char *)pp->buffers + (size_t)index * pp->buffer_bytes;
}

struct dtrain_pp_work dt_pp_work(const struct dtrain_pp *pp, int chunk, int microbatch)
{
    int model_stage = dt_pp_model_stage(pp, chunk);
    struct dtrain_pp_work work = {
        .stage = pp->group.rank,
        .chunk = chunk,
        .model_stage = model_stage,
        .microbatch = microbatch,
        .slot = -1,
        .parameters = pp->parameters,
        .stream = pp->compute,
        .context = pp->options.context,
    };

    if (pp->firsts != NULL) {
        work.first_layer = pp->firsts[model_stage];
        work.layer_count = pp->firsts[model_stage + 1] - work.first_layer;
    }
    if (model_stage > 0)
        work.input_shape = pp->input_shapes[dt_pp_shape_index(pp, chunk, microbatch)];
    if (!dt_pp_is_last(pp, chunk))
        work.output_shape = pp->output_shapes[dt_pp_shape_index(pp, chunk, microbatch)];
    return work;
}

static dtrain_pp_callback *callback_of(const struct dtrain_pp *pp, enum dtrain_pp_action_kind kind)
{
    switch (kind) {
    case DTRAIN_PP_FORWARD:
        return pp->options.forward;
    case DTRAIN_PP_BACKWARD_WEIGHT:
        return pp->options.backward_weight;
    case DTRAIN_PP_UPDATE:
        return pp->options.update;
    default:
        return pp->options.backward;
    }
}

/*
 * The communicator fails first where another stage gave the reason; then its own words are better than those
 * of the operation that met it.
 */
int dt_pp_fail(struct dtrain_pp *pp, const char *what, const struct dtrain_error *why,
               struct dtrain_error *err)
{
    struct dtrain_error text;

    dt_error_set(&text, "pipeline stage %d (rank %d): %s: %s", pp->group.rank, dtrain_rank(pp->world), what,
                 why->text[0] != '\0' ? why->text : "its callback returned -1 and gave no reason");
    (void)dtrain_comm_revoke(pp->comm, text.text, NULL);
    return dt_error_set(err, "%s", text.text);
}

static int call(struct dtrain_pp *pp, const struct dt_pp_step *step, struct dtrain_error *err)
{
    const struct dtrain_pp_action *action = &step->action;
    struct dtrain_pp_work work = dt_pp_work(pp, action->chunk, action->microbatch);
    struct dtrain_error why = {""};
    char what[DT_SCHEDULE_TEXT_MAX];

    work.slot = step->slot;
    work.input = buffer_of(pp, step->input);
    work.output = buffer_of(pp, step->output);
    work.output_gradient = buffer_of(pp, step->output_gradient);
    work.input_gradient = buffer_of(pp, step->input_gradient);
    work.parameters += (size_t)(step->version + 1) * pp->options.parameter_count;
    if (callback_of(pp, action->kind)(&work, &why) == 0)
        return 0;
    snprintf(what, sizeof(what), "%s of microbatch %d, chunk %d", dtrain_pp_action_name(action->kind),
             action->microbatch, action->chunk);
    return dt_pp_fail(pp, what, &why, err);
}

static int stash(struct dtrain_pp *pp, const struct dt_pp_step *step, struct dtrain_error *err)
{
    void *const *to = pp->parameters + (size_t)(step->version + 1) * pp->options.parameter_count;

    for (size_t i = 0; i < pp->options.parameter_count; i++)
        if (dtrain_copy(to[i], pp->parameters[i], pp->options.parameters[i].bytes, pp->compute, err) != 0)
            return -1;
    /* Where the update does not queue its work, it would overtake the copy. */
    return pp->is_queued ? 0 : dtrain_stream_synchronize(pp->compute, err);
}

/* ---- Operations --------------------------------------------------------------------- */

static struct dtrain_stream *stream_of(const struct dtrain_pp *pp, int operation)
{
    return pp->streams[operation % DT_PP_STREAMS];
}

static void mark_ended(struct dtrain_pp *pp, int operation)
{
    int64_t now = dt_now_ns();

    for (; pp->ended <= operation; pp->ended++) {
        size_t i = pp->operation_steps[pp->ended];

        for (; i < pp->plan.count && pp->events[i].action.operation == pp->ended; i++)
            pp->events[i].end_ns = now;
    }
}

/*
 * Operations end in order, so a later one's end is as good. A stream is waited for as a whole: the first one
 * that is alone on its stream, which only differs from the operation itself when more were queued after it
 * than there are streams.
 */
static int wait_for(struct dtrain_pp *pp, int operation, struct dtrain_error *err)
{
    int rc;

    if (operation < pp->ended)
        return 0;
    if (operation < pp->posted - DT_PP_STREAMS)
        operation = pp->posted - DT_PP_STREAMS;
    if (pp->is_queued)
        rc = dtrain_stream_wait(pp->compute, stream_of(pp, operation), err);
    else
        rc = dtrain_stream_synchronize(stream_of(pp, operation), err);
    if (rc == 0)
        mark_ended(pp, operation);
    return rc;
}

static struct dtrain_transfer transfer_of(const struct dtrain_pp *pp, const struct dt_pp_step *step)
{
    const struct dtrain_pp_action *action = &step->action;
    size_t index = dt_pp_shape_index(pp, action->chunk, action->microbatch);
    bool is_input = action->kind == DTRAIN_PP_RECV_ACTIVATION || action->kind == DTRAIN_PP_SEND_GRADIENT;
    struct dtrain_transfer transfer = {
        .is_send = dt_schedule_is_send(action->kind),
        .peer = action->peer,
        .type = pp->options.type,
        .count = dt_pp_shape_count(is_input ? &pp->input_shapes[index] : &pp->output_shapes[index]),
    };

    switch (action->kind) {
    case DTRAIN_PP_RECV_ACTIVATION:
        transfer.buf = buffer_of(pp, step->input);
        break;
    case DTRAIN_PP_SEND_ACTIVATION:
        transfer.buf = buffer_of(pp, step->output);
        break;
    case DTRAIN_PP_RECV_GRADIENT:
        transfer.buf = buffer_of(pp, step->output_gradient);
        break;
    default:
        transfer.buf = buffer_of(pp, step->input_gradient);
    }
    return transfer;
}

/* At most an activation and a gradient each way. */
#define TRANSFERS_MAX 4

/* All transfers of the operation that begins at step i; *next: the step after it. */
static int post(struct dtrain_pp *pp, size_t i, size_t *next, struct dtrain_error *err)
{
    int operation = pp->plan.steps[i].action.operation;
    struct dtrain_stream *stream = stream_of(pp, operation);
    struct dtrain_transfer transfers[TRANSFERS_MAX];
    size_t n = 0;

    for (; i < pp->plan.count && pp->plan.steps[i].action.operation == operation; i++) {
        transfers[n++] = transfer_of(pp, &pp->plan.steps[i]);
        pp->events[i].begin_ns = dt_now_ns();
    }
    *next = i;
    /* What is sent was computed, what is received into is no longer read; and one operation after the other.
     */
    if (dtrain_stream_wait(stream, pp->compute, err) != 0)
        return -1;
    if (operation > 0 && dtrain_stream_wait(stream, stream_of(pp, operation - 1), err) != 0)
        return -1;
    pp->posted = operation + 1;
    return dtrain_transfer(pp->comm, transfers, n, stream, err);
}

/* ---- The run --------------------------------------------------------------------------- */

static int compute(struct dtrain_pp *pp, size_t i, struct dtrain_error *err)
{
    const struct dt_pp_step *step = &pp->plan.steps[i];
    int rc;

    if (wait_for(pp, step->wait, err) != 0)
        return -1;
    pp->events[i].begin_ns = dt_now_ns();
    rc = step->action.kind == DTRAIN_PP_STASH ? stash(pp, step, err) : call(pp, step, err);
    pp->events[i].end_ns = dt_now_ns();
    return rc;
}

static int run_steps(struct dtrain_pp *pp, struct dtrain_error *err)
{
    size_t i = 0;
    int rc = 0;

    while (rc == 0 && i < pp->plan.count) {
        if (dt_schedule_is_transfer(pp->plan.steps[i].action.kind))
            rc = post(pp, i, &i, err);
        else
            rc = compute(pp, i++, err);
    }
    return rc;
}

/* Also after a failure: nothing that is queued may use the buffers afterwards. */
static int synchronize(struct dtrain_pp *pp, struct dtrain_error *err)
{
    int rc = dtrain_stream_synchronize(pp->compute, err);

    for (int i = 0; i < DT_PP_STREAMS; i++)
        if (dtrain_stream_synchronize(pp->streams[i], rc == 0 ? err : NULL) != 0)
            rc = -1;
    if (rc == 0)
        mark_ended(pp, pp->posted - 1);
    return rc;
}

static void start(struct dtrain_pp *pp)
{
    pp->posted = pp->ended = 0;
    for (size_t i = 0; i < pp->plan.count; i++)
        pp->events[i] = (struct dtrain_pp_event){.action = pp->plan.steps[i].action};
}

/* What a stage cannot recover from ends the others' wait. */
static int give_up(struct dtrain_pp *pp, struct dtrain_error *err)
{
    pp->has_failed = true;
    (void)dtrain_comm_revoke(pp->comm, pp->failure.text, NULL);
    (void)synchronize(pp, NULL);
    return dt_error_set(err, "%s", pp->failure.text);
}

int dtrain_pp_run(struct dtrain_pp *pp, struct dtrain_error *err)
{
    struct dtrain_error *why;

    if (pp == NULL)
        return dt_error_set(err, "dtrain_pp_run: pp is NULL: create one with dtrain_pp_create()");
    why = &pp->failure;
    if (pp->has_failed)
        return dt_error_set(err, "%s", why->text);
    start(pp);
    if (pp->options.output_shape != NULL && dt_pp_shapes_announce(pp, why) != 0)
        return give_up(pp, err);
    if (run_steps(pp, why) != 0 || synchronize(pp, why) != 0 || dt_pp_tied_reduce(pp, why) != 0)
        return give_up(pp, err);
    return 0;
}
