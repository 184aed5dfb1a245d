/*
 * allowed.h - the CPUs that Slurm allows a step on this node, read in a task:
 * the masks of all its tasks where Slurm wrote them down, else the task's own.
 */
#ifndef DT_PLUGIN_ALLOWED_H
#define DT_PLUGIN_ALLOWED_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "topo/topo.h"

#define DT_ALLOWED_TEXT_MAX (128u * 1024u) /* bytes of SLURM_CPU_BIND_LIST with the NUL */

/* Pure: "0x3,0xc" and the like, Slurm's masks, all together. */
int dt_allowed_parse_masks(hwloc_bitmap_t cpus, const char *text, struct dtrain_error *err);

/* Pure: how many cores "0-3,8" names; 0: none, or not understood. */
uint32_t dt_allowed_count_cores(const char *text);

/* Fills cpus. Fails when they are not all in the topology, which then is another machine's. */
int dt_allowed_load(hwloc_bitmap_t cpus, const struct dt_topo *topo, spank_t spank,
                    struct dtrain_error *err);

/*
 * Whether Slurm's own masks are those of the whole step: written down for all
 * tasks, or none given. A site's default such as rank shows a task only its own.
 */
bool dt_allowed_are_whole(spank_t spank);

/*
 * Whether the job owns all cores in cpus: where Slurm does not confine tasks,
 * other jobs' cores are among them, and the binder must choose none.
 */
bool dt_allowed_are_own(hwloc_const_bitmap_t cpus, const struct dt_topo *topo, spank_t spank);

#endif
