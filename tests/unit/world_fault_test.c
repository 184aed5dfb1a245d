/* Worlds with a rank that is missing, different, or dead: all others say so. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "fork_world.h"
#include "tap.h"

#define ENOUGH_MS 20000 /* a deadline that is not meant to pass, under sanitizers and load too */
#define SHORT_MS 600    /* one that is */
#define LATE_MS 8000    /* one of which the fence takes a part */

/* Of 4 nodes with 4 tasks each. */
#define ALL_RANKS UINT32_C(0xffff)
#define NODE_1 UINT32_C(0x000f)
#define NODE_2 UINT32_C(0x00f0)

/* ---- Not up ------------------------------------------------------------------ */

static void init_and_say(struct fork_step *step, uint32_t rank, struct dt_plan *plan, const char *host,
                         char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"well"}, again = {""};

    fork_init(&world, step, rank, plan, host, &err);
    fork_say(said, err.text);
    if (dtrain_finalize(world, &again) == 0 || strcmp(again.text, err.text) != 0)
        fork_say(said, "finalize did not repeat the reason");
}

static void body_other_layout(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dt_plan *plan = rank == step->row->odd ? fork_plan(&step->row->other) : NULL;

    init_and_say(step, rank, plan, NULL, said);
}

static void body_other_host(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    init_and_say(step, rank, NULL, rank == step->row->odd ? "n7" : NULL, said);
}

static void body_other_config(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    setenv(DT_COMM_CONFIG_USER_NAME, rank == step->row->odd ? "tp.max_ctas=8" : "tp.max_ctas=16", 1);
    init_and_say(step, rank, NULL, NULL, said);
}

/* ---- Backends that are not alike ------------------------------------------------ */

static struct dt_backend device_backend, version_backend, failing_backend; /* the host's but for these */
static uint32_t device_rank;                                               /* of this process */
static uint32_t device_odd;                               /* its device is that of the rank below */

static int device_name(int local_rank, char *name, size_t size, struct dtrain_error *err)
{
    (void)err;
    snprintf(name, size, "0000:%02x:00.0", local_rank - (device_rank == device_odd));
    return 0;
}

static const char *version_text(void)
{
    return device_rank == device_odd ? "2.21.5" : "2.28.9";
}

/* The others have their communicators, and wait for nobody. */
static int comms_create_alone(void *state, const struct dt_comm_request *requests, size_t n, void **comms,
                              const struct dt_deadline *deadline, struct dtrain_error *err)
{
    (void)state;
    (void)requests;
    (void)deadline;
    memset(comms, 0, n * sizeof(*comms));
    return device_rank == device_odd ? dt_error_set(err, "no memory for a communicator") : 0;
}

static void body_other_backend(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    device_rank = rank;
    device_odd = step->row->odd;
    init_and_say(step, rank, NULL, NULL, said);
}

