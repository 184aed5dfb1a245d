#include "tools/plan_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "core/parse.h"

#define LONG_MAX_COUNT 64 /* long options with their short names, and the end mark */
#define LONG_FIRST 256    /* getopt's value of long option 0; below it are letters */
#define PREFIX "dtrain-"
#define TITLE_MAX 64   /* bytes of "-N, --nodes=LIST|N" with the NUL */
#define TITLE_WIDTH 37 /* columns of it */

static int apply_nodes(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)err;
    options->nodes = value;
    return 0;
}

static int apply_tasks_per_node(struct dt_plan_options *options, const char *value,
                                struct dtrain_error *err)
{
    (void)err;
    options->tasks_per_node = value;
    return 0;
}

static int apply_ntasks(struct dt_plan_options *options, const char *value,
                        struct dtrain_error *err)
{
    return dt_parse_u32(&options->ntasks, value, 1, DT_WORLD_MAX, "--ntasks", err);
}

static int apply_gpus(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    return dt_parse_u32(&options->gpus_per_node, value, 1, DT_PLAN_TASKS_PER_NODE_MAX,
                        "--gpus-per-node", err);
}

static int apply_distribution(struct dt_plan_options *options, const char *value,
                              struct dtrain_error *err)
{
    (void)err;
    options->distribution = value;
    return 0;
}

static int apply_switches(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)err;
    options->switches = value;
    return 0;
}

static int apply_groups(struct dt_plan_options *options, const char *value,
                        struct dtrain_error *err)
{
    (void)err;
    options->groups[DT_DENSE] = value;
    return 0;
}

static int apply_expert_groups(struct dt_plan_options *options, const char *value,
                               struct dtrain_error *err)
{
    (void)err;
    options->groups[DT_EXPERT] = value;
    return 0;
}

static int apply_rank(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    options->has_rank = true;
    return dt_parse_u32(&options->rank, value, 0, DT_WORLD_MAX - 1, "--rank", err);
}

static int apply_json(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_json = true;
    return 0;
}

static int apply_wire(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_wire = true;
    return 0;
}

static int apply_help(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_help = true;
    return 0;
}

static const struct dt_plan_option table[] = {
    {"nodes", 'N', "LIST|N", "names such as 'n[1-4]', or how many", apply_nodes},
    {"nodelist", 'w', "LIST", "the same", apply_nodes},
    {"ntasks-per-node", 0, "N|LIST", "tasks of each node: one count, or a list such as '2(x3),1'",
     apply_tasks_per_node},
    {"tasks-per-node", 0, "N|LIST", "the same", apply_tasks_per_node},
    {"ntasks", 'n', "N", "tasks in all, spread evenly; alone: on one node", apply_ntasks},
    {"world", 0, "N", "the same", apply_ntasks},
    {"gpus-per-node", 0, "N", "refuse more tasks than this on a node", apply_gpus},
    {"distribution", 'm', "KIND", "how Slurm numbers the tasks: block, cyclic or plane=SIZE",
     apply_distribution},
    {"switches", 0, "FILE", "order the nodes by the switches of this topology.conf, and count what crosses them",
     apply_switches},
    {"rank", 0, "R", "one rank's place and groups, not the whole plan", apply_rank},
    {"groups", 0, "SETS", "groups to list with --json or --rank, such as tp,dp-cp", apply_groups},
    {"expert-groups", 0, "SETS", "the same for the expert grid, such as ep,tp-ep", apply_expert_groups},
    {"json", 0, NULL, "print JSON", apply_json},
    {"wire", 0, NULL, "print the value of SLURM_DTRAIN_PLAN", apply_wire},
    {"help", 'h', NULL, "show this", apply_help},
};

#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

const struct dt_plan_option *dt_plan_options_table(size_t *count)
{
    *count = TABLE_COUNT;
    return table;
}

