#include "tools/command.h"
#include "tools/suggest_options.h"
#include "tools/suggest_print.h"
#include "tools/suggest_why.h"
#include "tools/topo_source.h"

static int load_machine(struct dt_suggest_machine *machine, const struct dt_suggest_options *options,
                        struct dtrain_error *err)
{
    struct dt_topo *topo;
    int rc;

    if (dt_topo_source_load(&topo, &options->source, err) != 0)
        return -1;
    rc = dt_suggest_machine_init(machine, topo, &options->machine, err);
    dt_topo_destroy(topo);
    return rc;
}

static int print_result(struct dt_out *out, const struct dt_suggest_view *view,
                        const struct dt_suggest_options *options, struct dtrain_error *err)
{
    if (view->result->count == 0)
        return dt_suggest_why_not(view->result, view->model, view->machine, &options->limits, err);
    if (!options->is_json)
        return dt_suggest_print_text(out, view, err);
    dt_suggest_print_json(out, view);
    return 0;
}

static int suggest(struct dt_out *out, const struct dt_suggest_options *options, struct dtrain_error *err)
{
    struct dt_suggest_model model = options->model;
    struct dt_suggest_machine machine;
    struct dt_suggest_result result;
    const struct dt_suggest_view view = {&model, &machine, &result, options->top};
    int rc = -1;

    if (dt_suggest_model_finish(&model, err) != 0 || load_machine(&machine, options, err) != 0)
        return -1;
    if (dt_suggest_search(&result, &model, &machine, &options->limits, err) == 0)
        rc = print_result(out, &view, options, err);
    dt_suggest_result_destroy(&result);
    return rc;
}

static enum dt_exit run(int argc, char **argv)
{
    struct dt_suggest_options options;
    struct dtrain_error err;
    struct dt_out out;
    enum dt_exit status = dt_suggest_options_parse(&options, argc, argv);

    if (status != DT_EXIT_OK)
        return status;
    dt_console_open(&out);
    if (options.is_help)
        dt_suggest_options_usage(&out);
    else if (suggest(&out, &options, &err) != 0)
        return dt_console_fail(argv[0], &err);
    return dt_console_close(&out);
}

const struct dt_command dt_cmd_suggest = {
    .name = "suggest",
    .help = "rank the layouts of a model on nodes: what fits, and what is fastest",
    .run = run,
    .usage = dt_suggest_options_usage,
};
