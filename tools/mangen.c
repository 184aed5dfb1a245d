/*
 * mangen.c - writes a man page: copies a template from stdin to stdout and puts
 * in the lists that come from the tables of the program, so that page and
 * program say the same.
 *
 *     mangen TOP_SRCDIR < man/dtrain.1.in > dtrain.1
 *
 * A line @NAME@ becomes the list of that name; a line @FILE path@ the text of a
 * file of the source tree; @VERSION@ inside a line the version.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/conf.h"
#include "core/env.h"
#include "core/request.h"
#include "tools/console.h"
#include "tools/schedule_options.h"
#include "tools/suggest_options.h"
#include "tools/topo_options.h"

#define LINE_MAX_BYTES 1024
#define PATH_MAX_BYTES 1024
#define LINE_BYTES 64 /* of a line of text, before its characters are escaped */
#define VERSION_MARK "@VERSION@"
#define FILE_MARK "@FILE "

/* n bytes as they stand: no control line, no hyphen that is not a minus, no quote that is turned round. */
static void roff_n(struct dt_out *out, const char *text, size_t n)
{
    if (n > 0 && *text == '.')
        dt_out_text(out, "\\&");
    for (; n > 0; text++, n--) {
        switch (*text) {
        case '\\':
            dt_out_text(out, "\\e");
            break;
        case '-':
            dt_out_text(out, "\\-");
            break;
        case '\'':
            dt_out_text(out, "\\(aq");
            break;
        default:
            dt_out_printf(out, "%c", *text);
        }
    }
}

static void roff(struct dt_out *out, const char *text)
{
    roff_n(out, text, strlen(text));
}

/* The same in short lines, broken at blanks. */
static void roff_lines(struct dt_out *out, const char *text)
{
    while (strlen(text) > LINE_BYTES) {
        size_t n = LINE_BYTES;

        while (n > 0 && text[n] != ' ')
            n--;
        if (n == 0)
            break;
        roff_n(out, text, n);
        dt_out_text(out, "\n");
        text += n + 1;
    }
    roff(out, text);
}

static void bold(struct dt_out *out, const char *prefix, const char *name)
{
    dt_out_text(out, "\\fB");
    roff(out, prefix);
    roff(out, name);
    dt_out_text(out, "\\fR");
}

static void argument(struct dt_out *out, const char *before, const char *name, const char *after)
{
    roff(out, before);
    dt_out_text(out, "\\fI");
    roff(out, name);
    dt_out_text(out, "\\fR");
    roff(out, after);
}

static void help(struct dt_out *out, const char *text, const char *fallback)
{
    dt_out_text(out, "\n");
    roff_lines(out, text);
    if (fallback[0] != '\0') {
        dt_out_text(out, ";\ndefault ");
        bold(out, "", fallback);
    }
    dt_out_text(out, "\n");
}

static void list_options(struct dt_out *out)
{
    size_t count;
    const struct dt_option *options = dt_options(&count);

    for (size_t i = 0; i < count; i++) {
        bool is_optional = options[i].kind == DT_ARGUMENT_OPTIONAL;

        dt_out_text(out, ".TP\n");
        bold(out, "--", options[i].name);
        argument(out, is_optional ? "[=" : "=", options[i].argument, is_optional ? "]" : "");
        help(out, options[i].help, "");
    }
}

static void list_option(struct dt_out *out, char letter, const char *name, const char *value,
                        const char *text)
{
    dt_out_text(out, ".TP\n");
    if (letter != 0) {
        bold(out, "-", (const char[]){letter, '\0'});
        dt_out_text(out, ", ");
    }
    bold(out, "--", name);
    if (value != NULL)
        argument(out, "=", value, "");
    help(out, text, "");
}

static void list_table(struct dt_out *out, const struct dt_plan_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++)
        list_option(out, options[i].letter, options[i].name, options[i].argument, options[i].help);
}

static void list_plan_options(struct dt_out *out)
{
    size_t count;
    const struct dt_plan_option *options = dt_plan_options_table(&count);

    list_table(out, options, count);
}

static void list_topo_options(struct dt_out *out)
{
    size_t count;
    const struct dt_plan_option *options = dt_topo_options_table(&count);

    list_table(out, options, count);
}

static void list_suggest_options(struct dt_out *out)
{
    size_t count;
    const struct dt_suggest_option *options = dt_suggest_options_table(&count);

    for (size_t i = 0; i < count; i++)
        list_option(out, options[i].letter, options[i].name, options[i].argument, options[i].help);
}

static void list_schedule_options(struct dt_out *out)
{
    size_t count;
    const struct dt_schedule_option *options = dt_schedule_options_table(&count);

    for (size_t i = 0; i < count; i++)
        list_option(out, 0, options[i].name, options[i].argument, options[i].help);
}

