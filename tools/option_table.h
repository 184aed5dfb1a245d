/* option_table.h - a command line by a table of options, and by the layout's, which each command takes. */
#ifndef DT_TOOLS_OPTION_TABLE_H
#define DT_TOOLS_OPTION_TABLE_H

#include "tools/plan_options.h"

/*
 * Initialises the options and applies what argv says. The layout's options are
 * taken with and without "dtrain-". Says on stderr what is wrong.
 */
enum dt_exit dt_option_table_parse(struct dt_plan_options *options, const struct dt_plan_option *table,
                                   size_t count, int argc, char **argv);

void dt_option_table_usage(struct dt_out *out, const struct dt_plan_option *table, size_t count);

/* "4096", "12G": K, M, G and T are powers of 1000, Ki, Mi, Gi and Ti of 1024. At most DT_PLAN_BYTES_MAX. */
int dt_option_table_bytes(uint64_t *bytes, const char *text, const char *what, struct dtrain_error *err);

/* What the rows that several tables have apply. */
int dt_option_table_json(struct dt_plan_options *options, const char *value, struct dtrain_error *err);
int dt_option_table_svg(struct dt_plan_options *options, const char *value, struct dtrain_error *err);
int dt_option_table_machine(struct dt_plan_options *options, const char *value, struct dtrain_error *err);
int dt_option_table_file(struct dt_plan_options *options, const char *value, struct dtrain_error *err);
int dt_option_table_help(struct dt_plan_options *options, const char *value, struct dtrain_error *err);

#endif
