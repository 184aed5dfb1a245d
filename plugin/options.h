/*
 * options.h - dtrain's options as Slurm sees them: registered in every context,
 * collected by callbacks. Slurm's callbacks carry no pointer of ours, so what
 * they collect is the one static state here; one thread.
 */
#ifndef DT_PLUGIN_OPTIONS_H
#define DT_PLUGIN_OPTIONS_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "core/request.h"

#define DT_OPTIONS_NAME_MAX 128 /* bytes of the variable that sbatch leaves for one option */
#define DT_OPTIONS_MAX 32

/* Registers the whole table and forgets what was collected before. */
int dt_options_register(spank_t spank, struct dtrain_error *err);

/* What the callbacks collected so far. */
const struct dt_request *dt_options_request(void);

/* The first value that was refused in slurmstepd, where a callback must not fail; NULL: none. */
const struct dtrain_error *dt_options_refusal(void);

/*
 * Applies to request what sbatch or salloc left in this process's environment.
 * Returns whether anything was there.
 */
bool dt_options_inherit(struct dt_request *request);

#endif
