#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend_choice.h"
#include "facts.h"
#include "roll.h"
#include "world.h"

#define ROLL_CALL_DIVISOR 4 /* part of the timeout that is kept for finding out who is missing */
#define ROLL_CALL_MOST_MS 5000
#define SUMMARY_MAX 512

static void end_boot_phase(struct dtrain_world *world, const char *what)
{
    char name[DT_PHASE_NAME_MAX];

    snprintf(name, sizeof(name), "%s %s", world->boot->name, what);
    dt_phases_end(&world->phases, name);
}

/* ---- This rank's place ------------------------------------------------------------- */

static int open_boot(struct dtrain_world *world, struct dt_boot_facts *facts, struct dtrain_error *err)
{
    if (world->boot->open(&world->boot_state, facts, err) < 0)
        return -1;
    end_boot_phase(world, "init");
    return 0;
}

static void close_boot(struct dtrain_world *world)
{
    world->boot->close(world->boot_state);
    world->boot_state = NULL;
    end_boot_phase(world, "finalize");
}

/* Only rank 0 says what all would say alike. */
static void place(struct dtrain_world *world, uint32_t task)
{
    world->rank = dt_plan_procid_rank(world->plan, task);
    world->node = dt_plan_rank_node(world->plan, world->rank);
    world->is_placed = true;
    if (world->rank != 0 && world->log.level == DT_LOG_INFO)
        world->log.level = DT_LOG_WARN;
}

static int check_place(struct dtrain_world *world, const struct dt_boot_facts *facts,
                       struct dtrain_error *err)
{
    const struct dt_settings *settings = &world->settings;

    if (dt_facts_check_size(facts, world->plan, err) < 0)
        return -1;
    place(world, facts->task);
    if (dt_facts_check_place(facts, world->plan, err) < 0 ||
        dt_facts_check_variables(settings, world->plan, world->rank, err) < 0)
        return -1;
    return settings->mapping == NULL
               ? 0
               : dt_facts_check_mapping(settings->mapping, world->plan, world->rank, err);
}

static int listen_and_choose(struct dtrain_world *world, struct dtrain_error *err)
{
    const struct dt_settings *settings = &world->settings;

    if (world->backend == NULL)
        world->backend = dt_backend_choose(dt_plan_backend(world->plan), &world->log, err);
    dt_phases_end(&world->phases, "backend");
    if (world->backend == NULL)
        return -1;
    return dt_control_create(&world->control, world->plan, world->rank, settings->ifname, &world->log, err);
}

/* Fills the card. -1: this rank cannot take part, which the card says. */
static int prepare(struct dtrain_world *world, const struct dt_boot_facts *facts, struct dt_card *card,
                   struct dtrain_error *err)
{
    int rc = check_place(world, facts, err);

    if (rc == 0)
        rc = listen_and_choose(world, err);
    if (rc == 0)
        rc = dt_world_comms_prepare(world, card, err);
    snprintf(card->host, sizeof(card->host), "%s", facts->host);
    if (rc < 0)
        snprintf(card->failure, sizeof(card->failure), "%.*s", DT_CARD_FAILURE_MAX - 1, err->text);
    if (world->is_placed)
        dt_opinion_init(&card->opinion, world->rank, world->plan, world->plan_hash,
                        world->backend != NULL ? world->backend->name : "none");
    card->has_seat = world->control != NULL && dt_plan_world(world->plan) > 1;
    if (card->has_seat)
        dt_control_seat(world->control, &card->seat);
    return rc;
}

/* ---- Meeting the others --------------------------------------------------------------- */

static int say_missing(struct dtrain_world *world, const struct dt_boot_facts *facts, const bool *present,
                       struct dtrain_error *err)
{
    struct dt_roll roll = {0};

