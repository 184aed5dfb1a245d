/* Whole worlds, a process a rank: up, agreed, named, mourned, ended. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fork_world.h"
#include "tap.h"

#define ENOUGH_MS 20000 /* a deadline that is not meant to pass, under sanitizers and load too */
#define SHORT_MS 600    /* one that is */

static void say(char said[FORK_TEXT_MAX], const char *text)
{
    snprintf(said, FORK_TEXT_MAX, "%s", text);
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* ---- Up -------------------------------------------------------------------- */

static const unsigned sets[] = {
    DTRAIN_TP, DTRAIN_CP, DTRAIN_DP, DTRAIN_PP, DTRAIN_TP | DTRAIN_DP, DTRAIN_DP | DTRAIN_PP, DTRAIN_WORLD,
    DTRAIN_EXPERT | DTRAIN_TP, DTRAIN_EXPERT | DTRAIN_EP, DTRAIN_EXPERT | DTRAIN_DP,
    DTRAIN_EXPERT | DTRAIN_EP | DTRAIN_DP,
};

static const char *check_getters(const struct dtrain_world *world, const struct fork_layout *layout, uint32_t rank)
{
    char name[16];

    snprintf(name, sizeof(name), "n%u", rank / layout->tasks + 1);
    if (dtrain_rank(world) != (int)rank || dtrain_size(world) != (int)(layout->nodes * layout->tasks))
        return "rank or size";
    if (dtrain_local_rank(world) != (int)(rank % layout->tasks) || dtrain_local_size(world) != (int)layout->tasks)
        return "local rank or size";
    if (dtrain_node(world) != (int)(rank / layout->tasks) || dtrain_node_count(world) != (int)layout->nodes)
        return "node or node count";
    if (strcmp(dtrain_node_name(world, (int)rank), name) != 0 || dtrain_node_name(world, -1) != NULL ||
        dtrain_node_name(world, dtrain_size(world)) != NULL)
        return "node name";
    return strcmp(dtrain_backend(world), "host") == 0 ? NULL : "backend";
}

static const char *check_group(const struct dtrain_world *world, const struct dt_layout *layout, unsigned axes)
{
    enum dt_grid grid = (axes & DTRAIN_EXPERT) != 0 ? DT_EXPERT : DT_DENSE;
    unsigned set = axes & 0xffu;
    uint32_t rank = (uint32_t)dtrain_rank(world);
    struct dtrain_group group;
    struct dtrain_error err;

    if (dtrain_group_get(world, axes, &group, &err) < 0)
        return "dtrain_group_get";
    if ((uint32_t)group.size != dt_group_size(layout, grid, set) ||
        (uint32_t)group.count != dt_group_count(layout, grid, set) ||
        (uint32_t)group.index != dt_group_index(layout, grid, set, rank) ||
        (uint32_t)group.rank != dt_group_rank(layout, grid, set, rank))
        return "a group's numbers";
    for (int i = 0; i < group.size; i++)
        if (dtrain_group_member(world, &group, i) != (int)dt_group_member(layout, grid, set, (uint32_t)group.index, (uint32_t)i))
            return "a group's member";
    if (dtrain_group_member(world, &group, -1) != -1 || dtrain_group_member(world, &group, group.size) != -1)
        return "a member outside";
    return dtrain_group_member(world, &group, group.rank) == (int)rank ? NULL : "the own place";
}

static const char *check_refusals(const struct dtrain_world *world)
{
    static const struct {
        unsigned axes;
        const char *words;
    } bad[] = {
        {0, "empty"}, {DTRAIN_EXPERT, "empty"}, {1u << 5, "no axis"}, {1u << 31 | DTRAIN_TP, "no axis"},
        {DTRAIN_EP, "needs DTRAIN_EXPERT"}, {DTRAIN_TP | DTRAIN_EP, "needs DTRAIN_EXPERT"},
        {DTRAIN_EXPERT | DTRAIN_CP, "DTRAIN_CP"},
    };
    struct dtrain_group group;
    struct dtrain_error err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (dtrain_group_get(world, bad[i].axes, &group, &err) == 0 || strstr(err.text, bad[i].words) == NULL)
            return "a set of axes that should be refused";
    if (dtrain_coord(world, 0) != -1 || dtrain_coord(world, DTRAIN_EP) != -1 || dtrain_coord(world, DTRAIN_WORLD) != -1 ||
        dtrain_coord(world, DTRAIN_EXPERT | DTRAIN_EP) < 0)
        return "a coordinate";
    return NULL;
}

static int sum_group(struct dtrain_world *world, unsigned axes, int *sum, struct dtrain_error *err)
{
    struct dtrain_stream *stream;
    struct dtrain_comm *comm, *again;
    int rc;

    *sum = dtrain_rank(world);
    if (dtrain_comm_get(world, axes, &comm, err) < 0 || dtrain_comm_get(world, axes, &again, err) < 0 ||
        dtrain_stream_create(world, &stream, err) < 0)
        return -1;
    rc = dtrain_all_reduce(comm, sum, sum, 1, DTRAIN_INT32, DTRAIN_SUM, stream, err);
    if (dtrain_stream_destroy(stream, rc == 0 ? err : NULL) < 0 || comm != again)
        return -1;
    return rc;
}

static const char *check_sum(struct dtrain_world *world, unsigned axes, struct dtrain_error *err)
{
    struct dtrain_group group;
    int sum, expected = 0;

    if (dtrain_group_get(world, axes, &group, err) < 0 || sum_group(world, axes, &sum, err) < 0)
        return err->text;
    for (int i = 0; i < group.size; i++)
        expected += dtrain_group_member(world, &group, i);
    return sum == expected ? NULL : "a sum over a group";
}

static const char *check_world(struct dtrain_world *world, const struct fork_layout *layout, uint32_t rank,
                               struct dtrain_error *err)
{
    struct dt_plan *plan = fork_plan(layout);
    const char *wrong = check_getters(world, layout, rank);

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]) && wrong == NULL; i++)
        wrong = check_group(world, dt_plan_layout(plan), sets[i]);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]) && wrong == NULL; i++)
        wrong = check_sum(world, sets[i], err);
    dt_plan_destroy(plan);
    return wrong != NULL ? wrong : check_refusals(world);
}

