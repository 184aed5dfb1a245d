/*
 * binder.h - binds the tasks of one node, in slurmstepd: the topology is found
 * once, as root, before the tasks are; each task then works out the same binding
 * from it and from what Slurm gave them, and applies its own part. A failure is
 * said once a node and leaves all of it to Slurm.
 */
#ifndef DT_PLUGIN_BINDER_H
#define DT_PLUGIN_BINDER_H

#include "core/bind_choice.h"
#include "driver.h"
#include "task.h"

#define DT_BINDER_DISCOVERY_MS 2000 /* a machine whose sysfs hangs holds the step no longer */

struct dt_binder {
    struct dt_bind_choice choice;
    struct dt_topo *topo; /* NULL: nothing is to be bound, or problem says why it cannot be */
    struct dt_driver driver;
    bool is_failed;
    struct dtrain_error problem;
};

/* In init_post_opt, as root. argv: the plugin's arguments in plugstack.conf. */
void dt_binder_load(struct dt_binder *binder, spank_t spank, int argc, char *const *argv);
void dt_binder_free(struct dt_binder *binder);

/* In task_init, as the user: sets the devices and binds. Refuses more tasks than devices, no more. */
int dt_binder_start_task(const struct dt_binder *binder, const struct dt_task *task, spank_t spank,
                         struct dtrain_error *err);

#endif
