#include "core/error.h"
#include "ps.h"

/* ---- Failure --------------------------------------------------------------------- */

/* The other servers must not wait for this worker, and shall read what it failed of. */
static int fail(struct dtrain_ps *ps, struct dtrain_error *err)
{
    if (!ps->has_failed) {
        ps->has_failed = true;
        dt_ps_lanes_revoke(ps, ps->failure.text);
    }
    return dt_error_set(err, "%s", ps->failure.text);
}

/* function: its name; -1 when this is a server, when the worker left, or when something failed before. */
static int check(struct dtrain_ps *ps, const char *function, struct dtrain_error *err)
{
    bool done;

    if (ps->is_server)
        return dt_error_set(err, "%s: rank %d is a server: only workers push and pull", function,
                            dtrain_rank(ps->world));
    if (ps->has_left)
        return dt_error_set(err, "%s: rank %d has left: dtrain_ps_leave() is the last call", function,
                            dtrain_rank(ps->world));
    for (size_t i = 0; i < ps->lane_count && !ps->has_failed; i++)
        if (dtrain_stream_query(ps->lanes[i].stream, &done, &ps->failure) < 0)
            return fail(ps, err);
    return ps->has_failed ? fail(ps, err) : 0;
}

/* ---- Requests ---------------------------------------------------------------------- */

struct request {
    struct dtrain_ps *ps;
    int kind;
    double parameter; /* or DT_PS_ALL */
    uint64_t step;
};

static int write_word(struct dt_ps_lane *lane, int word, double value)
{
    struct dt_math math = {
        .kind = DT_MATH_FILL,
        .fill = {.x = lane->request + word, .type = DTRAIN_FLOAT64, .n = 1, .value = value}};

    return dt_math_enqueue(&math, lane->stream, &lane->ps->failure);
}

static int send_request(const struct request *request, struct dt_ps_lane *lane)
{
    if (write_word(lane, DT_PS_KIND, request->kind) < 0 ||
        write_word(lane, DT_PS_PARAMETER, request->parameter) < 0 ||
        write_word(lane, DT_PS_STEP, (double)request->step) < 0)
        return -1;
    return dtrain_send(lane->comm, lane->request, DT_PS_REQUEST_SIZE, DTRAIN_FLOAT64, DT_PS_SERVER_SEAT,
                       lane->stream, &lane->ps->failure);
}

/* The pieces that the request is about and the lane's server holds, in its order: how many. */
static size_t list_pieces(const struct request *request, struct dt_ps_lane *lane)
{
    const struct dtrain_ps *ps = request->ps;
    bool is_push = request->kind == DT_PS_PUSH;
    size_t n = 0;

    for (size_t i = ps->plan.begin[lane->number]; i < ps->plan.begin[lane->number + 1]; i++) {
        const struct dt_ps_piece *piece = &ps->plan.pieces[i];
        const struct dtrain_ps_parameter *p = &ps->parameters[piece->parameter];
        enum dtrain_type type = is_push ? p->gradient_type : p->type;
        char *base = is_push ? (char *)p->gradient : p->value;

        if (request->parameter != DT_PS_ALL && request->parameter != (double)piece->parameter)
            continue;
        lane->transfers[n++] = (struct dtrain_transfer){.is_send = is_push,
                                                        .peer = DT_PS_SERVER_SEAT,
                                                        .type = type,
                                                        .count = piece->count,
                                                        .buf = base + piece->first * dtrain_type_size(type)};
    }
    return n;
}

static int queue_on(const struct request *request, struct dt_ps_lane *lane, struct dtrain_stream *stream)
{
    struct dtrain_error *err = &request->ps->failure;
    size_t n = list_pieces(request, lane);

    if (n == 0)
        return 0;
    if (dtrain_stream_wait(lane->stream, stream, err) < 0 || send_request(request, lane) < 0 ||
        dtrain_transfer(lane->comm, lane->transfers, n, lane->stream, err) < 0)
        return -1;
    return 0;
}

/* Every lane waits for what the caller queued, not for the other lanes. */
static int queue(const struct request *request, struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct dtrain_ps *ps = request->ps;

    for (size_t i = 0; i < ps->lane_count; i++)
        if (queue_on(request, &ps->lanes[i], stream) < 0)
            return fail(ps, err);
    for (size_t i = 0; i < ps->lane_count; i++)
        if (dtrain_stream_wait(stream, ps->lanes[i].stream, &ps->failure) < 0)
            return fail(ps, err);
    return 0;
}

/* ---- Push and pull -------------------------------------------------------------------- */

static int check_call(struct dtrain_ps *ps, const char *function, const struct dtrain_stream *stream,
                      struct dtrain_error *err)
{
    if (check(ps, function, err) < 0)
        return -1;
    return stream != NULL
               ? 0
               : dt_error_set(err, "%s: stream is NULL: create one with dtrain_stream_create()", function);
}

static int check_index(const struct dtrain_ps *ps, const char *function, size_t index,
                       struct dtrain_error *err)
{
    return index < ps->n ? 0 : dt_error_set(err, "%s: index is %zu: %zu parameters were registered", function,
                                            index, ps->n);
}

static int check_step(const struct dtrain_ps *ps, const char *function, size_t index, uint64_t step,
                      struct dtrain_error *err)
{
    if (step == ps->pushed[index] + 1)
        return 0;
    return dt_error_set(err, "%s: step is %llu: parameter %zu (%s) was pushed %llu times: expected step %llu",
                        function, (unsigned long long)step, index, ps->parameters[index].name,
                        (unsigned long long)ps->pushed[index], (unsigned long long)ps->pushed[index] + 1);
}

