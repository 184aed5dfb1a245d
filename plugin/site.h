/*
 * site.h - dtrain.conf, read by srun as the user who runs it. slurmstepd does
 * not read it: what it decides is in the plan and in SLURM_DTRAIN_BIND already.
 */
#ifndef DT_PLUGIN_SITE_H
#define DT_PLUGIN_SITE_H

#include "core/conf.h"

#define DT_SITE_PATH_MAX 4096 /* bytes of the file's path with the NUL */

#define DT_SITE_TOPOLOGY "/run/dtrain/topology.xml"

/*
 * The file of the node's topology: argument topology=FILE of plugstack.conf, else DT_SITE_TOPOLOGY. Borrowed
 * from argv. Refuses arguments that are not known.
 */
int dt_site_topology(const char **path, int argc, char *const *argv, struct dtrain_error *err);

/*
 * The defaults, changed by the file. argv: the plugin's arguments in
 * plugstack.conf, of which conf=FILE names the file; without it, it is the one
 * that was chosen when this was built, which may be missing. Refuses other
 * arguments, and a file that is not regular, too long, or wrong, with its line.
 */
int dt_site_load(struct dt_conf *conf, int argc, char *const *argv, struct dtrain_error *err);

#endif