static void list_variables(struct dt_out *out)
{
    size_t count;
    const struct dt_env_var *vars = dt_env_vars(&count);

    for (size_t i = 0; i < count; i++) {
        dt_out_text(out, ".TP\n");
        bold(out, "", vars[i].name);
        help(out, vars[i].help, "");
    }
}

static void list_inputs(struct dt_out *out)
{
    size_t count;
    const struct dt_env_input *inputs = dt_env_inputs(&count);

    for (size_t i = 0; i < count; i++) {
        dt_out_text(out, ".TP\n");
        bold(out, "", inputs[i].name);
        help(out, inputs[i].help, inputs[i].fallback);
    }
}

static void list_conf_keys(struct dt_out *out)
{
    size_t count;
    const struct dt_conf_key *keys = dt_conf_keys(&count);

    for (size_t i = 0; i < count; i++) {
        dt_out_text(out, ".TP\n");
        bold(out, "", keys[i].name);
        argument(out, " = ", keys[i].value, "");
        help(out, keys[i].help, keys[i].fallback);
    }
}

static void list_comm_fields(struct dt_out *out)
{
    size_t count;
    const struct dt_comm_field_row *rows = dt_comm_field_rows(&count);

    for (size_t i = 0; i < count; i++) {
        dt_out_text(out, ".TP\n");
        bold(out, "", rows[i].name);
        argument(out, " = ", rows[i].value, "");
        help(out, rows[i].help, "");
        if (rows[i].since != 0)
            dt_out_printf(out, "(NCCL %d.%d)\n", rows[i].since / 10000, rows[i].since / 100 % 100);
    }
}

static const struct {
    const char *mark;
    void (*print)(struct dt_out *out);
} lists[] = {
    {"@OPTIONS@", list_options},     {"@PLAN_OPTIONS@", list_plan_options},
    {"@VARIABLES@", list_variables}, {"@INPUTS@", list_inputs},
    {"@CONF_KEYS@", list_conf_keys}, {"@TOPO_OPTIONS@", list_topo_options},
    {"@SUGGEST_OPTIONS@", list_suggest_options},
    {"@SCHEDULE_OPTIONS@", list_schedule_options},
    {"@COMM_FIELDS@", list_comm_fields},
};

/* Drops the newline; refuses a line that is longer than the buffer. */
static int read_line(char line[LINE_MAX_BYTES], FILE *from, bool *is_end, struct dtrain_error *err)
{
    size_t n;

    *is_end = fgets(line, LINE_MAX_BYTES, from) == NULL;
    if (*is_end)
        return ferror(from) ? dt_error_set(err, "cannot read: %s", strerror(errno)) : 0;
    n = strlen(line);
    if (n == 0 || line[n - 1] != '\n')
        return dt_error_set(err, "line '%.64s' has no end: expected a newline within %d bytes", line,
                            LINE_MAX_BYTES);
    line[n - 1] = '\0';
    return 0;
}

/* The text of the file named in "@FILE path@". */
static int print_file(struct dt_out *out, const char *top, const char *mark,
                      struct dtrain_error *err)
{
    char path[PATH_MAX_BYTES], line[LINE_MAX_BYTES];
    bool is_end = false;
    FILE *file;
    int rc;

    snprintf(path, sizeof(path), "%s/%.*s", top, (int)strcspn(mark + strlen(FILE_MARK), "@"),
             mark + strlen(FILE_MARK));
    file = fopen(path, "r");
    if (file == NULL)
        return dt_error_set(err, "cannot open %s: %s", path, strerror(errno));
    while ((rc = read_line(line, file, &is_end, err)) == 0 && !is_end) {
        roff(out, line);
        dt_out_text(out, "\n");
    }
    fclose(file);
    return rc;
}

static int print_line(struct dt_out *out, const char *top, const char *line,
                      struct dtrain_error *err)
{
    const char *version = strstr(line, VERSION_MARK);

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (strcmp(line, lists[i].mark) == 0) {
            lists[i].print(out);
            return 0;
        }
    }
    if (strncmp(line, FILE_MARK, strlen(FILE_MARK)) == 0)
        return print_file(out, top, line, err);
    if (version != NULL)
        dt_out_printf(out, "%.*s%s%s\n", (int)(version - line), line, DTRAIN_VERSION,
                      version + strlen(VERSION_MARK));
    else if (line[0] == '@')
        return dt_error_set(err, "line '%.64s' names no list", line);
    else
        dt_out_printf(out, "%s\n", line);
    return 0;
}

int main(int argc, char **argv)
{
    char line[LINE_MAX_BYTES];
    struct dtrain_error err;
    bool is_end = false;
    struct dt_out out;

    if (argc != 2) {
        dt_error_set(&err, "expected one argument, the top of the source tree");
        return dt_console_fail("mangen", &err);
    }
    dt_console_open(&out);
    while (read_line(line, stdin, &is_end, &err) == 0) {
        if (is_end)
            return dt_console_close(&out);
        if (print_line(&out, argv[1], line, &err) != 0)
            break;
    }
    return dt_console_fail("mangen", &err);
}
