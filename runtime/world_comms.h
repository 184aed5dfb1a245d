/* world_comms.h - the communicators of a world: those of the axes, made together, and those asked for later.
 */
#ifndef DT_RUNTIME_WORLD_COMMS_H
#define DT_RUNTIME_WORLD_COMMS_H

#include <pthread.h>

#include "runtime/card.h"

struct dt_world_comm;

struct dt_world_comms {
    pthread_mutex_t lock; /* of the list, and of making more */
    struct dt_world_comm *list;
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

#endif
