/* command.h - the subcommands of dtrain, and what they share: exit statuses, stdout, refusals. */
#ifndef DT_TOOLS_COMMAND_H
#define DT_TOOLS_COMMAND_H

#include "core/error.h"
#include "core/out.h"

enum dt_exit {
    DT_EXIT_OK = 0,
    DT_EXIT_FAILED = 1, /* refused, or the output could not be written */
    DT_EXIT_USAGE = 2,  /* not understood */
};

struct dt_command {
    const char *name;
    const char *help;                          /* one line */
    enum dt_exit (*run)(int argc, char **argv); /* argv[0] is "dtrain NAME" */
    void (*usage)(struct dt_out *out);
};

extern const struct dt_command dt_cmd_plan;
extern const struct dt_command dt_cmd_env;
extern const struct dt_command dt_cmd_help;

const struct dt_command *const *dt_commands(size_t *count);
const struct dt_command *dt_command_find(const char *name); /* NULL: there is none */
void dt_command_usage(struct dt_out *out);                   /* of dtrain itself */

/* A title, and from column `width` on its text, broken at blanks into lines of at most 96 columns. */
void dt_out_entry(struct dt_out *out, int width, const char *title, const char *text);

void dt_stdout_init(struct dt_out *out);
/* Writes what is left and closes stdout: what a full disk or a closed pipe lost is a failure. */
enum dt_exit dt_stdout_finish(struct dt_out *out);

/*
 * Both print "WHO: TEXT" on stderr; a usage error also says where help is. err
 * of a usage error is NULL when getopt has said it already.
 */
enum dt_exit dt_fail(const char *who, const struct dtrain_error *err);
enum dt_exit dt_fail_usage(const char *who, const struct dtrain_error *err);

#endif
