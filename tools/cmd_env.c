#include <stdio.h>
#include <string.h>

#include "core/env.h"
#include "tools/command.h"

#define TITLE_MAX 64   /* bytes of "NAME=VALUE" with the NUL */
#define TITLE_WIDTH 26 /* columns of it */

static void usage(struct dt_out *out)
{
    dt_out_text(out, "Usage: dtrain env\n\n"
                     "Lists the variables that each task of a dtrain step gets, and those that the library\n"
                     "and the tools read.\n");
}

static void print_given(struct dt_out *out)
{
    size_t count;
    const struct dt_env_var *vars = dt_env_vars(&count);

    dt_out_text(out, "Each task gets\n");
    for (size_t i = 0; i < count; i++)
        dt_console_entry(out, TITLE_WIDTH, vars[i].name, vars[i].help);
}

static void print_read(struct dt_out *out)
{
    size_t count;
    const struct dt_env_input *inputs = dt_env_inputs(&count);

    dt_out_text(out, "\nThe library and the tools read (=: what holds when it is not set)\n");
    for (size_t i = 0; i < count; i++) {
        char title[TITLE_MAX];

        snprintf(title, sizeof(title), "%s%s%s", inputs[i].name, inputs[i].fallback[0] != '\0' ? "=" : "",
                 inputs[i].fallback);
        dt_console_entry(out, TITLE_WIDTH, title, inputs[i].help);
    }
}

static enum dt_exit run(int argc, char **argv)
{
    bool is_help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    struct dtrain_error err;
    struct dt_out out;

    if (argc > 1 && !is_help) {
        dt_error_set(&err, "'%.64s' is not understood: expected no argument", argv[1]);
        return dt_console_fail_usage(argv[0], &err);
    }
    dt_console_open(&out);
    if (is_help) {
        usage(&out);
        return dt_console_close(&out);
    }
    print_given(&out);
    print_read(&out);
    return dt_console_close(&out);
}

const struct dt_command dt_cmd_env = {
    .name = "env",
    .help = "list the environment variables of dtrain",
    .run = run,
    .usage = usage,
};
