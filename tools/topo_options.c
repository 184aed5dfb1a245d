#include "tools/topo_options.h"

#include "core/parse.h"
#include "tools/option_table.h"

static int apply_import(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)err;
    options->source.format = value;
    return 0;
}

static int apply_tasks(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    return dt_parse_u32(&options->ntasks, value, 1, DT_PLAN_TASKS_PER_NODE_MAX, "--tasks", err);
}

static int apply_save(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)err;
    options->save = value;
    return 0;
}

static const struct dt_plan_option table[] = {
    {"file", 'f', "FILE", "a topology to read instead of this machine's; - is stdin", dt_option_table_file},
    {"import", 0, "FORMAT", "what the file is, if its content does not tell; stdin without --file",
     apply_import},
    {"machine", 'm', "NAME", "a machine that dtrain knows; 'list' lists them", dt_option_table_machine},
    {"tasks", 'n', "N", "tasks to bind; with an option of the layout alone: one for each GPU", apply_tasks},
    {"json", 0, NULL, "print JSON", dt_option_table_json},
    {"svg", 0, NULL, "draw the node", dt_option_table_svg},
    {"save", 0, "FILE", "save this machine's topology for the plugin, which reads it from root only",
     apply_save},
    {"help", 'h', NULL, "show this", dt_option_table_help},
};

#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

const struct dt_plan_option *dt_topo_options_table(size_t *count)
{
    *count = TABLE_COUNT;
    return table;
}

/* What cannot go together; NULL: nothing. */
static const char *contradiction(const struct dt_plan_options *options)
{
    const struct dt_plan_source *source = &options->source;
    bool is_other = source->machine != NULL || source->file != NULL || source->format != NULL;

    if (source->machine != NULL && (source->file != NULL || source->format != NULL))
        return "--machine needs no file: leave --file and --import out";
    if (options->is_json && options->is_svg)
        return "--json and --svg are two outputs: give one";
    if (options->save != NULL && (is_other || options->is_json || options->is_svg))
        return "--save is about this machine and prints one line: leave the sources, --json and --svg out";
    if (options->save != NULL && (options->ntasks != 0 || options->request.is_on))
        return "--save saves a machine, not its tasks: leave --tasks and the layout out";
    return NULL;
}

enum dt_exit dt_topo_options_parse(struct dt_plan_options *options, int argc, char **argv)
{
    enum dt_exit status = dt_option_table_parse(options, table, TABLE_COUNT, argc, argv);
    struct dtrain_error err;

    if (status != DT_EXIT_OK || contradiction(options) == NULL)
        return status;
    dt_error_set(&err, "%s", contradiction(options));
    return dt_console_fail_usage(argv[0], &err);
}

void dt_topo_options_usage(struct dt_out *out)
{
    dt_out_text(out,
                "Usage: dtrain topo [OPTION]...\n\n"
                "Prints a node's GPUs, NICs and how they are linked, and what each task of a plan gets.\n\n");
    dt_option_table_usage(out, table, TABLE_COUNT);
}
