/*
 * env.h - the one table of the variables that a task of a dtrain step gets.
 * The plugin sets from it and clears by it, the man page is written from it.
 */
#ifndef DT_CORE_ENV_H
#define DT_CORE_ENV_H

#include "plan.h"

#define DT_ENV_VALUE_MAX 320 /* bytes of a value with the NUL */

struct dt_env_var {
    const char *name;
    const char *help;
    bool keep_user; /* a value that the user set stays */
    /* Fills value; false: the variable has no value in this plan and is not set. */
    bool (*value)(char value[DT_ENV_VALUE_MAX], const struct dt_plan *plan, uint32_t rank);
};

const struct dt_env_var *dt_env_vars(size_t *count);

/* Variables that the library and the tools read. */
struct dt_env_input {
    const char *name;
    const char *fallback; /* what holds when it is not set */
    const char *help;
};

const struct dt_env_input *dt_env_inputs(size_t *count);

#endif
