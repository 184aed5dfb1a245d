/* control_state.h - what the control_*.c files share. Private to them. */
#ifndef DT_RUNTIME_CONTROL_STATE_H
#define DT_RUNTIME_CONTROL_STATE_H

#include <pthread.h>

#include "runtime/control.h"
#include "runtime/control_branch.h"
#include "runtime/control_link.h"
#include "runtime/rendezvous.h"
#include "runtime/roll.h"

#define DT_DEATHS_KEPT 64 /* deaths whose story is kept; of later ones only the fact */

enum dt_control_phase {
    DT_PHASE_IDLE,       /* not joined */
    DT_PHASE_COLLECTING, /* waits for its children's HELLO */
    DT_PHASE_WAITING,    /* told its parent, waits for GO or STOP */
    DT_PHASE_UP,
    DT_PHASE_LEAVING, /* waits for its children's BYE, then for DONE */
    DT_PHASE_DONE,
};

struct dt_death {
    uint32_t rank;
    char text[DTRAIN_ERROR_MAX];
};

struct dt_revocation {
    struct dt_revocation *next;
    uint64_t channel;
    char text[]; /* by whom and why */
};

struct dt_control {
    const struct dt_plan *plan;
    const struct dt_log *log;
    uint32_t rank, world;
    uint32_t local_children;        /* ranks rank + 1 .. rank + local_children; 0 unless a leader */
    uint32_t first_node, last_node; /* nodes whose leaders are children: first <= i < last */
    bool is_root;                   /* has no parent: rank 0, or the first survivor */

    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread;
    bool must_quit;
    int epoll_fd;
    struct dt_source quit;

    struct dt_rendezvous rendezvous;
    struct dt_link *links;
    enum dt_control_phase phase;
    struct dt_deadline deadline; /* of this phase; after the roll call began, for naming who is missing */
    bool is_rolled;              /* the roll call began */
    uint32_t height;             /* levels of the tree below this rank */
    uint32_t hello_count, bye_count;
    uint32_t ready_count; /* children whose subtree is ready */
    bool is_ready;        /* this rank itself */
    bool is_confirmed;    /* all ranks */
    struct dt_opinions opinions; /* of this rank and its subtree */
    uint32_t late_count;         /* of the same ranks; of all, once up */
    struct dt_address *table;    /* by rank; family 0: not known */
    char (*devices)[DT_OPINION_DEVICE_MAX]; /* of this rank and its local children; "": none, not known */

    bool is_stopped;
    char stop_text[DT_MESSAGE_TEXT_MAX];
    uint32_t told_count; /* children that know, or are dead */
    bool is_parent_told; /* the same of the parent; rank 0 has none to tell */

    uint64_t *cancelled; /* channels on which no connection is waited for any more */
    size_t cancelled_count;

    struct dt_revocation *revocations; /* the latest first */
    _Atomic uint32_t revoke_count;

    unsigned char *dead; /* a bit a rank */
    struct dt_death deaths[DT_DEATHS_KEPT];
    _Atomic uint32_t death_count;
    uint32_t lost_count; /* deaths since the world was rebuilt without those before */

    uint32_t rebuild_count;    /* attempts */
    struct dt_branch branch;   /* the place in the tree of the survivors; empty: in the first one */
    unsigned char *left_out;   /* a bit a rank that is no survivor; NULL: all are in */
    int death_fd;

    struct dt_peers peers;
};

/* Everything below is called with the lock held, but what says otherwise. */

/* ---- control.c: the thread, its start and end ------------------------------ */

int dt_control_start(struct dt_control *control, struct dtrain_error *err); /* without the lock */
/* The thread looks at what changed. */
void dt_control_wake(struct dt_control *control);
/* Waits for a change; false when the deadline passed. */
bool dt_control_wait(struct dt_control *control, const struct dt_deadline *deadline);
/* A little more than the deadline: by then the roll call has told who is missing. */
struct dt_deadline dt_control_patient(const struct dt_deadline *deadline);

/* ---- control_tree.c: who is where, and what becomes of the world ------------ */

uint32_t dt_tree_child_count(const struct dt_control *control);
/* World rank of child i. */
uint32_t dt_tree_child(const struct dt_control *control, uint32_t i);
struct dt_link *dt_tree_find(const struct dt_control *control, uint32_t rank, enum dt_link_role role);
/* Whether there is a connection with this neighbour; no neighbour at all (DT_RANK_NONE) counts as one. */
bool dt_tree_is_linked(const struct dt_control *control, uint32_t rank);
/* NULL: not connected, or rank 0. */
struct dt_link *dt_tree_parent(const struct dt_control *control);

/* Takes over a connection that proved itself. */
struct dt_link *dt_tree_add(struct dt_control *control, int fd, uint32_t rank, enum dt_link_role role);
/* is_call: the parent made the connection, else this rank did. */
struct dt_link *dt_tree_add_parent(struct dt_control *control, int fd, bool is_call);
void dt_tree_adopt(void *control, int fd, const struct dt_greeting *greeting);
/* Its end came: of a rank that did not say BYE this is the death. error: of the last read. */
void dt_tree_lost(struct dt_control *control, struct dt_link *link, int error);

void dt_tree_join(struct dt_control *control, const struct dt_opinion *opinion,
                  const struct dt_deadline *deadline);
/* The opinion of this rank, or of a child on this node: two ranks with one device stop the world. */
void dt_tree_check_device(struct dt_control *control, uint32_t rank, const char *device);
void dt_tree_check_joined(struct dt_control *control);

