#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmdline.h"
#include "core/plan_print.h"
#include "core/plan_wire.h"
#include "master.h"
#include "options.h"
#include "site.h"
#include "step.h"
#include "switches.h"

#define MPI_VARIABLE "SLURM_MPI_TYPE"

/* ---- Before options are parsed ---- */

/* The start of this process's command line. Returns its bytes, 0 when it cannot be read. */
static size_t read_cmdline(char *text, size_t size)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n;

    if (fd < 0)
        return 0;
    while (used < size && (n = read(fd, text + used, size - used)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        used += (size_t)n;
    }
    close(fd);
    return used;
}

static void scan_own_cmdline(struct dt_launch *launch, struct dt_cmdline *cmdline, struct dt_request *request)
{
    char *text = malloc(DT_CMDLINE_BYTES_MAX);
    const char **words = calloc(DT_CMDLINE_WORDS_MAX, sizeof(*words));

    *cmdline = (struct dt_cmdline){0};
    if (text != NULL && words != NULL) {
        size_t bytes = read_cmdline(text, DT_CMDLINE_BYTES_MAX);

        dt_cmdline_scan(cmdline, request, words, dt_cmdline_split(words, DT_CMDLINE_WORDS_MAX, text, bytes));
    }
    launch->has_components = cmdline->has_components;
    launch->bound = cmdline->bound;
    if (cmdline->unsure != NULL)
        (void)dt_parse_shown(launch->unsure, cmdline->unsure);
    cmdline->unsure = NULL; /* borrowed from text */
    free(words);
    free(text);
}

/* In a step, salloc's shell among them, "none" is what that step was started with and nobody's choice. */
static bool is_mpi_chosen(void)
{
    const char *value = getenv(MPI_VARIABLE);

    return value != NULL && (strcmp(value, "none") != 0 || getenv("SLURM_STEP_ID") == NULL);
}

static void choose_mpi(const struct dt_launch *launch)
{
    struct dt_conf conf;

    if (is_mpi_chosen() || dt_site_load(&conf, launch->argc, launch->argv, NULL))
        return;
    if (conf.mpi[0] != '\0')
        setenv(MPI_VARIABLE, conf.mpi, 1);
}

void dt_launch_prepare(struct dt_launch *launch, int argc, char *const *argv)
{
    struct dt_request request;
    struct dt_cmdline cmdline;

    *launch = (struct dt_launch){.argc = argc, .argv = argv};
    dt_request_init(&request);
    launch->is_inherited = dt_options_inherit(&request);
    scan_own_cmdline(launch, &cmdline, &request);
    launch->is_foreseen = dt_request_is_active(&request) || cmdline.has_mpi || is_mpi_chosen();
    if (dt_request_is_active(&request) && !cmdline.has_mpi && !cmdline.is_interactive)
        choose_mpi(launch);
}

/* ---- What is left to the binder ---- */

/*
 * What the user bound by Slurm's own means. The variables that stand for srun's options count only outside of
 * a step: inside one they are what that step was bound to, and nobody's choice.
 */
static unsigned bound_by_user(const struct dt_launch *launch)
{
    static const struct {
        const char *name;
        enum dt_bind_item item;
    } variables[] = {
        {"SLURM_CPU_BIND", DT_BIND_ITEM_CPU},  {"SLURM_MEM_BIND", DT_BIND_ITEM_MEM},
        {"SLURM_GPU_BIND", DT_BIND_ITEM_GPU},  {"SLURM_TRES_BIND", DT_BIND_ITEM_GPU},
        {"SLURM_ACCEL_BIND", DT_BIND_ITEM_GPU},
    };
    unsigned bound = launch->bound;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && getenv("SLURM_STEP_ID") == NULL; i++)
        if (dt_cmdline_chooses(getenv(variables[i].name)))
            bound |= 1u << variables[i].item;
    return bound;
}

