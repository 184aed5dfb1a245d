#include "tools/plan_switches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/plan_crossings.h"
#include "core/plan_print.h"
#include "core/plan_table.h"

#define TITLE_MAX 16    /* bytes of a column's title with the NUL */
#define COLUMN_WIDTH 11 /* of a count, with the blanks in front */

/* ---- The file ---- */

static int check_file(int fd, const char *path, struct dtrain_error *err)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return dt_error_set(err, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return dt_error_set(err, "%s is no regular file: expected Slurm's topology.conf", path);
    return 0;
}

/* One byte more than the bound is asked for, so that a file that is too long is noticed. */
static int load_stream(struct dt_switches **switches, FILE *file, const char *path, struct dtrain_error *err)
{
    char *text = malloc(DT_SWITCHES_FILE_MAX + 1);
    size_t used;
    int rc;

    if (text == NULL)
        return dt_error_memory(err, DT_SWITCHES_FILE_MAX + 1, path);
    used = fread(text, 1, DT_SWITCHES_FILE_MAX + 1, file);
    if (ferror(file))
        rc = dt_error_set(err, "%s cannot be read: %s", path, strerror(errno));
    else
        rc = dt_switches_parse(switches, text, used, path, err);
    free(text);
    return rc;
}

static int load(struct dt_switches **switches, const char *path, struct dtrain_error *err)
{
    /* Not blocking, so that a FIFO in the file's place does not hold us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    int rc = -1;

    if (file == NULL)
        return dt_error_set(err, "%s cannot be opened: %s", path, strerror(errno));
    if (check_file(fd, path, err) == 0)
        rc = load_stream(switches, file, path, err);
    fclose(file);
    return rc;
}

/* ---- The order ---- */

static int check_nodes(const struct dt_plan_step *step, const struct dt_switches *switches, const char *path,
                       struct dtrain_error *err)
{
    struct dt_plan_inputs inputs;

    dt_plan_step_inputs(step, &inputs);
    for (uint32_t i = 0; i < inputs.node_count; i++)
        if (dt_switches_leaf(switches, inputs.nodes[i]) != DT_SWITCHES_NONE)
            return 0;
    return dt_error_set(err,
                        "%s has none of the nodes, %.64s among them: name nodes of the file with --nodes",
                        path, inputs.nodes[0]);
}

int dt_plan_switches_apply(struct dt_switches **switches, struct dt_plan_step *step, const char *path,
                           struct dtrain_error *err)
{
    *switches = NULL;
    if (path == NULL)
        return 0;
    if (load(switches, path, err) != 0)
        return dt_error_prefix(err, "--switches");
    if (check_nodes(step, *switches, path, err) == 0 && dt_plan_step_order(step, *switches, err) == 0)
        return 0;
    dt_switches_destroy(*switches);
    *switches = NULL;
    return dt_error_prefix(err, "--switches");
}

/* ---- The counts ---- */

/* The axes that a plan can have, as in its JSON. */
static const struct {
    enum dt_grid grid;
    enum dt_axis axis;
} axes[] = {
    {DT_DENSE, DT_TP}, {DT_DENSE, DT_CP},  {DT_EXPERT, DT_EP}, {DT_DENSE, DT_DP},
    {DT_DENSE, DT_PP}, {DT_EXPERT, DT_TP}, {DT_EXPERT, DT_DP},
};

#define AXES_COUNT (sizeof(axes) / sizeof(axes[0]))

static bool is_shown(const struct dt_plan *plan, size_t i)
{
    return dt_plan_layout(plan)->size[axes[i].grid][axes[i].axis] > 1 &&
           (axes[i].grid == DT_DENSE || dt_plan_print_has_experts(plan));
}

/* The levels to show: the last one, no switch in common, where some edge needs it. */
static uint32_t last_level(const struct dt_plan *plan, const struct dt_plan_crossings *crossings)
{
    uint32_t outside = crossings->levels + 1;

    for (size_t i = 0; i < AXES_COUNT; i++)
        if (is_shown(plan, i) && crossings->edges[axes[i].grid][axes[i].axis][outside] > 0)
            return outside;
    return crossings->levels;
}

static void print_titles(struct dt_out *out, uint32_t levels, uint32_t last)
{
    char title[TITLE_MAX];

    dt_out_printf(out, "  %-5s%*s", "axis", COLUMN_WIDTH, "on a node");
    for (uint32_t level = 1; level <= last; level++) {
        snprintf(title, sizeof(title), "level %u", level);
        dt_out_printf(out, "%*s", COLUMN_WIDTH, level > levels ? "no switch" : title);
    }
    dt_out_text(out, "\n");
}

int dt_plan_switches_print_text(struct dt_out *out, const struct dt_plan *plan,
                                const struct dt_switches *switches, struct dtrain_error *err)
{
    struct dt_plan_crossings crossings;
    uint32_t last;

    if (switches == NULL)
        return 0;
    if (dt_plan_crossings(&crossings, plan, switches, err) != 0)
        return -1;
    last = last_level(plan, &crossings);
    dt_out_text(out, "\nEdges between neighbours, by the highest tier of switches that they cross\n");
    print_titles(out, crossings.levels, last);
    for (size_t i = 0; i < AXES_COUNT; i++) {
        if (!is_shown(plan, i))
            continue;
        dt_out_printf(out, "  %-5s", dt_axis_title(axes[i].grid, axes[i].axis));
        for (uint32_t level = 0; level <= last; level++)
            dt_out_printf(out, "%*llu", COLUMN_WIDTH,
                          (unsigned long long)crossings.edges[axes[i].grid][axes[i].axis][level]);
        dt_out_text(out, "\n");
    }
    return 0;
}

int dt_plan_switches_print_json(struct dt_out *out, const struct dt_plan *plan,
                                const struct dt_switches *switches, struct dtrain_error *err)
{
    struct dt_plan_crossings crossings;

    if (switches == NULL)
        return 0;
    if (dt_plan_crossings(&crossings, plan, switches, err) != 0)
        return -1;
    dt_out_text(out, ",\n\"crossings\": {");
    for (size_t i = 0; i < AXES_COUNT; i++) {
        dt_out_printf(out, "%s\n \"%s\": [", i > 0 ? "," : "", dt_axis_title(axes[i].grid, axes[i].axis));
        for (uint32_t level = 0; level <= crossings.levels + 1; level++) {
            dt_out_text(out, level > 0 ? ", " : "");
            dt_out_u64(out, crossings.edges[axes[i].grid][axes[i].axis][level]);
        }
        dt_out_text(out, "]");
    }
    dt_out_text(out, "}");
    return 0;
}