    for (uint32_t rank = 0; rank < dt_plan_world(world->plan); rank++) {
        uint32_t task = dt_plan_rank_procid(world->plan, rank);

        if (task < facts->task_count && !present[task])
            dt_roll_add(&roll, world->plan, rank);
    }
    if (roll.n == 0)
        return dt_error_set(
            err,
            "the tasks did not all meet within %.4g s, though all published their cards: the nodes "
            "are slow, raise DTRAIN_INIT_TIMEOUT",
            world->settings.init_timeout_ms / 1000.0);
    return dt_error_set(err, "%s did not come within %.4g s: it exited, crashed, or waits before dtrain_init",
                        dt_roll_end(&roll), world->settings.init_timeout_ms / 1000.0);
}

static int call_roll(struct dtrain_world *world, const struct dt_boot_facts *facts, struct dtrain_error *err)
{
    bool *present = calloc(facts->task_count, sizeof(bool));
    int rc;

    if (present == NULL)
        return dt_error_memory(err, facts->task_count, "the roll call");
    rc = world->boot->roll_call(world->boot_state, present, &world->deadline, err);
    if (rc == 0)
        rc = say_missing(world, facts, present, err);
    free(present);
    return rc;
}

static struct dt_deadline fence_deadline(const struct dtrain_world *world)
{
    struct dt_deadline deadline = world->deadline;
    int64_t kept_ms = deadline.timeout_ms / ROLL_CALL_DIVISOR;

    deadline.at_ns -= (kept_ms < ROLL_CALL_MOST_MS ? kept_ms : ROLL_CALL_MOST_MS) * 1000000;
    return deadline;
}

static int publish(struct dtrain_world *world, const struct dt_card *card, struct dtrain_error *err)
{
    struct dt_buffer bytes = {0};
    int rc = -1;

    dt_card_write(&bytes, card);
    if (bytes.is_broken)
        dt_error_memory(err, sizeof(*card), "this rank's card");
    else if (bytes.size > DT_BOOT_CARD_MAX)
        dt_error_set(err, "this rank's card has %zu bytes: at most %d", bytes.size, DT_BOOT_CARD_MAX);
    else
        rc = world->boot->publish(world->boot_state, bytes.data, bytes.size, err);
    dt_buffer_free(&bytes);
    dt_phases_end(&world->phases, "put+commit");
    return rc;
}

static int meet(struct dtrain_world *world, const struct dt_boot_facts *facts, const struct dt_card *card,
                struct dtrain_error *err)
{
    struct dt_deadline deadline = fence_deadline(world);
    bool is_late = false;

    if (publish(world, card, err) < 0 || world->boot->fence(world->boot_state, &deadline, &is_late, err) < 0)
        return -1;
    dt_phases_end(&world->phases, "fence");
    return is_late ? call_roll(world, facts, err) : 0;
}

static int get_card(struct dtrain_world *world, uint32_t task, struct dt_card *card, struct dtrain_error *err)
{
    unsigned char bytes[DT_BOOT_CARD_MAX];
    size_t size = 0;

    if (world->boot->get(world->boot_state, task, bytes, &size, &world->deadline, err) < 0)
        return -1;
    return dt_card_read(card, bytes, size, task, err);
}

static int get_card_of_rank(struct dtrain_world *world, uint32_t rank, struct dt_card *card,
                            struct dtrain_error *err)
{
    return get_card(world, dt_plan_rank_procid(world->plan, rank), card, err);
}

/* The seat of this rank's parent; *has_seat false for rank 0. A parent without a seat says why. */
static int get_parent(struct dtrain_world *world, struct dt_card *parent, bool *has_seat,
                      struct dtrain_error *err)
{
    uint32_t rank = dt_control_parent(world->plan, world->rank);
    char who[DT_RANK_TEXT_MAX];

    *has_seat = false;
    if (rank == DT_RANK_NONE)
        return 0;
    if (get_card_of_rank(world, rank, parent, err) < 0)
        return -1;
    *has_seat = parent->has_seat;
    if (!parent->has_seat)
        return dt_error_set(err, "%s cannot take part: %s", dt_rank_text(world->plan, rank, who, sizeof(who)),
                            parent->failure);
    return 0;
}

