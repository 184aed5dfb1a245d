/*
 * outer.h - a command started inside a task of a dtrain step must not take that
 * task's variables for its own.
 */
#ifndef DT_PLUGIN_OUTER_H
#define DT_PLUGIN_OUTER_H

/* Which of these variables the binder added to a task's environment, joined by commas. */
#define DT_BOUND_NAME "SLURM_DTRAIN_BOUND"
#define DT_BOUND_ADDED_MAX 64 /* bytes of its value with the NUL */
#define DT_BOUND_VARIABLES {"CUDA_DEVICE_ORDER", "UCX_NET_DEVICES"}

/*
 * Takes out of this process's environment what the plugin of an outer step put
 * there: the plan, the variables of core/env.h that have the values of that
 * plan, the kind of MPI that it chose and what leads to its PMIx server. Outside of a dtrain step, which is
 * where SLURM_DTRAIN_PLAN is not set, nothing is touched.
 */
void dt_outer_clear(void);

#endif
