/* Worlds that lose ranks: the survivors revoke what they are in, and go on without the dead. */
#include <signal.h>
#include <stdlib.h>

#include "fork_world.h"
#include "tap.h"

#define ENOUGH_MS 20000 /* a deadline that is not meant to pass, under sanitizers and load too */
#define SHORT_MS 700    /* one that is */
#define WHY "a rank died"

static const unsigned sets[] = {
    DTRAIN_TP, DTRAIN_PP, DTRAIN_DP, DTRAIN_EXPERT | DTRAIN_DP, DTRAIN_TP | DTRAIN_DP, DTRAIN_WORLD,
};

#define SETS (sizeof(sets) / sizeof(sets[0]))

/* ---- A backend whose groups need an id of their root ------------------------------- */

static uint32_t id_rank; /* of this process */
static uint32_t id_count;

static int id_create(void *id, struct dtrain_error *err)
{
    const uint32_t made[2] = {id_rank, ++id_count};

    (void)err;
    memset(id, 'x', DT_BACKEND_ID_MAX);
    memcpy(id, made, sizeof(made));
    return 0;
}

/* The id must be the root's own, whole, and another than any that this rank saw before. */
static int comms_create_by_id(void *state, const struct dt_comm_request *requests, size_t n, void **comms,
                              const struct dt_deadline *deadline, struct dtrain_error *err)
{
    static unsigned char seen[64][DT_BACKEND_ID_MAX];
    static size_t seen_count;

    for (size_t i = 0; i < n; i++) {
        uint32_t root;

        memcpy(&root, requests[i].ids[0], sizeof(root));
        if (root != requests[i].members[0] || requests[i].ids[0][DT_BACKEND_ID_MAX - 1] != 'x')
            return dt_error_set(err, "%s has not its root's id", requests[i].name);
        for (size_t j = 0; j < seen_count; j++)
            if (memcmp(seen[j], requests[i].ids[0], DT_BACKEND_ID_MAX) == 0)
                return dt_error_set(err, "%s has an old id", requests[i].name);
        memcpy(seen[seen_count++], requests[i].ids[0], DT_BACKEND_ID_MAX);
    }
    return dt_backend_host.comms_create(state, requests, n, comms, deadline, err);
}

static struct dt_backend id_backend; /* the host's but for these */

/* ---- Checks ------------------------------------------------------------------------ */

static bool is_killed(const struct fork_step *step, uint32_t rank)
{
    return (step->row->killed >> rank & 1) != 0;
}

static size_t list_survivors(const struct fork_step *step, uint32_t killed, int ranks[FORK_RANKS_MAX])
{
    size_t n = 0;

    for (uint32_t i = 0; i < step->count; i++)
        if ((killed >> i & 1) == 0)
            ranks[n++] = (int)i;
    return n;
}

static bool is_in(const int *ranks, size_t n, int rank)
{
    for (size_t i = 0; i < n; i++)
        if (ranks[i] == rank)
            return true;
    return false;
}

/* The communicator has the group's survivors in the old order. */
static const char *check_members(const struct dtrain_world *world, unsigned axes, const struct dtrain_comm *comm,
                                 const int *ranks, size_t n)
{
    struct dtrain_group group;
    int size = 0;

    if (dtrain_group_get(world, axes, &group, NULL) < 0)
        return "dtrain_group_get";
    for (int i = 0; i < group.size; i++) {
        int member = dtrain_group_member(world, &group, i);

        if (!is_in(ranks, n, member))
            continue;
        if (dtrain_comm_member(comm, size) != member)
            return "a member's place";
        if (member == dtrain_rank(world) && dtrain_comm_rank(comm) != size)
            return "the own place";
        size++;
    }
    if (dtrain_comm_member(comm, -1) != -1 || dtrain_comm_member(comm, size) != -1)
        return "a member outside";
    return dtrain_comm_size(comm) == size ? NULL : "a size";
}

static const char *check_set(struct dtrain_world *world, unsigned axes, const int *ranks, size_t n,
                             struct dtrain_stream *stream, struct dtrain_error *err)
{
    int sum = dtrain_rank(world), expected = 0;
    struct dtrain_comm *comm;
    const char *wrong;

    if (dtrain_comm_get(world, axes, &comm, err) < 0)
        return err->text;
    wrong = check_members(world, axes, comm, ranks, n);
    if (wrong != NULL)
        return wrong;
    for (int i = 0; i < dtrain_comm_size(comm); i++)
        expected += dtrain_comm_member(comm, i);
    if (dtrain_all_reduce(comm, &sum, &sum, 1, DTRAIN_INT32, DTRAIN_SUM, stream, err) < 0 ||
        dtrain_stream_synchronize(stream, err) < 0)
        return err->text;
    return sum == expected ? NULL : "a sum over a group";
}