/* ---- Failing together -------------------------------------------------------------------- */

/* This rank has no place in the tree: it tells task 0 (or 1), which tells all. */
static int fail_outside(struct dtrain_world *world, const struct dt_boot_facts *facts,
                        const struct dtrain_error *failure, struct dtrain_error *err)
{
    uint32_t task = facts->task == 0 ? 1 : 0;
    struct dt_card card = {0};

    if (task < facts->task_count && get_card(world, task, &card, err) < 0)
        card.has_seat = false;
    close_boot(world);
    if (card.has_seat)
        dt_control_tell(&card.seat, failure->text, &world->deadline);
    return dt_error_set(err, "%s", failure->text);
}

/* ---- All steps --------------------------------------------------------------------------- */

static int join(struct dtrain_world *world, const struct dt_card *own, const struct dt_card *parent,
                bool has_seat, const char *failure, struct dtrain_error *err)
{
    if (dt_control_join(world->control, has_seat ? &parent->seat : NULL, &own->opinion, failure,
                        &world->deadline, err) < 0)
        return -1;
    dt_phases_end(&world->phases, "control");
    return 0;
}

static int connect_world(struct dtrain_world *world, const struct dt_boot_facts *facts,
                         const struct dt_card *card, const struct dtrain_error *failure,
                         struct dtrain_error *err)
{
    struct dtrain_error late = {""};
    struct dt_card parent = {0};
    bool has_seat = false;
    const char *why = failure != NULL ? failure->text : NULL;

    if (meet(world, facts, card, err) < 0)
        return -1;
    if (world->control == NULL)
        return fail_outside(world, facts, failure, err);
    if (get_parent(world, &parent, &has_seat, &late) < 0 ||
        (why == NULL && dt_world_comms_each_root(world, get_card_of_rank, &late) < 0))
        why = why != NULL ? why : late.text;
    dt_phases_end(&world->phases, "gets");
    world->boot->count(world->boot_state, &world->counts);
    close_boot(world);
    return join(world, card, &parent, has_seat, why, err);
}

static int open_backend(struct dtrain_world *world, struct dtrain_error *err)
{
    struct dt_backend_env env = {
        .log = &world->log,
        .peers = dt_control_peers(world->control),
        .rank = world->rank,
        .local_rank = (int)dt_plan_rank_local(world->plan, world->rank),
        .timeout_ms = world->settings.timeout_ms,
    };

    if (world->backend->open(&world->backend_state, &env, err) < 0 || dt_world_comms_create(world, err) < 0) {
        dt_control_abandon(world->control, err->text);
        return -1;
    }
    dt_phases_end(&world->phases, "communicators");
    return 0;
}

static void say_up(const struct dtrain_world *world)
{
    const struct dt_boot_counts *n = &world->counts;
    char text[SUMMARY_MAX];

    dt_log(&world->log, DT_LOG_INFO, "%s; %u put, %u commit, %u fence, %u gets",
           dt_phases_text(&world->phases, text, sizeof(text)), n->puts, n->commits, n->fences, n->gets);
}

int dt_bringup(struct dtrain_world *world, struct dtrain_error *err)
{
    struct dtrain_error failure = {""};
    struct dt_boot_facts facts;
    struct dt_card card = {0};
    int rc;

    if (open_boot(world, &facts, err) < 0)
        return -1;
    rc = prepare(world, &facts, &card, &failure);
    if (facts.task_count > 1)
        rc = connect_world(world, &facts, &card, rc < 0 ? &failure : NULL, err);
    else if (rc < 0)
        dt_error_set(err, "%s", failure.text);
    else
        rc = dt_control_join(world->control, NULL, &card.opinion, NULL, &world->deadline, err);
    if (world->boot_state != NULL)
        close_boot(world);
    if (rc == 0)
        rc = open_backend(world, err);
    if (rc == 0)
        say_up(world);
    return rc;
}
