#include "plan_wire.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostlist.h"
#include "parse.h"

#define WIRE_VERSION "1"
#define WHAT DT_PLAN_WIRE_NAME

/* ---- Writing ------------------------------------------------------------ */

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

/* COUNT ids from START by STRIDE, the whole REPEAT times, each SHIFT further. */
struct run {
    uint32_t start, count, stride, repeat, shift;
};

/* The longest rising progression of ids from `rank` on: its count and stride (1 when alone). */
static void run_measure(struct run *run, const struct dt_plan *plan, uint32_t rank)
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

static void run_extend(struct run *run, const struct dt_plan *plan, uint32_t rank)
{
    struct run next;
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
    struct run run;

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
        return dt_error_memory(err, DT_PLAN_WIRE_MAX + 1, WHAT);
    write_text(&writer, "%s;", WIRE_VERSION);
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
    if (writer.is_full || writer.used + strlen(WHAT "=") > DT_PLAN_WIRE_MAX) {
        free(writer.text);
        return dt_error_set(err,
                            "the plan of %u tasks on %u nodes needs more than %u bytes in " WHAT
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

/* ---- Reading ------------------------------------------------------------ */

/* What is read before the plan can be made; freed together. */
struct reader {
    char *copy; /* of the text, cut into fields */
    char *next; /* the first field not yet read; NULL after the last */
    struct dt_hostlist *nodes;
    const char **names;
    uint32_t *tasks;
    uint32_t task_entries;
    uint32_t *procids;
};

static void reader_free(struct reader *reader)
{
    free(reader->copy);
    dt_hostlist_destroy(reader->nodes);
    free(reader->names);
    free(reader->tasks);
    free(reader->procids);
}

/* The value of the next field, which must have this key; NULL with the error set. */
static char *read_field(struct reader *reader, const char *key, struct dtrain_error *err)
{
    size_t n = strlen(key);
    char *field = reader->next, *end;

    if (field == NULL || strncmp(field, key, n) != 0 || field[n] != '=') {
        dt_error_set(err, WHAT ": field %s is missing: expected the plan that srun's dtrain plugin wrote", key);
        return NULL;
    }
    end = strchr(field, ';');
    reader->next = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return field + n + 1;
}

static int read_u32(uint32_t *value, struct reader *reader, const char *key, uint32_t min, uint32_t max,
                    struct dtrain_error *err)
{
    const char *text = read_field(reader, key, err);
    char what[64];

    if (text == NULL)
        return -1;
    snprintf(what, sizeof(what), WHAT ", %s", key);
    return dt_parse_u32(value, text, min, max, what, err);
}

static int read_word(unsigned *index, struct reader *reader, const char *key,
                     const char *const *words, unsigned n, struct dtrain_error *err)
{
    const char *text = read_field(reader, key, err);

    return text == NULL ? -1 : dt_parse_word(index, text, words, n, WHAT, err);
}

static int read_version(struct reader *reader, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char *end = strchr(reader->copy, ';');

    if (end != NULL)
        *end = '\0';
    reader->next = end ? end + 1 : NULL;
    if (strcmp(reader->copy, WIRE_VERSION) == 0)
        return 0;
    return dt_error_set(err,
                        WHAT ": version '%s' is not known, expected " WIRE_VERSION
                             ": srun, slurmd and the library must come from one release of dtrain",
                        dt_parse_shown(shown, reader->copy));
}

static int read_request(struct dt_plan_inputs *inputs, struct reader *reader,
                        struct dtrain_error *err)
{
    struct dt_layout_request *request = &inputs->request;
    unsigned span, backend;

    if (read_u32(&request->tp, reader, "tp", 1, DT_WORLD_MAX, err) ||
        read_u32(&request->cp, reader, "cp", 1, DT_WORLD_MAX, err) ||
        read_u32(&request->ep, reader, "ep", 1, DT_WORLD_MAX, err) ||
        read_u32(&request->dp, reader, "dp", 1, DT_WORLD_MAX, err) ||
        read_u32(&request->pp, reader, "pp", 1, DT_WORLD_MAX, err) ||
        read_u32(&request->etp, reader, "etp", 1, DT_WORLD_MAX, err))
        return -1;
    request->order = read_field(reader, "order", err);
    if (request->order == NULL || read_word(&span, reader, "span", dt_span_words, 2, err) ||
        read_word(&backend, reader, "backend", dt_backend_words, 3, err))
        return -1;
    inputs->tp_span = (enum dt_span)span;
    inputs->backend = (enum dt_backend)backend;
    return 0;
}

static int read_nodes(struct dt_plan_inputs *inputs, struct reader *reader,
                      struct dtrain_error *err)
{
    const char *text = read_field(reader, "nodes", err);
    uint32_t n;

    if (text == NULL || dt_hostlist_parse(&reader->nodes, text, err))
        return -1;
    n = dt_hostlist_count(reader->nodes);
    reader->names = calloc(n, sizeof(*reader->names));
    if (reader->names == NULL)
        return dt_error_memory(err, n * sizeof(*reader->names), "node names");
    for (uint32_t i = 0; i < n; i++)
        reader->names[i] = dt_hostlist_name(reader->nodes, i);
    text = read_field(reader, "tasks", err);
    if (text == NULL || dt_parse_task_counts(&reader->tasks, &reader->task_entries, text, n,
                                             DT_PLAN_TASKS_PER_NODE_MAX, WHAT, err))
        return -1;
    if (reader->task_entries != n)
        return dt_error_set(err, WHAT ": %u task counts for %u nodes: expected one each", reader->task_entries, n);
    inputs->node_count = n;
    inputs->nodes = reader->names;
    inputs->tasks = reader->tasks;
    return 0;
}

static int world_count(uint32_t *world, const struct dt_plan_inputs *inputs,
                       struct dtrain_error *err)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < inputs->node_count; i++)
        sum += inputs->tasks[i];
    if (sum > DT_WORLD_MAX)
        return dt_error_set(err, WHAT ": %" PRIu64 " tasks: expected at most %u", sum, DT_WORLD_MAX);
    *world = (uint32_t)sum;
    return 0;
}

/* "A:B" after `mark`; stays 1:1 when the mark is not there. Cuts the text at the mark. */
static int read_pair(char *text, char mark, uint32_t *a, uint32_t *b, uint32_t max,
                     struct dtrain_error *err)
{
    char *pair = strchr(text, mark), *colon;

    *a = *b = 1;
    if (pair == NULL)
        return 0;
    *pair++ = '\0';
    colon = strchr(pair, ':');
    if (colon == NULL)
        return dt_error_set(err, WHAT ": a run of task ids has no ':' after '%c'", mark);
    *colon++ = '\0';
    return dt_parse_u32(a, pair, 2, max, WHAT ", procids", err) ||
                   dt_parse_u32(b, colon, 1, max, WHAT ", procids", err)
               ? -1
               : 0;
}

static int read_run(struct run *run, char *text, uint32_t max, struct dtrain_error *err)
{
    if (read_pair(text, '/', &run->repeat, &run->shift, max, err) ||
        read_pair(text, '+', &run->count, &run->stride, max, err))
        return -1;
    return dt_parse_u32(&run->start, text, 0, max, WHAT ", procids", err);
}

static int run_expand(const struct run *run, uint32_t *procids, uint32_t *used, uint32_t world,
                      struct dtrain_error *err)
{
    if ((uint64_t)run->count * run->repeat > world - *used)
        return dt_error_set(err, WHAT ": more task ids than the %u tasks", world);
    for (uint32_t i = 0; i < run->repeat; i++) {
        for (uint32_t j = 0; j < run->count; j++) {
            uint64_t id = run->start + (uint64_t)i * run->shift + (uint64_t)j * run->stride;

            procids[(*used)++] = id < world ? (uint32_t)id : UINT32_MAX;
        }
    }
    return 0;
}

static int read_procids(struct dt_plan_inputs *inputs, struct reader *reader,
                        struct dtrain_error *err)
{
    char *text = read_field(reader, "procids", err), *end;
    uint32_t world, used = 0;
    struct run run;

    if (text == NULL || world_count(&world, inputs, err))
        return -1;
    reader->procids = calloc(world, sizeof(*reader->procids));
    if (reader->procids == NULL)
        return dt_error_memory(err, world * sizeof(*reader->procids), "task ids");
    for (; text; text = end) {
        end = strchr(text, ',');
        if (end != NULL)
            *end++ = '\0';
        if (read_run(&run, text, DT_WORLD_MAX, err) ||
            run_expand(&run, reader->procids, &used, world, err))
            return -1;
    }
    if (used != world)
        return dt_error_set(err, WHAT ": %u task ids for %u tasks: expected one each", used, world);
    inputs->procids = reader->procids;
    return 0;
}

static int read_master(struct dt_plan_inputs *inputs, struct reader *reader,
                       struct dtrain_error *err)
{
    uint32_t port;

    inputs->master_addr = read_field(reader, "addr", err);
    if (inputs->master_addr == NULL || read_u32(&port, reader, "port", 0, UINT16_MAX, err))
        return -1;
    inputs->master_port = (uint16_t)port;
    if (reader->next != NULL)
        return dt_error_set(err, WHAT ": text after the last field");
    return 0;
}

/* One plan has one text only, so that texts and hashes can be compared. */
static int check_canonical(const struct dt_plan *plan, const char *text, struct dtrain_error *err)
{
    char *again;
    int rc;

    if (dt_plan_wire_encode(&again, plan, err))
        return -1;
    rc = strcmp(again, text) == 0 ? 0 : dt_error_set(err, WHAT " is not in the form that srun's dtrain plugin writes");
    free(again);
    return rc;
}

int dt_plan_wire_decode(struct dt_plan **plan, const char *text, struct dtrain_error *err)
{
    struct reader reader = {.copy = NULL};
    struct dt_plan_inputs inputs = {.node_count = 0};
    int rc = -1;

    *plan = NULL;
    if (strnlen(text, DT_PLAN_WIRE_MAX + 1) > DT_PLAN_WIRE_MAX)
        return dt_error_set(err, WHAT " is longer than %u bytes", DT_PLAN_WIRE_MAX);
    reader.copy = strdup(text);
    if (reader.copy == NULL)
        return dt_error_memory(err, strlen(text) + 1, WHAT);
    if (read_version(&reader, err) || read_request(&inputs, &reader, err) ||
        read_nodes(&inputs, &reader, err) || read_procids(&inputs, &reader, err) ||
        read_master(&inputs, &reader, err))
        goto out;
    if (dt_plan_create(plan, &inputs, err)) {
        dt_error_prefix(err, WHAT);
        goto out;
    }
    if (check_canonical(*plan, text, err)) {
        dt_plan_destroy(*plan);
        *plan = NULL;
        goto out;
    }
    rc = 0;
out:
    reader_free(&reader);
    return rc;
}
