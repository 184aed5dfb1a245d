/* Plans: who is where, what the wire says, and what is refused with which words. */
#include <stdlib.h>

#include "core/env.h"
#include "core/plan.h"
#include "core/plan_wire.h"
#include "core/request.h"
#include "tap.h"

#define NODES_MAX 4
#define WORLD_MAX 64

struct row {
    const char *name;
    struct dt_layout_request request;
    enum dt_span span;
    enum dt_backend_choice backend;
    uint32_t node_count, tasks[NODES_MAX], gpus;
    uint32_t procids[WORLD_MAX]; /* all 0: the identity */
    const char *words;           /* of the wire or, with `refused`, of the error */
    bool refused;
};

static const char *const names[NODES_MAX] = {"n1", "n2", "n3", "n4"};

static int create(struct dt_plan **plan, const struct row *row, struct dtrain_error *err)
{
    struct dt_plan_inputs inputs = {
        .request = row->request,
        .tp_span = row->span,
        .backend = row->backend,
        .node_count = row->node_count,
        .nodes = names,
        .tasks = row->tasks,
        .procids = row->procids[0] || row->procids[1] ? row->procids : NULL,
        .master_addr = "10.0.0.1",
        .master_port = 20001,
        .gpus_per_node = row->gpus,
    };

    return dt_plan_create(plan, &inputs, err);
}

static const struct row rows[] = {
    {"the main job", {.tp = 8, .pp = 2}, 0, 0, 2, {8, 8}, 8, {0},
     "1;tp=8;cp=1;ep=1;dp=1;pp=2;etp=8;order=tp-cp-ep-dp-pp;span=node;backend=auto;nodes=n[1-2];tasks=8(x2);"
     "procids=0+16:1;addr=10.0.0.1;port=20001", false},
    {"one task", {.tp = 1}, 0, 0, 1, {1}, 0, {0}, "tasks=1;procids=0;", false},
    {"NeMo-RL#3178: cyclic", {.tp = 2}, 0, 0, 2, {4, 4}, 0, {0, 2, 4, 6, 1, 3, 5, 7},
     "procids=0+4:2/2:1;", false},
    {"NeMo-RL#3178: arbitrary", {.tp = 2}, 0, 0, 2, {2, 2}, 0, {2, 3, 0, 1}, "procids=2+2:1,0+2:1;", false},
    {"falling ids", {.tp = 1}, 0, 0, 1, {4}, 0, {3, 2, 1, 0}, "procids=3,2,1,0;", false},
    {"uneven nodes without tp", {.tp = 1}, 0, 0, 4, {5, 1, 1, 1}, 0, {0}, "tasks=5,1(x3);", false},
    {"across nodes when allowed", {.tp = 16}, DT_SPAN_ANY, 0, 2, {8, 8}, 0, {0}, "span=any;", false},
    {"more tasks than GPUs on the host", {.tp = 8}, 0, DT_BACKEND_HOST, 1, {8}, 4, {0}, "backend=host;", false},

    {"tp does not fit", {.tp = 2}, 0, 0, 2, {3, 3}, 0, {0},
     "3 tasks on n1 cannot hold groups of tp=2: use --ntasks-per-node=4 or --dtrain-tp=1", true},
    {"cuDecomp#98: one node splits a group, all are refused", {.tp = 2}, 0, 0, 4, {2, 2, 3, 1}, 0, {0},
     "3 tasks on n3 cannot hold", true},
    {"a later node splits the group", {.tp = 4}, 0, 0, 2, {4, 8}, 0, {0}, "tasks=4,8;", false},
    {"uneven", {.tp = 2}, 0, 0, 4, {5, 1, 1, 1}, 0, {0}, "use --ntasks-per-node=2 or --dtrain-tp=1", true},
    {"tp larger than a node", {.tp = 16}, 0, 0, 2, {8, 8}, 0, {0},
     "8 tasks on n1 cannot hold groups of tp=16: use --ntasks-per-node=16 or --dtrain-tp=8, or let the groups cross "
     "nodes with --dtrain-tp-span=any", true},
    {"tp is not first", {.tp = 2, .order = "dp-tp-pp"}, 0, 0, 2, {4, 4}, 0, {0}, "put tp first in --dtrain-order", true},
    {"expert tp crosses", {.tp = 1, .etp = 4}, 0, 0, 2, {2, 2}, 0, {0}, "cannot hold groups of etp=4", true},
    {"too few GPUs", {.tp = 2}, 0, 0, 1, {8}, 4, {0},
     "8 tasks on n1 are more than the 4 GPUs a node that the step asks for: use --ntasks-per-node=4", true},
    {"an id twice", {.tp = 1}, 0, 0, 1, {3}, 0, {0, 1, 1}, "task id 1 of rank 2 is taken twice", true},
    {"an id too large", {.tp = 1}, 0, 0, 1, {3}, 0, {0, 1, 3}, "task id 3 of rank 2 is out of range", true},
    {"a node without tasks", {.tp = 1}, 0, 0, 2, {1, 0}, 0, {0}, "0 tasks on n2", true},
};

