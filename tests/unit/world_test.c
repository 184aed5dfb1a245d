/* Whole worlds, a process a rank: they come up, know their groups, connect, and end. */
#include <poll.h>
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
#define NODE_3 UINT32_C(0x0f00)

/* ---- Up -------------------------------------------------------------------- */

static const unsigned sets[] = {
    DTRAIN_TP,
    DTRAIN_CP,
    DTRAIN_DP,
    DTRAIN_PP,
    DTRAIN_TP | DTRAIN_DP,
    DTRAIN_DP | DTRAIN_PP,
    DTRAIN_WORLD,
    DTRAIN_EXPERT | DTRAIN_TP,
    DTRAIN_EXPERT | DTRAIN_EP,
    DTRAIN_EXPERT | DTRAIN_DP,
    DTRAIN_EXPERT | DTRAIN_EP | DTRAIN_DP,
};

static const char *check_getters(const struct dtrain_world *world, const struct fork_layout *layout,
                                 uint32_t rank)
{
    char name[16];

    snprintf(name, sizeof(name), "n%u", rank / layout->tasks + 1);
    if (dtrain_rank(world) != (int)rank || dtrain_size(world) != (int)(layout->nodes * layout->tasks))
        return "rank or size";
    if (dtrain_local_rank(world) != (int)(rank % layout->tasks) ||
        dtrain_local_size(world) != (int)layout->tasks)
        return "local rank or size";
    if (dtrain_node(world) != (int)(rank / layout->tasks) || dtrain_node_count(world) != (int)layout->nodes)
        return "node or node count";
    if (strcmp(dtrain_node_name(world, (int)rank), name) != 0 || dtrain_node_name(world, -1) != NULL ||
        dtrain_node_name(world, dtrain_size(world)) != NULL)
        return "node name";
    return strcmp(dtrain_backend(world), "host") == 0 ? NULL : "backend";
}

static const char *check_group(const struct dtrain_world *world, const struct dt_layout *layout,
                               unsigned axes)
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
        if (dtrain_group_member(world, &group, i) !=
            (int)dt_group_member(layout, grid, set, (uint32_t)group.index, (uint32_t)i))
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
        {0, "empty"},
        {DTRAIN_EXPERT, "empty"},
        {1u << 5, "no axis"},
        {1u << 31 | DTRAIN_TP, "no axis"},
        {DTRAIN_EP, "needs DTRAIN_EXPERT"},
        {DTRAIN_TP | DTRAIN_EP, "needs DTRAIN_EXPERT"},
        {DTRAIN_EXPERT | DTRAIN_CP, "DTRAIN_CP"},
    };
    struct dtrain_group group;
    struct dtrain_error err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (dtrain_group_get(world, bad[i].axes, &group, &err) == 0 || strstr(err.text, bad[i].words) == NULL)
            return "a set of axes that should be refused";
    if (dtrain_coord(world, 0) != -1 || dtrain_coord(world, DTRAIN_EP) != -1 ||
        dtrain_coord(world, DTRAIN_WORLD) != -1 || dtrain_coord(world, DTRAIN_EXPERT | DTRAIN_EP) < 0)
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
        fork_say(said, err.text);
        dtrain_finalize(world, NULL);
        return;
    }
    wrong = check_world(world, &step->row->layout, rank, &err);
    fork_say(said, wrong != NULL ? wrong : "well");
    if (dtrain_finalize(world, &err) < 0)
        fork_say(said, err.text);
}

/* ---- Groups of the same members -------------------------------------------------- */

static bool has_same_members(const struct dtrain_world *world, const struct dtrain_group *a,
                             const struct dtrain_group *b)
{
    bool is_same = a->size == b->size;

    for (int i = 0; is_same && i < a->size; i++)
        is_same = dtrain_group_member(world, a, i) == dtrain_group_member(world, b, i);
    return is_same;
}

/* What the pairs of sets were, so that none of these cases is missing. */
struct pairs {
    int same_members; /* and other axes */
    int same_index;   /* and as many, but other members */
};

static const char *check_sharing_pair(struct dtrain_world *world, unsigned axes, unsigned others,
                                      struct pairs *pairs, struct dtrain_error *err)
{
    struct dtrain_group a, b;
    struct dtrain_comm *comm, *other;
    bool is_same;

    if (dtrain_group_get(world, axes, &a, err) < 0 || dtrain_group_get(world, others, &b, err) < 0 ||
        dtrain_comm_get(world, axes, &comm, err) < 0 || dtrain_comm_get(world, others, &other, err) < 0)
        return err->text;
    is_same = has_same_members(world, &a, &b);
    pairs->same_members += is_same && a.size > 1;
    pairs->same_index += !is_same && a.index == b.index && a.size == b.size;
    if (is_same)
        return comm == other ? NULL : "the same members have two communicators";
    return comm != other ? NULL : "other members share a communicator";
}

