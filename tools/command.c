#include "tools/command.h"

#include <string.h>

#define TITLE_WIDTH 12

static const struct dt_command *const commands[] = {
    &dt_cmd_plan, &dt_cmd_suggest, &dt_cmd_topo, &dt_cmd_schedule, &dt_cmd_env, &dt_cmd_help,
};

const struct dt_command *dt_command_find(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

void dt_command_usage(struct dt_out *out)
{
    dt_out_text(out, "Usage: dtrain COMMAND [OPTION]...\n"
                     "       dtrain --version\n\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        dt_console_entry(out, TITLE_WIDTH, commands[i]->name, commands[i]->help);
    dt_out_text(out, "\n'dtrain help COMMAND' shows its options; dtrain(1) has examples.\n");
}
