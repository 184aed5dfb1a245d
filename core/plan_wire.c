#include "plan_wire.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostlist.h"
#include "plan_wire_run.h"

/* Text that grows up to DT_PLAN_WIRE_MAX; past it nothing is added. */
struct writer {
    char *text;
    size_t used;
    bool is_full;
};

static void DT_PRINTF(2, 3) write_text(struct writer *writer, const char *fmt, ...)
{
    size_t left = DT_PLAN_WIRE_MAX + 1 - writer->used;
    va_list args;
    int n;

    if (writer->is_full)
        return;
    va_start(args, fmt);
    n = vsnprintf(writer->text + writer->used, left, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= left)
        writer->is_full = true;
    else
        writer->used += (size_t)n;
}

static void write_axes(struct writer *writer, const struct dt_layout *layout)
{
    char order[DT_ORDER_MAX];

    write_text(writer, "tp=%u;cp=%u;ep=%u;dp=%u;pp=%u;etp=%u;order=%s;", layout->size[DT_DENSE][DT_TP],
               layout->size[DT_DENSE][DT_CP], layout->size[DT_EXPERT][DT_EP],
               layout->size[DT_DENSE][DT_DP], layout->size[DT_DENSE][DT_PP],
               layout->size[DT_EXPERT][DT_TP], dt_layout_order_text(layout, order));
}

static int write_nodes(struct writer *writer, const struct dt_plan *plan, struct dtrain_error *err)
{
    uint32_t n = dt_plan_node_count(plan);
    const char **names = calloc(n, sizeof(*names));
    char *text = NULL;
    int rc = -1;

    if (names == NULL)
        return dt_error_memory(err, n * sizeof(*names), "node names");
    for (uint32_t i = 0; i < n; i++)
        names[i] = dt_plan_node_name(plan, i);
    if (dt_hostlist_format(&text, names, n, err))
        goto out;
    write_text(writer, "nodes=%s;", text);
    rc = 0;
out:
    free(text);
    free(names);
    return rc;
}

static void write_tasks(struct writer *writer, const struct dt_plan *plan)
{
    uint32_t n = dt_plan_node_count(plan);

    write_text(writer, "tasks=");
    for (uint32_t i = 0, run; i < n; i += run) {
        uint32_t tasks = dt_plan_node_tasks(plan, i);

        for (run = 1; i + run < n && dt_plan_node_tasks(plan, i + run) == tasks;)
            run++;
        write_text(writer, "%s%u", i ? "," : "", tasks);
        if (run > 1)
            write_text(writer, "(x%u)", run);
    }
    write_text(writer, ";");
}

/* The longest rising progression of ids from `rank` on: its count and stride (1 when alone). */
static void run_measure(struct dt_plan_wire_run *run, const struct dt_plan *plan, uint32_t rank)
{
    uint32_t world = dt_plan_world(plan);

    run->start = dt_plan_rank_procid(plan, rank);
    run->count = 1;
    run->stride = 1;
    run->repeat = 1;
    run->shift = 1;
    if (rank + 1 >= world || dt_plan_rank_procid(plan, rank + 1) <= run->start)
        return;
    run->stride = dt_plan_rank_procid(plan, rank + 1) - run->start;
    while (rank + run->count < world &&
           dt_plan_rank_procid(plan, rank + run->count) == run->start + run->count * run->stride)
        run->count++;
}

static void run_extend(struct dt_plan_wire_run *run, const struct dt_plan *plan, uint32_t rank)
{
    struct dt_plan_wire_run next;
    uint32_t world = dt_plan_world(plan);

    for (rank += run->count; run->count > 1 && rank < world; rank += run->count) {
        run_measure(&next, plan, rank);
        if (next.count != run->count || next.stride != run->stride || next.start <= run->start)
            return;
        if (run->repeat == 1)
            run->shift = next.start - run->start;
        else if (next.start != run->start + run->repeat * run->shift)
            return;
        run->repeat++;
    }
}

static void write_procids(struct writer *writer, const struct dt_plan *plan)
{
    uint32_t world = dt_plan_world(plan);
    struct dt_plan_wire_run run;

    write_text(writer, "procids=");
    for (uint32_t rank = 0; rank < world && !writer->is_full; rank += run.count * run.repeat) {
        run_measure(&run, plan, rank);
        run_extend(&run, plan, rank);
        write_text(writer, "%s%u", rank ? "," : "", run.start);
        if (run.count > 1)
            write_text(writer, "+%u:%u", run.count, run.stride);
        if (run.repeat > 1)
            write_text(writer, "/%u:%u", run.repeat, run.shift);
    }
    write_text(writer, ";");
}

int dt_plan_wire_encode(char **text, const struct dt_plan *plan, struct dtrain_error *err)
{
    struct writer writer = {.text = malloc(DT_PLAN_WIRE_MAX + 1)};

    *text = NULL;
    if (writer.text == NULL)
        return dt_error_memory(err, DT_PLAN_WIRE_MAX + 1, DT_PLAN_WIRE_NAME);
    write_text(&writer, "%s;", DT_PLAN_WIRE_VERSION);
    write_axes(&writer, dt_plan_layout(plan));
    write_text(&writer, "span=%s;backend=%s;", dt_span_words[dt_plan_tp_span(plan)],
               dt_backend_words[dt_plan_backend(plan)]);
    if (write_nodes(&writer, plan, err)) {
        free(writer.text);
        return -1;
    }
    write_tasks(&writer, plan);
    write_procids(&writer, plan);
    write_text(&writer, "addr=%s;port=%u", dt_plan_master_addr(plan), dt_plan_master_port(plan));
    /* The name and the '=' count against the limit of one string, too. */
    if (writer.is_full || writer.used + strlen(DT_PLAN_WIRE_NAME "=") > DT_PLAN_WIRE_MAX) {
        free(writer.text);
        return dt_error_set(err,
                            "the plan of %u tasks on %u nodes needs more than %u bytes in " DT_PLAN_WIRE_NAME
                            ": use --distribution=block, or nodes whose names form ranges",
                            dt_plan_world(plan), dt_plan_node_count(plan), DT_PLAN_WIRE_MAX);
    }
    *text = writer.text;
    return 0;
}

uint64_t dt_plan_wire_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}
