#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/layout.h"
#include "core/parse.h"

const char *const dt_rank_variable_names[DT_RANK_VARIABLES] = {
    [DT_RANK] = "RANK",
    [DT_WORLD_SIZE] = "WORLD_SIZE",
    [DT_LOCAL_RANK] = "LOCAL_RANK",
    [DT_LOCAL_WORLD_SIZE] = "LOCAL_WORLD_SIZE",
};

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* The caller's option first, then the variable, then the default. */
static int read_timeout(int *timeout_ms, int option_ms, const char *option, const char *text,
                        const char *name, int fallback_ms, struct dtrain_error *err)
{
    if (option_ms < 0)
        return dt_error_set(err, "dtrain_options.%s is %d ms: expected a time, or 0 for the default", option,
                            option_ms);
    *timeout_ms = option_ms > 0 ? option_ms : fallback_ms;
    if (option_ms > 0 || !is_set(text))
        return 0;
    return dt_parse_seconds_ms(timeout_ms, text, name, err);
}

static int read_timeouts(struct dt_settings *settings, const struct dtrain_options *options,
                         char *(*get)(const char *), struct dtrain_error *err)
{
    static const struct dtrain_options none;

    if (options == NULL)
        options = &none;
    if (read_timeout(&settings->init_timeout_ms, options->init_timeout_ms, "init_timeout_ms",
                     get("DTRAIN_INIT_TIMEOUT"), "DTRAIN_INIT_TIMEOUT", DT_INIT_TIMEOUT_MS, err) < 0)
        return -1;
    return read_timeout(&settings->timeout_ms, options->timeout_ms, "timeout_ms", get("DTRAIN_TIMEOUT"),
                        "DTRAIN_TIMEOUT", DT_TIMEOUT_MS, err);
}

static int read_log(struct dt_settings *settings, const char *text, struct dtrain_error *err)
{
    settings->log_level = DT_LOG_WARN;
    if (is_set(text) && dt_log_level_parse(&settings->log_level, text, err) < 0)
        return dt_error_prefix(err, "DTRAIN_LOG");
    return 0;
}

static int read_ifname(struct dt_settings *settings, const char *text, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];

    if (!is_set(text))
        return 0;
    if (strlen(text) >= sizeof(settings->ifname))
        return dt_error_set(
            err,
            "DTRAIN_SOCKET_IFNAME='%s': expected the name of one network interface, at most %zu "
            "bytes",
            dt_parse_shown(shown, text), sizeof(settings->ifname) - 1);
    strcpy(settings->ifname, text);
    return 0;
}

static int read_comm(struct dt_settings *settings, const char *text, const char *name,
                     struct dtrain_error *err)
{
    return is_set(text) ? dt_comm_configs_parse(&settings->comm, text, name, err) : 0;
}

static int read_step(struct dt_settings *settings, char *(*get)(const char *), struct dtrain_error *err)
{
    const char *tasks = get("SLURM_STEP_NUM_TASKS"), *mapping = get("SLURM_PMIX_MAPPING_SERV");
    const char *task = get("SLURM_PROCID");

    settings->step_tasks = 1;
    if (is_set(tasks) &&
        dt_parse_u32(&settings->step_tasks, tasks, 1, DT_WORLD_MAX, "SLURM_STEP_NUM_TASKS", err) < 0)
        return -1;
    if (is_set(task) &&
        dt_parse_u32(&settings->step_task, task, 0, DT_WORLD_MAX - 1, "SLURM_PROCID", err) < 0)
        return -1;
    for (int i = 0; i < DT_RANK_VARIABLES; i++) {
        const char *text = get(dt_rank_variable_names[i]);

        snprintf(settings->rank_variables[i], DT_SETTINGS_VALUE_MAX, "%s", text != NULL ? text : "");
    }
    if (!is_set(mapping))
        return 0;
    settings->mapping = strdup(mapping);
    return settings->mapping != NULL ? 0 : dt_error_memory(err, strlen(mapping), "the step's mapping");
}

int dt_settings_read(struct dt_settings *settings, const struct dtrain_options *options,
                     char *(*get)(const char *), struct dtrain_error *err)
{
    *settings = (struct dt_settings){0};
    if (read_log(settings, get("DTRAIN_LOG"), err) < 0 || read_timeouts(settings, options, get, err) < 0 ||
        read_ifname(settings, get("DTRAIN_SOCKET_IFNAME"), err) < 0 ||
        read_comm(settings, get(DT_COMM_CONFIG_SITE_NAME), DT_COMM_CONFIG_SITE_NAME, err) < 0 ||
        read_comm(settings, get(DT_COMM_CONFIG_USER_NAME), DT_COMM_CONFIG_USER_NAME, err) < 0)
        return -1;
    return read_step(settings, get, err);
}

void dt_settings_free(struct dt_settings *settings)
{
    free(settings->mapping);
    settings->mapping = NULL;
}
