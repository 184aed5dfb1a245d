/* command.h - the subcommands of dtrain: one file and one row of the table in command.c each. */
#ifndef DT_TOOLS_COMMAND_H
#define DT_TOOLS_COMMAND_H

#include "tools/console.h"

struct dt_command {
    const char *name;
    const char *help;                           /* one line */
    enum dt_exit (*run)(int argc, char **argv); /* argv[0] is "dtrain NAME" */
    void (*usage)(struct dt_out *out);
};

extern const struct dt_command dt_cmd_plan;
extern const struct dt_command dt_cmd_suggest;
extern const struct dt_command dt_cmd_topo;
extern const struct dt_command dt_cmd_schedule;
extern const struct dt_command dt_cmd_env;
extern const struct dt_command dt_cmd_help;

const struct dt_command *dt_command_find(const char *name); /* NULL: there is none */
void dt_command_usage(struct dt_out *out);                  /* of dtrain itself */

#endif
