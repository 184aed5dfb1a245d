/*
 * servers.h - training with parameter servers (dtrain_ps.h): --ps ranks hold the
 * weights and AdamW's state, each a part of them, and compute nothing else; the
 * others, the workers, are data parallel: each has the whole model and a share of
 * every step's batch. Nothing is reduced between workers.
 *
 * A dtrain_ps has one decay for all its parameters, so there is one for what decays
 * and one for what does not. A third one adds up the workers' losses: two numbers,
 * the sum of the losses that came, and how many; they are of one piece, and so on
 * one server, which has both as of the same moment.
 */
#ifndef TRAIN_SERVERS_H
#define TRAIN_SERVERS_H

#include "dtrain_ps.h"
#include "model.h"

enum servers_group { SERVERS_LOSSES, SERVERS_MATRICES, SERVERS_VECTORS, SERVERS_GROUPS };

struct servers {
    struct grid *grid;
    struct dtrain_ps *ps[SERVERS_GROUPS];
    uint64_t step;             /* pushed so far */
    double told[2], before[2]; /* sum and number of losses: now, and a step ago */
    double pushed[2];          /* the gradient that adds this worker's */
};

/* Refuses steps without a worker, or that split the model; every rank finds the same. */
int servers_check(const struct grid *grid, const struct options *options, struct dtrain_error *err);

/*
 * Collective. Says who is what: the grid's dp axis is that of the workers from now on, and the first of them
 * speaks. The caller ends it with servers_destroy(), also after a failure, and before the model.
 */
int servers_open(struct servers *servers, struct grid *grid, const struct options *options,
                 struct dtrain_error *err);
/* Collective: the weights. The model of a server has no memory. */
int servers_join(struct servers *servers, const struct model *model, const struct options *options,
                 struct dtrain_error *err);
void servers_destroy(struct servers *servers);

/* false also without servers. */
bool servers_is_server(const struct servers *servers);

/* On servers, until all workers have left. Workers notice by their deadlines where a thread cannot start. */
int servers_serve(struct servers *servers, struct dtrain_error *err);

/*
 * On workers: pushes the gradients of the last pass, and pulls the weights of the next one. *loss: this
 * worker's part of the batch's mean; becomes the mean of all that workers told since the step before, which
 * is the batch's without --staleness.
 */
int servers_step(struct servers *servers, double *loss, struct dtrain_error *err);
/* The last call of a worker. */
int servers_leave(struct servers *servers, struct dtrain_error *err);

#endif
