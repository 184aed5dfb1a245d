/*
 * fork_world.h - a step without Slurm: a process for each rank, a bootstrap
 * over shared memory, nodes by name only, so that all paths between nodes run
 * over loopback.
 */
#ifndef DT_TESTS_FORK_WORLD_H
#define DT_TESTS_FORK_WORLD_H

#include "runtime/world.h"

#define FORK_RANKS_MAX 32
#define FORK_TEXT_MAX 1024

struct fork_layout {
    uint32_t nodes, tasks; /* nodes n1.., tasks on each */
    uint32_t tp, pp, ep;
};

struct fork_row;

/* In shared memory. */
struct fork_rank {
    bool has_come; /* published */
    size_t card_size;
    unsigned char card[DT_BOOT_CARD_MAX];
    char said[FORK_TEXT_MAX]; /* what the rank has to say at its end; "": nothing */
    int status;               /* of waitpid() */
};

struct fork_step {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct fork_row *row; /* what it runs */
    uint32_t count;             /* ranks */
    uint32_t flags;             /* ranks that called fork_reached(), a bit each */
    struct fork_rank ranks[FORK_RANKS_MAX];
};

/* What a rank does; it ends with what is in said. */
typedef void fork_body(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX]);

/* One test: how a step runs, and what its ranks say. */
struct fork_row {
    const char *name;
    struct fork_layout layout;
    int timeout_ms;
    fork_body *body;
    void (*after_fence)(const struct fork_step *step, uint32_t task); /* of the bootstrap; or NULL */
    uint32_t no_fence;    /* ranks for which it never ends, a bit each */
    uint32_t blind;       /* ranks that never get a card of the unseen ones, a bit each */
    uint32_t unseen;
    const char *words[2]; /* in what every rank says; NULL: nothing more */
    uint32_t silent;      /* ranks that say nothing, a bit each */
    uint32_t killed;      /* ranks that die of a signal, and say nothing */
    const struct dt_backend *backend; /* NULL: the host's */
    uint32_t odd;             /* the rank that the body treats differently */
    struct fork_layout other; /* which that one believes in */
};

/* Whether all ranks said what they should; shows those that did not. */
bool fork_check(const struct fork_row *row);

void fork_say(char said[FORK_TEXT_MAX], const char *text);
void fork_pause_ms(int ms);

struct dt_plan *fork_plan(const struct fork_layout *layout);

/* dt_world_start() on the shared bootstrap; plan NULL: the step's own. host NULL: the plan's. */
int fork_start(struct dtrain_world **world, struct fork_step *step, uint32_t task, struct dt_plan *plan,
               const char *host, struct dtrain_error *err);
/* The same, and waits until it is up. The world is there also after -1. */
int fork_init(struct dtrain_world **world, struct fork_step *step, uint32_t task, struct dt_plan *plan,
              const char *host, struct dtrain_error *err);

/* Tells the others that this rank came this far; waits until n ranks did. false: not within 5 s. */
bool fork_reached(struct fork_step *step, uint32_t rank, uint32_t n);

#endif
