/*
 * lists.h - the lists of visible devices that Slurm gave a task, judged: they
 * must be the same for all tasks of the node before the binder permutes them.
 */
#ifndef DT_PLUGIN_LISTS_H
#define DT_PLUGIN_LISTS_H

#include "task.h"
#include "topo/topo.h"
#include "topo/visible.h"

struct dt_list {
    const char *variable;
    enum dt_vendor vendor;
    char given[DT_VISIBLE_TEXT_MAX];
    struct dt_visible visible; /* count 0: Slurm set none */
};

#define DT_LISTS_COUNT 3u

/* Too large for the stack of a process that others forked. */
struct dt_lists {
    bool are_left; /* not understood, or each task has its own: said already, not to be touched */
    struct dt_list lists[DT_LISTS_COUNT];
    struct dt_visible step; /* SLURM_STEP_GPUS: the node's numbers of the step's GPUs; count 0: not known */
    char chosen[DT_VISIBLE_TEXT_MAX];
};

/*
 * The caller frees *lists. What is not understood is warned about and left as it
 * is; refuses more tasks than devices.
 */
int dt_lists_load(struct dt_lists **lists, const struct dt_task *task, spank_t spank,
                  struct dtrain_error *err);

/*
 * Puts entry own[i] at place i; with only >= 0 the list becomes that entry alone.
 * own NULL: the order stays.
 */
int dt_lists_set(struct dt_lists *lists, struct dt_list *list, const uint32_t *own, uint32_t own_count,
                 int only, spank_t spank, struct dtrain_error *err);

#endif