static bool ranks_are_consistent(const struct dt_plan *plan)
{
    for (uint32_t rank = 0; rank < dt_plan_world(plan); rank++) {
        uint32_t node = dt_plan_rank_node(plan, rank);

        if (dt_plan_procid_rank(plan, dt_plan_rank_procid(plan, rank)) != rank ||
            dt_plan_node_first(plan, node) + dt_plan_rank_local(plan, rank) != rank ||
            dt_plan_rank_local(plan, rank) >= dt_plan_node_tasks(plan, node))
            return false;
    }
    return dt_plan_node_find(plan, "n1") == 0 && dt_plan_node_find(plan, "n9") == -1;
}

static bool wire_round_trip(const struct dt_plan *plan, const char *words)
{
    struct dtrain_error err = {""};
    struct dt_plan *again = NULL;
    char *text = NULL, *second = NULL;
    bool ok = dt_plan_wire_encode(&text, plan, &err) == 0 && tap_holds(text, words, "its wire") &&
              dt_plan_wire_decode(&again, text, &err) == 0 && dt_plan_wire_encode(&second, again, &err) == 0 &&
              strcmp(text, second) == 0 && dt_plan_wire_hash(text) == dt_plan_wire_hash(second) &&
              ranks_are_consistent(again);

    if (!ok)
        printf("# %s\n", err.text);
    dt_plan_destroy(again);
    free(second);
    free(text);
    return ok;
}

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_plan *plan;
        int rc = create(&plan, &rows[i], &err);

        if (rows[i].refused) {
            tap_ok(rc == -1 && plan == NULL, "refused: %s", rows[i].name);
            tap_holds(err.text, rows[i].words, "and says so");
            continue;
        }
        if (tap_ok(rc == 0 && ranks_are_consistent(plan), "%s %s", rows[i].name, err.text))
            tap_ok(wire_round_trip(plan, rows[i].words), "its wire is read back as the same plan");
        dt_plan_destroy(plan);
    }
}

static void test_repeated_node(void)
{
    static const char *const twice[] = {"n1", "n2", "n1"};
    static const uint32_t tasks[] = {1, 1, 1};
    struct dt_plan_inputs inputs = {.node_count = 3, .nodes = twice, .tasks = tasks};
    struct dtrain_error err = {""};
    struct dt_plan *plan;

    tap_ok(dt_plan_create(&plan, &inputs, &err) == -1, "a repeated node is refused");
    tap_holds(err.text, "node n1 stands twice", "and named");
    inputs.node_count = 0;
    tap_ok(dt_plan_create(&plan, &inputs, &err) == -1, "no node is refused");
    inputs.node_count = 2;
    inputs.master_addr = "node7";
    tap_ok(dt_plan_create(&plan, &inputs, &err) == -1, "a name as master address is refused");
    tap_holds(err.text, "'node7' is not numeric", "and shown");
}

#define HEAD "1;tp=1;cp=1;ep=1;dp=2;pp=1;etp=1;order=tp-cp-ep-dp-pp;span=node;backend=auto;"