static void body_up(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {""};
    const char *wrong;

    if (fork_init(&world, step, rank, NULL, NULL, &err) < 0) {
        say(said, err.text);
        dtrain_finalize(world, NULL);
        return;
    }
    wrong = check_world(world, &step->layout, rank, &err);
    say(said, wrong != NULL ? wrong : "well");
    if (dtrain_finalize(world, &err) < 0)
        say(said, err.text);
}

/* ---- Not up ------------------------------------------------------------------ */

static void init_and_say(struct fork_step *step, uint32_t rank, struct dt_plan *plan, const char *host,
                         char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"well"}, again = {""};

    fork_init(&world, step, rank, plan, host, &err);
    say(said, err.text);
    if (dtrain_finalize(world, &again) == 0 || strcmp(again.text, err.text) != 0)
        say(said, "finalize did not repeat the reason");
}

static void body_other_axes(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct fork_layout other = step->layout;

    other.tp = 2;
    init_and_say(step, rank, rank == 5 ? fork_plan(&other) : NULL, NULL, said);
}

static void body_other_axes_of_first(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct fork_layout other = step->layout;

    other.tp = 2;
    init_and_say(step, rank, rank == 0 ? fork_plan(&other) : NULL, NULL, said);
}

static void body_other_size(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct fork_layout other = step->layout;

    other.nodes = 2;
    init_and_say(step, rank, rank == 6 ? fork_plan(&other) : NULL, NULL, said);
}

static void body_other_size_of_first(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct fork_layout other = step->layout;

    other.nodes = 2;
    init_and_say(step, rank, rank == 0 ? fork_plan(&other) : NULL, NULL, said);
}

static void body_other_host(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    init_and_say(step, rank, NULL, rank == 9 ? "n7" : NULL, said);
}

