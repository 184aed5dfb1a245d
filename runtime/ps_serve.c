#include <stdatomic.h>
#include <time.h>

#include "core/error.h"
#include "ps.h"
#include "runtime/thread.h"

#define LOOK_MS 50 /* how often for deaths of other servers, which no session would notice */
/*
 * A server without workers that are alive ends its process, and then counts as dead,
 * maybe before this one has noticed that the workers are.
 */
#define GRACE_MS 1000
#define LOSS_MAX (DTRAIN_ERROR_MAX / 2) /* bytes of why a worker was lost, so that what follows has room */

/* A server's death ends the training: its part of the parameters is gone. */
static bool has_dead_server(const struct dtrain_ps *ps, struct dtrain_error *why)
{
    const struct dt_peers *peers = dt_control_peers(ps->world->control);

    if (atomic_load(peers->death_count) == 0)
        return false;
    for (size_t i = 0; i < ps->server_count; i++) {
        if (i == ps->self || !peers->is_dead(peers->context, (uint32_t)ps->servers[i], why))
            continue;
        dt_error_prefix(why, "a parameter server, which holds a part of the parameters, is lost");
        return true;
    }
    return false;
}

static void wait_a_little(struct dtrain_ps *ps)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += LOOK_MS * 1000000L;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&ps->changed, &ps->lock, &at);
}

/* Until nobody works any more, or the ps failed: then true. */
static bool watch_over(struct dtrain_ps *ps)
{
    struct dt_deadline grace = {0};
    struct dtrain_error why;
    bool is_over = false, has_failed = false;

    while (!is_over) {
        if (has_dead_server(ps, &why)) {
            if (grace.at_ns == 0)
                grace = dt_deadline_after_ms(GRACE_MS);
            if (dt_deadline_passed(&grace))
                dt_ps_fail(ps, why.text);
        }
        pthread_mutex_lock(&ps->lock);
        if (!ps->has_failed && dt_ps_clock_working(&ps->clock) > 0)
            wait_a_little(ps);
        has_failed = ps->has_failed;
        is_over = has_failed || dt_ps_clock_working(&ps->clock) == 0;
        pthread_mutex_unlock(&ps->lock);
    }
    return has_failed;
}

static bool has_leaver(const struct dtrain_ps *ps)
{
    for (size_t w = 0; w < ps->worker_count; w++)
        if (ps->clock.state[w] == DTRAIN_PS_HAS_LEFT)
            return true;
    return false;
}

static int conclude(struct dtrain_ps *ps, struct dtrain_error *err)
{
    struct dtrain_error why;

    if (dtrain_stream_synchronize(ps->stream, &why) < 0)
        dt_ps_fail(ps, why.text);
    if (ps->has_failed)
        return dt_error_set(err, "dtrain_ps_serve: %s", ps->failure.text);
    if (has_leaver(ps))
        return 0;
    if (!has_dead_server(ps, &why))
        why.text[0] = '\0';
    return dt_error_set(err, "dtrain_ps_serve: all %zu workers are lost, the last one: %.*s%s%s",
                        ps->worker_count, LOSS_MAX, ps->last_loss.text, why.text[0] != '\0' ? "; and " : "",
                        why.text);
}

int dtrain_ps_serve(struct dtrain_ps *ps, struct dtrain_error *err)
{
    struct dtrain_error why;
    size_t started = 0;

    if (!ps->is_server)
        return dt_error_set(err, "dtrain_ps_serve: rank %d is a worker: only servers serve",
                            dtrain_rank(ps->world));
    if (ps->has_served)
        return dt_error_set(err,
                            "dtrain_ps_serve: this server has served already: its workers left or are lost");
    ps->has_served = true;
    while (started < ps->lane_count && dt_thread_start(&ps->lanes[started].thread, dt_ps_session_run,
                                                       &ps->lanes[started], "a worker's thread", &why) == 0)
        started++;
    if (started < ps->lane_count)
        dt_ps_fail(ps, why.text);
    if (watch_over(ps))
        dt_ps_lanes_revoke(ps, ps->failure.text);
    for (size_t i = 0; i < started; i++)
        pthread_join(ps->lanes[i].thread, NULL);
    return conclude(ps, err);
}
