/* settings.h - what the environment and the caller's options say, read once. dtrain-env(7). */
#ifndef DT_RUNTIME_SETTINGS_H
#define DT_RUNTIME_SETTINGS_H

#include <stdint.h>

#include "core/comm_config.h"
#include "core/log.h"

#define DT_SETTINGS_NAME_MAX 16  /* of a network interface, as Linux */
#define DT_SETTINGS_VALUE_MAX 24 /* of a rank's variable */
#define DT_INIT_TIMEOUT_MS 120000
#define DT_TIMEOUT_MS 600000

/* Variables of the task that must agree with the plan when they are set. */
enum dt_rank_variable { DT_RANK, DT_WORLD_SIZE, DT_LOCAL_RANK, DT_LOCAL_WORLD_SIZE, DT_RANK_VARIABLES };
extern const char *const dt_rank_variable_names[DT_RANK_VARIABLES];

struct dt_settings {
    int init_timeout_ms;
    int timeout_ms;
    enum dt_log_level log_level;
    struct dt_comm_configs comm; /* the site's and over them the user's */
    char ifname[DT_SETTINGS_NAME_MAX]; /* "": not set */
    uint32_t step_tasks;               /* tasks of the Slurm step; 1 outside Slurm */
    uint32_t step_task;                /* this one; 0 outside Slurm */
    char rank_variables[DT_RANK_VARIABLES][DT_SETTINGS_VALUE_MAX]; /* "": not set */
    char *mapping;                                                 /* SLURM_PMIX_MAPPING_SERV or NULL */
};

/* options may be NULL. get: getenv, or a test's own. A malformed value is an error. */
int dt_settings_read(struct dt_settings *settings, const struct dtrain_options *options,
                     char *(*get)(const char *name), struct dtrain_error *err);
void dt_settings_free(struct dt_settings *settings);

#endif
