#include <string.h>

#include "tools/command.h"

static void usage(struct dt_out *out)
{
    dt_out_text(out, "Usage: dtrain help [COMMAND]\n");
}

static enum dt_exit run(int argc, char **argv)
{
    const struct dt_command *command = NULL;
    struct dtrain_error err;
    struct dt_out out;

    if (argc > 2) {
        dt_error_set(&err, "'%.64s' is one argument too many: expected one command", argv[2]);
        return dt_console_fail_usage(argv[0], &err);
    }
    if (argc == 2 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) {
        command = dt_command_find(argv[1]);
        if (command == NULL) {
            dt_error_set(&err, "'%.64s' is no command", argv[1]);
            return dt_console_fail_usage(argv[0], &err);
        }
    }
    dt_console_open(&out);
    if (command != NULL)
        command->usage(&out);
    else
        dt_command_usage(&out);
    return dt_console_close(&out);
}

const struct dt_command dt_cmd_help = {
    .name = "help",
    .help = "show the commands, or the options of one",
    .run = run,
    .usage = usage,
};
