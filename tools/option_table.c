#include "tools/option_table.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "core/parse.h"

#define LONG_MAX_COUNT 96 /* long options with their short names, and the end mark */
#define LETTERS_MAX 32    /* one-letter options with their colons, and the end mark */
#define LONG_FIRST 256    /* getopt's value of long option 0; below it are letters */
#define PREFIX "dtrain-"
#define TITLE_MAX 64    /* bytes of "-N, --nodes=LIST|N" with the NUL */
#define TITLE_WIDTH 37  /* columns of it */
#define NUMBER_MAX 20   /* bytes of a number of bytes without its unit */

struct table {
    const struct dt_plan_option *rows;
    size_t count;
};

/* The name that the commands also know it by. */
static const char *short_name(const struct dt_option *option)
{
    size_t n = strlen(PREFIX);

    return strncmp(option->name, PREFIX, n) == 0 ? option->name + n : option->name;
}

/* getopt's row i: the table's, then each layout option under both of its names. */
static struct option long_at(const struct table *table, size_t i)
{
    size_t count, j = i - table->count;
    const struct dt_option *layout = dt_options(&count);
    struct option row = {.val = LONG_FIRST + (int)i};

    if (i < table->count) {
        row.name = table->rows[i].name;
        row.has_arg = table->rows[i].argument != NULL ? required_argument : no_argument;
        return row;
    }
    row.name = j % 2 == 0 ? layout[j / 2].name : short_name(&layout[j / 2]);
    row.has_arg = layout[j / 2].kind == DT_ARGUMENT_REQUIRED ? required_argument : optional_argument;
    return row;
}

static int longs_init(struct option longs[LONG_MAX_COUNT], const struct table *table,
                      struct dtrain_error *err)
{
    size_t count;

    dt_options(&count);
    memset(longs, 0, sizeof(*longs) * LONG_MAX_COUNT);
    if (table->count + 2 * count >= LONG_MAX_COUNT)
        return dt_error_set(err, "%zu options are too many: expected less than %d", table->count + 2 * count,
                            LONG_MAX_COUNT);
    for (size_t i = 0; i < table->count + 2 * count; i++)
        longs[i] = long_at(table, i);
    return 0;
}

static void letters_init(char letters[LETTERS_MAX], const struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].letter == 0)
            continue;
        *letters++ = table->rows[i].letter;
        if (table->rows[i].argument != NULL)
            *letters++ = ':';
    }
    *letters = '\0';
}

/* What getopt returned, applied. */
static int apply(struct dt_plan_options *options, const struct table *table, int which, const char *value,
                 struct dtrain_error *err)
{
    size_t count;
    const struct dt_option *layout = dt_options(&count);
    size_t i = (size_t)which - LONG_FIRST;

    if (which < LONG_FIRST)
        for (i = 0; table->rows[i].letter != which;)
            i++;
    if (i < table->count)
        return table->rows[i].apply(options, value, err);
    return dt_request_apply(&options->request, layout[(i - table->count) / 2].name, value, err);
}

enum dt_exit dt_option_table_parse(struct dt_plan_options *options, const struct dt_plan_option *rows,
                                   size_t count, int argc, char **argv)
{
    const struct table table = {rows, count};
    struct option longs[LONG_MAX_COUNT];
    char letters[LETTERS_MAX];
    struct dtrain_error err;
    int which;

    memset(options, 0, sizeof(*options));
    dt_request_init(&options->request);
    if (longs_init(longs, &table, &err) != 0)
        return dt_console_fail(argv[0], &err);
    letters_init(letters, &table);
    while ((which = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (which == '?')
            return dt_console_fail_usage(argv[0], NULL);
        if (apply(options, &table, which, optarg, &err) != 0)
            return dt_console_fail(argv[0], &err);
    }
    if (optind == argc)
        return DT_EXIT_OK;
    dt_error_set(&err, "'%.64s' is not understood: expected options only", argv[optind]);
    return dt_console_fail_usage(argv[0], &err);
}

static void usage_option(struct dt_out *out, const struct dt_plan_option *option)
{
    char title[TITLE_MAX], letter[8] = "   ";

    if (option->letter != 0)
        snprintf(letter, sizeof(letter), "-%c,", option->letter);
    snprintf(title, sizeof(title), "%s --%s%s%s", letter, option->name,
             option->argument != NULL ? "=" : "", option->argument != NULL ? option->argument : "");
    dt_console_entry(out, TITLE_WIDTH, title, option->help);
}

static void usage_layout(struct dt_out *out, const struct dt_option *option)
{
    bool is_optional = option->kind == DT_ARGUMENT_OPTIONAL;
    char title[TITLE_MAX];

    snprintf(title, sizeof(title), "    --%s%s=%s%s", option->name, is_optional ? "[" : "",
             option->argument, is_optional ? "]" : "");
    dt_console_entry(out, TITLE_WIDTH, title, option->help);
}

void dt_option_table_usage(struct dt_out *out, const struct dt_plan_option *table, size_t count)
{
    size_t layout_count;
    const struct dt_option *layout = dt_options(&layout_count);

    for (size_t i = 0; i < count; i++)
        usage_option(out, &table[i]);
    dt_out_text(out, "\nThe layout; --tp is short for --dtrain-tp, and so on:\n");
    for (size_t i = 0; i < layout_count; i++)
        usage_layout(out, &layout[i]);
}

int dt_option_table_bytes(uint64_t *bytes, const char *text, const char *what, struct dtrain_error *err)
{
    static const struct {
        const char *unit;
        uint64_t factor;
    } units[] = {
        {"", 1},          {"K", 1000},       {"M", 1000000},    {"G", 1000000000},  {"T", 1000000000000},
        {"Ki", 1ull << 10}, {"Mi", 1ull << 20}, {"Gi", 1ull << 30}, {"Ti", 1ull << 40},
    };
    size_t digits = strspn(text, "0123456789");
    char number[NUMBER_MAX + 1];

    for (size_t i = 0; digits <= NUMBER_MAX && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text + digits, units[i].unit) != 0)
            continue;
        snprintf(number, sizeof(number), "%.*s", (int)digits, text);
        if (dt_parse_u64(bytes, number, 0, DT_PLAN_BYTES_MAX / units[i].factor, what, err) != 0)
            return -1;
        *bytes *= units[i].factor;
        return 0;
    }
    return dt_error_set(err, "%s=%.64s is not understood: expected bytes such as 4096, 500M or 12G", what,
                        text);
}

/* ---- What several tables have ---- */

int dt_option_table_json(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_json = true;
    return 0;
}

int dt_option_table_svg(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_svg = true;
    return 0;
}

int dt_option_table_machine(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)err;
    options->source.machine = value;
    return 0;
}

int dt_option_table_file(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)err;
    options->source.file = value;
    return 0;
}

int dt_option_table_help(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_help = true;
    return 0;
}
