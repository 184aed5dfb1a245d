#include "bench/simulation.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/world.h"
#include "runtime/world_comms.h"

#define NAME_MAX_BYTES 16

struct bytes {
    unsigned char *data;
    size_t size;
};

struct sim {
    struct dt_plan *plan;
    uint32_t world;
    struct bytes *cards;
    uint64_t *readers; /* of each card */
    struct sim_result *result;
    uint64_t gets, get_bytes; /* of the rank at work */
};

/* ---- In NCCL's place ------------------------------------------------------------ */

static uint32_t id_rank; /* the rank at work; an id says whose it is */
static uint64_t id_count;

static int id_create(void *id, struct dtrain_error *err)
{
    (void)err;
    memset(id, 'i', DT_BACKEND_ID_MAX);
    memcpy(id, &id_rank, sizeof(id_rank));
    id_count++;
    memcpy((char *)id + sizeof(id_rank), &id_count, sizeof(id_count));
    return 0;
}

static int ranks_per_id(void)
{
    return SIM_RANKS_PER_ID;
}

static const struct dt_backend sim_backend = {
    .name = "nccl",
    .id_size = DT_BACKEND_ID_MAX,
    .id_create = id_create,
    .ranks_per_id = ranks_per_id,
};

/* ---- Counting -------------------------------------------------------------------- */

static void count(struct sim_range *range, uint64_t value)
{
    if (range->sum == 0 && range->most == 0 && range->least == 0)
        range->least = UINT64_MAX;
    range->least = value < range->least ? value : range->least;
    range->most = value > range->most ? value : range->most;
    range->sum += value;
}

/* ---- The plan --------------------------------------------------------------------- */

static char *make_names(const char **names, uint32_t *tasks, const struct sim_sizes *sizes)
{
    char *texts = malloc((size_t)sizes->nodes * NAME_MAX_BYTES);

    for (uint32_t i = 0; texts != NULL && i < sizes->nodes; i++) {
        names[i] = texts + (size_t)i * NAME_MAX_BYTES;
        snprintf(texts + (size_t)i * NAME_MAX_BYTES, NAME_MAX_BYTES, "node%05" PRIu32, i + 1);
        tasks[i] = sizes->tasks;
    }
    return texts;
}

static int make_plan(struct sim *sim, const struct sim_sizes *sizes, struct dtrain_error *err)
{
    const char **names = malloc(sizes->nodes * sizeof(*names));
    uint32_t *tasks = malloc(sizes->nodes * sizeof(*tasks));
    char *texts = names != NULL && tasks != NULL ? make_names(names, tasks, sizes) : NULL;
    struct dt_plan_inputs inputs = {
        .request = {.tp = sizes->tp, .pp = sizes->pp, .cp = sizes->cp, .ep = sizes->ep},
        .backend = DT_BACKEND_NCCL,
        .node_count = sizes->nodes,
        .nodes = names,
        .tasks = tasks,
        .master_addr = "10.0.0.1",
    };
    int rc = texts != NULL ? dt_plan_create(&sim->plan, &inputs, err)
                           : dt_error_memory(err, sizes->nodes * NAME_MAX_BYTES, "names of nodes");

    free(texts);
    free(tasks);
    free(names);
    return rc;
}

/* ---- One rank ------------------------------------------------------------------------ */

static void world_begin(struct dtrain_world *world, struct sim *sim, uint32_t rank)
{
    *world = (struct dtrain_world){
        .plan = sim->plan,
        .backend = &sim_backend,
        .boot_state = sim,
        .rank = rank,
        .node = dt_plan_rank_node(sim->plan, rank),
        .log = {.level = DT_LOG_ERROR},
    };
    id_rank = rank;
    dt_world_comms_init(&world->comms);
}

static void fill_card(const struct dtrain_world *world, struct dt_card *card)
{
    uint32_t address = htonl(0x0a000001u + world->node); /* 10.0.0.1 and on */

    dt_opinion_init(&card->opinion, world->rank, world->plan, 1, "nccl 2.28.9");
    snprintf(card->opinion.device, sizeof(card->opinion.device), "0000:1b:00.0");
    snprintf(card->host, sizeof(card->host), "%s", dt_plan_node_name(world->plan, world->node));
    card->has_seat = true;
    card->seat.address = (struct dt_address){.family = 4, .port = 40000, .nonce = world->rank};
    memcpy(card->seat.address.ip, &address, sizeof(address));
}

static int publish(struct sim *sim, uint32_t rank, struct dtrain_error *err)
{
    struct dtrain_world world;
    struct dt_card card = {.id_count = 0};
    struct dt_buffer buffer = {0};
    int rc;

    world_begin(&world, sim, rank);
    rc = dt_world_comms_prepare(&world, &card, err);
    fill_card(&world, &card);
    dt_card_write(&buffer, &card);
    if (rc == 0 && (buffer.is_broken || buffer.size > DT_BOOT_CARD_MAX))
        rc = dt_error_set(err, "rank %u's card has %zu bytes: at most %d", rank, buffer.size,
                          DT_BOOT_CARD_MAX);
    sim->cards[rank] = (struct bytes){buffer.data, buffer.size};
    count(&sim->result->puts, 1);
    count(&sim->result->card, buffer.size);
    dt_world_comms_destroy(&world);
    return rc;
}