int dtrain_ps_push(struct dtrain_ps *ps, uint64_t step, struct dtrain_stream *stream,
                   struct dtrain_error *err)
{
    struct request request = {ps, DT_PS_PUSH, DT_PS_ALL, step};

    if (check_call(ps, "dtrain_ps_push", stream, err) < 0)
        return -1;
    for (size_t i = 0; i < ps->n; i++)
        if (check_step(ps, "dtrain_ps_push", i, step, err) < 0)
            return -1;
    for (size_t i = 0; i < ps->n; i++)
        ps->pushed[i] = step;
    return queue(&request, stream, err);
}

int dtrain_ps_push_one(struct dtrain_ps *ps, size_t index, uint64_t step, struct dtrain_stream *stream,
                       struct dtrain_error *err)
{
    struct request request = {ps, DT_PS_PUSH, (double)index, step};

    if (check_call(ps, "dtrain_ps_push_one", stream, err) < 0 ||
        check_index(ps, "dtrain_ps_push_one", index, err) < 0 ||
        check_step(ps, "dtrain_ps_push_one", index, step, err) < 0)
        return -1;
    ps->pushed[index] = step;
    return queue(&request, stream, err);
}

int dtrain_ps_pull(struct dtrain_ps *ps, struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct request request = {ps, DT_PS_PULL, DT_PS_ALL, 0};

    return check_call(ps, "dtrain_ps_pull", stream, err) < 0 ? -1 : queue(&request, stream, err);
}

int dtrain_ps_pull_one(struct dtrain_ps *ps, size_t index, struct dtrain_stream *stream,
                       struct dtrain_error *err)
{
    struct request request = {ps, DT_PS_PULL, (double)index, 0};

    if (check_call(ps, "dtrain_ps_pull_one", stream, err) < 0 ||
        check_index(ps, "dtrain_ps_pull_one", index, err) < 0)
        return -1;
    return queue(&request, stream, err);
}

/* ---- Waiting --------------------------------------------------------------------------- */

static int wait_all(struct dtrain_ps *ps, struct dtrain_error *err)
{
    for (size_t i = 0; i < ps->lane_count; i++)
        if (dtrain_stream_synchronize(ps->lanes[i].stream, &ps->failure) < 0)
            return fail(ps, err);
    return 0;
}

int dtrain_ps_wait(struct dtrain_ps *ps, struct dtrain_error *err)
{
    return check(ps, "dtrain_ps_wait", err) < 0 ? -1 : wait_all(ps, err);
}

/* All servers know by now; ps_session.c says why they are told. One that cannot be is about to end. */
static void say_bye(const struct request *request)
{
    for (size_t i = 0; i < request->ps->lane_count; i++)
        (void)send_request(request, &request->ps->lanes[i]);
    for (size_t i = 0; i < request->ps->lane_count; i++)
        (void)dtrain_stream_synchronize(request->ps->lanes[i].stream, NULL);
}

int dtrain_ps_leave(struct dtrain_ps *ps, struct dtrain_error *err)
{
    struct request request = {ps, DT_PS_LEAVE, DT_PS_ALL, 0};

    if (check(ps, "dtrain_ps_leave", err) < 0)
        return -1;
    for (size_t i = 0; i < ps->lane_count; i++) {
        struct dt_ps_lane *lane = &ps->lanes[i];

        if (send_request(&request, lane) < 0 ||
            dtrain_recv(lane->comm, lane->request, DT_PS_REQUEST_SIZE, DTRAIN_FLOAT64, DT_PS_SERVER_SEAT,
                        lane->stream, &ps->failure) < 0)
            return fail(ps, err);
    }
    if (wait_all(ps, err) < 0)
        return -1;
    say_bye(&request);
    ps->has_left = true;
    return 0;
}

/* ---- Status ------------------------------------------------------------------------------ */

static int ask(struct dtrain_ps *ps, struct dtrain_ps_status *status, struct dtrain_error *err)
{
    struct request request = {ps, DT_PS_STATUS, DT_PS_ALL, 0};
    struct dt_ps_lane *lane = &ps->lanes[0];

    if (check(ps, "dtrain_ps_status_get", err) < 0)
        return -1;
    if (send_request(&request, lane) < 0 ||
        dtrain_recv(lane->comm, lane->answer, ps->worker_count * DT_PS_ANSWER_SIZE, DTRAIN_FLOAT64,
                    DT_PS_SERVER_SEAT, lane->stream, &ps->failure) < 0)
        return fail(ps, err);
    for (size_t w = 0; w < ps->worker_count; w++) {
        double words[DT_PS_ANSWER_SIZE];

        if (dtrain_copy(words, lane->answer + w * DT_PS_ANSWER_SIZE, sizeof(words), lane->stream,
                        &ps->failure) < 0 ||
            dtrain_stream_synchronize(lane->stream, &ps->failure) < 0)
            return fail(ps, err);
        status[w] = (struct dtrain_ps_status){ps->workers[w], (enum dtrain_ps_state)words[DT_PS_ANSWER_STATE],
                                              (uint64_t)words[DT_PS_ANSWER_STEPS]};
    }
    return 0;
}

int dtrain_ps_status_get(struct dtrain_ps *ps, struct dtrain_ps_status *status, struct dtrain_error *err)
{
    if (!ps->is_server)
        return ask(ps, status, err);
    pthread_mutex_lock(&ps->lock);
    for (size_t w = 0; w < ps->worker_count; w++)
        status[w] = (struct dtrain_ps_status){ps->workers[w], ps->clock.state[w],
                                              dt_ps_clock_steps(&ps->clock, w)};
    pthread_mutex_unlock(&ps->lock);
    return 0;
}
