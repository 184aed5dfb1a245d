#include <stdlib.h>

#include "core/plan_print.h"
#include "core/plan_wire.h"
#include "tools/command.h"
#include "tools/plan_groups.h"
#include "tools/plan_machine.h"
#include "tools/plan_options.h"
#include "tools/plan_rank.h"
#include "tools/plan_step.h"
#include "tools/plan_switches.h"

static int print_wire(struct dt_out *out, const struct dt_plan *plan, struct dtrain_error *err)
{
    char *text;

    if (dt_plan_wire_encode(&text, plan, err) != 0)
        return -1;
    dt_out_text(out, text);
    dt_out_text(out, "\n");
    free(text);
    return 0;
}

static int print_rank(struct dt_out *out, const struct dt_plan *plan,
                      const struct dt_plan_options *options, struct dt_plan_groups *groups,
                      struct dtrain_error *err)
{
    if (options->rank >= dt_plan_world(plan))
        return dt_error_set(err, "--rank=%u is not in a world of %u ranks: expected 0 to %u", options->rank,
                            dt_plan_world(plan), dt_plan_world(plan) - 1);
    if (options->is_json) {
        dt_plan_rank_print_json(out, plan, &groups->list, options->rank);
        return 0;
    }
    for (unsigned grid = 0; grid < DT_GRID_COUNT; grid++)
        if (options->groups[grid] == NULL)
            dt_plan_groups_trim(groups, plan, (enum dt_grid)grid);
    dt_plan_rank_print_text(out, plan, &groups->list, options->rank);
    return 0;
}

static int print_plan(struct dt_out *out, const struct dt_plan *plan,
                      const struct dt_plan_options *options, const struct dt_switches *switches,
                      bool is_anonymous, struct dtrain_error *err)
{
    struct dt_plan_groups groups;

    if (options->is_wire)
        return print_wire(out, plan, err);
    if (dt_plan_groups_init(&groups, options->groups, err) != 0)
        return -1;
    if (options->has_rank)
        return print_rank(out, plan, options, &groups, err);
    if (options->is_json) {
        dt_plan_print_json_open(out, plan, &groups.list);
        if (dt_plan_machine_print_json(out, plan, options, switches, err) != 0)
            return -1;
        if (dt_plan_switches_print_json(out, plan, switches, err) != 0)
            return -1;
        dt_out_text(out, "}\n");
        return 0;
    }
    if (options->is_svg)
        return dt_plan_machine_print_svg(out, plan, options, switches, err);
    dt_plan_print_text(out, plan);
    if (dt_plan_machine_print_text(out, plan, options, switches, err) != 0)
        return -1;
    if (dt_plan_switches_print_text(out, plan, switches, err) != 0)
        return -1;
    if (is_anonymous)
        dt_out_text(out, "\nNo nodes were named: node0 and so on stand for any.\n");
    return 0;
}

static int plan_to_stdout(struct dt_out *out, const struct dt_plan_options *options,
                          struct dtrain_error *err)
{
    struct dt_plan_step *step = NULL;
    struct dt_switches *switches = NULL;
    struct dt_plan *plan = NULL;
    int rc = -1;

    if (dt_plan_step_create(&step, options, err) != 0)
        goto out;
    if (dt_plan_switches_apply(&switches, step, options->switches, err) != 0)
        goto out;
    if (dt_plan_step_plan(&plan, step, options, err) != 0)
        goto out;
    if (print_plan(out, plan, options, switches, dt_plan_step_is_anonymous(step), err) != 0)
        goto out;
    rc = 0;
out:
    dt_plan_destroy(plan);
    dt_switches_destroy(switches);
    dt_plan_step_destroy(step);
    return rc;
}

static enum dt_exit run(int argc, char **argv)
{
    struct dt_plan_options options;
    struct dtrain_error err;
    struct dt_out out;
    enum dt_exit status = dt_plan_options_parse(&options, argc, argv);

    if (status != DT_EXIT_OK)
        return status;
    dt_console_open(&out);
    if (options.is_help)
        dt_plan_options_usage(&out);
    else if (plan_to_stdout(&out, &options, &err) != 0)
        return dt_console_fail(argv[0], &err);
    return dt_console_close(&out);
}

const struct dt_command dt_cmd_plan = {
    .name = "plan",
    .help = "show which rank is where and which are the groups, as srun would start them",
    .run = run,
    .usage = dt_plan_options_usage,
};
