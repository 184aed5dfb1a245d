#include "control_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPT_MS 1000 /* of one attempt to connect; in between deaths are looked at */
#define RETRY_MS 20

bool dt_control_is_dead(const struct dt_control *control, uint32_t rank, struct dtrain_error *err)
{
    uint32_t n = control->death_count < DT_DEATHS_KEPT ? control->death_count : DT_DEATHS_KEPT;
    char who[DT_RANK_TEXT_MAX];

    if ((control->dead[rank / 8] & 1u << rank % 8) == 0)
        return false;
    dt_error_set(err, "%s died", dt_rank_text(control->plan, rank, who, sizeof(who)));
    for (uint32_t i = 0; i < n; i++)
        if (control->deaths[i].rank == rank)
            dt_error_set(err, "%s", control->deaths[i].text);
    return true;
}

static bool is_dead(void *context, uint32_t rank, struct dtrain_error *err)
{
    struct dt_control *control = context;
    bool dead;

    if (rank >= control->world)
        return false;
    pthread_mutex_lock(&control->lock);
    dead = dt_control_is_dead(control, rank, err);
    pthread_mutex_unlock(&control->lock);
    return dead;
}

static char *describe(void *context, uint32_t rank, char *buf, size_t size)
{
    const struct dt_control *control = context;

    return dt_rank_text(control->plan, rank, buf, size);
}

/* ---- Data connections ------------------------------------------------------------ */

/* Whether there is no point in waiting for this connection any more; then err says why. */
static bool is_hopeless(const struct dt_control *control, uint32_t peer, uint64_t channel, struct dtrain_error *err)
{
    for (size_t i = 0; i < control->cancelled_count; i++) {
        if (control->cancelled[i] == channel) {
            dt_error_set(err, "the communicator failed or ended while it connected");
            return true;
        }
    }
    if (dt_control_is_revoked(control, channel, err))
        return true;
    return dt_control_is_dead(control, peer, err);
}

/* Without memory to remember the channel its calls wait for their deadline, as they would anyway. */
static void cancel(void *context, uint64_t channel)
{
    struct dt_control *control = context;
    uint64_t *more;

    pthread_mutex_lock(&control->lock);
    more = realloc(control->cancelled, (control->cancelled_count + 1) * sizeof(*more));
    if (more != NULL) {
        more[control->cancelled_count++] = channel;
        control->cancelled = more;
    }
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

static int await_peer(struct dt_control *control, uint32_t peer, uint64_t channel,
                      const struct dt_deadline *deadline, int *fd, bool *is_local, struct dtrain_error *err)
{
    char who[DT_RANK_TEXT_MAX];
    int rc = 0;

    pthread_mutex_lock(&control->lock);
    while (rc == 0 && (*fd = dt_rendezvous_claim(&control->rendezvous, peer, channel, is_local)) < 0) {
        if (is_hopeless(control, peer, channel, err))
            rc = -1;
        else if (!dt_control_wait(control, deadline))
            rc = dt_error_set(err, "%s did not connect within %.4g s",
                              dt_rank_text(control->plan, peer, who, sizeof(who)),
                              deadline->timeout_ms / 1000.0);
    }
    pthread_mutex_unlock(&control->lock);
    return rc;
}

/* Sleeps a little unless there is no point in going on. */
static int before_retry(struct dt_control *control, uint32_t peer, uint64_t channel,
                        const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dt_deadline pause = dt_deadline_after_ms(RETRY_MS);
    struct dtrain_error why;
    char who[DT_RANK_TEXT_MAX];
    bool stop;

    pthread_mutex_lock(&control->lock);
    stop = is_hopeless(control, peer, channel, &why);
    while (!stop && dt_control_wait(control, &pause))
        stop = is_hopeless(control, peer, channel, &why);
    pthread_mutex_unlock(&control->lock);
    if (stop)
        return dt_error_set(err, "%s", why.text);
    if (dt_deadline_passed(deadline))
        return dt_error_prefix(err, "%s within %.4g s", dt_rank_text(control->plan, peer, who, sizeof(who)),
                               deadline->timeout_ms / 1000.0);
    return 0;
}

static int call_peer(struct dt_control *control, uint32_t peer, uint64_t channel,
                     const struct dt_deadline *deadline, int *fd, bool *is_local, struct dtrain_error *err)
{
    struct dt_greeting greeting = {DT_PURPOSE_DATA, control->rank, channel, {0}};
    struct dt_address address;

    pthread_mutex_lock(&control->lock);
    memcpy(greeting.token, control->rendezvous.world_token, DT_TOKEN_SIZE);
    address = control->table[peer];
    pthread_mutex_unlock(&control->lock);
    *is_local = dt_plan_rank_node(control->plan, peer) == dt_plan_rank_node(control->plan, control->rank);
    for (;;) {
        struct dt_deadline attempt = dt_deadline_after_ms(ATTEMPT_MS);

        if (attempt.at_ns > deadline->at_ns)
            attempt = *deadline;
        if (dt_control_call(&address, *is_local, &greeting, &attempt, fd, err) == 0)
            return 0;
        if (*is_local && errno == ECONNREFUSED)
            *is_local = false;
        if (before_retry(control, peer, channel, deadline, err) < 0)
            return -1;
    }
}

/* The lower rank calls. Its call may end before the higher one's began: then the connection waits there. */
static int connect_peer(void *context, uint32_t peer, uint64_t channel, const struct dt_deadline *deadline,
                        int *fd, bool *is_local, struct dtrain_error *err)
{
    struct dt_control *control = context;
    bool is_hopeless_now;

    *fd = -1;
    if (peer >= control->world || peer == control->rank)
        return dt_error_set(err, "rank %u cannot connect to rank %u in a world of %u", control->rank, peer,
                            control->world);
    pthread_mutex_lock(&control->lock);
    is_hopeless_now = is_hopeless(control, peer, channel, err);
    pthread_mutex_unlock(&control->lock);
    if (is_hopeless_now)
        return -1;
    if (control->rank > peer)
        return await_peer(control, peer, channel, deadline, fd, is_local, err);
    return call_peer(control, peer, channel, deadline, fd, is_local, err);
}

void dt_control_peers_init(struct dt_control *control)
{
    control->peers = (struct dt_peers){
        .context = control,
        .connect = connect_peer,
        .cancel = cancel,
        .is_dead = is_dead,
        .describe = describe,
        .death_count = &control->death_count,
        .death_fd = control->death_fd,
    };
    dt_control_revoke_init(control);
}

const struct dt_peers *dt_control_peers(const struct dt_control *control)
{
    return &control->peers;
}
