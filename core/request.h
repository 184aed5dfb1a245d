/*
 * request.h - the options of a dtrain step: one table, from which the plugin
 * registers them in srun, sbatch and salloc, `dtrain plan` takes them, and the
 * man pages are written.
 */
#ifndef DT_CORE_REQUEST_H
#define DT_CORE_REQUEST_H

#include "bind_choice.h"
#include "plan.h"

enum dt_report { DT_REPORT_OFF, DT_REPORT_TEXT, DT_REPORT_JSON };
extern const char *const dt_report_words[3]; /* "off", "text", "json" */

/* What the options said so far. Zero-initialise with dt_request_init(). */
struct dt_request {
    bool is_on;  /* some option asked for dtrain */
    bool is_off; /* --dtrain=off was the last word on it */
    struct dt_layout_request layout; /* order is not used: the field below */
    char order[DT_ORDER_MAX];        /* "" until given */
    bool has_tp_span, has_backend, has_report, has_bind, has_visible;
    enum dt_span tp_span;
    enum dt_backend_choice backend;
    enum dt_report report;
    unsigned bind_items; /* enum dt_bind_item as bits */
    bool is_bind_verbose;
    enum dt_visible_mode visible;
};

enum dt_option_argument { DT_ARGUMENT_REQUIRED, DT_ARGUMENT_OPTIONAL };

struct dt_option {
    const char *name;     /* "dtrain-tp", without the dashes */
    const char *argument; /* "N", for --help */
    enum dt_option_argument kind;
    const char *help; /* one line */
    /* Idempotent: the same value twice is the same as once, the last value wins. */
    int (*apply)(struct dt_request *request, const char *value, struct dtrain_error *err);
};

const struct dt_option *dt_options(size_t *count);

void dt_request_init(struct dt_request *request);

/* Whether this step is a dtrain step: on, and not turned off. */
bool dt_request_is_active(const struct dt_request *request);

/* Finds the option by its name and applies the value; an unknown name is refused. */
int dt_request_apply(struct dt_request *request, const char *name, const char *value,
                     struct dtrain_error *err);

/* The layout request with its order set; borrows from request. */
struct dt_layout_request dt_request_layout(const struct dt_request *request);

#endif
