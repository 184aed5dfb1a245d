/* schedule_options.h - the options of `dtrain schedule`. */
#ifndef DT_TOOLS_SCHEDULE_OPTIONS_H
#define DT_TOOLS_SCHEDULE_OPTIONS_H

#include "runtime/schedule.h"
#include "tools/console.h"

struct dt_schedule_options {
    struct dt_schedule_request request; /* its times are those of the costs */
    struct dt_schedule_costs costs;     /* ms */
    bool is_json, is_svg, is_help;
};

struct dt_schedule_option {
    const char *name;     /* without the dashes */
    const char *argument; /* "N", for help; NULL: it takes none */
    const char *help;     /* one line */
    int (*apply)(struct dt_schedule_options *options, const char *value, struct dtrain_error *err);
};

const struct dt_schedule_option *dt_schedule_options_table(size_t *count);

/* Says on stderr what is wrong. */
enum dt_exit dt_schedule_options_parse(struct dt_schedule_options *options, int argc, char **argv);

void dt_schedule_options_usage(struct dt_out *out);

#endif