static void test_hostile_wire(void)
{
    static const struct {
        const char *text, *words;
    } hostile[] = {
        {"", "version '' is not known"},
        {"2;tp=1", "version '2' is not known"},
        {"1", "field tp is missing"},
        {"1;pp=1;tp=1", "field tp is missing"},
        {"1;tp=0;", "tp"},
        {"1;tp=-1;", "tp"},
        {"1;tp=99999999999999999999;", "tp"},
        {HEAD "nodes=n[1-2;tasks=1(x2);procids=0+2:1;addr=;port=0", "n[1-2"},
        {HEAD "nodes=n[1-1000000];tasks=1;procids=0;addr=;port=0", "1-1000000"},
        {HEAD "nodes=n[1-2];tasks=1;procids=0+2:1;addr=;port=0", "1 task counts for 2 nodes"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0;addr=;port=0", "1 task ids for 2 tasks"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0+3:1;addr=;port=0", "more task ids than the 2 tasks"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0+16777216:1/16777216:1;addr=;port=0", "more task ids"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0+2;addr=;port=0", "no ':'"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0+2:9;addr=;port=0", "out of range"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0,;addr=;port=0", "procids"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0,1;addr=;port=0", "not in the form"},
        {HEAD "nodes=n1,n2;tasks=1(x2);procids=0+2:1;addr=;port=0", "not in the form"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0+2:1;addr=x;port=0", "'x' is not numeric"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0+2:1;addr=;port=65536", "port"},
        {HEAD "nodes=n[1-2];tasks=1(x2);procids=0+2:1;addr=;port=0;more=1", "after the last field"},
        {"1;tp=1;cp=1;ep=1;dp=9;pp=1;etp=1;order=tp-cp-ep-dp-pp;span=node;backend=auto;nodes=n[1-2];tasks=1(x2);"
         "procids=0+2:1;addr=;port=0", "--dtrain-dp=9 disagrees"},
    };

    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_plan *plan;

        tap_ok(dt_plan_wire_decode(&plan, hostile[i].text, &err) == -1 && plan == NULL, "hostile wire %zu", i);
        tap_holds(err.text, hostile[i].words, "and says so");
        tap_ok(strncmp(err.text, DT_PLAN_WIRE_NAME, strlen(DT_PLAN_WIRE_NAME)) == 0 &&
                   strstr(err.text + 1, DT_PLAN_WIRE_NAME) == NULL,
               "and names the variable once: %s", err.text);
    }
}

/* 16,384 nodes of 8 tasks fit in one variable, block or cyclic; a scrambled order does not. */
static void test_large_wire(void)
{
    enum { NODES = 16384, TASKS = 8, WORLD = NODES * TASKS };
    const char **large = calloc(NODES, sizeof(*large));
    uint32_t *tasks = calloc(NODES, sizeof(*tasks)), *procids = calloc(WORLD, sizeof(*procids));
    char *arena = calloc(NODES, 16), *text = NULL;
    struct dt_plan_inputs inputs = {
        .request = {.tp = 8, .pp = 16}, .node_count = NODES, .nodes = large, .tasks = tasks, .procids = procids};
    struct dtrain_error err = {""};
    struct dt_plan *plan = NULL;

    for (uint32_t node = 0; node < NODES; node++) {
        snprintf(arena + (size_t)node * 16, 16, "node%05u", node);
        large[node] = arena + (size_t)node * 16;
        tasks[node] = TASKS;
        for (uint32_t i = 0; i < TASKS; i++)
            procids[node * TASKS + i] = i * NODES + node;
    }
    tap_ok(dt_plan_create(&plan, &inputs, &err) == 0 && dt_plan_wire_encode(&text, plan, &err) == 0 &&
               strlen(text) < 300,
           "131,072 cyclic tasks fit in %zu bytes %s", text ? strlen(text) : 0, err.text);
    free(text);
    dt_plan_destroy(plan);
    for (uint32_t i = 0; i < WORLD; i++)
        procids[i] = (uint32_t)((uint64_t)i * 48271 % WORLD);
    tap_ok(dt_plan_create(&plan, &inputs, &err) == 0 && dt_plan_wire_encode(&text, plan, &err) == -1,
           "scrambled ids are refused");
    tap_holds(err.text, "needs more than 131071 bytes", "and says so");
    dt_plan_destroy(plan);
    free(arena);
    free(procids);
    free(tasks);
    free(large);
}

