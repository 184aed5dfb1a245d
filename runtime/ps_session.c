#include "core/error.h"
#include "ps.h"

/* ---- What the others must know ---------------------------------------------------- */

void dt_ps_fail(struct dtrain_ps *ps, const char *text)
{
    pthread_mutex_lock(&ps->lock);
    if (!ps->has_failed) {
        ps->has_failed = true;
        dt_error_set(&ps->failure, "%s", text);
    }
    pthread_cond_broadcast(&ps->changed);
    pthread_mutex_unlock(&ps->lock);
}

static void watch(const struct dt_ps_lane *lane, enum dtrain_ps_event_kind kind,
                  const struct dt_ps_piece *piece, uint64_t step, const char *reason)
{
    const struct dtrain_ps_options *o = &lane->ps->options;
    struct dtrain_ps_event event = {.kind = kind, .worker = lane->peer, .step = step, .reason = reason};

    if (o->watch == NULL)
        return;
    if (piece != NULL) {
        event.parameter = piece->parameter;
        event.first = piece->first;
    }
    o->watch(o->context, &event);
}

static void say_loss(const struct dt_ps_lane *lane, uint64_t steps, const char *why)
{
    const struct dtrain_ps *ps = lane->ps;
    size_t left = dt_ps_clock_working(&ps->clock);

    dt_log(&ps->world->log, ps->self == 0 ? DT_LOG_WARN : DT_LOG_INFO,
           "parameter servers: worker rank %d is lost after %llu steps, going on with %zu of %zu workers: %s",
           lane->peer, (unsigned long long)steps, left, ps->worker_count, why);
}

/* The worker is in no step any more; those that wait for it alone are complete. */
static void end_session(struct dt_ps_lane *lane, enum dtrain_ps_state state, const char *why)
{
    struct dtrain_ps *ps = lane->ps;
    struct dtrain_error err;
    int rc = 0;

    pthread_mutex_lock(&ps->lock);
    ps->clock.state[lane->number] = state;
    if (state == DTRAIN_PS_IS_LOST && !ps->has_failed) {
        uint64_t steps = dt_ps_clock_steps(&ps->clock, lane->number);

        dt_error_set(&ps->last_loss, "%s", why);
        say_loss(lane, steps, why);
        watch(lane, DTRAIN_PS_LOST, NULL, steps, why);
    } else if (state == DTRAIN_PS_HAS_LEFT) {
        watch(lane, DTRAIN_PS_LEFT, NULL, dt_ps_clock_steps(&ps->clock, lane->number), NULL);
    }
    if (!ps->has_failed)
        rc = dt_ps_update_due(ps, &err);
    pthread_cond_broadcast(&ps->changed);
    pthread_mutex_unlock(&ps->lock);
    if (rc < 0)
        dt_ps_fail(ps, err.text);
}

/* ---- Requests ----------------------------------------------------------------------- */

struct request {
    struct dt_ps_lane *lane;
    int kind;
    size_t begin, end; /* parts that it is about */
    uint64_t step;     /* of a push */
};

/* Parts of this server are in the order of parameters. */
static void find_parts(struct request *request, double parameter)
{
    const struct dtrain_ps *ps = request->lane->ps;

    request->begin = 0;
    request->end = ps->part_count;
    if (parameter == DT_PS_ALL)
        return;
    while (request->begin < ps->part_count && ps->parts[request->begin].piece.parameter < (size_t)parameter)
        request->begin++;
    request->end = request->begin;
    while (request->end < ps->part_count && ps->parts[request->end].piece.parameter == (size_t)parameter)
        request->end++;
}

static int receive(struct request *request, struct dtrain_error *err)
{
    struct dt_ps_lane *lane = request->lane;
    double words[DT_PS_REQUEST_SIZE];

    if (dtrain_recv(lane->comm, lane->request, DT_PS_REQUEST_SIZE, DTRAIN_FLOAT64, DT_PS_WORKER_SEAT,
                    lane->stream, err) < 0 ||
        dtrain_copy(words, lane->request, sizeof(words), lane->stream, err) < 0 ||
        dtrain_stream_synchronize(lane->stream, err) < 0)
        return -1;
    if (!(words[DT_PS_KIND] >= DT_PS_PUSH && words[DT_PS_KIND] <= DT_PS_LEAVE))
        return dt_error_set(err, "rank %d sent a request of kind %g: all ranks must run the same version",
                            lane->peer, words[DT_PS_KIND]);
    request->kind = (int)words[DT_PS_KIND];
    request->step = (uint64_t)words[DT_PS_STEP];
    find_parts(request, words[DT_PS_PARAMETER]);
    return 0;
}

/* With the lock held; -1: the ps failed meanwhile. */
static int await_others(const struct request *request, struct dtrain_error *err)
{
    struct dtrain_ps *ps = request->lane->ps;

    for (size_t i = request->begin; i < request->end; i++)
        while (!ps->has_failed && !dt_ps_clock_may_go(&ps->clock, request->lane->number, i))
            pthread_cond_wait(&ps->changed, &ps->lock);
    return ps->has_failed ? dt_error_set(err, "%s", ps->failure.text) : 0;
}

/* The parts' slots, to or from the worker. */
static int move_slots(const struct request *request, bool is_send, struct dtrain_error *err)
{
    struct dt_ps_lane *lane = request->lane;
    size_t n = request->end - request->begin;

    for (size_t i = 0; i < n; i++) {
        const struct dt_ps_part *part = &lane->ps->parts[request->begin + i];

        lane->transfers[i] = (struct dtrain_transfer){.is_send = is_send,
                                                      .peer = DT_PS_WORKER_SEAT,
                                                      .type = is_send ? part->type : part->gradient_type,
                                                      .count = part->piece.count,
                                                      .buf = lane->slots + part->slot_at};
    }
    if (n > 0 && dtrain_transfer(lane->comm, lane->transfers, n, lane->stream, err) < 0)
        return -1;
    return dtrain_stream_synchronize(lane->stream, err);
}