static int get(struct dtrain_world *world, uint32_t rank, struct dt_card *card, struct dtrain_error *err)
{
    struct sim *sim = world->boot_state;

    sim->gets++;
    sim->get_bytes += sim->cards[rank].size;
    sim->readers[rank]++;
    return dt_card_read(card, sim->cards[rank].data, sim->cards[rank].size, rank, err);
}

/* Each id must be the one that its maker published, which says whose it is. */
static int check_ids(const struct dt_comm_request *request, struct dtrain_error *err)
{
    for (int i = 0; i < request->id_count; i++) {
        uint32_t maker = request->members[i * SIM_RANKS_PER_ID], found;

        memcpy(&found, request->ids[i], sizeof(found));
        if (found != maker || request->ids[i][DT_BACKEND_ID_MAX - 1] != 'i')
            return dt_error_set(err, "%s: id %d is rank %u's, not rank %u's", request->name, i, found, maker);
    }
    return 0;
}

static int check_groups(struct sim *sim, const struct dtrain_world *world, struct dtrain_error *err)
{
    uint64_t inits = 0;

    for (const struct dt_world_comm *i = world->comms.list; i != NULL; i = i->next) {
        const struct dt_comm_request *request = &i->request;

        if (request->size == 1)
            continue;
        inits++;
        count(&sim->result->members, ((uint64_t)request->size - 1) / (uint64_t)request->id_count + 1);
        if (check_ids(request, err) < 0)
            return -1;
    }
    count(&sim->result->inits, inits);
    return 0;
}

static int resolve(struct sim *sim, uint32_t rank, struct dtrain_error *err)
{
    uint32_t parent = dt_control_parent(sim->plan, rank);
    struct dtrain_world world;
    struct dt_card own = {.id_count = 0}, card;
    int rc;

    world_begin(&world, sim, rank);
    sim->gets = sim->get_bytes = 0;
    rc = dt_world_comms_prepare(&world, &own, err);
    if (rc == 0 && parent != DT_RANK_NONE)
        rc = get(&world, parent, &card, err);
    if (rc == 0)
        rc = dt_world_comms_each_root(&world, get, err);
    if (rc == 0)
        rc = check_groups(sim, &world, err);
    count(&sim->result->gets, sim->gets);
    count(&sim->result->get_bytes, sim->get_bytes);
    dt_world_comms_destroy(&world);
    return rc;
}

/* ---- All ------------------------------------------------------------------------------ */

static void count_axes(const struct sim *sim)
{
    const struct dt_layout *layout = dt_plan_layout(sim->plan);

    for (int axis = 0; axis < DT_AXIS_COUNT; axis++) {
        sim->result->axes += layout->size[DT_DENSE][axis] > 1;
        /* pp's groups are the same in both grids, and so are those of dp and edp without experts. */
        sim->result->axes += axis != DT_PP && layout->size[DT_EXPERT][axis] > 1 &&
                             layout->size[DT_EXPERT][axis] != layout->size[DT_DENSE][axis];
    }
    sim->result->dp = layout->size[DT_DENSE][DT_DP];
}

static int run(struct sim *sim, struct dtrain_error *err)
{
    for (uint32_t rank = 0; rank < sim->world; rank++)
        if (publish(sim, rank, err) < 0)
            return -1;
    for (uint32_t rank = 0; rank < sim->world; rank++)
        if (resolve(sim, rank, err) < 0)
            return -1;
    for (uint32_t rank = 0; rank < sim->world; rank++)
        count(&sim->result->readers, sim->readers[rank]);
    count_axes(sim);
    sim->result->table_bytes = dt_message_max(DT_MESSAGE_GO, sim->world);
    return 0;
}

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

int sim_run(struct sim_result *result, const struct sim_sizes *sizes, struct dtrain_error *err)
{
    struct sim sim = {.world = sizes->nodes * sizes->tasks, .result = result};
    double begin = now();
    int rc;

    *result = (struct sim_result){.world = sim.world};
    sim.cards = calloc(sim.world, sizeof(*sim.cards));
    sim.readers = calloc(sim.world, sizeof(*sim.readers));
    if (sim.cards == NULL || sim.readers == NULL)
        rc = dt_error_memory(err, sim.world * sizeof(*sim.cards), "the cards of a world");
    else
        rc = make_plan(&sim, sizes, err) < 0 ? -1 : run(&sim, err);
    for (uint32_t rank = 0; sim.cards != NULL && rank < sim.world; rank++)
        free(sim.cards[rank].data);
    free(sim.cards);
    free(sim.readers);
    dt_plan_destroy(sim.plan);
    result->seconds = now() - begin;
    return rc;
}

uint64_t sim_megatron_calls(uint64_t world, uint64_t tp, uint64_t pp)
{
    uint64_t dp = world / (tp * pp);

    return 4 * world + 4 * (world / tp) + 3 * (world / pp) + 3 * dp + 6 * tp * pp + 2 * pp + 1;
}
