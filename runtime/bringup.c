#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend_choice.h"
#include "core/plan_wire.h"
#include "facts.h"
#include "world.h"

#define FENCE_PATIENCE_DIVISOR 4 /* the part of a short timeout that the fence may take */
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

static int check_place(struct dtrain_world *world, const struct dt_boot_facts *facts,
                       struct dtrain_error *err)
{
    const struct dt_settings *settings = &world->settings;

    if (dt_facts_check_size(facts, world->plan, err) < 0)
        return -1;
    dt_world_place(world, facts->task);
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

/* What the others must know of this rank. It may lack much: then it also says why it cannot take part. */
static void fill_opinion(const struct dtrain_world *world, const char *device, struct dt_opinion *opinion)
{
    const struct dt_backend *backend = world->backend;
    char config[DT_COMM_CONFIG_TEXT_MAX], name[DT_OPINION_BACKEND_MAX] = "none";

    if (backend != NULL)
        snprintf(name, sizeof(name), "%s%s%s", backend->name, backend->version != NULL ? " " : "",
                 backend->version != NULL ? backend->version() : "");
    dt_comm_configs_encode(config, &world->settings.comm);
    dt_opinion_init(opinion, world->rank, world->plan, world->plan_hash, name);
    opinion->config_hash = dt_plan_wire_hash(config);
    snprintf(opinion->device, sizeof(opinion->device), "%s", device);
}

static int device_index(const struct dtrain_world *world)
{
    return world->has_device ? world->device : (int)dt_plan_rank_local(world->plan, world->rank);
}

static int find_device(const struct dtrain_world *world, char name[DT_BACKEND_DEVICE_MAX],
                       struct dtrain_error *err)
{
    if (world->backend->device == NULL)
        return 0;
    return world->backend->device(device_index(world), name, DT_BACKEND_DEVICE_MAX, err);
}

/* Fills the card. -1: this rank cannot take part, which the card says. */
static int prepare(struct dtrain_world *world, const struct dt_boot_facts *facts, struct dt_card *card,
                   struct dtrain_error *err)
{
    char device[DT_BACKEND_DEVICE_MAX] = "";
    int rc = check_place(world, facts, err);

    if (rc == 0)
        rc = listen_and_choose(world, err);
    if (rc == 0)
        rc = find_device(world, device, err);
    if (rc == 0)
        rc = dt_world_comms_prepare(world, card, err);
    snprintf(card->host, sizeof(card->host), "%s", facts->host);
    if (rc < 0)
        snprintf(card->failure, sizeof(card->failure), "%.*s", DT_CARD_FAILURE_MAX - 1, err->text);
    if (world->is_placed)
        fill_opinion(world, device, &card->opinion);
    card->has_seat = world->control != NULL && dt_plan_world(world->plan) > 1;
    if (card->has_seat)
        dt_control_seat(world->control, &card->seat);
    return rc;
}

/* ---- Meeting the others --------------------------------------------------------------- */

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

/*
 * A fence that is late is gone on without. It is late when a task starts after
 * the others, which is no fault, and when Slurm lost a message of it: slurmstepd
 * has the user's effective id while it forks the tasks, cannot decode the
 * credential of a faster node then, rejects its connection, and nobody makes it
 * again (Slurm 22.05). That fence ends on one node and never on the others, and
 * two nodes see each other's cards in one direction only. So every rank connects
 * to its parent once it has the parent's card, and a parent to the leaders below
 * that it still lacks: one of the two can.
 */
static int patience_ms(const struct dtrain_world *world)
{
    int part_ms = world->settings.init_timeout_ms / FENCE_PATIENCE_DIVISOR;

    return part_ms < DT_FENCE_PATIENCE_MS ? part_ms : DT_FENCE_PATIENCE_MS;
}

static int meet(struct dtrain_world *world, const struct dt_card *card, bool *is_late,
                struct dtrain_error *err)
{
    struct dt_deadline deadline = dt_deadline_after_ms(patience_ms(world));

    if (publish(world, card, err) < 0 || world->boot->fence(world->boot_state, &deadline, is_late, err) < 0)
        return -1;
    dt_phases_end(&world->phases, "fence");
    if (*is_late)
        dt_log(&world->log, DT_LOG_DEBUG, "the fence lasts longer than %.4g s: going on without it",
               deadline.timeout_ms / 1000.0);
    return 0;
}

static int get_card(struct dtrain_world *world, uint32_t task, const struct dt_deadline *deadline,
                    struct dt_card *card, bool *is_late, struct dtrain_error *err)
{
    unsigned char bytes[DT_BOOT_CARD_MAX];
    size_t size = 0;

    if (world->boot->get(world->boot_state, task, bytes, &size, deadline, is_late, err) < 0)
        return -1;
    return *is_late ? 0 : dt_card_read(card, bytes, size, task, err);
}

static int await_card(struct dtrain_world *world, uint32_t task, struct dt_card *card,
                      struct dtrain_error *err)
{
    bool is_late = false;

