/* switches.h - the cluster's switches as the controller has them, asked in srun. */
#ifndef DT_PLUGIN_SWITCHES_H
#define DT_PLUGIN_SWITCHES_H

#include "step.h"

/*
 * Puts the step's nodes in the order of the switches and says so where that
 * changes it. Without a topology the order stays; so it does, with a word about
 * it, where the switches cannot be had or make no tree.
 */
void dt_switches_order_step(struct dt_step *step);

#endif