static const char *check_sets(struct dtrain_world *world, const int *ranks, size_t n,
                              struct dtrain_stream *stream, struct dtrain_error *err)
{
    const char *wrong = NULL;

    for (size_t i = 0; i < SETS && wrong == NULL; i++)
        wrong = check_set(world, sets[i], ranks, n, stream, err);
    return wrong;
}

/* ---- A rank ------------------------------------------------------------------------- */

struct self {
    struct fork_step *step;
    uint32_t rank;
    struct dtrain_world *world;
    struct dtrain_stream *stream;
    int ranks[FORK_RANKS_MAX]; /* survivors */
    size_t n;
    struct dtrain_error err;
};

static const char *come_up(struct self *self)
{
    id_rank = self->rank;
    if (fork_init(&self->world, self->step, self->rank, NULL, NULL, &self->err) < 0 ||
        dtrain_stream_create(self->world, &self->stream, &self->err) < 0)
        return self->err.text;
    self->n = list_survivors(self->step, 0, self->ranks);
    return check_sets(self->world, self->ranks, self->n, self->stream, &self->err);
}

/* Everything that was asked for fails, or was through before it was revoked. */
static const char *queue_on_all(struct self *self, struct dtrain_comm *comms[SETS])
{
    for (size_t i = 0; i < SETS; i++) {
        if (dtrain_comm_get(self->world, sets[i], &comms[i], &self->err) < 0)
            return self->err.text;
        (void)dtrain_barrier(comms[i], self->stream, NULL);
    }
    return NULL;
}

static const char *expect_words(const struct dtrain_error *err, const char *words)
{
    return strstr(err->text, words) != NULL ? NULL : err->text;
}

static const char *revoke_and_rebuild(struct self *self)
{
    struct dtrain_comm *comms[SETS];
    const char *wrong = queue_on_all(self, comms);
    bool was_alone;

    if (wrong != NULL)
        return wrong;
    if (dtrain_comms_revoke(self->world, WHY, &self->err) < 0)
        return self->err.text;
    (void)dtrain_stream_synchronize(self->stream, NULL);
    was_alone = dtrain_comm_size(comms[2]) == 1; /* the first reason stays */
    if (dtrain_barrier(comms[2], self->stream, &self->err) == 0 &&
        dtrain_stream_synchronize(self->stream, &self->err) == 0)
        return "a revoked communicator takes operations";
    if (dtrain_comms_rebuild(self->world, self->ranks, self->n, &self->err) < 0)
        return self->err.text;
    if (dtrain_barrier(comms[2], self->stream, &self->err) == 0)
        return "a communicator that was replaced takes operations";
    wrong = expect_words(&self->err, was_alone ? "revoked by rank" : "replaced by dtrain_comms_rebuild()");
    return wrong != NULL ? wrong : check_sets(self->world, self->ranks, self->n, self->stream, &self->err);
}

static void say_end(struct self *self, const char *wrong, char said[FORK_TEXT_MAX])
{
    fork_say(said, wrong != NULL ? wrong : "well");
    dtrain_stream_destroy(self->stream, NULL);
    if (dtrain_finalize(self->world, &self->err) < 0 && wrong == NULL)
        fork_say(said, self->err.text);
}

/* ---- Bodies --------------------------------------------------------------------------- */

/* All that are killed die at once. */
static void body_dies(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct self self = {.step = step, .rank = rank};
    const char *wrong = come_up(&self);

    if (wrong == NULL && !fork_reached(step, rank, step->count))
        wrong = "not all came up";
    if (wrong == NULL && is_killed(step, rank))
        raise(SIGKILL);
    self.n = list_survivors(step, step->row->killed, self.ranks);
    say_end(&self, wrong != NULL ? wrong : revoke_and_rebuild(&self), said);
}

/* One of them when the others have gone on already. */
static void body_dies_twice(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    uint32_t second = step->row->odd;
    struct self self = {.step = step, .rank = rank};
    const char *wrong = come_up(&self);

    if (wrong == NULL && !fork_reached(step, rank, step->count))
        wrong = "not all came up";
    if (wrong == NULL && is_killed(step, rank) && rank != second)
        raise(SIGKILL);
    self.n = list_survivors(step, step->row->killed & ~(1u << second), self.ranks);
    if (wrong == NULL)
        wrong = revoke_and_rebuild(&self);
    if (wrong == NULL && !fork_reached(step, FORK_RANKS_MAX / 2 + rank, step->count + (uint32_t)self.n))
        wrong = "not all went on";
    if (wrong == NULL && rank == second)
        raise(SIGKILL);
    self.n = list_survivors(step, step->row->killed, self.ranks);
    say_end(&self, wrong != NULL ? wrong : revoke_and_rebuild(&self), said);
}

