#include "tools/plan_options.h"

#include "core/parse.h"
#include "tools/option_table.h"

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

static int apply_bytes_tp(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    return dt_option_table_bytes(&options->bytes[DT_TP], value, "--bytes-tp", err);
}

static int apply_bytes_dp(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    return dt_option_table_bytes(&options->bytes[DT_DP], value, "--bytes-dp", err);
}

static int apply_bytes_pp(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    return dt_option_table_bytes(&options->bytes[DT_PP], value, "--bytes-pp", err);
}

static int apply_wire(struct dt_plan_options *options, const char *value, struct dtrain_error *err)
{
    (void)value;
    (void)err;
    options->is_wire = true;
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
    {"switches", 0, "FILE", "order the nodes by this topology.conf, and count what crosses which switches",
     apply_switches},
    {"rank", 0, "R", "one rank's place and groups, not the whole plan", apply_rank},
    {"groups", 0, "SETS", "groups to list with --json or --rank, such as tp,dp-cp", apply_groups},
    {"expert-groups", 0, "SETS", "the same for the expert grid, such as ep,tp-ep", apply_expert_groups},
    {"machine", 0, "NAME", "the nodes are such machines: show each task's GPU, cores and NIC",
     dt_option_table_machine},
    {"topology", 0, "FILE", "the nodes are as this file says: any that 'dtrain topo --file' reads",
     dt_option_table_file},
    {"bytes-tp", 0, "BYTES", "what a rank all-reduces in its tp group in a step, such as 12G",
     apply_bytes_tp},
    {"bytes-dp", 0, "BYTES", "the same for dp: the gradients of a rank", apply_bytes_dp},
    {"bytes-pp", 0, "BYTES", "what a rank sends the next stage in a step; as much comes back",
     apply_bytes_pp},
    {"json", 0, NULL, "print JSON", dt_option_table_json},
    {"svg", 0, NULL, "draw the nodes and their tasks, with --machine or --topology", dt_option_table_svg},
    {"wire", 0, NULL, "print the value of SLURM_DTRAIN_PLAN", apply_wire},
    {"help", 'h', NULL, "show this", dt_option_table_help},
};

#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

const struct dt_plan_option *dt_plan_options_table(size_t *count)
{
    *count = TABLE_COUNT;
    return table;
}

/* What cannot go together; NULL: nothing. */
static const char *contradiction(const struct dt_plan_options *options)
{
    const struct dt_plan_source *source = &options->source;
    bool is_placed = source->machine != NULL || source->file != NULL;
    bool has_bytes = options->bytes[DT_TP] != 0 || options->bytes[DT_DP] != 0 || options->bytes[DT_PP] != 0;

    if (options->is_wire && (options->is_json || options->has_rank || options->is_svg))
        return "--wire prints one value: leave --json, --svg and --rank out";
    if (options->is_svg && (options->is_json || options->has_rank))
        return "--svg draws all nodes: leave --json and --rank out";
    if (source->machine != NULL && source->file != NULL)
        return "--machine and --topology both say what the nodes are: give one";
    if (is_placed && (options->is_wire || options->has_rank))
        return "--machine and --topology place all ranks: leave --wire and --rank out";
    if (!is_placed && options->is_svg)
        return "--svg draws nodes: say what they are with --machine or --topology";
    if (!is_placed && has_bytes)
        return "--bytes-... follow the links of the nodes: say what they are with --machine or --topology";
    return NULL;
}

enum dt_exit dt_plan_options_parse(struct dt_plan_options *options, int argc, char **argv)
{
    enum dt_exit status = dt_option_table_parse(options, table, TABLE_COUNT, argc, argv);
    struct dtrain_error err;

    if (status != DT_EXIT_OK)
        return status;
    if (options->request.report == DT_REPORT_JSON)
        options->is_json = true;
    if (contradiction(options) == NULL)
        return DT_EXIT_OK;
    dt_error_set(&err, "%s", contradiction(options));
    return dt_console_fail_usage(argv[0], &err);
}

void dt_plan_options_usage(struct dt_out *out)
{
    dt_out_text(out, "Usage: dtrain plan [OPTION]...\n\n"
                     "Prints the plan that srun would make of the same options, or why it would refuse.\n\n");
    dt_option_table_usage(out, table, TABLE_COUNT);
}
