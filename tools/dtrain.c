/* dtrain.c - the command: picks the subcommand. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tools/command.h"

#define TITLE_MAX 64 /* bytes of "dtrain NAME" with the NUL */

static enum dt_exit print_version(void)
{
    struct dt_out out;

    dt_console_open(&out);
    dt_out_text(&out, "dtrain " DTRAIN_VERSION "\n");
    return dt_console_close(&out);
}

static enum dt_exit run_command(const struct dt_command *command, int argc, char **argv)
{
    char title[TITLE_MAX];

    snprintf(title, sizeof(title), "dtrain %s", command->name);
    argv[0] = title;
    return command->run(argc, argv);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    const struct dt_command *command;
    struct dtrain_error err;

    /* A reader that went away is reported like a full disk, by the failed write. */
    signal(SIGPIPE, SIG_IGN);
    if (name == NULL) {
        dt_error_set(&err, "no command given");
        return dt_console_fail_usage("dtrain", &err);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return print_version();
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    command = dt_command_find(name);
    if (command == NULL) {
        dt_error_set(&err, "'%.64s' is no command", name);
        return dt_console_fail_usage("dtrain", &err);
    }
    return run_command(command, argc - 1, argv + 1);
}