static const char *check_sharing(struct dtrain_world *world, struct dtrain_error *err)
{
    struct pairs pairs = {0, 0};
    const char *wrong = NULL;

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        for (size_t j = 0; j < i && wrong == NULL; j++)
            wrong = check_sharing_pair(world, sets[i], sets[j], &pairs, err);
    if (wrong == NULL && (pairs.same_members == 0 || (dtrain_rank(world) == 0 && pairs.same_index == 0)))
        wrong = "the layout has no such pairs";
    return wrong;
}

/* A communicator is found by its members: not by its number among those of its axes, nor by the axes. */
static void body_sharing(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {""};
    const char *wrong = err.text;

    if (fork_init(&world, step, rank, NULL, NULL, &err) == 0)
        wrong = check_sharing(world, &err);
    fork_say(said, wrong != NULL ? wrong : "well");
    if (dtrain_finalize(world, &err) < 0 && wrong == NULL)
        fork_say(said, err.text);
}

/* ---- A backend whose groups need an id of their root ------------------------------- */

static uint32_t id_rank; /* of this process */
static unsigned id_count;

struct id {
    uint32_t rank, count;
    char rest[DT_BACKEND_ID_MAX - 8];
};

static int id_create(void *id, struct dtrain_error *err)
{
    struct id made = {.rank = id_rank, .count = ++id_count};

    (void)err;
    memset(made.rest, 'x', sizeof(made.rest));
    memcpy(id, &made, sizeof(made));
    return 0;
}

#define RANKS_PER_ID 2 /* so that groups of four have two */

static int ranks_per_id(void)
{
    return RANKS_PER_ID;
}

/* Whole, and of the member that makes it. */
static bool is_id_right(const struct dt_comm_request *request, int i)
{
    struct id id;

    memcpy(&id, request->ids[i], sizeof(id));
    return id.rank == request->members[i * RANKS_PER_ID] && id.rest[0] == 'x' &&
           id.rest[sizeof(id.rest) - 1] == 'x';
}

/* The ids must be those of the groups' makers, whole, and different. */
static int comms_create_by_id(void *state, const struct dt_comm_request *requests, size_t n, void **comms,
                              const struct dt_deadline *deadline, struct dtrain_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (requests[i].id_count != (requests[i].size + 1) / RANKS_PER_ID)
            return dt_error_set(err, "%s has %d ids", requests[i].name, requests[i].id_count);
        for (int k = 0; k < requests[i].id_count; k++)
            if (!is_id_right(&requests[i], k))
                return dt_error_set(err, "%s has not its makers' ids", requests[i].name);
        for (size_t j = 0; j < i; j++)
            if (memcmp(requests[i].ids[0], requests[j].ids[0], DT_BACKEND_ID_MAX) == 0)
                return dt_error_set(err, "%s has the id of %s", requests[i].name, requests[j].name);
    }
    return dt_backend_host.comms_create(state, requests, n, comms, deadline, err);
}

static struct dt_backend id_backend; /* the host's but for these */

static void body_up_by_id(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    id_rank = rank;
    body_up(step, rank, said);
}

/* ---- Without the fence -------------------------------------------------------------- */

/* One comes when the others have given the fence up. */
static void body_up_later(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    if (rank == step->row->odd)
        fork_pause_ms(LATE_MS / 4 + 300);
    body_up(step, rank, said);
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

        if (peer != rank &&
            (poll(&wanted, 1, ENOUGH_MS) != 1 || read(wanted.fd, &theirs, 1) != 1 || theirs != peer))
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
        fork_say(said, wrong != NULL ? wrong : "well");
    }
    if (dtrain_finalize(world, &err) < 0)
        fork_say(said, err.text);
}

/* ---- The end ------------------------------------------------------------------------ */

static void end_after(struct fork_step *step, uint32_t rank, int ms, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"well"};

    if (fork_init(&world, step, rank, NULL, NULL, &err) == 0)
        fork_pause_ms(ms);
    dtrain_finalize(world, &err);
    fork_say(said, err.text);
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
static void body_stays(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"well"};

    if (fork_init(&world, step, rank, NULL, NULL, &err) == 0 && rank == step->row->odd)
        fork_reached(step, rank, step->count);
    else
        fork_pause_ms(20 * (int)rank);
    dtrain_finalize(world, &err);
    fork_say(said, err.text);
    fork_reached(step, rank, 0);
}

/* Finalize may come before the world is up. */
static void body_ends_at_once(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    struct dtrain_error err = {"well"};

    fork_start(&world, step, rank, NULL, NULL, &err);
    dtrain_finalize(world, &err);
    fork_say(said, err.text);
}

/* ---- The table --------------------------------------------------------------------- */

