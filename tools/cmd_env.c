#include <string.h>

#include "core/env.h"
#include "tools/command.h"

#define NAME_WIDTH 24

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

    dt_out_text(out, "Each task gets (*: what the user set stays)\n");
    for (size_t i = 0; i < count; i++)
        dt_out_printf(out, "%c %-*s %s\n", vars[i].keep_user ? '*' : ' ', NAME_WIDTH, vars[i].name,
                      vars[i].help);
}

static void print_read(struct dt_out *out)
{
    size_t count;
    const struct dt_env_input *inputs = dt_env_inputs(&count);

    dt_out_text(out, "\nThe library and the tools read\n");
    for (size_t i = 0; i < count; i++) {
        dt_out_printf(out, "  %-*s %s", NAME_WIDTH, inputs[i].name, inputs[i].help);
        if (inputs[i].fallback != NULL && inputs[i].fallback[0] != '\0')
            dt_out_printf(out, " (default: %s)", inputs[i].fallback);
        dt_out_text(out, "\n");
    }
}

static enum dt_exit run(int argc, char **argv)
{
    bool is_help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    struct dtrain_error err;
    struct dt_out out;

    if (argc > 1 && !is_help) {
        dt_error_set(&err, "'%.64s' is not understood: expected no argument", argv[1]);
        return dt_fail_usage(argv[0], &err);
    }
    dt_stdout_init(&out);
    if (is_help) {
        usage(&out);
        return dt_stdout_finish(&out);
    }
    print_given(&out);
    print_read(&out);
    return dt_stdout_finish(&out);
}

const struct dt_command dt_cmd_env = {
    .name = "env",
    .help = "list the environment variables of dtrain",
    .run = run,
    .usage = usage,
};
