#include "tools/command.h"
#include "tools/schedule_options.h"
#include "tools/schedule_view.h"

/* The bubble if the last group of microbatches were full; -1: it is, or the schedule has no groups. */
static int find_full_bubble(double *bubble, const struct dt_schedule_options *options,
                            struct dtrain_error *err)
{
    struct dt_schedule_request request = options->request;
    struct dt_schedule_timeline timeline;
    struct dt_schedule *schedule;
    int rc;

    *bubble = -1;
    if (request.chunks == 1 || request.microbatches % request.stages == 0)
        return 0;
    request.microbatches += request.stages - request.microbatches % request.stages;
    if (dt_schedule_create(&schedule, &request, err) != 0)
        return -1;
    rc = dt_schedule_simulate(&timeline, schedule, &options->costs, err);
    if (rc == 0)
        *bubble = timeline.bubble;
    dt_schedule_timeline_clear(&timeline);
    dt_schedule_destroy(schedule);
    return rc;
}

static int print_view(struct dt_out *out, const struct dt_schedule_view *view,
                      const struct dt_schedule_options *options, struct dtrain_error *err)
{
    if (options->is_svg)
        dt_schedule_view_svg(out, view);
    else if (options->is_json)
        dt_schedule_view_json(out, view);
    else
        return dt_schedule_view_text(out, view, err);
    return 0;
}

static int print_schedule(struct dt_out *out, const struct dt_schedule_options *options,
                          struct dtrain_error *err)
{
    struct dt_schedule_timeline timeline = {.stages = 0};
    struct dt_schedule *schedule = NULL;
    struct dt_schedule_view view = {.timeline = &timeline, .costs = &options->costs};
    int rc = -1;

    if (dt_schedule_create(&schedule, &options->request, err) != 0 || dt_schedule_verify(schedule, err) != 0)
        goto out;
    if (dt_schedule_simulate(&timeline, schedule, &options->costs, err) != 0)
        goto out;
    if (find_full_bubble(&view.full_bubble, options, err) != 0)
        goto out;
    view.schedule = schedule;
    rc = print_view(out, &view, options, err);
out:
    dt_schedule_timeline_clear(&timeline);
    dt_schedule_destroy(schedule);
    return rc;
}

static enum dt_exit run(int argc, char **argv)
{
    struct dt_schedule_options options;
    struct dtrain_error err;
    struct dt_out out;
    enum dt_exit status = dt_schedule_options_parse(&options, argc, argv);

    if (status != DT_EXIT_OK)
        return status;
    dt_console_open(&out);
    if (options.is_help)
        dt_schedule_options_usage(&out);
    else if (print_schedule(&out, &options, &err) != 0)
        return dt_console_fail(argv[0], &err);
    return dt_console_close(&out);
}

const struct dt_command dt_cmd_schedule = {
    .name = "schedule",
    .help = "show what each stage of a pipeline does when, and how long it is idle",
    .run = run,
    .usage = dt_schedule_options_usage,
};