static enum dt_bind_say who_says(bool is_verbose, enum dt_report report)
{
    if (is_verbose)
        return DT_BIND_SAY_TASKS;
    return report != DT_REPORT_OFF ? DT_BIND_SAY_NODE : DT_BIND_SAY_NOTHING;
}

static int export_binding(const struct dt_launch *launch, const struct dt_conf *conf,
                          const struct dt_request *request, struct dtrain_error *err)
{
    unsigned wanted = request->has_bind ? request->bind_items : conf->bind_items;
    unsigned bound = bound_by_user(launch);
    bool is_verbose = request->has_bind ? request->is_bind_verbose : conf->is_bind_verbose;
    struct dt_bind_choice choice = {
        .items = wanted & ~bound,
        .kept = wanted & bound,
        .visible = request->has_visible ? request->visible : conf->visible,
        .say = who_says(is_verbose, request->has_report ? request->report : conf->report),
    };
    char text[DT_BIND_CHOICE_MAX];

    dt_bind_choice_encode(text, &choice);
    if (setenv(DT_BIND_CHOICE_NAME, text, 1) != 0)
        return dt_error_set(err, "cannot set " DT_BIND_CHOICE_NAME ": %s", strerror(errno));
    return 0;
}

/* Nothing is set where the site sets nothing. */
static int export_comm(const struct dt_conf *conf, struct dtrain_error *err)
{
    char text[DT_COMM_CONFIG_TEXT_MAX];

    dt_comm_configs_encode(text, &conf->comm);
    if (text[0] != '\0' && setenv(DT_COMM_CONFIG_SITE_NAME, text, 1) != 0)
        return dt_error_set(err, "cannot set " DT_COMM_CONFIG_SITE_NAME ": %s", strerror(errno));
    return 0;
}

/* ---- After the step is created ---- */

static uint16_t step_port(const struct dt_step *step, const struct dt_conf *conf)
{
    struct dt_master_key key = {step->job_id, step->step_id, step->restart_count};

    return dt_master_port(&key, conf->port_min, conf->port_max);
}

/* A step whose first node has no usable address runs; only scripts that read MASTER_ADDR need one. */
static void step_address(char address[DT_PLAN_ADDR_MAX], const struct dt_step *step)
{
    struct dtrain_error err;
    char *known = dt_step_node_address(step->nodes[0]);

    address[0] = '\0';
    if (dt_master_resolve(address, known ? known : step->nodes[0], step->node_count == 1, &err)) {
        address[0] = '\0';
        slurm_error("dtrain: MASTER_ADDR is not set: %s", err.text);
    }
    free(known);
}

static int make_plan(struct dt_plan **plan, const struct dt_step *step, const struct dt_conf *conf,
                     const struct dt_request *request, struct dtrain_error *err)
{
    char address[DT_PLAN_ADDR_MAX];
    struct dt_plan_inputs inputs = {
        .request = dt_request_layout(request),
        .tp_span = request->has_tp_span ? request->tp_span : conf->tp_span,
        .backend = request->has_backend ? request->backend : conf->backend,
        .node_count = step->node_count,
        .nodes = step->nodes,
        .tasks = step->tasks,
        .procids = step->procids,
        .master_addr = address,
        .master_port = step_port(step, conf),
        .gpus_per_node = step->gpus_per_node,
    };

    if (request->order[0] == '\0')
        inputs.request.order = conf->order;
    step_address(address, step);
    return dt_plan_create(plan, &inputs, err);
}

static int write_stderr(void *context, const char *text, size_t n)
{
    (void)context;
    while (n > 0) {
        ssize_t written = write(STDERR_FILENO, text, n);

        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            text += written;
            n -= (size_t)written;
        }
    }
    return 0;
}

