#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct spank_option table[DT_OPTIONS_MAX];
    struct dt_request request;
    bool is_refused;
    struct dtrain_error refusal;
} state;

static int refuse(const struct dtrain_error *err, int remote)
{
    if (!remote) {
        slurm_error("dtrain: %s", err->text);
        return -1;
    }
    if (!state.is_refused)
        state.refusal = *err;
    state.is_refused = true;
    return 0;
}

static int on_option(int index, const char *value, int remote)
{
    struct dtrain_error err;
    size_t count;
    const struct dt_option *options = dt_options(&count);

    if (index < 0 || (size_t)index >= count)
        return 0;
    if (dt_request_apply(&state.request, options[index].name, value, &err))
        return refuse(&err, remote);
    return 0;
}

static struct spank_option spank_form(const struct dt_option *option, int index)
{
    return (struct spank_option){
        .name = (char *)option->name,
        .arginfo = (char *)option->argument,
        .usage = (char *)option->help,
        .has_arg = option->kind == DT_ARGUMENT_REQUIRED ? 1 : 2,
        .val = index,
        .cb = on_option,
    };
}

int dt_options_register(spank_t spank, struct dtrain_error *err)
{
    size_t count;
    const struct dt_option *options = dt_options(&count);

    memset(&state, 0, sizeof(state));
    dt_request_init(&state.request);
    if (count > DT_OPTIONS_MAX)
        return dt_error_set(err, "%zu options are more than the %d that there is room for", count,
                            DT_OPTIONS_MAX);
    for (size_t i = 0; i < count; i++) {
        spank_err_t rc;

        state.table[i] = spank_form(&options[i], (int)i);
        rc = spank_option_register(spank, &state.table[i]);
        if (rc != ESPANK_SUCCESS)
            return dt_error_set(err, "Slurm does not take the option --%s: %s", options[i].name,
                                spank_strerror(rc));
    }
    return 0;
}

const struct dt_request *dt_options_request(void)
{
    return &state.request;
}

const struct dtrain_error *dt_options_refusal(void)
{
    return state.is_refused ? &state.refusal : NULL;
}

/* Slurm keeps an option of plugin "dtrain" in a job's environment under this name. */
static const char *inherited_value(const char *option)
{
    char name[DT_OPTIONS_NAME_MAX];
    int n = snprintf(name, sizeof(name), "SLURM_SPANK__SLURM_SPANK_OPTION_dtrain_%s", option);

    if (n < 0 || (size_t)n >= sizeof(name))
        return NULL;
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
    return getenv(name);
}

bool dt_options_inherit(struct dt_request *request)
{
    size_t count;
    const struct dt_option *options = dt_options(&count);
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        const char *value = inherited_value(options[i].name);

        if (value == NULL)
            continue;
        any = true;
        (void)dt_request_apply(request, options[i].name, value, NULL);
    }
    return any;
}