static void test_env(void)
{
    static const struct {
        const char *name;
        uint32_t rank;
        const char *value; /* NULL: none */
    } env[] = {
        {"RANK", 9, "9"}, {"WORLD_SIZE", 9, "16"}, {"LOCAL_RANK", 9, "1"}, {"LOCAL_WORLD_SIZE", 9, "8"},
        {"GROUP_RANK", 9, "1"}, {"GROUP_WORLD_SIZE", 0, "2"}, {"NODE_RANK", 7, "0"}, {"MASTER_ADDR", 9, "10.0.0.1"},
        {"MASTER_PORT", 9, "20001"}, {"DTRAIN_TP_SIZE", 9, "8"}, {"DTRAIN_TP_RANK", 9, "1"},
        {"DTRAIN_PP_RANK", 9, "1"}, {"DTRAIN_DP_SIZE", 9, "1"}, {"DTRAIN_ETP_SIZE", 0, "8"},
        {"DTRAIN_ORDER", 0, "tp-cp-ep-dp-pp"}, {"DTRAIN_BACKEND", 0, "auto"},
    };
    struct dtrain_error err;
    struct dt_plan *plan;
    size_t count;
    const struct dt_env_var *vars = dt_env_vars(&count);

    if (create(&plan, &rows[0], &err))
        return;
    for (size_t i = 0; i < sizeof(env) / sizeof(env[0]); i++) {
        char value[DT_ENV_VALUE_MAX] = "";
        bool found = false;

        for (size_t j = 0; j < count; j++)
            if (strcmp(vars[j].name, env[i].name) == 0)
                found = vars[j].value(value, plan, env[i].rank);
        tap_ok(found && strcmp(value, env[i].value) == 0, "%s=%s of rank %u", env[i].name, env[i].value, env[i].rank);
    }
    dt_plan_destroy(plan);
}

static void test_request(void)
{
    static const struct {
        const char *name, *value, *words; /* words NULL: taken */
    } options[] = {
        {"dtrain-tp", "8", NULL}, {"dtrain-tp", "0", "--dtrain-tp"}, {"dtrain-tp", "-2", "--dtrain-tp"},
        {"dtrain-tp", "", "--dtrain-tp"}, {"dtrain-tp", NULL, "--dtrain-tp"}, {"dtrain-pp", "8x", "--dtrain-pp"},
        {"dtrain-dp", "99999999999", "--dtrain-dp"}, {"dtrain-order", "pp-tp-dp", NULL},
        {"dtrain-order", "", "no order of axes"}, {"dtrain-order", "tp-qq", "'qq' in 'tp-qq' is no axis"},
        {"dtrain-tp-span", "any", NULL}, {"dtrain-tp-span", "rack", "--dtrain-tp-span"},
        {"dtrain-backend", "host", NULL}, {"dtrain-backend", "mpi", "--dtrain-backend"},
        {"dtrain-report", NULL, NULL}, {"dtrain-report", "(null)", NULL}, {"dtrain-report", "json", NULL},
        {"dtrain-report", "xml", "--dtrain-report"}, {"dtrain", "off", NULL}, {"dtrain", "maybe", "--dtrain"},
        {"dtrain-xp", "1", "option --dtrain-xp is not known"},
    };
    struct dt_request request;

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        struct dtrain_error err = {""};
        int rc;

        dt_request_init(&request);
        rc = dt_request_apply(&request, options[i].name, options[i].value, &err);
        tap_ok(rc == (options[i].words ? -1 : 0), "--%s=%s %s", options[i].name,
               options[i].value ? options[i].value : "(none)", err.text);
        if (options[i].words)
            tap_holds(err.text, options[i].words, "and says so");
    }
    dt_request_init(&request);
    tap_ok(!dt_request_is_active(&request), "without options a step is a plain one");
    dt_request_apply(&request, "dtrain-tp", "4", NULL);
    tap_ok(dt_request_is_active(&request), "--dtrain-tp makes it a dtrain step");
    dt_request_apply(&request, "dtrain", "off", NULL);
    dt_request_apply(&request, "dtrain-tp", "4", NULL);
    tap_ok(!dt_request_is_active(&request), "--dtrain=off beats sizes, whatever their order");
    dt_request_apply(&request, "dtrain", "on", NULL);
    tap_ok(dt_request_is_active(&request), "--dtrain=on takes it back");
}

int main(void)
{
    test_rows();
    test_repeated_node();
    test_hostile_wire();
    test_large_wire();
    test_env();
    test_request();
    return tap_done();
}
