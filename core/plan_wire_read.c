#include "plan_wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostlist.h"
#include "parse.h"
#include "plan_wire_run.h"

#define WHAT DT_PLAN_WIRE_NAME

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
        dt_error_set(err, WHAT ": field %s is missing: expected the plan that srun's dtrain plugin wrote",
            key);
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
    if (strcmp(reader->copy, DT_PLAN_WIRE_VERSION) == 0)
        return 0;
    return dt_error_set(err,
                        WHAT ": version '%s' is not known, expected " DT_PLAN_WIRE_VERSION
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
    inputs->backend = (enum dt_backend_choice)backend;
    return 0;
}

static int read_nodes(struct dt_plan_inputs *inputs, struct reader *reader,
                      struct dtrain_error *err)
{
    const char *text = read_field(reader, "nodes", err);
    uint32_t n;

    if (text == NULL)
        return -1;
    if (dt_hostlist_parse(&reader->nodes, text, err))
        return dt_error_prefix(err, WHAT);
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
        return dt_error_set(err, WHAT ": %u task counts for %u nodes: expected one each",
            reader->task_entries, n);
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

static int read_run(struct dt_plan_wire_run *run, char *text, uint32_t max, struct dtrain_error *err)
{
    if (read_pair(text, '/', &run->repeat, &run->shift, max, err) ||
        read_pair(text, '+', &run->count, &run->stride, max, err))
        return -1;
    return dt_parse_u32(&run->start, text, 0, max, WHAT ", procids", err);
}

static int run_expand(const struct dt_plan_wire_run *run, uint32_t *procids, uint32_t *used, uint32_t world,
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
    uint32_t world = 0, used = 0;
    struct dt_plan_wire_run run;

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
    rc = strcmp(again, text) == 0 ? 0 : dt_error_set(err, WHAT " is not in the form that srun's dtrain "
                                                            "plugin writes");
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