    if (get_card(world, task, &world->deadline, card, &is_late, err) < 0)
        return -1;
    return is_late ? dt_error_set(err, "%s gave no card of task %u within %.4g s", world->boot->name, task,
                                  world->deadline.timeout_ms / 1000.0)
                   : 0;
}

static int await_card_of_rank(struct dtrain_world *world, uint32_t rank, struct dt_card *card,
                              struct dtrain_error *err)
{
    return await_card(world, dt_plan_rank_procid(world->plan, rank), card, err);
}

/* Those of the ranks that this one talks to first. */
static int await_cards(struct dtrain_world *world, struct dtrain_error *err)
{
    uint32_t parent = dt_control_parent(world->plan, world->rank);
    struct dt_card card;

    if (parent != DT_RANK_NONE && await_card_of_rank(world, parent, &card, err) < 0)
        return -1;
    return dt_world_comms_each_root(world, await_card_of_rank, err);
}

static int find_seat(void *context, uint32_t rank, struct dt_control_seat *seat, struct dtrain_error *err)
{
    struct dt_deadline now = dt_deadline_after_ms(0);
    struct dtrain_world *world = context;
    struct dt_card card;
    char who[DT_RANK_TEXT_MAX];
    bool is_late = false;

    if (get_card(world, dt_plan_rank_procid(world->plan, rank), &now, &card, &is_late, err) < 0)
        return -1;
    if (is_late)
        return 0;
    if (!card.has_seat)
        return dt_error_set(err, "%s cannot take part: %s", dt_rank_text(world->plan, rank, who, sizeof(who)),
                            card.failure);
    *seat = card.seat;
    return 1;
}

/* ---- Failing together -------------------------------------------------------------------- */

/* This rank has no place in the tree: it tells task 0 (or 1), which tells all. */
static int fail_outside(struct dtrain_world *world, const struct dt_boot_facts *facts,
                        const struct dtrain_error *failure, struct dtrain_error *err)
{
    uint32_t task = facts->task == 0 ? 1 : 0;
    struct dt_card card = {0};

    if (task < facts->task_count && await_card(world, task, &card, err) < 0)
        card.has_seat = false;
    close_boot(world);
    if (card.has_seat)
        dt_control_tell(&card.seat, failure->text, &world->deadline);
    return dt_error_set(err, "%s", failure->text);
}

/* ---- All steps --------------------------------------------------------------------------- */

static void say_late(const struct dtrain_world *world)
{
    uint32_t n = dt_control_late_count(world->control);

    if (n > 0)
        dt_log(&world->log, DT_LOG_INFO,
               "%u of %u ranks connected without the fence, which did not end within %.4g s: tasks came "
               "late, or a message of %s was lost",
               n, dt_plan_world(world->plan), patience_ms(world) / 1000.0, world->boot->name);
}

static int join(struct dtrain_world *world, const struct dt_card *own, bool is_late, const char *failure,
                struct dtrain_error *err)
{
    struct dt_control_seats seats = {
        .context = world,
        .find = find_seat,
        .is_late = is_late,
        .patience_ms = is_late ? 0 : patience_ms(world),
    };

    if (dt_control_join(world->control, &seats, &own->opinion, failure, &world->deadline, err) < 0)
        return -1;
    dt_phases_end(&world->phases, "control");
    say_late(world);
    return 0;
}

/* The boot stays open until all are connected: others may still need a card of this node. */
static int connect_world(struct dtrain_world *world, const struct dt_boot_facts *facts,
                         const struct dt_card *card, const struct dtrain_error *failure,
                         struct dtrain_error *err)
{
    struct dtrain_error late = {""};
    const char *why = failure != NULL ? failure->text : NULL;
    bool is_late = false;
    int rc;

    if (meet(world, card, &is_late, err) < 0)
        return -1;
    if (world->control == NULL)
        return fail_outside(world, facts, failure, err);
    if (why == NULL && !is_late && await_cards(world, &late) < 0)
        why = late.text;
    dt_phases_end(&world->phases, "gets");
    rc = join(world, card, is_late, why, err);
    world->boot->count(world->boot_state, &world->counts);
    close_boot(world);
    return rc;
}

static int open_backend(struct dtrain_world *world, struct dtrain_error *err)
{
    struct dt_backend_env env = {
        .log = &world->log,
        .peers = dt_control_peers(world->control),
        .rank = world->rank,
        .local_rank = device_index(world),
        .timeout_ms = world->settings.timeout_ms,
        .config = dt_comm_config_of(&world->settings.comm, DT_COMM_ALL),
    };

    if (world->backend->open(&world->backend_state, &env, err) < 0 ||
        (dt_control_late_count(world->control) > 0 && dt_world_comms_exchange_ids(world, err) < 0) ||
        dt_world_comms_create(world, err) < 0) {
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
