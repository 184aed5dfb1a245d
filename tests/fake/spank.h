/*
 * spank.h - the double of Slurm that the plugin's hooks run against in unit
 * tests: one step, its environment, and what was said. Set fields, call a hook,
 * look at the fields.
 */
#ifndef DT_TESTS_FAKE_SPANK_H
#define DT_TESTS_FAKE_SPANK_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#define FAKE_TASKS_MAX 16
#define FAKE_NODES_MAX 4
#define FAKE_SAID_MAX 65536

struct fake {
    spank_context_t context;
    /* items */
    uint32_t job_id, step_id, nodes, node_id, local_tasks, all_tasks;
    uint32_t local_to_global[FAKE_TASKS_MAX];
    int task_id; /* -1: no task */
    uint32_t task_global_id;
    const char *job_cores; /* S_JOB_ALLOC_CORES; NULL: not known */
    int fails_item; /* this item cannot be had; -1: none */
    /* the controller */
    const char *node_list; /* NULL: no layout */
    uint16_t layout_tasks[FAKE_NODES_MAX];
    uint32_t layout_ids[FAKE_NODES_MAX][FAKE_TASKS_MAX];
    const char *tres_per_node, *tres_per_step;
    uint16_t restart_count;
    const char *node_address; /* NULL: the controller does not say */
    const struct topo_info *switches; /* NULL: no topology */
    uint32_t switch_count;
    bool is_silent;           /* the controller answers nothing but the layout */
    /* the task's environment: name, value, name, value, ... */
    const char *setenv_fails; /* name of a variable that cannot be set */
    /* what happened */
    char said[FAKE_SAID_MAX];
    uint32_t options;
};

extern struct fake fake;

void fake_reset(spank_context_t context);

/* The environment of the task, not of this process. NULL value: not set. */
void fake_put(const char *name, const char *value);
const char *fake_get(const char *name);
uint32_t fake_count(void);

/* Calls the callback of a registered option. */
int fake_option(const char *name, const char *value);

#endif
