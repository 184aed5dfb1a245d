/* What a bootstrap costs, counted: in worlds of processes, and simulated for larger ones. */
#include <stdio.h>

#include "bench/simulation.h"
#include "fork_world.h"
#include "tap.h"

#define ENOUGH_MS 20000 /* a deadline that is not meant to pass, under sanitizers and load too */

/* ---- Processes ----------------------------------------------------------------------- */

static unsigned create_calls, create_comms; /* of this process */

static int id_create(void *id, struct dtrain_error *err)
{
    (void)err;
    memset(id, 'i', DT_BACKEND_ID_MAX);
    return 0;
}

static int comms_create_counted(void *state, const struct dt_comm_request *requests, size_t n, void **comms,
                                const struct dt_deadline *deadline, struct dtrain_error *err)
{
    create_calls++;
    for (size_t i = 0; i < n; i++)
        create_comms += requests[i].size > 1 ? 1 : 1000; /* none for a group of one */
    return dt_backend_host.comms_create(state, requests, n, comms, deadline, err);
}

static struct dt_backend plain, with_ids; /* the host's, counted */

/* Of this rank's groups: those that another rank is the root of. */
static unsigned count_roots(const struct dtrain_world *world)
{
    unsigned n = 0;

    for (const struct dt_world_comm *i = world->comms.list; i != NULL; i = i->next)
        n += i->members[0] != world->rank;
    return n;
}

/* In words, so that all ranks say the same; gets differ. */
static void body_counts(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world;
    unsigned roots;
    struct dtrain_error err = {""};
    const struct dt_boot_counts *n;

    if (fork_init(&world, step, rank, NULL, NULL, &err) < 0) {
        fork_say(said, err.text);
        dtrain_finalize(world, NULL);
        return;
    }
    n = &world->counts;
    roots = step->row->backend->id_size > 0 ? count_roots(world) : 0;
    if (n->gets != (rank > 0) + roots)
        snprintf(said, FORK_TEXT_MAX, "%u gets, expected the leader's card and those of %u roots", n->gets,
                 roots);
    else
        snprintf(said, FORK_TEXT_MAX, "%u put, %u commit, %u fence; %u init of %u", n->puts, n->commits,
                 n->fences, create_calls, create_comms);
    if (dtrain_finalize(world, &err) < 0)
        fork_say(said, err.text);
}

static const struct fork_row rows[] = {
    {"16 ranks, tp 4 pp 2 dp 2, without ids", {4, 4, 4, 2, 1}, ENOUGH_MS, body_counts, .backend = &plain,
     .words = {"1 put, 1 commit, 1 fence; 1 init of 4"}},
    {"16 ranks, tp 4 pp 2 dp 2, with ids", {4, 4, 4, 2, 1}, ENOUGH_MS, body_counts, .backend = &with_ids,
     .words = {"1 put, 1 commit, 1 fence; 1 init of 4"}},
    {"16 ranks, tp 1 pp 1 dp 16: one axis, one communicator", {2, 8, 1, 1, 1}, ENOUGH_MS, body_counts,
     .backend = &with_ids, .words = {"1 put, 1 commit, 1 fence; 1 init of 1"}},
    {"16 ranks of experts: no more than axes", {4, 4, 2, 2, 4}, ENOUGH_MS, body_counts, .backend = &with_ids,
     .words = {"1 put, 1 commit, 1 fence; 1 init of 5"}},
    {"a world of one: nothing", {1, 1, 1, 1, 1}, ENOUGH_MS, body_counts, .backend = &with_ids,
     .words = {"0 put, 0 commit, 0 fence; 0 init of 0"}},
};

/* ---- Simulated ----------------------------------------------------------------------- */

struct sim_row {
    struct sim_sizes sizes;
    uint64_t inits, gets_most; /* of a rank */
};

