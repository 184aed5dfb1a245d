/*
 * ps.h - a struct dtrain_ps from inside. A rank has a lane to each rank of the other
 * role: a communicator of the two, a stream, and room for a request. On a worker all
 * is of the thread that calls; on a server a thread for each lane answers one worker's
 * requests, under one lock but for the transfers themselves.
 */
#ifndef DT_RUNTIME_PS_H
#define DT_RUNTIME_PS_H

#include <pthread.h>

#include "dtrain_ps.h"
#include "runtime/ps_clock.h"
#include "runtime/ps_plan.h"
#include "runtime/world.h"

/*
 * A request of a worker, before what it is about: float64, since these the backend's
 * math can write in the order of a stream. Steps stay exact up to 2^53.
 */
enum { DT_PS_KIND, DT_PS_PARAMETER, DT_PS_STEP, DT_PS_REQUEST_SIZE };
enum { DT_PS_PUSH = 1, DT_PS_PULL, DT_PS_STATUS, DT_PS_LEAVE };
#define DT_PS_ALL (-1) /* instead of a parameter */
/* What DT_PS_STATUS is answered with, for each worker; DT_PS_LEAVE with the request itself. */
enum { DT_PS_ANSWER_STATE, DT_PS_ANSWER_STEPS, DT_PS_ANSWER_SIZE };

#define DT_PS_SERVER_SEAT 0 /* ranks in a lane's communicator */
#define DT_PS_WORKER_SEAT 1

struct dt_ps_lane {
    struct dtrain_ps *ps;
    size_t number;   /* of the server or worker at the other end */
    int peer;        /* its world rank */
    uint32_t members[2];
    struct dtrain_comm *comm;
    struct dtrain_stream *stream;
    double *request;                    /* in the backend's memory */
    double *answer;                     /* the same, for the status of all workers */
    struct dtrain_transfer *transfers;  /* [n of the longest] */
    char *slots; /* on servers: this worker's gradients, or values on their way to it */
    bool has_failed;                    /* on workers */
    pthread_t thread;                   /* on servers */
};

/* A piece on its server. */
struct dt_ps_part {
    struct dt_ps_piece piece;
    enum dtrain_type type, gradient_type, state_type;
    void *value;          /* as it is pulled */
    void *weight;         /* of state_type; the value itself where that has it */
    void *first, *second; /* moments, or NULL */
    size_t slot_at;       /* bytes, in each lane's slots */
};

struct dtrain_ps {
    struct dtrain_world *world;
    struct dtrain_ps_options options; /* without zeros that mean a default; servers is not kept */
    struct dtrain_ps_parameter *parameters; /* names are owned */
    size_t n;
    int *servers, *workers; /* world ranks */
    size_t server_count, worker_count;
    bool is_server;
    size_t self; /* which of the servers or workers */
    struct dt_ps_plan plan;
    struct dt_ps_lane *lanes;
    size_t lane_count;

    uint64_t *pushed; /* on workers: [n] steps */
    bool has_left;

    struct dtrain_stream *stream; /* on servers: of the updates */
    struct dt_ps_part *parts;
    size_t part_count;
    char *memory; /* of all parts and slots */
    void *sum;    /* of state_type: the gradients of the largest part */
    struct dt_ps_clock clock;
    bool has_served;

    pthread_mutex_t lock; /* on servers: of the clock, the updates' stream, and what follows */
    pthread_cond_t changed;
    bool has_failed;
    struct dtrain_error failure;
    struct dtrain_error last_loss;
};

/* ---- ps_check.c, ps_roles.c, ps_agree.c ------------------------------------------ */

bool dt_ps_type_is_float(enum dtrain_type type);

/* What dtrain_ps_create() is called with. */
int dt_ps_check(const struct dtrain_ps_parameter *parameters, size_t n,
                const struct dtrain_ps_options *options, struct dtrain_error *err);

/* Who of the members of comm is what. */
int dt_ps_roles(struct dtrain_ps *ps, const struct dtrain_comm *comm, struct dtrain_error *err);

/* All ranks of comm are well, and registered the same. Collective; blocks. */
int dt_ps_agree(struct dtrain_ps *ps, struct dtrain_comm *comm, bool is_well, struct dtrain_error *err);

/* ---- ps_lane.c --------------------------------------------------------------------- */

/* set: different for each ps of the world, the same on all ranks. Collective; blocks. */
int dt_ps_lanes_create(struct dtrain_ps *ps, uint32_t set, struct dtrain_error *err);
void dt_ps_lanes_destroy(struct dtrain_ps *ps);
/* All lanes fail with why, at both ends. */
void dt_ps_lanes_revoke(struct dtrain_ps *ps, const char *why);

/* ---- ps_part.c ----------------------------------------------------------------------- */

/* The parts of this server, with their memory, and the slots of the lanes. */
int dt_ps_parts_create(struct dtrain_ps *ps, struct dtrain_error *err);
void dt_ps_parts_destroy(struct dtrain_ps *ps);
/* The first worker's values become the servers'. Blocks. */
int dt_ps_parts_fill(struct dtrain_ps *ps, struct dtrain_error *err);

/* ---- ps_update.c ---------------------------------------------------------------------- */

/* With the lock held: the worker's gradient of a part is in its slot. Queues the update that is due. */
int dt_ps_update_pushed(struct dtrain_ps *ps, size_t worker, size_t part, struct dtrain_error *err);
/* With the lock held: updates that are due since somebody works no more. */
int dt_ps_update_due(struct dtrain_ps *ps, struct dtrain_error *err);

/* ---- ps_session.c --------------------------------------------------------------------- */

/* A lane's thread on a server; argument: the lane. */
void *dt_ps_session_run(void *argument);
/* The whole ps fails with this text unless it did before. */
void dt_ps_fail(struct dtrain_ps *ps, const char *text);

#endif