static void print_report(const struct dt_plan *plan, enum dt_report report)
{
    static const struct dt_plan_print_groups groups = {
        .n = {4, 3},
        .axes = {{1u << DT_TP, 1u << DT_CP, 1u << DT_DP, 1u << DT_PP},
                 {1u << DT_TP, 1u << DT_EP, 1u << DT_DP}},
        .names = {{"tp", "cp", "dp", "pp"}, {"tp", "ep", "dp"}},
    };
    struct dtrain_error err;
    struct dt_out *out = malloc(sizeof(*out));

    if (out == NULL) {
        slurm_error("dtrain: cannot allocate %zu bytes for the report", sizeof(*out));
        return;
    }
    dt_out_init(out, write_stderr, NULL);
    if (report == DT_REPORT_JSON)
        dt_plan_print_json(out, plan, &groups);
    else
        dt_plan_print_text(out, plan);
    if (dt_out_flush(out, &err))
        slurm_error("dtrain: the report is not whole: %s", err.text);
    free(out);
}

static int export_plan(const struct dt_plan *plan, struct dtrain_error *err)
{
    char *text = NULL;
    int rc;

    if (dt_plan_wire_encode(&text, plan, err))
        return -1;
    rc = setenv(DT_PLAN_WIRE_NAME, text, 1);
    free(text);
    if (rc != 0)
        return dt_error_set(err, "cannot set " DT_PLAN_WIRE_NAME ": %s", strerror(errno));
    return 0;
}

static void announce(const struct dt_plan *plan, enum dt_report report)
{
    if (report != DT_REPORT_OFF)
        print_report(plan, report);
    if (!dt_plan_is_identity(plan))
        slurm_info("dtrain: RANK differs from SLURM_PROCID in this step: ranks go node by node, whatever the "
                   "distribution");
}

/* Where the options may not have been meant for this step, the refusal says how to be rid of them. */
static int hint_at_helpers(const struct dt_launch *launch, struct dtrain_error *err)
{
    struct dtrain_error refusal;

    if (!launch->is_inherited || err == NULL)
        return -1;
    refusal = *err;
    return dt_error_set(err, "%s; for a helper step use srun --dtrain=off", refusal.text);
}

static void warn_of_mpi(const struct dt_launch *launch)
{
    if (!launch->is_foreseen)
        slurm_error("dtrain: PMIx was not chosen for this step, since it was not clear whether the word "
                    "behind %s is its value: put dtrain's options first, or add --mpi=pmix",
                    launch->unsure[0] ? launch->unsure : "an option");
}

static int launch_on(const struct dt_launch *launch, const struct dt_step *step, const struct dt_conf *conf,
                     const struct dt_request *request, struct dtrain_error *err)
{
    struct dt_plan *plan = NULL;
    int rc = -1;

    if (make_plan(&plan, step, conf, request, err))
        return hint_at_helpers(launch, err);
    if (export_plan(plan, err) == 0 && export_binding(launch, conf, request, err) == 0 &&
        export_comm(conf, err) == 0) {
        announce(plan, request->has_report ? request->report : conf->report);
        rc = 0;
    }
    dt_plan_destroy(plan);
    return rc;
}

int dt_launch_step(const struct dt_launch *launch, spank_t spank, const struct dt_request *request,
                   struct dtrain_error *err)
{
    struct dt_conf conf;
    struct dt_step step;
    int rc;

    if (launch->has_components)
        return dt_error_set(
            err, "a heterogeneous step of several components cannot be a dtrain step, since Slurm shows "
                 "the plugin its first component only: use one component (--het-group=N), or --dtrain=off");
    if (dt_site_load(&conf, launch->argc, launch->argv, err))
        return -1;
    warn_of_mpi(launch);
    rc = dt_step_load(&step, spank, err);
    if (rc == 0 && conf.node_order == DT_NODE_ORDER_SWITCHES)
        dt_switches_order_step(&step);
    if (rc == 0)
        rc = launch_on(launch, &step, &conf, request, err);
    dt_step_free(&step);
    return rc;
}