/* Task 6 believes that the step's nodes are in another order, so that it takes itself for another rank. */
static void body_other_ranks(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    static const uint32_t procids[] = {0, 1, 2, 3, 4, 5, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    struct dt_plan_inputs inputs = {
        .request = {.tp = 4, .pp = 2, .ep = 1, .etp = 1}, .backend = DT_BACKEND_HOST, .node_count = 4, .nodes = names,
        .tasks = (uint32_t[]){4, 4, 4, 4}, .procids = procids, .master_addr = "127.0.0.1",
    };
    struct dt_plan *plan = NULL;

    if (rank == 6 && dt_plan_create(&plan, &inputs, NULL) < 0)
        return;
    init_and_say(step, rank, plan, NULL, said);
}

static void body_missing(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    if (rank != 6 && rank != 7)
        init_and_say(step, rank, NULL, NULL, said);
}

static void body_init(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    init_and_say(step, rank, NULL, NULL, said);
}

static void kill_6(struct fork_step *step, uint32_t task)
{
    (void)step;
    if (task == 6)
        raise(SIGKILL);
}

static void kill_4(struct fork_step *step, uint32_t task)
{
    (void)step;
    if (task == 4)
        raise(SIGKILL);
}

/* ---- Deaths -------------------------------------------------------------------- */

static bool wait_death(const struct dt_peers *peers)
{
    struct pollfd wanted = {.fd = peers->death_fd, .events = POLLIN};

    return poll(&wanted, 1, ENOUGH_MS) == 1 && *peers->death_count > 0;
}

static void mourn(struct fork_step *step, uint32_t rank, uint32_t victim, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {""}, end = {""};
    const struct dt_peers *peers;

    if (fork_init(&world, step, rank, NULL, NULL, &err) < 0 || !fork_reached(step, rank, step->count)) {
        say(said, err.text);
        return;
    }
    if (rank == victim)
        raise(SIGKILL);
    peers = dt_control_peers(world->control);
    if (!wait_death(peers) || !peers->is_dead(peers->context, victim, &err))
        say(said, "did not hear of the death");
    else
        say(said, err.text);
    if (dtrain_finalize(world, &end) == 0 || strstr(end.text, "died") == NULL)
        say(said, "finalize said nothing of the death");
}

static void body_leaf_dies(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    mourn(step, rank, 6, said);
}

static void body_root_dies(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    mourn(step, rank, 0, said);
}

static void body_leader_dies(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    mourn(step, rank, 4, said);
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
        pause_ms(50);
        raise(SIGKILL);
    }
    peers = dt_control_peers(world->control);
    if (rank > 1 && peers->connect(peers->context, 1, 77, &deadline, &fd, &is_local, &err) == 0)
        close(fd);
    else if (rank == 0)
        wait_death(peers);
    say(said, rank == 0 ? "rank 1 on n1 died" : err.text);
    dtrain_finalize(world, NULL);
}

/* ---- Connections of a backend ----------------------------------------------------- */

/* First to the higher ranks, in an order that differs, then to the lower ones. */
static const char *connect_all(const struct dtrain_world *world, uint32_t count, int fds[FORK_RANKS_MAX])
{
    const struct dt_peers *peers = dt_control_peers(world->control);
    struct dt_deadline deadline = dt_deadline_after_ms(ENOUGH_MS);
    uint32_t flip = world->rank % 2 == 0 ? count - 1 : 0; /* count is a power of two */

    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t peer = i < count ? i ^ flip : i - count;
        bool is_local = false, same = dt_plan_rank_node(world->plan, peer) == world->node;

        if (i < count ? peer <= world->rank : peer >= world->rank)
            continue;
        if (peers->connect(peers->context, peer, 5, &deadline, &fds[peer], &is_local, NULL) < 0)
            return "connect";
        if (is_local != same)
            return "is_local";
    }
    return NULL;
}

/* A byte each way. */
static const char *greet_all(uint32_t rank, uint32_t count, const int fds[FORK_RANKS_MAX])
{
    const char *wrong = NULL;

    for (uint32_t peer = 0; peer < count; peer++)
        if (peer != rank && write(fds[peer], &(unsigned char){(unsigned char)rank}, 1) != 1)
            wrong = "write";
    for (uint32_t peer = 0; peer < count && wrong == NULL; peer++) {
        struct pollfd wanted = {.fd = fds[peer], .events = POLLIN};
        unsigned char theirs = 255;

        if (peer != rank && (poll(&wanted, 1, ENOUGH_MS) != 1 || read(wanted.fd, &theirs, 1) != 1 || theirs != peer))
            wrong = "the byte of the peer";
    }
    return wrong;
}

static const char *check_pairs(const struct dtrain_world *world, uint32_t count)
{
    int fds[FORK_RANKS_MAX];
    const char *wrong;

    memset(fds, -1, sizeof(fds));
    wrong = connect_all(world, count, fds);
    if (wrong == NULL)
        wrong = greet_all(world->rank, count, fds);
    for (uint32_t peer = 0; peer < count; peer++)
        if (fds[peer] >= 0)
            close(fds[peer]);
    return wrong;
}