/* Nobody dies, and one group is revoked: its members get a new communicator, the others keep theirs. */
static const char *rebuild_one_group(struct self *self)
{
    struct dtrain_comm *before[SETS], *after;
    struct dtrain_group dp;
    const char *wrong = NULL;

    for (size_t i = 0; i < SETS; i++)
        if (dtrain_comm_get(self->world, sets[i], &before[i], &self->err) < 0)
            return self->err.text;
    dtrain_group_get(self->world, DTRAIN_DP, &dp, NULL);
    if (self->rank == 0 && dtrain_comm_revoke(before[2], WHY, &self->err) < 0)
        return self->err.text;
    if (dtrain_comms_rebuild(self->world, self->ranks, self->n, &self->err) < 0)
        return self->err.text;
    for (size_t i = 0; i < SETS && wrong == NULL; i++) {
        if (dtrain_comm_get(self->world, sets[i], &after, &self->err) < 0)
            return self->err.text;
        if ((before[i] == after) == (sets[i] == DTRAIN_DP && dp.index == 0))
            wrong = "the wrong communicators were replaced";
    }
    return wrong != NULL ? wrong : check_sets(self->world, self->ranks, self->n, self->stream, &self->err);
}

static void body_one_group(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct self self = {.step = step, .rank = rank};
    const char *wrong = come_up(&self);

    say_end(&self, wrong != NULL ? wrong : rebuild_one_group(&self), said);
}

/* One gives another list, all fail; then they agree. */
static const char *disagree(struct self *self, const int *ranks, size_t n, const char *words)
{
    const char *wrong;

    if (dtrain_comms_rebuild(self->world, ranks, n, &self->err) == 0)
        return "different lists were taken";
    wrong = expect_words(&self->err, words);
    if (wrong != NULL)
        return wrong;
    if (dtrain_comm_get(self->world, DTRAIN_TP, &(struct dtrain_comm *){NULL}, &self->err) == 0)
        return "a world that is not rebuilt gives communicators";
    if (dtrain_comms_rebuild(self->world, self->ranks, self->n, &self->err) < 0)
        return self->err.text;
    return check_sets(self->world, self->ranks, self->n, self->stream, &self->err);
}

struct wrong_list {
    int ranks[8];
    size_t n;
    const char *words;
};

static void run_disagree(struct fork_step *step, uint32_t rank, const struct wrong_list *list,
                         char said[FORK_TEXT_MAX])
{
    struct self self = {.step = step, .rank = rank};
    const char *wrong = come_up(&self);
    bool is_odd = rank == step->row->odd;

    if (wrong == NULL)
        wrong = disagree(&self, is_odd ? list->ranks : self.ranks, is_odd ? list->n : self.n, list->words);
    say_end(&self, wrong, said);
}

static void body_leaves_out(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    static const struct wrong_list list = {{0, 1, 2, 4, 5, 6, 7}, 7, "all must give the same list"};

    run_disagree(step, rank, &list, said);
}

static void body_leaves_out_root(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    static const struct wrong_list list = {{4, 5, 6, 7}, 4, "n"};

    run_disagree(step, rank, &list, said);
}

static void body_unsorted(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    static const struct wrong_list list = {
        {0, 1, 3, 2, 4, 5, 6, 7}, 8, "rank 6 on n4: survivors[3] is 2 after 3: the list must be ascending"};

    run_disagree(step, rank, &list, said);
}

static void body_without_itself(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    static const struct wrong_list list = {
        {0, 1, 2, 3, 4, 5, 7}, 7, "rank 6 on n4: the 7 survivors do not include this rank, 6"};

    run_disagree(step, rank, &list, said);
}

static void body_outside(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    static const struct wrong_list list = {
        {0, 1, 2, 3, 4, 5, 6, 9}, 8, "survivors[7] is 9: the world has ranks 0 to 7"};

    run_disagree(step, rank, &list, said);
}

static void body_empty(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    static const struct wrong_list list = {{0}, 0, "the 0 survivors do not include this rank"};

    run_disagree(step, rank, &list, said);
}

