/* world_comms.h - the communicators of a world: those of the axes, made together, and those asked for later.
 */
#ifndef DT_RUNTIME_WORLD_COMMS_H
#define DT_RUNTIME_WORLD_COMMS_H

#include <pthread.h>

#include "runtime/card.h"

struct dt_world_comm;
struct dt_revoke_job;

struct dt_world_comms {
    pthread_mutex_t lock; /* of the list, and of making more */
    struct dt_world_comm *list;

    uint32_t rebuild_count;  /* attempts to go on without the dead */
    uint32_t generation;     /* the attempt that the communicators are of; 0: of the start */
    uint32_t *survivors;     /* ascending world ranks; NULL: all are in */
    uint32_t survivor_count;
    struct dt_world_comm *retired; /* replaced; callers may still hold them */
    bool is_broken;                /* the last attempt made none */
    struct dt_revoke_job *job;     /* the last one that did not end in time */
};

void dt_world_comms_init(struct dt_world_comms *comms);

/* Finds the groups of single axes; the ids of those whose root this rank is go to the card. */
int dt_world_comms_prepare(struct dtrain_world *world, struct dt_card *card, struct dtrain_error *err);
/* Calls with every root (a world rank) whose card is needed; -1 from it ends the walk. */
int dt_world_comms_each_root(struct dtrain_world *world,
                             int (*get)(struct dtrain_world *world, uint32_t root, struct dt_card *card,
                                        struct dtrain_error *err),
                             struct dtrain_error *err);
/* Instead of each_root(), once the world is connected: roots hand out their groups' ids. */
int dt_world_comms_exchange_ids(struct dtrain_world *world, struct dtrain_error *err);
/* All in one call of the backend. */
int dt_world_comms_create(struct dtrain_world *world, struct dtrain_error *err);
void dt_world_comms_destroy(struct dtrain_world *world);

/* ---- For world_rebuild.c and world_revoke.c, with the lock held ---------------------- */

/* A group and its communicator. Groups of the same members, whatever their axes, share one. */
struct dt_world_comm {
    struct dt_world_comm *next;
    unsigned axes; /* for which it was made first */
    struct dt_comm_request request;
    uint32_t *members;
    struct dtrain_comm *comm; /* NULL: not made yet */
};

/* Whether the rank is among the survivors, when there are dead. */
bool dt_world_comms_has(const struct dt_world_comms *comms, uint32_t rank);
/* Whether the set is one whose communicator is there from the start. */
bool dt_world_comms_is_single(unsigned axes);
/* An entry for the set's survivors, in no list and without a communicator. */
struct dt_world_comm *dt_world_comms_entry(struct dtrain_world *world, unsigned axes,
                                           struct dtrain_error *err);
/* The communicators that the list lacks, in one call of the backend. */
int dt_world_comms_fill(struct dtrain_world *world, const struct dt_deadline *deadline,
                        struct dtrain_error *err);
/* Whether a thread is still in the backend, which did not end a communicator in time. */
bool dt_world_comms_are_stuck(struct dt_world_comms *comms);

#endif