/* The name that `dtrain plan` also knows it by. */
static const char *short_name(const struct dt_option *option)
{
    size_t n = strlen(PREFIX);

    return strncmp(option->name, PREFIX, n) == 0 ? option->name + n : option->name;
}

/* getopt's row i: the table's, then each layout option under both of its names. */
static struct option long_at(size_t i)
{
    size_t count, j = i - TABLE_COUNT;
    const struct dt_option *layout = dt_options(&count);
    struct option row = {.val = LONG_FIRST + (int)i};

    if (i < TABLE_COUNT) {
        row.name = table[i].name;
        row.has_arg = table[i].argument != NULL ? required_argument : no_argument;
        return row;
    }
    row.name = j % 2 == 0 ? layout[j / 2].name : short_name(&layout[j / 2]);
    row.has_arg = layout[j / 2].kind == DT_ARGUMENT_REQUIRED ? required_argument : optional_argument;
    return row;
}

static int longs_init(struct option longs[LONG_MAX_COUNT], struct dtrain_error *err)
{
    size_t count;

    dt_options(&count);
    memset(longs, 0, sizeof(*longs) * LONG_MAX_COUNT);
    if (TABLE_COUNT + 2 * count >= LONG_MAX_COUNT)
        return dt_error_set(err, "%zu options are too many: expected less than %d", TABLE_COUNT + 2 * count,
                            LONG_MAX_COUNT);
    for (size_t i = 0; i < TABLE_COUNT + 2 * count; i++)
        longs[i] = long_at(i);
    return 0;
}

static void letters_init(char letters[2 * TABLE_COUNT + 1])
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (table[i].letter == 0)
            continue;
        *letters++ = table[i].letter;
        if (table[i].argument != NULL)
            *letters++ = ':';
    }
    *letters = '\0';
}

/* What getopt returned, applied. */
static int apply(struct dt_plan_options *options, int which, const char *value,
                 struct dtrain_error *err)
{
    size_t count;
    const struct dt_option *layout = dt_options(&count);
    size_t i = (size_t)which - LONG_FIRST;

    if (which < LONG_FIRST)
        for (i = 0; table[i].letter != which;)
            i++;
    if (i < TABLE_COUNT)
        return table[i].apply(options, value, err);
    return dt_request_apply(&options->request, layout[(i - TABLE_COUNT) / 2].name, value, err);
}

enum dt_exit dt_plan_options_parse(struct dt_plan_options *options, int argc, char **argv)
{
    struct option longs[LONG_MAX_COUNT];
    char letters[2 * TABLE_COUNT + 1];
    struct dtrain_error err;
    int which;

    memset(options, 0, sizeof(*options));
    dt_request_init(&options->request);
    if (longs_init(longs, &err) != 0)
        return dt_console_fail(argv[0], &err);
    letters_init(letters);
    while ((which = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (which == '?')
            return dt_console_fail_usage(argv[0], NULL);
        if (apply(options, which, optarg, &err) != 0)
            return dt_console_fail(argv[0], &err);
    }
    if (options->request.report == DT_REPORT_JSON)
        options->is_json = true;
    if (optind < argc)
        dt_error_set(&err, "'%.64s' is not understood: expected options only", argv[optind]);
    else if (options->is_wire && (options->is_json || options->has_rank))
        dt_error_set(&err, "--wire prints one value: leave --json and --rank out");
    else
        return DT_EXIT_OK;
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

void dt_plan_options_usage(struct dt_out *out)
{
    size_t count;
    const struct dt_option *layout = dt_options(&count);

    dt_out_text(out, "Usage: dtrain plan [OPTION]...\n\n"
                     "Prints the plan that srun would make of the same options, or why it would refuse.\n\n");
    for (size_t i = 0; i < TABLE_COUNT; i++)
        usage_option(out, &table[i]);
    dt_out_text(out, "\nThe layout; --tp is short for --dtrain-tp, and so on:\n");
    for (size_t i = 0; i < count; i++)
        usage_layout(out, &layout[i]);
}
