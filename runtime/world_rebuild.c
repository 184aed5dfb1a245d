#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "world.h"

#define RETIRED "this communicator was replaced by dtrain_comms_rebuild(): take the new one from dtrain_comm_get()"

/* ---- What the others must know ---------------------------------------------------- */

static bool is_usable(const struct dt_world_comm *entry)
{
    return entry->comm != NULL && dt_comm_is_usable(entry->comm);
}

static int list_dirty(const struct dt_world_comms *comms, struct dt_channels *dirty, struct dtrain_error *err)
{
    size_t n = 0;

    for (const struct dt_world_comm *i = comms->list; i != NULL; i = i->next)
        n++;
    dirty->items = malloc((n + 1) * sizeof(*dirty->items));
    if (dirty->items == NULL)
        return dt_error_memory(err, n * sizeof(*dirty->items), "the communicators to make anew");
    for (const struct dt_world_comm *i = comms->list; i != NULL; i = i->next)
        if (i->request.size > 1 && !is_usable(i))
            dirty->items[dirty->count++] = i->request.channel;
    return 0;
}

static bool is_dirty(const struct dt_channels *dirty, uint64_t channel)
{
    for (size_t low = 0, high = dirty->count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (dirty->items[middle] == channel)
            return true;
        if (dirty->items[middle] < channel)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* ---- The groups --------------------------------------------------------------------- */

static bool has_lost(const struct dt_world_comms *comms, const struct dt_world_comm *entry)
{
    for (int i = 0; i < entry->request.size; i++)
        if (!dt_world_comms_has(comms, entry->members[i]))
            return true;
    return false;
}

static bool can_stay(const struct dt_world_comms *comms, const struct dt_world_comm *entry,
                     const struct dt_channels *dirty)
{
    return is_usable(entry) && !has_lost(comms, entry) && !is_dirty(dirty, entry->request.channel);
}

/* Callers may still hold it; the backend's part goes now, since devices need the memory. */
static void retire(struct dt_world_comms *comms, struct dt_world_comm *entry)
{
    if (entry->comm != NULL)
        dt_comm_retire(entry->comm, RETIRED);
    entry->next = comms->retired;
    comms->retired = entry;
}

/* *at: where the list points to the entry; afterwards behind what took its place. */
static int replace(struct dtrain_world *world, struct dt_world_comm ***at, struct dtrain_error *err)
{
    struct dt_world_comm *old = **at, *made;

    if (dt_world_comms_is_single(old->axes)) {
        made = dt_world_comms_entry(world, old->axes, err);
        if (made == NULL)
            return -1;
        made->next = old->next;
        **at = made;
        *at = &made->next;
    } else {
        **at = old->next;
    }
    retire(&world->comms, old);
    return 0;
}

static int replace_all(struct dtrain_world *world, const struct dt_channels *dirty, unsigned *kept,
                       struct dtrain_error *err)
{
    struct dt_world_comm **at = &world->comms.list;

    while (*at != NULL) {
        if (can_stay(&world->comms, *at, dirty)) {
            ++*kept;
            at = &(*at)->next;
        } else if (replace(world, &at, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- All of it ----------------------------------------------------------------------- */

static uint32_t *copy_ranks(const int *ranks, size_t n, struct dtrain_error *err)
{
    uint32_t *copy = malloc((n + 1) * sizeof(*copy));

    if (copy == NULL)
        dt_error_memory(err, n * sizeof(*copy), "the survivors");
    for (size_t i = 0; copy != NULL && i < n; i++)
        copy[i] = ranks[i] < 0 ? UINT32_MAX : (uint32_t)ranks[i];
    return copy;
}

static int agree(struct dtrain_world *world, const uint32_t *survivors, uint32_t n, struct dt_channels *dirty,
                 const struct dt_deadline *deadline, struct dtrain_error *err)
{
    world->comms.rebuild_count++;
    if (list_dirty(&world->comms, dirty, err) < 0)
        return -1;
    return dt_control_rebuild(world->control, survivors, n, dirty, deadline, err);
}

static int make_anew(struct dtrain_world *world, const struct dt_channels *dirty,
                     const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct dt_world_comms *comms = &world->comms;
    unsigned kept = 0;

    comms->generation = comms->rebuild_count;
    if (replace_all(world, dirty, &kept, err) < 0 || dt_world_comms_fill(world, deadline, err) < 0)
        return -1;
    comms->is_broken = false;
    dt_log(&world->log, DT_LOG_INFO, "going on with %u of %u ranks; %u communicators of this rank stay",
           comms->survivor_count, dt_plan_world(world->plan), kept);
    return 0;
}

static int rebuild(struct dtrain_world *world, uint32_t *survivors, uint32_t n, struct dtrain_error *err)
{
    struct dt_deadline deadline = dt_deadline_after_ms(world->settings.init_timeout_ms);
    struct dt_world_comms *comms = &world->comms;
    struct dt_channels dirty = {NULL, 0};
    int rc = agree(world, survivors, n, &dirty, &deadline, err);

    comms->is_broken = true;
    if (rc == 0) {
        free(comms->survivors);
        comms->survivors = survivors;
        comms->survivor_count = n;
        rc = make_anew(world, &dirty, &deadline, err);
    } else {
        free(survivors);
    }
    free(dirty.items);
    return rc;
}

int dtrain_comms_rebuild(struct dtrain_world *world, const int *survivors, size_t n, struct dtrain_error *err)
{
    uint32_t *ranks;
    int rc;

    if (world == NULL || survivors == NULL || n > INT_MAX)
        return dt_error_set(err, "dtrain_comms_rebuild: %s",
                            world == NULL ? "world is NULL" : survivors == NULL ? "survivors is NULL"
                                                                                : "n is no number of ranks");
    ranks = copy_ranks(survivors, n, err);
    if (ranks == NULL)
        return -1;
    pthread_mutex_lock(&world->comms.lock);
    if (dt_world_comms_are_stuck(&world->comms)) {
        free(ranks);
        rc = dt_error_set(err, "the device did not let go of the old communicators: end this process");
    } else {
        rc = rebuild(world, ranks, (uint32_t)n, err);
    }
    pthread_mutex_unlock(&world->comms.lock);
    return rc == 0 ? 0 : dt_error_prefix(err, "dtrain_comms_rebuild");
}
