/*
 * topo_child.h - does a piece of work in a child process, bounded in time and
 * memory: hwloc there gets an environment of its own without a change to this
 * process's, says nothing on stderr, loads no vendor's runtime into this process,
 * and may hang in sysfs or die of a hostile file.
 */
#ifndef DT_TOPO_TOPO_CHILD_H
#define DT_TOPO_TOPO_CHILD_H

#include "topo_wire.h"

/* Runs in the child; puts its result, or an error, into the wire. */
typedef void dt_topo_child_work(struct dt_topo_wire *wire, void *arg);

/*
 * environment: all that the child's hwloc sees, ends with NULL. Fails when the
 * child is not done after timeout_ms; it is then killed. `source` for messages.
 * The caller destroys the wire.
 */
int dt_topo_child_run(struct dt_topo_wire *wire, dt_topo_child_work *work, void *arg,
                      char **environment, int timeout_ms, const char *source,
                      struct dtrain_error *err);

/* For work in the child whose text nobody else wrote: vendors' libraries reserve more than any bound. */
void dt_topo_child_lift_memory(void);

#endif
