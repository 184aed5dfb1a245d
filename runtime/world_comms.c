#include "world_comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "world.h"
#include "world_ids.h"

/* Between the axes and the bits that mark other uses of a channel (world_ids.c, control_rebuild.c). */
#define GENERATION_SHIFT 44
#define GENERATION_MASK 0xffffu

/* The axes whose communicators are there from the start. pp is the same in both grids. */
static const unsigned single_axes[] = {
    DTRAIN_TP,
    DTRAIN_CP,
    DTRAIN_DP,
    DTRAIN_PP,
    DTRAIN_EXPERT | DTRAIN_TP,
    DTRAIN_EXPERT | DTRAIN_EP,
    DTRAIN_EXPERT | DTRAIN_DP,
};

_Static_assert(sizeof(single_axes) / sizeof(single_axes[0]) <= DT_CARD_IDS_MAX, "a card holds all ids");

void dt_world_comms_init(struct dt_world_comms *comms)
{
    pthread_mutex_init(&comms->lock, NULL);
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

bool dt_world_comms_has(const struct dt_world_comms *comms, uint32_t rank)
{
    return comms->survivors == NULL || bsearch(&rank, comms->survivors, comms->survivor_count, sizeof(rank),
                                               compare_ranks) != NULL;
}

bool dt_world_comms_is_single(unsigned axes)
{
    for (size_t i = 0; i < sizeof(single_axes) / sizeof(single_axes[0]); i++)
        if (single_axes[i] == axes)
            return true;
    return false;
}

/* "tp", "edp", "tp-dp": names of the axes in a set. */
static void axes_name(char *name, size_t size, unsigned axes)
{
    size_t used = 0;

    for (int axis = 0; axis < DT_AXIS_COUNT; axis++) {
        bool is_expert = (axes & DTRAIN_EXPERT) != 0 && (axis == DT_TP || axis == DT_DP);

        if ((axes & 1u << axis) != 0 && used < size)
            used += (size_t)snprintf(name + used, size - used, "%s%s%s", used > 0 ? "-" : "",
                                     is_expert ? "e" : "", dt_axis_name((enum dt_axis)axis));
    }
}

/* Different for every set of axes, group and generation; the same on all members. */
static uint64_t channel_of(const struct dt_world_comms *comms, const struct dtrain_group *group)
{
    uint64_t generation = comms->generation & GENERATION_MASK;

    return generation << GENERATION_SHIFT | (uint64_t)group->axes << 32 | (uint32_t)group->index;
}

static void entry_destroy(struct dt_world_comm *entry)
{
    dt_comm_destroy(entry->comm);
    free(entry->members);
    free(entry->request.ids);
    free(entry);
}

/* Whose values of the configuration hold: a set of several axes takes those for all. */
static enum dt_comm_axis config_axis(unsigned axes)
{
    switch (axes) {
    case DTRAIN_TP:
        return DT_COMM_TP;
    case DTRAIN_CP:
        return DT_COMM_CP;
    case DTRAIN_DP:
        return DT_COMM_DP;
    case DTRAIN_PP:
    case DTRAIN_EXPERT | DTRAIN_PP:
        return DT_COMM_PP;
    case DTRAIN_EXPERT | DTRAIN_TP:
        return DT_COMM_ETP;
    case DTRAIN_EXPERT | DTRAIN_EP:
        return DT_COMM_EP;
    case DTRAIN_EXPERT | DTRAIN_DP:
        return DT_COMM_EDP;
    default:
        return DT_COMM_ALL;
    }
}

/* Those that are alive, in the group's order. */
static void add_members(const struct dtrain_world *world, const struct dtrain_group *group,
                        struct dt_world_comm *entry)
{
    struct dt_comm_request *request = &entry->request;

    for (int i = 0; i < group->size; i++) {
        uint32_t rank = (uint32_t)dtrain_group_member(world, group, i);

        if (rank == world->rank)
            request->rank = request->size;
        if (dt_world_comms_has(&world->comms, rank))
            entry->members[request->size++] = rank;
    }
}

static struct dt_world_comm *entry_create(struct dtrain_world *world, const struct dtrain_group *group,
                                          struct dtrain_error *err)
{
    struct dt_world_comm *entry = calloc(1, sizeof(*entry));
    char axes[24] = "";

    if (entry != NULL)
        entry->members = calloc((size_t)group->size, sizeof(uint32_t));
    if (entry == NULL || entry->members == NULL) {
        free(entry);
        dt_error_memory(err, (size_t)group->size * sizeof(uint32_t), "a group's members");
        return NULL;
    }
    add_members(world, group, entry);
    axes_name(axes, sizeof(axes), group->axes);
    snprintf(entry->request.name, DT_COMM_NAME_MAX, "dtrain/%s/%d", axes, group->index);
    entry->axes = group->axes;
    entry->request.channel = channel_of(&world->comms, group);
    entry->request.members = entry->members;
    entry->request.config = dt_comm_config_of(&world->settings.comm, config_axis(group->axes));
    if (dt_world_ids_alloc(world, &entry->request, err) < 0) {
        entry_destroy(entry);
        return NULL;
    }
    return entry;
}

static void say_shared(const struct dtrain_world *world, const struct dt_world_comm *entry,
                       const struct dt_world_comm *made)
{
    enum dt_comm_axis axis = config_axis(made->axes);

    if (world->rank == 0 && world->settings.comm.of[axis].set != 0 &&
        memcmp(&entry->request.config, &made->request.config, sizeof(made->request.config)) != 0)
        dt_log(&world->log, DT_LOG_WARN,
               "%s has the same members and is one communicator with %s, by whose configuration it is made; "
               "that of %s is not used",
               made->request.name, entry->request.name, dt_comm_axis_words[axis]);
}

/* The entry with these members: `made` itself goes then. */
static struct dt_world_comm *entry_share(struct dtrain_world *world, struct dt_world_comm *made)
{
    struct dt_world_comms *comms = &world->comms;

    for (struct dt_world_comm *i = comms->list; i != NULL; i = i->next) {
        if (i->request.size != made->request.size ||
            memcmp(i->members, made->members, (size_t)made->request.size * sizeof(uint32_t)) != 0)
            continue;
        say_shared(world, i, made);
        entry_destroy(made);
        return i;
    }
    made->next = comms->list;
    comms->list = made;
    return made;
}

struct dt_world_comm *dt_world_comms_entry(struct dtrain_world *world, unsigned axes,
                                           struct dtrain_error *err)
{
    struct dtrain_group group;

    return dtrain_group_get(world, axes, &group, err) < 0 ? NULL : entry_create(world, &group, err);
}

static struct dt_world_comm *entry_of(struct dtrain_world *world, unsigned axes, struct dtrain_error *err)
{
    struct dt_world_comm *entry = dt_world_comms_entry(world, axes, err);

    return entry != NULL ? entry_share(world, entry) : NULL;
}

/* ---- At the start -------------------------------------------------------------- */

int dt_world_comms_prepare(struct dtrain_world *world, struct dt_card *card, struct dtrain_error *err)
{
    for (size_t i = 0; i < sizeof(single_axes) / sizeof(single_axes[0]); i++)
        if (entry_of(world, single_axes[i], err) == NULL)
            return -1;
    for (struct dt_world_comm *i = world->comms.list; i != NULL; i = i->next)
        if (dt_world_ids_publish(world, &i->request, card, err) < 0)
            return -1;
    return 0;
}

int dt_world_comms_each_root(struct dtrain_world *world,
                             int (*get)(struct dtrain_world *world, uint32_t root, struct dt_card *card,
                                        struct dtrain_error *err),
                             struct dtrain_error *err)
{
    for (struct dt_world_comm *i = world->comms.list; i != NULL; i = i->next)
        if (dt_world_ids_collect(world, &i->request, get, err) < 0)
            return -1;
    return 0;
}

int dt_world_comms_exchange_ids(struct dtrain_world *world, struct dtrain_error *err)
{
    for (struct dt_world_comm *i = world->comms.list; i != NULL; i = i->next)
        if (dt_world_ids_exchange(world, &i->request, &world->deadline, err) < 0)
            return dt_error_prefix(err, "%s", i->request.name);
    return 0;
}

static void place_comm(const struct dtrain_world *world, struct dt_world_comm *entry)
{
    struct dt_comm_place place = {
        .peers = dt_control_peers(world->control),
        .rank = world->rank,
        .channel = entry->request.channel,
        .members = entry->members,
    };

    dt_comm_set_place(entry->comm, &place);
}

/* Those of [first, end) that have no communicator yet; groups of one get one without the backend. */
static int create_entries(struct dtrain_world *world, struct dt_world_comm *first, struct dt_world_comm *end,
                          const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dt_comm_request requests[DT_CARD_IDS_MAX];
    void *handles[DT_CARD_IDS_MAX] = {NULL};
    size_t n = 0, used = 0;
    int rc = 0;

    for (struct dt_world_comm *i = first; i != end; i = i->next)
        if (i->comm == NULL && i->request.size > 1)
            requests[n++] = i->request;
    if (n > 0 && world->backend->comms_create(world->backend_state, requests, n, handles, deadline, err) < 0)
        return -1;
    for (struct dt_world_comm *i = first; i != end; i = i->next) {
        if (i->comm != NULL)
            continue;
        if (dt_comm_create(&i->comm, world->backend, i->request.size > 1 ? handles[used++] : NULL,
                           i->request.size, i->request.rank, err) < 0)
            rc = -1;
        else
            place_comm(world, i);
    }
    return rc;
}

int dt_world_comms_create(struct dtrain_world *world, struct dtrain_error *err)
{
    return create_entries(world, world->comms.list, NULL, &world->deadline, err);
}

static void list_destroy(struct dt_world_comm *list)
{
    while (list != NULL) {
        struct dt_world_comm *entry = list;

        list = entry->next;
        entry_destroy(entry);
    }
}

void dt_world_comms_destroy(struct dtrain_world *world)
{
    list_destroy(world->comms.list);
    list_destroy(world->comms.retired);
    free(world->comms.survivors);
    pthread_mutex_destroy(&world->comms.lock);
}

/* ---- Later ---------------------------------------------------------------------- */

static int exchange_new_ids(struct dtrain_world *world, struct dt_world_comm *entry,
                            const struct dt_deadline *deadline, struct dtrain_error *err)
{
    if (dt_world_ids_make(world, &entry->request, err) < 0)
        return -1;
    return dt_world_ids_exchange(world, &entry->request, deadline, err);
}

int dt_world_comms_fill(struct dtrain_world *world, const struct dt_deadline *deadline,
                        struct dtrain_error *err)
{
    for (struct dt_world_comm *i = world->comms.list; i != NULL; i = i->next)
        if (i->comm == NULL && exchange_new_ids(world, i, deadline, err) < 0)
            return dt_error_prefix(err, "%s", i->request.name);
    return create_entries(world, world->comms.list, NULL, deadline, err);
}

static int comm_get(struct dtrain_world *world, unsigned axes, struct dtrain_comm **comm,
                    struct dtrain_error *err)
{
    struct dt_deadline deadline = dt_deadline_after_ms(world->settings.timeout_ms);
    struct dt_world_comm *entry = world->comms.list;

    while (entry != NULL && entry->axes != axes)
        entry = entry->next;
    if (world->comms.is_broken)
        return dt_error_set(err, "the last dtrain_comms_rebuild() failed: call it with those that are left");
    if (entry == NULL)
        entry = entry_of(world, axes, err);
    if (entry == NULL)
        return -1;
    if (world->control == NULL && entry->request.size > 1)
        return world->backend->comms_create(NULL, NULL, 0, NULL, &deadline, err);
    if (entry->comm == NULL && (exchange_new_ids(world, entry, &deadline, err) < 0 ||
                                create_entries(world, entry, entry->next, &deadline, err) < 0))
        return dt_error_prefix(err, "%s", entry->request.name);
    *comm = entry->comm;
    return 0;
}

int dtrain_comm_get(struct dtrain_world *world, unsigned axes, struct dtrain_comm **comm,
                    struct dtrain_error *err)
{
    int rc;

    *comm = NULL;
    pthread_mutex_lock(&world->comms.lock);
    rc = comm_get(world, axes, comm, err);
    pthread_mutex_unlock(&world->comms.lock);
    return rc;
}