static const struct sim_row sim_rows[] = {
    {{1, 1, 1, 1, 1, 1}, 0, 0},
    {{1, 8, 8, 1, 1, 1}, 1, 2},
    {{1, 8, 1, 1, 1, 1}, 1, 2},      /* dp 8 */
    {{2, 8, 4, 2, 1, 1}, 3, 4},      /* dp 2 */
    {{8, 8, 8, 2, 1, 1}, 3, 4},      /* dp 4 */
    {{8, 8, 4, 2, 2, 1}, 5, 6},      /* cp 2, dp 4; edp is another group */
    {{16, 8, 8, 2, 1, 4}, 5, 6},     /* ep 4, edp 2 */
    {{128, 8, 8, 8, 1, 1}, 3, 4},    /* dp 16 */
    {{2048, 8, 8, 16, 1, 1}, 3, 4},  /* dp 128: one root takes in all of them */
    {{512, 8, 8, 1, 1, 1}, 2, 6},    /* dp 512: four roots */
};

static bool is_equal(const struct sim_range *range, uint64_t value)
{
    return range->least == value && range->most == value;
}

/* A card is read by the ranks below in control's tree, and by the members of groups whose id it carries. */
static uint64_t readers_bound(const struct sim_sizes *sizes, const struct sim_result *result)
{
    uint64_t edp = (uint64_t)result->world / sizes->tp / sizes->ep / sizes->pp;

    return sizes->tasks - 1 + 16 + sizes->tp + sizes->pp + sizes->cp + sizes->ep + result->dp + edp;
}

static const char *check_sim(const struct sim_row *row, const struct sim_result *result)
{
    if (!is_equal(&result->puts, 1))
        return "cards published";
    if (!is_equal(&result->inits, row->inits) || result->inits.most > result->axes)
        return "communicators of a rank";
    if (result->gets.most != row->gets_most)
        return "cards fetched";
    if (result->readers.most > readers_bound(&row->sizes, result) || result->readers.sum != result->gets.sum)
        return "readers of a card";
    if (result->members.most > SIM_RANKS_PER_ID)
        return "members that come to one root";
    if (result->card.least < 100 || result->card.most > 100 + 6 * (8 + 128) + 100)
        return "the size of a card";
    return NULL;
}

static void test_simulated(void)
{
    for (size_t i = 0; i < sizeof(sim_rows) / sizeof(sim_rows[0]); i++) {
        const struct sim_sizes *sizes = &sim_rows[i].sizes;
        struct sim_result result;
        struct dtrain_error err = {""};
        const char *wrong = sim_run(&result, sizes, &err) < 0 ? err.text : check_sim(&sim_rows[i], &result);

        if (!tap_ok(wrong == NULL, "%u ranks, tp %u pp %u cp %u ep %u, simulated",
                    sizes->nodes * sizes->tasks, sizes->tp, sizes->pp, sizes->cp, sizes->ep))
            printf("# %s: inits %llu..%llu of %u, gets ..%llu, readers ..%llu, members ..%llu, card "
                   "%llu..%llu\n",
                   wrong, (unsigned long long)result.inits.least, (unsigned long long)result.inits.most,
                   result.axes, (unsigned long long)result.gets.most, (unsigned long long)result.readers.most,
                   (unsigned long long)result.members.most, (unsigned long long)result.card.least,
                   (unsigned long long)result.card.most);
    }
}

/* The two counts that were made from its source. */
static void test_peer(void)
{
    tap_ok(sim_megatron_calls(1024, 8, 8) == 5441, "Megatron-LM's calls at 1,024 ranks");
    tap_ok(sim_megatron_calls(16384, 8, 16) == 77985, "Megatron-LM's calls at 16,384 ranks");
}

int main(void)
{
    plain = with_ids = dt_backend_host;
    plain.comms_create = with_ids.comms_create = comms_create_counted;
    with_ids.id_size = DT_BACKEND_ID_MAX;
    with_ids.id_create = id_create;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(fork_check(&rows[i]), "%s", rows[i].name);
    test_simulated();
    test_peer();
    return tap_done();
}
