/* console.h - stdout and stderr of dtrain: text in columns, failed writes, refusals, exit statuses. */
#ifndef DT_TOOLS_CONSOLE_H
#define DT_TOOLS_CONSOLE_H

#include "core/error.h"
#include "core/out.h"

enum dt_exit {
    DT_EXIT_OK = 0,
    DT_EXIT_FAILED = 1, /* refused, or the output could not be written */
    DT_EXIT_USAGE = 2,  /* not understood */
};

void dt_console_open(struct dt_out *out);
/* Writes what is left and closes stdout: what a full disk or a closed pipe lost is a failure. */
enum dt_exit dt_console_close(struct dt_out *out);

/*
 * A title, and from column `width` on its text, broken at blanks into lines of
 * at most 96 columns; a longer title has a line of its own.
 */
void dt_console_entry(struct dt_out *out, int width, const char *title, const char *text);

/*
 * Both print "WHO: TEXT" on stderr; a usage error also says where help is. err
 * of a usage error is NULL when getopt has said it already.
 */
enum dt_exit dt_console_fail(const char *who, const struct dtrain_error *err);
enum dt_exit dt_console_fail_usage(const char *who, const struct dtrain_error *err);

#endif
