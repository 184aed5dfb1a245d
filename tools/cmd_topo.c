#include <string.h>

#include "tools/command.h"
#include "tools/plan_place.h"
#include "tools/plan_step.h"
#include "tools/topo_json.h"
#include "tools/topo_options.h"
#include "tools/topo_save.h"
#include "tools/topo_source.h"
#include "tools/topo_svg.h"
#include "tools/topo_text.h"

static int print_view(struct dt_out *out, const struct dt_topo_view *view,
                      const struct dt_plan_options *options, struct dtrain_error *err)
{
    if (options->is_svg)
        return dt_topo_svg_print(out, view, err);
    if (!options->is_json)
        return dt_topo_text_print(out, view, err);
    dt_topo_json_print(out, view);
    return 0;
}

/* The plan of one node: a task for each GPU unless their number is given. */
static int print_bound(struct dt_out *out, const struct dt_topo *topo, struct dt_plan_options *options,
                       struct dtrain_error *err)
{
    struct dt_plan_place *place = NULL;
    struct dt_plan_step *step = NULL;
    struct dt_plan *plan = NULL;
    struct dt_topo_view view;
    int rc = -1;

    if (options->ntasks == 0)
        options->ntasks = topo->gpu_count;
    if (options->ntasks == 0)
        return dt_error_set(err, "%s has no GPUs: say how many tasks there are with --tasks", topo->source);
    if (dt_plan_step_create(&step, options, err) != 0 || dt_plan_step_plan(&plan, step, options, err) != 0)
        goto out;
    if (dt_plan_place_create(&place, topo, plan, err) != 0)
        goto out;
    view = (struct dt_topo_view){topo, dt_plan_place_binding(place, 0), plan, 0};
    rc = print_view(out, &view, options, err);
out:
    dt_plan_place_destroy(place);
    dt_plan_destroy(plan);
    dt_plan_step_destroy(step);
    return rc;
}

static int print_topo(struct dt_out *out, struct dt_plan_options *options, struct dtrain_error *err)
{
    struct dt_topo_view view = {.binding = NULL};
    struct dt_topo *topo;
    int rc;

    if (options->save != NULL)
        return dt_topo_save(out, options->save, err);
    if (options->source.machine != NULL && strcmp(options->source.machine, "list") == 0) {
        dt_topo_source_print_known(out);
        return 0;
    }
    if (dt_topo_source_load(&topo, &options->source, err) != 0)
        return -1;
    view.topo = topo;
    if (options->ntasks != 0 || options->request.is_on)
        rc = print_bound(out, topo, options, err);
    else
        rc = print_view(out, &view, options, err);
    dt_topo_destroy(topo);
    return rc;
}

static enum dt_exit run(int argc, char **argv)
{
    struct dt_plan_options options;
    struct dtrain_error err;
    struct dt_out out;
    enum dt_exit status = dt_topo_options_parse(&options, argc, argv);

    if (status != DT_EXIT_OK)
        return status;
    dt_console_open(&out);
    if (options.is_help)
        dt_topo_options_usage(&out);
    else if (print_topo(&out, &options, &err) != 0)
        return dt_console_fail(argv[0], &err);
    return dt_console_close(&out);
}

const struct dt_command dt_cmd_topo = {
    .name = "topo",
    .help = "show a node's GPUs, NICs and links, and what each task gets",
    .run = run,
    .usage = dt_topo_options_usage,
};