static void body_pairs(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {""};
    const char *wrong;

    if (fork_init(&world, step, rank, NULL, NULL, &err) == 0) {
        wrong = check_pairs(world, step->count);
        say(said, wrong != NULL ? wrong : "well");
    }
    if (dtrain_finalize(world, &err) < 0)
        say(said, err.text);
}

/* ---- The end ------------------------------------------------------------------------ */

static void end_after(struct fork_step *step, uint32_t rank, int ms, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"well"};

    if (fork_init(&world, step, rank, NULL, NULL, &err) == 0)
        pause_ms(ms);
    dtrain_finalize(world, &err);
    say(said, err.text);
}

static void body_ends_upward(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    end_after(step, rank, 10 * (int)rank, said);
}

static void body_ends_downward(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    end_after(step, rank, 10 * (int)(step->count - rank), said);
}

/* One neither dies nor ends, until all others gave up; then it hears the same. */
static void stay(struct fork_step *step, uint32_t rank, uint32_t lazy, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"well"};

    if (fork_init(&world, step, rank, NULL, NULL, &err) == 0 && rank == lazy)
        fork_reached(step, rank, step->count);
    else
        pause_ms(20 * (int)rank);
    dtrain_finalize(world, &err);
    say(said, err.text);
    fork_reached(step, rank, 0);
}

static void body_leaf_stays(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    stay(step, rank, 6, said);
}

static void body_leader_stays(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    stay(step, rank, 4, said);
}

static void body_root_stays(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    stay(step, rank, 0, said);
}

/* Finalize may come before the world is up. */
static void body_ends_at_once(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"well"};

    fork_start(&world, step, rank, NULL, NULL, &err);
    dtrain_finalize(world, &err);
    say(said, err.text);
}