/* One takes itself for its neighbour. */
static void body_other_ranks(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    static const uint32_t procids[] = {0, 1, 2, 3, 4, 5, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    struct dt_plan_inputs inputs = {
        .request = {.tp = 4, .pp = 2, .ep = 1, .etp = 1},
        .backend = DT_BACKEND_HOST,
        .node_count = 4,
        .nodes = names,
        .tasks = (uint32_t[]){4, 4, 4, 4},
        .procids = procids,
        .master_addr = "127.0.0.1",
    };
    struct dt_plan *plan = NULL;

    if (rank == step->row->odd && dt_plan_create(&plan, &inputs, NULL) < 0)
        return;
    init_and_say(step, rank, plan, NULL, said);
}

static void body_missing(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    if (rank != step->row->odd && rank != step->row->odd + 1)
        init_and_say(step, rank, NULL, NULL, said);
}

/* The silent ones never come, and nobody else is named. */
static void body_missing_only(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    char text[FORK_TEXT_MAX] = "";

    if ((step->row->silent >> rank & 1) != 0)
        return;
    init_and_say(step, rank, NULL, NULL, text);
    snprintf(said, FORK_TEXT_MAX, "only %.1000s", text);
}

static void body_init(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    init_and_say(step, rank, NULL, NULL, said);
}

static void kill_odd(const struct fork_step *step, uint32_t task)
{
    if (task == step->row->odd)
        raise(SIGKILL);
}

/* ---- Deaths -------------------------------------------------------------------- */

static bool wait_death(const struct dt_peers *peers)
{
    struct pollfd wanted = {.fd = peers->death_fd, .events = POLLIN};

    return poll(&wanted, 1, ENOUGH_MS) == 1 && *peers->death_count > 0;
}

static void body_dies(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    uint32_t victim = step->row->odd;
    struct dtrain_world *world;
    struct dtrain_error err = {""}, end = {""};
    const struct dt_peers *peers;

    if (fork_init(&world, step, rank, NULL, NULL, &err) < 0 || !fork_reached(step, rank, step->count)) {
        fork_say(said, err.text);
        return;
    }
    if (rank == victim)
        raise(SIGKILL);
    peers = dt_control_peers(world->control);
    if (!wait_death(peers) || !peers->is_dead(peers->context, victim, &err))
        fork_say(said, "did not hear of the death");
    else
        fork_say(said, err.text);
    if (dtrain_finalize(world, &end) == 0 || strstr(end.text, "died") == NULL)
        fork_say(said, "finalize said nothing of the death");
}

/* A rank waits in connect for one that dies. */
static void body_dies_before_connect(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dt_deadline deadline = dt_deadline_after_ms(ENOUGH_MS);
    struct dtrain_world *world;
    struct dtrain_error err = {"connected"};
    const struct dt_peers *peers;
    bool is_local;
    int fd;

    if (fork_init(&world, step, rank, NULL, NULL, &err) < 0 || !fork_reached(step, rank, step->count))
        return;
    if (rank == 1) {
        fork_pause_ms(50);
        raise(SIGKILL);
    }
    peers = dt_control_peers(world->control);
    if (rank > 1 && peers->connect(peers->context, 1, 77, &deadline, &fd, &is_local, &err) == 0)
        close(fd);
    else if (rank == 0)
        wait_death(peers);
    fork_say(said, rank == 0 ? "rank 1 on n1 died" : err.text);
    dtrain_finalize(world, NULL);
}

#define CANCELLED_CHANNEL 77

static void *cancel_soon(void *argument)
{
    const struct dt_peers *peers = argument;

    fork_pause_ms(50);
    peers->cancel(peers->context, CANCELLED_CHANNEL);
    return NULL;
}

/* Connecting to a rank that never calls ends when the channel is cancelled, and at once after that. */
static void body_cancels(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dt_deadline deadline = dt_deadline_after_ms(ENOUGH_MS);
    struct dtrain_world *world;
    struct dtrain_error err = {"connected"};
    const struct dt_peers *peers;
    pthread_t thread;
    bool is_local;
    int fd;

    if (fork_init(&world, step, rank, NULL, NULL, &err) < 0 || !fork_reached(step, rank, step->count))
        return;
    peers = dt_control_peers(world->control);
    if (rank == 0) {
        fork_say(said, "the communicator failed or ended");
    } else if (pthread_create(&thread, NULL, cancel_soon, (void *)peers) == 0) {
        if (peers->connect(peers->context, 0, CANCELLED_CHANNEL, &deadline, &fd, &is_local, &err) < 0)
            peers->connect(peers->context, 0, CANCELLED_CHANNEL, &deadline, &fd, &is_local, &err);
        pthread_join(thread, NULL);
        fork_say(said, dt_deadline_passed(&deadline) ? "it lasted until the deadline" : err.text);
    }
    dtrain_finalize(world, NULL);
}

/* A rank goes because of an error of its own. */
static void body_abandons(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {""};
    const struct dt_peers *peers;

    if (fork_init(&world, step, rank, NULL, NULL, &err) < 0 || !fork_reached(step, rank, step->count))
        return;
    peers = dt_control_peers(world->control);
    if (rank == step->row->odd)
        dt_control_abandon(world->control, "its memory ran out");
    else if (wait_death(peers))
        peers->is_dead(peers->context, step->row->odd, &err);
    fork_say(said, rank == step->row->odd ? "rank 6 on n2 left: its memory ran out" : err.text);
    dtrain_finalize(world, NULL);
}

/* ---- The table --------------------------------------------------------------------- */

static const struct fork_row rows[] = {
    {"a rank with another tp", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_layout,
     .odd = 5, .other = {4, 4, 2, 2, 1},
     .words = {"rank 5 on n2 was started with tp=2 pp=2 dp=4 order=tp-cp-ep-dp-pp, rank 0 with tp=4 pp=2",
               "dp=2 order=tp-cp-ep-dp-pp"}},
    {"rank 0 with another tp", {2, 4, 4, 1, 1}, ENOUGH_MS, body_other_layout,
     .odd = 0, .other = {2, 4, 2, 1, 1},
     .words = {"rank 1 on n1 (and 6 more) was started with tp=4 pp=1 dp=2", "rank 0 with tp=2"}},
    {"a rank with the plan of another size", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_layout,
     .odd = 6, .other = {2, 4, 4, 2, 1}, .words = {"task 6: the plan has 8 ranks", "this step has 16 tasks"}},
    {"rank 0 with the plan of another size", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_layout,
     .odd = 0, .other = {2, 4, 4, 2, 1}, .words = {"task 0: the plan has 8 ranks", "this step has 16 tasks"}},
    {"a rank with another configuration", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_config,
     .odd = 9, .words = {"rank 9 on n3 was given another configuration of communicators"}},
    {"NeMo-RL#3178: two ranks on one device", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_backend,
     .backend = &device_backend, .odd = 10,
     .words = {"rank 9 on n3 and rank 10 have one device, 0000:01:00.0: each rank needs its own"}},
    {"a leader and another on one device", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_backend,
     .backend = &device_backend,
     .odd = 5, .words = {"rank 4 on n2 and rank 5 have one device, 0000:00:00.0"}},
    {"a rank with another version of the backend", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_backend,
     .backend = &version_backend,
     .odd = 10, .words = {"rank 10 on n3 uses the backend host 2.21.5, rank 0 uses host 2.28.9"}},
    {"a rank without its communicators: a world comes up on all or on none", {4, 4, 4, 2, 1}, ENOUGH_MS,
     body_other_backend, .backend = &failing_backend, .odd = 9, .words = {"no memory for a communicator"}},
    {"a rank on another node", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_host,
     .odd = 9, .words = {"rank 9 (task 9): the plan puts it on n3", "this is n7"}},
    {"a rank that takes itself for another", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_ranks,
     .odd = 6, .words = {"rank 7 (task 6): the plan says that its local rank is 3, PMIx says 2"}},
    {"two ranks that never come", {4, 4, 4, 2, 1}, SHORT_MS, body_missing,
     .odd = 6, .silent = 1 << 6 | 1 << 7,
     .words = {"rank 6 (task 6) on n2, rank 7 (task 7) on n2 did not come within 0.6 s",
               "exited, crashed, or waits"}},
    {"rank 0 and another that never come", {4, 4, 4, 2, 1}, SHORT_MS, body_missing_only,
     .silent = 1 << 0 | 1 << 9,
     .words = {"only rank 0 (task 0) on n1, rank 9 (task 9) on n3 did not come within 0.6 s"}},
    {"a leader and another that never come", {4, 4, 4, 2, 1}, SHORT_MS, body_missing_only,
     .silent = 1 << 4 | 1 << 9,
     .words = {"only rank 4 (task 4) on n2, rank 9 (task 9) on n3 did not come within 0.6 s"}},
    {"a rank that never comes, and a node that rank 0 does not see", {4, 4, 4, 2, 1}, SHORT_MS,
     body_missing_only, .silent = 1 << 9, .no_fence = ALL_RANKS, .blind = NODE_1, .unseen = NODE_2,
     .words = {"only rank 9 (task 9) on n3 did not come within 0.6 s"}},
    {"a rank that never comes on that node", {4, 4, 4, 2, 1}, SHORT_MS, body_missing_only,
     .silent = 1 << 6, .no_fence = ALL_RANKS, .blind = NODE_1, .unseen = NODE_2,
     .words = {"only rank 6 (task 6) on n2 did not come within 0.6 s"}},
    {"a rank that never comes, and a node that does not see rank 0", {4, 4, 4, 2, 1}, SHORT_MS,
     body_missing_only, .silent = 1 << 9, .no_fence = ALL_RANKS, .blind = NODE_2, .unseen = NODE_1,
     .words = {"only rank 9 (task 9) on n3 did not come within 0.6 s"}},
    {"a rank that dies before it joins", {4, 4, 4, 2, 1}, SHORT_MS, body_init, kill_odd,
     .odd = 6, .killed = 1 << 6, .words = {"rank 6 (task 6) on n2 did not come within 0.6 s"}},
    {"a leader that dies before it joins", {4, 4, 4, 2, 1}, SHORT_MS, body_init, kill_odd,
     .odd = 4, .killed = 1 << 4, .words = {"rank 4 ", "on n2"}},
    {"a rank with another tp, without the fence", {4, 4, 4, 2, 1}, LATE_MS, body_other_layout,
     .odd = 5, .other = {4, 4, 2, 2, 1}, .no_fence = ALL_RANKS,
     .words = {"rank 5 on n2 was started with tp=2 pp=2 dp=4 order=tp-cp-ep-dp-pp, rank 0 with tp=4 pp=2"}},
    {"a rank on another node that does not see rank 0", {4, 4, 4, 2, 1}, SHORT_MS, body_other_host,
     .odd = 4, .no_fence = ALL_RANKS & ~NODE_1, .blind = NODE_2, .unseen = NODE_1,
     .words = {"rank 4 (task 4): the plan puts it on n2", "this is n7"}},
    {"a leaf that dies later", {4, 4, 4, 2, 1}, ENOUGH_MS, body_dies,
     .odd = 6, .killed = 1 << 6, .words = {"rank 6 on n2 died (seen by rank 4)"}},
    {"a leader that dies later", {4, 4, 4, 2, 1}, ENOUGH_MS, body_dies,
     .odd = 4, .killed = 1 << 4, .words = {"rank 4 on n2 died (seen by rank "}},
    {"rank 0 that dies later", {4, 4, 4, 2, 1}, ENOUGH_MS, body_dies,
     .odd = 0, .killed = 1 << 0, .words = {"rank 0 on n1 died (seen by rank "}},
    {"a rank that leaves with an error", {4, 4, 4, 2, 1}, ENOUGH_MS, body_abandons,
     .odd = 6, .words = {"rank 6 on n2 left: its memory ran out"}},
    {"a peer that dies before it connects", {2, 2, 1, 1, 1}, ENOUGH_MS, body_dies_before_connect,
     .odd = 1, .killed = 1 << 1, .words = {"rank 1 on n1 died"}},
    {"a connection that is cancelled", {2, 2, 1, 1, 1}, ENOUGH_MS, body_cancels,
     .words = {"the communicator failed or ended"}},
};

int main(void)
{
    device_backend = version_backend = failing_backend = dt_backend_host;
    device_backend.device = device_name;
    version_backend.version = version_text;
    failing_backend.comms_create = comms_create_alone;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(fork_check(&rows[i]), "%s", rows[i].name);
    return tap_done();
}
