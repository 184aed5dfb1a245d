#include "request.h"

#include <string.h>

#include "parse.h"

const char *const dt_report_words[3] = {
    [DT_REPORT_OFF] = "off", [DT_REPORT_TEXT] = "text", [DT_REPORT_JSON] = "json"};

static int apply_size(struct dt_request *request, uint32_t *size, const char *value,
                      const char *what, struct dtrain_error *err)
{
    if (dt_parse_u32(size, value, 1, DT_WORLD_MAX, what, err))
        return -1;
    request->is_on = true;
    return 0;
}

static int apply_tp(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    return apply_size(request, &request->layout.tp, value, "--dtrain-tp", err);
}

static int apply_cp(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    return apply_size(request, &request->layout.cp, value, "--dtrain-cp", err);
}

static int apply_ep(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    return apply_size(request, &request->layout.ep, value, "--dtrain-ep", err);
}

static int apply_dp(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    return apply_size(request, &request->layout.dp, value, "--dtrain-dp", err);
}

static int apply_pp(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    return apply_size(request, &request->layout.pp, value, "--dtrain-pp", err);
}

static int apply_etp(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    return apply_size(request, &request->layout.etp, value, "--dtrain-etp", err);
}

static int apply_order(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    struct dt_layout_request layout = {.order = value};
    struct dt_layout probe;
    char shown[DT_PARSE_SHOWN_MAX + 4];

    if (value == NULL || value[0] == '\0' || strlen(value) >= sizeof(request->order))
        return dt_error_set(err, "--dtrain-order: '%s' is no order of axes: expected names joined by '-', "
                                 "for instance " DT_ORDER_DEFAULT,
                            dt_parse_shown(shown, value ? value : ""));
    /* A world of one takes any order that is well formed. */
    if (dt_layout_init(&probe, 1, &layout, err))
        return -1;
    strcpy(request->order, value);
    request->is_on = true;
    return 0;
}

static int apply_tp_span(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    unsigned index;

    if (dt_parse_word(&index, value, dt_span_words, 2, "--dtrain-tp-span", err))
        return -1;
    request->tp_span = (enum dt_span)index;
    request->has_tp_span = true;
    request->is_on = true;
    return 0;
}

static int apply_backend(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    unsigned index;

    if (dt_parse_word(&index, value, dt_backend_words, 3, "--dtrain-backend", err))
        return -1;
    request->backend = (enum dt_backend_choice)index;
    request->has_backend = true;
    request->is_on = true;
    return 0;
}

/* Slurm hands a missing argument over as NULL, "" or "(null)". */
static int apply_report(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    unsigned index = DT_REPORT_TEXT;

    if (value != NULL && value[0] != '\0' && strcmp(value, "(null)") != 0 &&
        dt_parse_word(&index, value, dt_report_words, 3, "--dtrain-report", err))
        return -1;
    request->report = (enum dt_report)index;
    request->has_report = true;
    request->is_on = true;
    return 0;
}

static int apply_bind(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    if (dt_bind_choice_parse_items(&request->bind_items, &request->is_bind_verbose, value, "--dtrain-bind",
                                   err))
        return -1;
    request->has_bind = true;
    request->is_on = true;
    return 0;
}

static int apply_visible(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    unsigned index;

    if (dt_parse_word(&index, value, dt_visible_words, 2, "--dtrain-visible", err))
        return -1;
    request->visible = (enum dt_visible_mode)index;
    request->has_visible = true;
    request->is_on = true;
    return 0;
}

static int apply_switch(struct dt_request *request, const char *value, struct dtrain_error *err)
{
    static const char *const words[] = {"on", "off"};
    unsigned index;

    if (dt_parse_word(&index, value, words, 2, "--dtrain", err))
        return -1;
    request->is_off = index == 1;
    request->is_on = request->is_on || index == 0;
    return 0;
}

static const struct dt_option options[] = {
    {"dtrain-tp", "N", DT_ARGUMENT_REQUIRED, "ranks in a tensor-parallel group (default 1)", apply_tp},
    {"dtrain-pp", "N", DT_ARGUMENT_REQUIRED, "stages of a pipeline (default 1)", apply_pp},
    {"dtrain-dp", "N", DT_ARGUMENT_REQUIRED, "data-parallel replicas (derived; checked when given)",
     apply_dp},
    {"dtrain-cp", "N", DT_ARGUMENT_REQUIRED, "ranks in a context-parallel group (default 1)", apply_cp},
    {"dtrain-ep", "N", DT_ARGUMENT_REQUIRED, "ranks in an expert-parallel group (default 1)", apply_ep},
    {"dtrain-etp", "N", DT_ARGUMENT_REQUIRED, "tensor-parallel size inside experts (default: tp)", apply_etp},
    {"dtrain-order", "AXES", DT_ARGUMENT_REQUIRED, "axes, fastest first (default " DT_ORDER_DEFAULT ")",
     apply_order},
    {"dtrain-tp-span", "node|any", DT_ARGUMENT_REQUIRED, "whether a tensor-parallel group may cross nodes "
                                                         "(default node)", apply_tp_span},
    {"dtrain-backend", "auto|nccl|host", DT_ARGUMENT_REQUIRED, "what moves the data (default auto)",
     apply_backend},
    {"dtrain-report", "text|json", DT_ARGUMENT_OPTIONAL, "print who is where on stderr before the tasks "
                                                         "start", apply_report},
    {"dtrain-bind", "WHAT", DT_ARGUMENT_REQUIRED,
     "what each task is bound to: some of gpu,cpu,nic,mem (default all), or none; verbose says it",
     apply_bind},
    {"dtrain-visible", "all|own", DT_ARGUMENT_REQUIRED,
     "a task sees its node's GPUs, its own at index LOCAL_RANK, or its own only (default all)",
     apply_visible},
    {"dtrain", "on|off", DT_ARGUMENT_REQUIRED, "on: all sizes 1 unless given; off: a plain step, for "
                                               "helpers in a script", apply_switch},
};

const struct dt_option *dt_options(size_t *count)
{
    *count = sizeof(options) / sizeof(options[0]);
    return options;
}

void dt_request_init(struct dt_request *request)
{
    memset(request, 0, sizeof(*request));
}

bool dt_request_is_active(const struct dt_request *request)
{
    return request->is_on && !request->is_off;
}

int dt_request_apply(struct dt_request *request, const char *name, const char *value,
                     struct dtrain_error *err)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(options[i].name, name) == 0)
            return options[i].apply(request, value, err);
    return dt_error_set(err, "option --%.64s is not known", name);
}

struct dt_layout_request dt_request_layout(const struct dt_request *request)
{
    struct dt_layout_request layout = request->layout;

    layout.order = request->order;
    return layout;
}
