/*
 * launch.h - what happens in srun: the kind of MPI before its options are
 * parsed, and after the step is created the plan, which refuses the step or goes
 * to its nodes in SLURM_DTRAIN_PLAN.
 */
#ifndef DT_PLUGIN_LAUNCH_H
#define DT_PLUGIN_LAUNCH_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "core/parse.h"
#include "core/request.h"

/* What is known before srun has parsed its command line. */
struct dt_launch {
    int argc; /* the plugin's arguments in plugstack.conf, borrowed */
    char *const *argv;
    bool is_inherited;   /* sbatch or salloc left options in the environment */
    bool has_components; /* a heterogeneous step */
    unsigned bound;      /* by --cpu-bind and the like on the command line: enum dt_bind_item as bits */
    bool is_foreseen;    /* the command line was understood to ask for dtrain, or for a kind of MPI */
    char unsure[DT_PARSE_SHOWN_MAX + 4]; /* the option that made the reading stop early; "": none */
};

/* In slurm_spank_init: chooses PMIx for a step that asks for dtrain, unless the user chose. */
void dt_launch_prepare(struct dt_launch *launch, int argc, char *const *argv);

/* In local_user_init, for a step that asks for dtrain. */
int dt_launch_step(const struct dt_launch *launch, spank_t spank, const struct dt_request *request,
                   struct dtrain_error *err);

#endif
