/*
 * control.h - the connections between ranks beside the data. A tree: every
 * rank is connected to the first rank of its node (its leader), the leader of
 * node i to that of node (i - 1) / 16. Over it the ranks agree that they are
 * one world, learn each other's addresses, and hear who died.
 *
 * One thread of its own serves it. All functions are thread-safe but create
 * and destroy.
 */
#ifndef DT_RUNTIME_CONTROL_H
#define DT_RUNTIME_CONTROL_H

#include "core/log.h"
#include "core/plan.h"
#include "runtime/control_message.h"
#include "runtime/peers.h"

#define DT_CONTROL_FANOUT 16      /* leaders below one leader */
#define DT_CONTROL_LINGER_MS 1000 /* at most, for a failed rank to tell the others why */
#define DT_ROLL_LEVEL_MS 200 /* a level of the tree names its missing ranks this much after the one below */
#define DT_CONTROL_PATIENCE_MS 2000 /* after a deadline, for the roll call: ten levels */
#define DT_RANK_NONE UINT32_MAX

struct dt_control;

/* What a child must know of its parent; travels in the cards. */
struct dt_control_seat {
    struct dt_address address;
    unsigned char token[DT_TOKEN_SIZE];
};

/* How a rank learns the seats of the others while it joins. */
struct dt_control_seats {
    void *context;
    /* 1: *seat is set; 0: the rank has not come yet, or nobody knows; -1: never, and why. Does not wait. */
    int (*find)(void *context, uint32_t rank, struct dt_control_seat *seat, struct dtrain_error *err);
    bool is_late;    /* this rank did not see that all had come; dt_control_late_count() counts it */
    int patience_ms; /* leaders below that did not connect by then are called */
};

/*
 * Listens (not in a world of one). plan and log are borrowed. ifname: the
 * interface to listen on, or NULL for the one that leads to the plan's
 * master_addr. The caller frees with dt_control_destroy().
 */
int dt_control_create(struct dt_control **control, const struct dt_plan *plan, uint32_t rank,
                      const char *ifname, const struct dt_log *log, struct dtrain_error *err);
void dt_control_destroy(struct dt_control *control);

void dt_control_seat(const struct dt_control *control, struct dt_control_seat *seat);

/* World rank whose seat dt_control_join() needs first; DT_RANK_NONE for rank 0. */
uint32_t dt_control_parent(const struct dt_plan *plan, uint32_t rank);

/*
 * Blocks until all ranks joined with the same opinion, or the deadline; then
 * the ranks that did not come are named. failure: why this rank cannot take
 * part, or NULL; it becomes everybody's error. seats is NULL in a world of one.
 * Called once.
 */
int dt_control_join(struct dt_control *control, const struct dt_control_seats *seats,
                    const struct dt_opinion *opinion, const char *failure, const struct dt_deadline *deadline,
                    struct dtrain_error *err);

/*
 * After the join, once: waits until all ranks called it, so that a world comes up on all or on none.
 * -1 when one died or left, with its reason, or at the deadline.
 */
int dt_control_confirm(struct dt_control *control, const struct dt_deadline *deadline,
                       struct dtrain_error *err);

/* After a joined world: how many ranks were late, the same number on all. */
uint32_t dt_control_late_count(struct dt_control *control);

/*
 * For a rank that has no place in the tree, since its plan does not fit the
 * step: tells another rank why, once, without a dt_control.
 */
int dt_control_tell(const struct dt_control_seat *seat, const char *failure,
                    const struct dt_deadline *deadline);

/* After a joined world; borrowed. */
const struct dt_peers *dt_control_peers(const struct dt_control *control);

/*
 * Waits until all ranks called it. -1 at once when a rank died or the world was
 * stopped: then the others are told that this one left.
 */
int dt_control_leave(struct dt_control *control, const struct dt_deadline *deadline,
                     struct dtrain_error *err);

/* Channels of communicators; grows as it is filled. Zero-initialise; free(items) ends it. */
struct dt_channels {
    uint64_t *items;
    size_t count;
};

/*
 * Goes on with the survivors only: n world ranks, ascending, this one among them.
 * Collective over them, and each call of a rank is one attempt of all. The tree is
 * made anew of them, the others count as dead from then on, and what they died of
 * no longer ends dt_control_leave(). dirty: channels that this rank cannot use any
 * more; on success those of all survivors, ascending. -1 when they do not give the
 * same list, or one of them does not come: then nothing has changed.
 */
int dt_control_rebuild(struct dt_control *control, const uint32_t *survivors, uint32_t n,
                       struct dt_channels *dirty, const struct dt_deadline *deadline,
                       struct dtrain_error *err);

/* Leaves a joined world without waiting: the others learn why. */
void dt_control_abandon(struct dt_control *control, const char *why);

#endif