static const struct fork_row rows[] = {
    {"a world of 1", {1, 1, 1, 1, 1}, ENOUGH_MS, body_up, .words = {"well"}},
    {"2 ranks on 1 node", {1, 2, 2, 1, 1}, ENOUGH_MS, body_up, .words = {"well"}},
    {"2 ranks on 2 nodes", {2, 1, 1, 2, 1}, ENOUGH_MS, body_up, .words = {"well"}},
    {"16 ranks on 1 node", {1, 16, 4, 2, 2}, ENOUGH_MS, body_up, .words = {"well"}},
    {"16 ranks on 2 nodes", {2, 8, 4, 2, 2}, ENOUGH_MS, body_up, .words = {"well"}},
    {"16 ranks on 4 nodes", {4, 4, 4, 2, 2}, ENOUGH_MS, body_up, .words = {"well"}},
    {"Megatron-Bridge#4985: one communicator for the same members only", {2, 4, 2, 2, 2}, ENOUGH_MS,
     body_sharing, .words = {"well"}},
    {"a tree of three levels", {20, 1, 1, 2, 1}, ENOUGH_MS, body_ends_upward, .words = {"well"}},
    {"groups that need an id", {4, 4, 4, 2, 2}, ENOUGH_MS, body_up_by_id, .words = {"well"},
     .backend = &id_backend},
    {"a fence that ends nowhere", {4, 4, 4, 2, 2}, LATE_MS, body_up, .words = {"well"},
     .no_fence = ALL_RANKS},
    {"rank 0 does not see a leader", {4, 4, 4, 2, 2}, LATE_MS, body_up, .words = {"well"},
     .no_fence = ALL_RANKS & ~NODE_2, .blind = NODE_1, .unseen = NODE_2},
    {"a leader does not see rank 0", {4, 4, 4, 2, 2}, LATE_MS, body_up, .words = {"well"},
     .no_fence = ALL_RANKS & ~NODE_1, .blind = NODE_2, .unseen = NODE_1},
    {"two leaders do not see each other", {4, 4, 4, 2, 2}, LATE_MS, body_up_by_id, .words = {"well"},
     .backend = &id_backend, .no_fence = ALL_RANKS & ~NODE_2, .blind = NODE_3, .unseen = NODE_2},
    {"groups that need an id, without the fence", {4, 4, 4, 2, 2}, LATE_MS, body_up_by_id, .words = {"well"},
     .backend = &id_backend, .no_fence = ALL_RANKS},
    {"a leader does not see its own in a tree of three levels", {20, 1, 1, 2, 1}, LATE_MS, body_up,
     .words = {"well"}, .no_fence = UINT32_MAX & ~(1u << 1), .blind = 1u << 17, .unseen = 1u << 1},
    {"a leaf that comes late", {4, 4, 4, 2, 2}, LATE_MS, body_up_later, .words = {"well"}, .odd = 6},
    {"a leader that comes late", {4, 4, 4, 2, 2}, LATE_MS, body_up_later, .words = {"well"}, .odd = 4},
    {"rank 0 that comes late", {4, 4, 4, 2, 2}, LATE_MS, body_up_later, .words = {"well"}, .odd = 0},
    {"cuDecomp#98: each two ranks connect, local at both ends or at none", {2, 4, 4, 1, 1}, ENOUGH_MS,
     body_pairs, .words = {"well"}},
    {"ends from the first rank on", {4, 4, 4, 2, 1}, ENOUGH_MS, body_ends_upward, .words = {"well"}},
    {"ends from the last rank on", {4, 4, 4, 2, 1}, ENOUGH_MS, body_ends_downward, .words = {"well"}},
    {"ends before it is up", {2, 2, 2, 1, 1}, ENOUGH_MS, body_ends_at_once, .words = {"well"}},
    {"a leaf that does not end", {4, 4, 4, 2, 1}, SHORT_MS, body_stays,
     .odd = 6, .words = {"rank 6 (task 6) on n2 did not come to dtrain_finalize"}},
    {"a leader that does not end", {4, 4, 4, 2, 1}, SHORT_MS, body_stays,
     .odd = 4, .words = {"rank 4 (task 4) on n2 did not come to dtrain_finalize"}},
    {"rank 0 that does not end", {4, 4, 4, 2, 1}, SHORT_MS, body_stays,
     .odd = 0, .words = {"rank 0 (task 0) on n1 did not come to dtrain_finalize"}},
};

int main(void)
{
    id_backend = dt_backend_host;
    id_backend.id_size = DT_BACKEND_ID_MAX;
    id_backend.id_create = id_create;
    id_backend.ranks_per_id = ranks_per_id;
    id_backend.comms_create = comms_create_by_id;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(fork_check(&rows[i]), "%s", rows[i].name);
    return tap_done();
}
