/* world.h - the handle that everything hangs on, and its way up. */
#ifndef DT_RUNTIME_WORLD_H
#define DT_RUNTIME_WORLD_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/plan.h"
#include "runtime/backend.h"
#include "runtime/boot.h"
#include "runtime/card.h"
#include "runtime/control.h"
#include "runtime/phases.h"
#include "runtime/settings.h"
#include "runtime/world_comms.h"

enum dt_world_state { DT_WORLD_STARTING, DT_WORLD_READY, DT_WORLD_FAILED };

struct dtrain_world {
    struct dt_settings settings;
    struct dt_plan *plan;
    uint64_t plan_hash;
    const struct dt_boot *boot;
    void *boot_state;
    struct dt_deadline deadline; /* of the bring-up */
    struct dt_phases phases;
    struct dt_boot_counts counts;
    struct dt_log log;

    uint32_t rank, node;
    int device;     /* of the backend, when has_device; else the one of the local rank */
    bool has_device;
    bool is_placed; /* rank and node are known */
    struct dt_control *control;
    const struct dt_backend *backend;
    void *backend_state;
    struct dt_world_comms comms;

    pthread_t thread; /* brings the world up */
    bool is_joined;
    _Atomic int state;         /* enum dt_world_state; what follows is settled when it is not STARTING */
    struct dtrain_error error; /* why it failed */
};

/* What a world is started from. settings and plan move to the world, also when it fails. */
struct dt_world_start {
    struct dt_settings settings;
    struct dt_plan *plan;
    uint64_t plan_hash;
    const struct dt_boot *boot;
    void *boot_state;        /* what boot->open finds in *state; PMIx needs none, a test's double does */
    struct dt_phases phases; /* begun */
    const struct dt_backend *backend; /* NULL: by the plan */
    int device;                       /* when has_device */
    bool has_device;
};

/* Fills settings, plan and plan_hash from the options and the environment; -1: nothing is owned. */
int dt_world_start_read(struct dt_world_start *start, const struct dtrain_options *options,
                        struct dtrain_error *err);
/* A world that nothing was started for; NULL: settings and plan were released. */
struct dtrain_world *dt_world_create(const struct dt_world_start *start, struct dtrain_error *err);
/* Once no thread uses it. */
void dt_world_destroy(struct dtrain_world *world);
/* Its rank and node, from the number of its task; rank 0 alone logs what all would. */
void dt_world_place(struct dtrain_world *world, uint32_t task);

/* dtrain_init_start() with everything given. */
int dt_world_start(struct dtrain_world **world, const struct dt_world_start *start, struct dtrain_error *err);

/* Waits for the end of the bring-up, then as dtrain_init_poll(). */
int dt_world_await(struct dtrain_world *world, bool *done, struct dtrain_error *err);

/* bringup.c: all steps, in the world's own thread. */
int dt_bringup(struct dtrain_world *world, struct dtrain_error *err);

#endif