/* A list with a rank that is dead is refused before anything is tried. */
static void body_counts_dead(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct self self = {.step = step, .rank = rank};
    const char *wrong = come_up(&self);

    if (wrong == NULL && !fork_reached(step, rank, step->count))
        wrong = "not all came up";
    if (wrong == NULL && is_killed(step, rank))
        raise(SIGKILL);
    if (wrong == NULL && dtrain_comms_rebuild(self.world, self.ranks, self.n, &self.err) == 0)
        wrong = "a list with a dead rank was taken";
    fork_say(said, wrong != NULL ? wrong : self.err.text);
    self.n = list_survivors(step, step->row->killed, self.ranks);
    if (wrong == NULL)
        wrong = dtrain_comms_rebuild(self.world, self.ranks, self.n, &self.err) < 0
                    ? self.err.text
                    : check_sets(self.world, self.ranks, self.n, self.stream, &self.err);
    if (wrong != NULL)
        fork_say(said, wrong);
    dtrain_stream_destroy(self.stream, NULL);
    if (dtrain_finalize(self.world, &self.err) < 0)
        fork_say(said, self.err.text);
}

/* One never comes: the others name it in time. */
static void body_waits(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct self self = {.step = step, .rank = rank};
    const char *wrong = come_up(&self);
    bool is_odd = rank == step->row->odd;

    if (wrong == NULL && !is_odd && dtrain_comms_rebuild(self.world, self.ranks, self.n, &self.err) == 0)
        wrong = "it did without one";
    if (!is_odd)
        fork_say(said, wrong != NULL ? wrong : self.err.text);
    if (is_odd && wrong != NULL)
        fork_say(said, wrong);
    fork_reached(step, rank, step->count);
    dtrain_stream_destroy(self.stream, NULL);
    dtrain_finalize(self.world, NULL);
}

/* A death after the world went on ends dtrain_finalize as ever. */
static void body_dies_at_the_end(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct self self = {.step = step, .rank = rank};
    const char *wrong = come_up(&self);

    if (wrong == NULL && dtrain_comms_rebuild(self.world, self.ranks, self.n, &self.err) < 0)
        wrong = self.err.text;
    if (wrong == NULL && !fork_reached(step, rank, step->count))
        wrong = "not all went on";
    if (wrong == NULL && is_killed(step, rank))
        raise(SIGKILL);
    dtrain_stream_destroy(self.stream, NULL);
    if (dtrain_finalize(self.world, &self.err) == 0)
        wrong = "finalize said nothing of the death";
    fork_say(said, wrong != NULL ? wrong : self.err.text);
}

/* ---- A device that does not let go ------------------------------------------------------ */

static struct dt_backend stuck_backend;
static pthread_mutex_t stuck_lock = PTHREAD_MUTEX_INITIALIZER; /* of this process */

static void comm_revoke_stuck(void *comm, const char *err_text)
{
    pthread_mutex_lock(&stuck_lock);
    pthread_mutex_unlock(&stuck_lock);
    dt_backend_host.comm_revoke(comm, err_text);
}

/* Bounded, says so, and the next call goes on with the same attempt. */
static void body_stuck(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct self self = {.step = step, .rank = rank};
    const char *wrong = come_up(&self);

    if (wrong == NULL && !fork_reached(step, rank, step->count))
        wrong = "not all came up";
    pthread_mutex_lock(&stuck_lock);
    if (wrong == NULL && dtrain_comms_revoke(self.world, WHY, &self.err) == 0)
        wrong = "it did not notice";
    if (wrong == NULL)
        wrong = expect_words(&self.err, "did not let go of the communicators within 0.7 s: end this process");
    if (wrong == NULL && dtrain_comms_rebuild(self.world, self.ranks, self.n, &self.err) == 0)
        wrong = "it went on nevertheless";
    if (wrong == NULL)
        wrong = expect_words(&self.err, "did not let go of the old communicators");
    pthread_mutex_unlock(&stuck_lock);
    if (wrong == NULL && dtrain_comms_revoke(self.world, WHY, &self.err) < 0)
        wrong = self.err.text;
    say_end(&self, wrong, said);
}

/* ---- The table --------------------------------------------------------------------- */

#define TP2_PP2_DP2 {4, 2, 2, 2, 1}

