#include "tools/schedule_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "core/parse.h"

#define LONG_FIRST 256 /* getopt's value of option 0; below it are letters */
#define TITLE_MAX 64   /* bytes of "--forward-ms=MS" with the NUL */
#define TITLE_WIDTH 26 /* columns of it */
#define NS_PER_MS 1e6
#define COST_DIGITS 6    /* after the point: nanoseconds */
#define COST_MAX 1000000 /* ms */

static int parse_count(int *value, const char *text, int most, const char *what, struct dtrain_error *err)
{
    uint32_t number;

    if (dt_parse_u32(&number, text, 1, (uint32_t)most, what, err) != 0)
        return -1;
    *value = (int)number;
    return 0;
}

/* "2" or "0.35", whatever the locale: least <= *ms. */
static int parse_ms(double *ms, const char *text, double least, const char *what, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    double unit = 1, value = 0;
    size_t digits = 0, fraction = 0;
    const char *c = text;

    for (; dt_parse_is_digit(*c) && digits <= COST_DIGITS; c++, digits++)
        value = value * 10 + (*c - '0');
    if (digits > 0 && *c == '.') {
        for (c++; dt_parse_is_digit(*c) && fraction < COST_DIGITS; c++, fraction++) {
            unit /= 10;
            value += unit * (*c - '0');
        }
        digits = fraction;
    }
    if (digits > 0 && *c == '\0' && value >= least && value <= COST_MAX) {
        *ms = value;
        return 0;
    }
    return dt_error_set(err, "%s=%s is no time: expected %g to %d ms, such as 1.5", what,
                        dt_parse_shown(shown, text), least, COST_MAX);
}

static int apply_pp(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    return parse_count(&options->request.stages, value, DTRAIN_PP_STAGES_MAX, "--pp", err);
}

static int apply_microbatches(struct dt_schedule_options *options, const char *value,
                              struct dtrain_error *err)
{
    return parse_count(&options->request.microbatches, value, DT_SCHEDULE_COMPUTE_MAX, "--microbatches", err);
}

static int apply_kind(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    return dt_schedule_kind_parse(&options->request.kind, value, "--kind", err);
}

static int apply_chunks(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    return parse_count(&options->request.chunks, value, DTRAIN_PP_CHUNKS_MAX, "--chunks", err);
}

static int apply_forward(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    return parse_ms(&options->costs.forward, value, 1 / NS_PER_MS, "--forward-ms", err);
}

static int apply_backward(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    return parse_ms(&options->costs.backward, value, 1 / NS_PER_MS, "--backward-ms", err);
}

static int apply_weight(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    return parse_ms(&options->costs.weight, value, 1 / NS_PER_MS, "--weight-ms", err);
}

static int apply_link(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    return parse_ms(&options->costs.link, value, 0, "--link-ms", err);
}

static int apply_json(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_json = true;
    return 0;
}

static int apply_svg(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_svg = true;
    return 0;
}

static int apply_help(struct dt_schedule_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_help = true;
    return 0;
}

static const struct dt_schedule_option table[] = {
    {"pp", "N", "stages of the pipeline, 1 to 64; default 4", apply_pp},
    {"microbatches", "N", "microbatches of a step; default 8", apply_microbatches},
    {"kind", "KIND", "1f1b (the default), gpipe, gpipe-reverse, interleaved, zb-h1, pipedream or inference",
     apply_kind},
    {"chunks", "N",
     "chunks of the model on each stage, for interleaved and inference; default 1, and 2 "
     "for interleaved",
     apply_chunks},
    {"forward-ms", "MS", "time of a microbatch's forward in one chunk; default 1", apply_forward},
    {"backward-ms", "MS", "the same of the gradient of its input; default 1", apply_backward},
    {"weight-ms", "MS",
     "the same of the gradient of the weights; a backward in one piece takes both; default 1", apply_weight},
    {"link-ms", "MS", "time of a transfer between two stages; default 0", apply_link},
    {"json", NULL, "print JSON", apply_json},
    {"svg", NULL, "draw the timeline", apply_svg},
    {"help", NULL, "show this", apply_help},
};

#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

const struct dt_schedule_option *dt_schedule_options_table(size_t *count)
{
    *count = TABLE_COUNT;
    return table;
}

/* Defaults, and the order of transfers that suits the costs. */
static void complete(struct dt_schedule_options *options)
{
    struct dt_schedule_request *request = &options->request;
    const struct dt_schedule_costs *costs = &options->costs;

    if (request->chunks == 0)
        request->chunks = request->kind == DTRAIN_PP_INTERLEAVED ? 2 : 1;
    request->times = (struct dt_schedule_times){(int64_t)(costs->forward * NS_PER_MS + 0.5),
                                                (int64_t)(costs->backward * NS_PER_MS + 0.5),
                                                (int64_t)(costs->weight * NS_PER_MS + 0.5)};
}

static void longs_init(struct option longs[TABLE_COUNT + 1])
{
    memset(longs, 0, sizeof(*longs) * (TABLE_COUNT + 1));
    for (size_t i = 0; i < TABLE_COUNT; i++)
        longs[i] = (struct option){.name = table[i].name,
                                   .has_arg = table[i].argument != NULL ? required_argument : no_argument,
                                   .val = LONG_FIRST + (int)i};
}

enum dt_exit dt_schedule_options_parse(struct dt_schedule_options *options, int argc, char **argv)
{
    struct option longs[TABLE_COUNT + 1];
    struct dtrain_error err;
    int which;

    *options = (struct dt_schedule_options){.request = {.stages = 4, .microbatches = 8},
                                            .costs = {.forward = 1, .backward = 1, .weight = 1}};
    longs_init(longs);
    while ((which = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (which == '?')
            return dt_console_fail_usage(argv[0], NULL);
        if (which == 'h')
            options->is_help = true;
        else if (table[which - LONG_FIRST].apply(options, optarg, &err) != 0)
            return dt_console_fail(argv[0], &err);
    }
    complete(options);
    if (optind < argc)
        dt_error_set(&err, "'%.64s' is not understood: expected options only", argv[optind]);
    else if (options->is_json && options->is_svg)
        dt_error_set(&err, "--json and --svg are two outputs: give one");
    else
        return DT_EXIT_OK;
    return dt_console_fail_usage(argv[0], &err);
}

void dt_schedule_options_usage(struct dt_out *out)
{
    dt_out_text(out, "Usage: dtrain schedule [OPTION]...\n\n"
                     "Shows what each stage of a pipeline does when, and how long it is idle.\n\n");
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        char title[TITLE_MAX];

        snprintf(title, sizeof(title), "--%s%s%s", table[i].name, table[i].argument != NULL ? "=" : "",
                 table[i].argument != NULL ? table[i].argument : "");
        dt_console_entry(out, TITLE_WIDTH, title, table[i].help);
    }
}
