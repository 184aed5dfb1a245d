/*
 * world_ids.h - the ids by which a backend joins the members of a group: made by
 * a few of them, then published in their cards, or handed out over connections.
 * Nothing is done for groups of one and for a backend without ids.
 */
#ifndef DT_RUNTIME_WORLD_IDS_H
#define DT_RUNTIME_WORLD_IDS_H

#include "runtime/card.h"

/* Room for the ids; free(request->ids) ends it. size and rank are set. */
int dt_world_ids_alloc(const struct dtrain_world *world, struct dt_comm_request *request,
                       struct dtrain_error *err);

/* Makes this rank's own id if it is to make one. */
int dt_world_ids_make(const struct dtrain_world *world, struct dt_comm_request *request,
                      struct dtrain_error *err);
/* The same, and adds it to the card. */
int dt_world_ids_publish(const struct dtrain_world *world, struct dt_comm_request *request,
                         struct dt_card *card, struct dtrain_error *err);
/* Takes the others' from their makers' cards; get: calls with a world rank. */
int dt_world_ids_collect(struct dtrain_world *world, struct dt_comm_request *request,
                         int (*get)(struct dtrain_world *world, uint32_t rank, struct dt_card *card,
                                    struct dtrain_error *err),
                         struct dtrain_error *err);

/*
 * Instead of cards, once the world is connected: makers give theirs to member 0,
 * which hands out all. Collective over the group. Members wait for member 0 only,
 * and member 0 for makers, which come first: groups that all ranks take in one
 * order do not wait in a circle.
 */
int dt_world_ids_exchange(struct dtrain_world *world, struct dt_comm_request *request,
                          const struct dt_deadline *deadline, struct dtrain_error *err);

#endif