/* control_confirm.c: up, when this rank and its children's subtrees are ready; down, that all are. */
void dt_tree_check_ready(struct dt_control *control);
void dt_tree_confirm(struct dt_control *control);
void dt_tree_go(struct dt_control *control);
void dt_tree_leave(struct dt_control *control, const struct dt_deadline *deadline);
void dt_tree_check_left(struct dt_control *control);
void dt_tree_done(struct dt_control *control);

/* Both tell everybody but `from`, who knows. Only the first stop counts, and each death once. */
void dt_tree_stop(struct dt_control *control, const char *text, const struct dt_link *from);
void dt_tree_death(struct dt_control *control, uint32_t rank, const char *text, const struct dt_link *from);
/* The same of a communicator. */
void dt_tree_revoke(struct dt_control *control, uint64_t channel, const char *text,
                    const struct dt_link *from);
/* Tells all others that this rank goes, and why. */
void dt_tree_farewell(struct dt_control *control, const char *text);
/* The other end of the link knows that the world is stopped, or will never. */
void dt_tree_count_told(struct dt_control *control, enum dt_link_role role);
/* Whether all children know that the world is stopped. */
bool dt_tree_is_told(const struct dt_control *control);

/* ---- control_roll.c: naming who is missing --------------------------------- */

/*
 * When a rank's deadline passes it starts a roll call. Every rank that waits for
 * children then names those that did not come, lower ones first: so the name is
 * that of the missing rank, not of one that waits for it.
 */
void dt_control_roll_start(struct dt_control *control, const struct dt_deadline *deadline,
                           enum dt_control_phase phase);
void dt_control_roll_call(struct dt_control *control, const struct dt_link *from);
void dt_control_roll_tick(struct dt_control *control);
/* Milliseconds until dt_control_roll_tick() has something to do; -1: nothing is due. */
int dt_control_roll_due_ms(const struct dt_control *control);
/* Stops the world: these did not come. */
void dt_control_roll_say(struct dt_control *control, struct dt_roll *roll);

/* ---- control_send.c: messages out ------------------------------------------ */

void dt_control_send_empty(struct dt_control *control, struct dt_link *link, enum dt_message_kind kind);
void dt_control_send_stop(struct dt_control *control, struct dt_link *link);
void dt_control_send_dead(struct dt_control *control, struct dt_link *link, uint32_t rank, const char *text);
void dt_control_send_revoked(struct dt_control *control, struct dt_link *link, uint64_t channel,
                             const char *text);
void dt_control_send_hello(struct dt_control *control, struct dt_link *link);
void dt_control_send_go(struct dt_control *control, struct dt_link *link);
void dt_control_send_roll(struct dt_control *control, struct dt_link *link);
/* Ends the frame that began there, and sends. */
void dt_control_send_end(struct dt_control *control, struct dt_link *link, size_t begin);

/* ---- control_handle.c: messages in ------------------------------------------ */

void dt_control_handle(struct dt_source *source); /* a link's */

/* ---- control_revoke.c: communicators that were revoked ------------------------ */

void dt_control_revoke_init(struct dt_control *control); /* fills its part of the peers */
void dt_control_revoke_free(struct dt_control *control);
bool dt_control_is_revoked(const struct dt_control *control, uint64_t channel, struct dtrain_error *err);

/* ---- control_rebuild.c ------------------------------------------------------- */

/* Whether the world goes on without this rank. */
bool dt_control_is_left_out(const struct dt_control *control, uint32_t rank);

/* ---- control_peers.c -------------------------------------------------------- */

void dt_control_peers_init(struct dt_control *control);
bool dt_control_is_dead(const struct dt_control *control, uint32_t rank, struct dtrain_error *err);

/* ---- control_call.c: connecting; all without the lock ------------------------ */

/* -1 with errno. */
int dt_control_greet(int fd, const struct dt_greeting *greeting);
/* One attempt at a connection that has greeted (NULL: not yet); -1 with the reason, and errno. */
int dt_control_call(const struct dt_address *address, bool is_local, const struct dt_greeting *greeting,
                    const struct dt_deadline *deadline, int *fd, struct dtrain_error *err);
/* Tries until the deadline; a refusal is believed sooner, and inside a node TCP is the second choice. */
int dt_control_call_seat(const struct dt_control_seat *seat, bool is_local,
                         const struct dt_greeting *greeting, const struct dt_deadline *deadline, int *fd,
                         struct dtrain_error *err);

/* ---- control_seek.c: finding the neighbours; all without the lock ------------ */

struct dt_seek {
    struct dt_control *control;
    const struct dt_control_seats *seats;
    struct dt_deadline deadline; /* of the joining */
    int64_t call_ns;             /* when the leaders below are called (again) */
    int64_t ask_ns, name_ns;     /* when to ask who came, and to name who did not */
    bool has_asked, has_named;
    bool gave_up;            /* the parent cannot be reached */
    uint32_t unreached;      /* a neighbour that came and could not be connected, or DT_RANK_NONE */
    struct dtrain_error why; /* of that */
};

void dt_seek_begin(struct dt_seek *seek, struct dt_control *control, const struct dt_control_seats *seats,
                   const struct dt_deadline *deadline);
/* Does what can be done now, without waiting for cards; connecting ends by the limit. */
void dt_seek_turn(struct dt_seek *seek, const struct dt_deadline *limit);
/* When the next turn is due, whatever else happens. With the lock. */
struct dt_deadline dt_seek_next(const struct dt_seek *seek, const struct dt_deadline *limit);

#endif
