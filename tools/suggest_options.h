/* suggest_options.h - the options of `dtrain suggest`: a model, a machine, and what of the layout is fixed.
 */
#ifndef DT_TOOLS_SUGGEST_OPTIONS_H
#define DT_TOOLS_SUGGEST_OPTIONS_H

#include "tools/plan_options.h"
#include "tools/suggest_gpu.h"
#include "tools/suggest_limits.h"

#define DT_SUGGEST_TOP 5u /* rows of the table where nothing is said */
#define DT_SUGGEST_TOP_MAX 10000u

/* Texts are borrowed from argv. */
struct dt_suggest_options {
    struct dt_suggest_model model; /* as given, not completed */
    struct dt_suggest_machine_request machine;
    struct dt_suggest_limits limits;
    struct dt_plan_source source;
    uint32_t top;
    bool is_json, is_help;
};

enum dt_suggest_kind {
    DT_SUGGEST_FLAG,
    DT_SUGGEST_TEXT,
    DT_SUGGEST_COUNT, /* 1 to max */
    DT_SUGGEST_SIZE,  /* "7B", "1.5T": K, M, B or G, T; at most max, times unit */
    DT_SUGGEST_BYTES, /* as dt_option_table_bytes() */
    DT_SUGGEST_WORD,  /* one of words: its index */
};

/* A row: where the value goes, and which are taken. */
struct dt_suggest_option {
    const char *name, *argument, *help; /* argument NULL: it takes none */
    enum dt_suggest_kind kind;
    size_t offset; /* in struct dt_suggest_options */
    double max, unit;
    const char *const *words;
    unsigned word_count;
    char letter; /* 0: none */
};

const struct dt_suggest_option *dt_suggest_options_table(size_t *count);

/* Says on stderr what is wrong. */
enum dt_exit dt_suggest_options_parse(struct dt_suggest_options *options, int argc, char **argv);

void dt_suggest_options_usage(struct dt_out *out);

/* "7B" as 7e9. */
int dt_suggest_options_size(double *value, const char *text, double max, const char *what,
                            struct dtrain_error *err);

#endif