/* ---- The table ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    struct fork_layout layout;
    int timeout_ms;
    fork_body *body;
    void (*before_close)(struct fork_step *, uint32_t);
    const char *words[2]; /* in what every rank says */
    uint32_t silent;      /* ranks that say nothing, a bit each */
    uint32_t killed;      /* ranks that die of a signal */
} rows[] = {
    {"a world of 1", {1, 1, 1, 1, 1}, ENOUGH_MS, body_up, NULL, {"well", ""}, 0, 0},
    {"2 ranks on 1 node", {1, 2, 2, 1, 1}, ENOUGH_MS, body_up, NULL, {"well", ""}, 0, 0},
    {"2 ranks on 2 nodes", {2, 1, 1, 2, 1}, ENOUGH_MS, body_up, NULL, {"well", ""}, 0, 0},
    {"16 ranks on 1 node", {1, 16, 4, 2, 2}, ENOUGH_MS, body_up, NULL, {"well", ""}, 0, 0},
    {"16 ranks on 2 nodes", {2, 8, 4, 2, 2}, ENOUGH_MS, body_up, NULL, {"well", ""}, 0, 0},
    {"16 ranks on 4 nodes", {4, 4, 4, 2, 2}, ENOUGH_MS, body_up, NULL, {"well", ""}, 0, 0},
    {"a tree of three levels", {20, 1, 1, 2, 1}, ENOUGH_MS, body_ends_upward, NULL, {"well", ""}, 0, 0},
    {"a rank with another tp", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_axes, NULL,
     {"rank 5 on n2 was started with tp=2 pp=2 dp=4 order=tp-cp-ep-dp-pp, rank 0 with tp=4 pp=2 dp=2", ""}, 0, 0},
    {"rank 0 with another tp", {2, 4, 4, 1, 1}, ENOUGH_MS, body_other_axes_of_first, NULL,
     {"rank 1 on n1 (and 6 more) was started with tp=4 pp=1 dp=2", "rank 0 with tp=2"}, 0, 0},
    {"a rank with the plan of another size", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_size, NULL,
     {"task 6: the plan has 8 ranks", "this step has 16 tasks"}, 0, 0},
    {"rank 0 with the plan of another size", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_size_of_first, NULL,
     {"task 0: the plan has 8 ranks", "this step has 16 tasks"}, 0, 0},
    {"a rank on another node", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_host, NULL,
     {"rank 9 (task 9): the plan puts it on n3", "this is n7"}, 0, 0},
    {"a rank that takes itself for another", {4, 4, 4, 2, 1}, ENOUGH_MS, body_other_ranks, NULL,
     {"rank 7 (task 6): the plan says that its local rank is 3, PMIx says 2", ""}, 0, 0},
    {"two ranks that never come", {4, 4, 4, 2, 1}, SHORT_MS, body_missing, NULL,
     {"rank 6 (task 6) on n2, rank 7 (task 7) on n2 did not come within 0.6 s", "exited, crashed, or waits"}, 1 << 6 | 1 << 7, 0},
    {"a rank that dies before it joins", {4, 4, 4, 2, 1}, SHORT_MS, body_init, kill_6,
     {"rank 6 (task 6) on n2 did not come to the control connections", ""}, 1 << 6, 1 << 6},
    {"a leader that dies before it joins", {4, 4, 4, 2, 1}, SHORT_MS, body_init, kill_4, {"rank 4 ", "on n2"}, 1 << 4, 1 << 4},
    {"a leaf that dies later", {4, 4, 4, 2, 1}, ENOUGH_MS, body_leaf_dies, NULL,
     {"rank 6 on n2 died (seen by rank 4)", ""}, 1 << 6, 1 << 6},
    {"a leader that dies later", {4, 4, 4, 2, 1}, ENOUGH_MS, body_leader_dies, NULL,
     {"rank 4 on n2 died (seen by rank ", ""}, 1 << 4, 1 << 4},
    {"rank 0 that dies later", {4, 4, 4, 2, 1}, ENOUGH_MS, body_root_dies, NULL,
     {"rank 0 on n1 died (seen by rank ", ""}, 1 << 0, 1 << 0},
    {"a peer that dies before it connects", {2, 2, 1, 1, 1}, ENOUGH_MS, body_dies_before_connect, NULL,
     {"rank 1 on n1 died", ""}, 1 << 1, 1 << 1},
    {"a connection between each two ranks", {2, 4, 4, 1, 1}, ENOUGH_MS, body_pairs, NULL, {"well", ""}, 0, 0},
    {"ends from the first rank on", {4, 4, 4, 2, 1}, ENOUGH_MS, body_ends_upward, NULL, {"well", ""}, 0, 0},
    {"ends from the last rank on", {4, 4, 4, 2, 1}, ENOUGH_MS, body_ends_downward, NULL, {"well", ""}, 0, 0},
    {"ends before it is up", {2, 2, 2, 1, 1}, ENOUGH_MS, body_ends_at_once, NULL, {"well", ""}, 0, 0},
    {"a leaf that does not end", {4, 4, 4, 2, 1}, SHORT_MS, body_leaf_stays, NULL,
     {"rank 6 (task 6) on n2 did not come to dtrain_finalize", ""}, 0, 0},
    {"a leader that does not end", {4, 4, 4, 2, 1}, SHORT_MS, body_leader_stays, NULL,
     {"rank 4 (task 4) on n2 did not come to dtrain_finalize", ""}, 0, 0},
    {"rank 0 that does not end", {4, 4, 4, 2, 1}, SHORT_MS, body_root_stays, NULL,
     {"rank 0 (task 0) on n1 did not come to dtrain_finalize", ""}, 0, 0},
};

static bool rank_is_right(const struct fork_rank *rank, bool is_silent, bool is_killed, const char *const words[2])
{
    if (is_killed ? !WIFSIGNALED(rank->status) : rank->status != 0)
        return false;
    if (is_silent)
        return rank->said[0] == '\0';
    return strstr(rank->said, words[0]) != NULL && strstr(rank->said, words[1]) != NULL;
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fork_step *step = fork_run(&rows[i].layout, rows[i].timeout_ms, rows[i].body, rows[i].before_close);
        bool ok = true;

        for (uint32_t rank = 0; rank < step->count; rank++) {
            const struct fork_rank *one = &step->ranks[rank];

            if (rank_is_right(one, rows[i].silent >> rank & 1, rows[i].killed >> rank & 1, rows[i].words))
                continue;
            ok = false;
            printf("# rank %u (status 0x%x) said: %s\n", rank, (unsigned)one->status, one->said);
        }
        tap_ok(ok, "%s", rows[i].name);
        fork_end(step);
    }
    return tap_done();
}