/* ---- Push ----------------------------------------------------------------------------- */

/* With the lock held. The updates' failure is the server's, not the worker's. */
static void take_gradients(const struct request *request)
{
    struct dt_ps_lane *lane = request->lane;
    struct dtrain_ps *ps = lane->ps;

    for (size_t i = request->begin; i < request->end && !ps->has_failed; i++) {
        watch(lane, DTRAIN_PS_PUSHED, &ps->parts[i].piece, request->step, NULL);
        if (dt_ps_update_pushed(ps, lane->number, i, &ps->failure) < 0)
            ps->has_failed = true;
    }
    pthread_cond_broadcast(&ps->changed);
}

/* The slots may still be read by the last update, or hold values on their way. */
static int serve_push(const struct request *request, struct dtrain_error *err)
{
    struct dtrain_ps *ps = request->lane->ps;
    int rc;

    pthread_mutex_lock(&ps->lock);
    rc = await_others(request, err);
    if (rc == 0)
        rc = dtrain_stream_wait(request->lane->stream, ps->stream, err);
    pthread_mutex_unlock(&ps->lock);
    if (rc < 0 || move_slots(request, false, err) < 0)
        return -1;
    pthread_mutex_lock(&ps->lock);
    take_gradients(request);
    pthread_mutex_unlock(&ps->lock);
    return 0;
}

/* ---- Pull ----------------------------------------------------------------------------- */

/*
 * With the lock held: values as they are after the updates so far. The later ones
 * then need not wait for this worker.
 */
static int copy_values(const struct request *request, struct dtrain_error *err)
{
    struct dt_ps_lane *lane = request->lane;
    struct dtrain_ps *ps = lane->ps;

    for (size_t i = request->begin; i < request->end; i++) {
        const struct dt_ps_part *part = &ps->parts[i];

        watch(lane, DTRAIN_PS_PULLED, &part->piece, dt_ps_clock_pushed(&ps->clock, lane->number, i), NULL);
        if (dtrain_copy(lane->slots + part->slot_at, part->value,
                        part->piece.count * dtrain_type_size(part->type), ps->stream, err) < 0)
            return -1;
    }
    return dtrain_stream_wait(lane->stream, ps->stream, err);
}

static int serve_pull(const struct request *request, struct dtrain_error *err)
{
    struct dtrain_ps *ps = request->lane->ps;
    int rc;

    pthread_mutex_lock(&ps->lock);
    rc = await_others(request, err);
    if (rc == 0)
        rc = copy_values(request, err);
    pthread_mutex_unlock(&ps->lock);
    return rc < 0 ? -1 : move_slots(request, true, err);
}

/* ---- Status, and the end ----------------------------------------------------------------- */

static int serve_status(const struct request *request, struct dtrain_error *err)
{
    struct dt_ps_lane *lane = request->lane;
    struct dtrain_ps *ps = lane->ps;
    size_t bytes = DT_PS_ANSWER_SIZE * sizeof(double);
    int rc = 0;

    for (size_t w = 0; w < ps->worker_count && rc == 0; w++) {
        double words[DT_PS_ANSWER_SIZE];

        pthread_mutex_lock(&ps->lock);
        words[DT_PS_ANSWER_STATE] = (double)ps->clock.state[w];
        words[DT_PS_ANSWER_STEPS] = (double)dt_ps_clock_steps(&ps->clock, w);
        pthread_mutex_unlock(&ps->lock);
        rc = dtrain_copy(lane->answer + w * DT_PS_ANSWER_SIZE, words, bytes, lane->stream, err);
        if (rc == 0)
            rc = dtrain_stream_synchronize(lane->stream, err);
    }
    if (rc < 0 || dtrain_send(lane->comm, lane->answer, ps->worker_count * DT_PS_ANSWER_SIZE, DTRAIN_FLOAT64,
                              DT_PS_WORKER_SEAT, lane->stream, err) < 0)
        return -1;
    return dtrain_stream_synchronize(lane->stream, err);
}

/*
 * A worker leaves twice: the second time it knows that all servers have heard the
 * first. So a server whose workers are gone may end, and be taken for dead, while
 * no other one still counts on it.
 */
static int serve_leave(const struct request *request, struct dtrain_error *err)
{
    struct dt_ps_lane *lane = request->lane;
    struct request again = {.lane = lane};

    end_session(lane, DTRAIN_PS_HAS_LEFT, NULL);
    if (dtrain_send(lane->comm, lane->request, DT_PS_REQUEST_SIZE, DTRAIN_FLOAT64, DT_PS_WORKER_SEAT,
                    lane->stream, err) < 0 ||
        dtrain_stream_synchronize(lane->stream, err) < 0)
        return -1;
    return receive(&again, err);
}

static int (*const services[])(const struct request *request, struct dtrain_error *err) = {
    [DT_PS_PUSH] = serve_push,
    [DT_PS_PULL] = serve_pull,
    [DT_PS_STATUS] = serve_status,
    [DT_PS_LEAVE] = serve_leave,
};

void *dt_ps_session_run(void *argument)
{
    struct request request = {.lane = argument};
    struct dtrain_error err;
    int rc;

    do {
        rc = receive(&request, &err);
        if (rc == 0)
            rc = services[request.kind](&request, &err);
    } while (rc == 0 && request.kind != DT_PS_LEAVE);
    if (request.kind != DT_PS_LEAVE)
        end_session(request.lane, DTRAIN_PS_IS_LOST, err.text);
    return NULL;
}