static const struct fork_row rows[] = {
    {"a leaf that dies", TP2_PP2_DP2, ENOUGH_MS, body_dies, .killed = 1 << 3, .words = {"well"}},
    {"a leader that dies", TP2_PP2_DP2, ENOUGH_MS, body_dies, .killed = 1 << 4, .words = {"well"}},
    {"rank 0 that dies", TP2_PP2_DP2, ENOUGH_MS, body_dies, .killed = 1 << 0, .words = {"well"}},
    {"a node that dies", TP2_PP2_DP2, ENOUGH_MS, body_dies, .killed = 3 << 2, .words = {"well"}},
    {"the node of rank 0 that dies", TP2_PP2_DP2, ENOUGH_MS, body_dies, .killed = 3 << 0, .words = {"well"}},
    {"all leaders that die", TP2_PP2_DP2, ENOUGH_MS, body_dies, .killed = 0x55, .words = {"well"}},
    {"all but one that die", TP2_PP2_DP2, ENOUGH_MS, body_dies, .killed = 0xdf, .words = {"well"}},
    {"nobody that dies", TP2_PP2_DP2, ENOUGH_MS, body_dies, .words = {"well"}},
    {"one rank of two", {1, 2, 2, 1, 1}, ENOUGH_MS, body_dies, .killed = 1 << 0, .words = {"well"}},
    {"a world of one", {1, 1, 1, 1, 1}, ENOUGH_MS, body_dies, .words = {"well"}},
    {"a node of 16 ranks that dies", {4, 4, 4, 2, 1}, ENOUGH_MS, body_dies, .killed = 0xf0, .words = {"well"}},
    {"two of three levels that die", {20, 1, 1, 2, 1}, ENOUGH_MS, body_dies, .killed = 1 << 0 | 1 << 1,
     .words = {"well"}},
    {"groups that need an id", TP2_PP2_DP2, ENOUGH_MS, body_dies, .killed = 1 << 0, .words = {"well"},
     .backend = &id_backend},
    {"a leaf, then rank 0", TP2_PP2_DP2, ENOUGH_MS, body_dies_twice, .killed = 1 << 5 | 1 << 0, .odd = 0,
     .words = {"well"}},
    {"rank 0, then its successor", TP2_PP2_DP2, ENOUGH_MS, body_dies_twice, .killed = 1 << 0 | 1 << 1, .odd = 1,
     .words = {"well"}, .backend = &id_backend},
    {"one group that is revoked", TP2_PP2_DP2, ENOUGH_MS, body_one_group, .words = {"well"}},
    {"a list that lacks one", TP2_PP2_DP2, ENOUGH_MS, body_leaves_out, .odd = 6, .words = {"well"}},
    {"rank 0's list lacks one", TP2_PP2_DP2, ENOUGH_MS, body_leaves_out, .odd = 0, .words = {"well"}},
    {"a list that lacks rank 0", TP2_PP2_DP2, ENOUGH_MS, body_leaves_out_root, .odd = 6, .words = {"well"}},
    {"a list that is not ascending", TP2_PP2_DP2, ENOUGH_MS, body_unsorted, .odd = 6, .words = {"well"}},
    {"a list without the rank itself", TP2_PP2_DP2, ENOUGH_MS, body_without_itself, .odd = 6,
     .words = {"well"}},
    {"a list with a rank outside", TP2_PP2_DP2, ENOUGH_MS, body_outside, .odd = 6, .words = {"well"}},
    {"an empty list", TP2_PP2_DP2, ENOUGH_MS, body_empty, .odd = 6, .words = {"well"}},
    {"a list with a dead rank", TP2_PP2_DP2, ENOUGH_MS, body_counts_dead, .killed = 1 << 3,
     .words = {"rank 3 on n2"}},
    {"a rank that does not come", TP2_PP2_DP2, SHORT_MS, body_waits, .odd = 3, .silent = 1 << 3,
     .words = {"rank 3 on n2 did not come to dtrain_comms_rebuild within 0.7 s"}},
    {"rank 0 that does not come", TP2_PP2_DP2, SHORT_MS, body_waits, .odd = 0, .silent = 1 << 0,
     .words = {"rank 0 on n1 did not c"}},
    {"a death after the world went on", TP2_PP2_DP2, ENOUGH_MS, body_dies_at_the_end, .killed = 1 << 3,
     .words = {"rank 3 on n2 died (seen by rank 2)"}},
    {"a device that does not let go", {1, 4, 2, 1, 1}, SHORT_MS, body_stuck, .words = {"well"},
     .backend = &stuck_backend},
};

int main(void)
{
    id_backend = dt_backend_host;
    id_backend.id_size = DT_BACKEND_ID_MAX;
    id_backend.id_create = id_create;
    id_backend.comms_create = comms_create_by_id;
    stuck_backend = dt_backend_host;
    stuck_backend.comm_revoke = comm_revoke_stuck;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(fork_check(&rows[i]), "%s", rows[i].name);
    return tap_done();
}
