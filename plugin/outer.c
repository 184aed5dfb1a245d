#include "outer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/bind_choice.h"
#include "core/comm_config.h"
#include "core/env.h"
#include "core/parse.h"
#include "core/plan_wire.h"

extern char **environ;

/* A value that differs from the outer plan's is somebody's own and stays. */
static void clear_matching(const struct dt_plan *plan, uint32_t rank)
{
    size_t count;
    const struct dt_env_var *vars = dt_env_vars(&count);

    for (size_t i = 0; i < count; i++) {
        char planned[DT_ENV_VALUE_MAX];
        const char *value = getenv(vars[i].name);

        if (value != NULL && vars[i].value(planned, plan, rank) && strcmp(value, planned) == 0)
            unsetenv(vars[i].name);
    }
}

static void clear_of_plan(const char *text)
{
    struct dt_plan *plan = NULL;
    uint32_t procid;

    if (dt_plan_wire_decode(&plan, text, NULL))
        return;
    if (dt_parse_u32(&procid, getenv("SLURM_PROCID"), 0, dt_plan_world(plan) - 1, "SLURM_PROCID", NULL) == 0)
        clear_matching(plan, dt_plan_procid_rank(plan, procid));
    dt_plan_destroy(plan);
}

/* Variables of devices that the binder set and that nobody had set before; named in DT_BOUND_NAME. */
static void clear_bound(void)
{
    static const char *const names[] = DT_BOUND_VARIABLES;
    const char *text = getenv(DT_BOUND_NAME);

    for (size_t i = 0; text != NULL && i < sizeof(names) / sizeof(names[0]); i++)
        if (strstr(text, names[i]) != NULL)
            unsetenv(names[i]);
    unsetenv(DT_BOUND_NAME);
    unsetenv(DT_BIND_CHOICE_NAME);
    unsetenv(DT_COMM_CONFIG_SITE_NAME);
}

/* PMIx's variables lead to the outer step's server, for which a task of another step is nobody. */
static bool names_pmix_server(const char *entry)
{
    return (strncmp(entry, "PMIX_", 5) == 0 && strncmp(entry, "PMIX_MCA_", 9) != 0) ||
           strncmp(entry, "SLURM_PMIX", 10) == 0;
}

static void clear_pmix(void)
{
    size_t i = 0;

    while (environ != NULL && environ[i] != NULL) {
        char name[NAME_MAX + 1];
        size_t length = strcspn(environ[i], "=");

        if (!names_pmix_server(environ[i]) || length > NAME_MAX) {
            i++;
            continue;
        }
        memcpy(name, environ[i], length);
        name[length] = '\0';
        unsetenv(name);
    }
}

void dt_outer_clear(void)
{
    const char *text = getenv(DT_PLAN_WIRE_NAME);
    const char *mpi = getenv("SLURM_MPI_TYPE");

    if (text == NULL)
        return;
    clear_of_plan(text);
    clear_bound();
    clear_pmix();
    unsetenv(DT_PLAN_WIRE_NAME);
    if (mpi != NULL && strncmp(mpi, "pmix", 4) == 0)
        unsetenv("SLURM_MPI_TYPE");
}
