/* What a rank believes before it talks to others: settings, facts, the way to meet. */
#include <stdlib.h>

#include "runtime/backend_choice.h"
#include "runtime/facts.h"
#include "tap.h"

/* ---- Settings ---------------------------------------------------------------------- */

struct variable {
    const char *name;
    char value[32];
};

#define VARIABLES_MAX 3

static struct variable environment[VARIABLES_MAX]; /* what get() reads: a copy of the row's */

static char *get(const char *name)
{
    for (int i = 0; i < VARIABLES_MAX && environment[i].name != NULL; i++)
        if (strcmp(environment[i].name, name) == 0)
            return environment[i].value;
    return NULL;
}

static void test_good_settings(void)
{
    static const struct {
        const char *name;
        struct variable environment[VARIABLES_MAX];
        struct dtrain_options options;
        int init_timeout_ms, timeout_ms;
        enum dt_log_level log_level;
        uint32_t step_tasks;
    } rows[] = {
        {"nothing set", {{NULL, ""}}, {0, 0}, 120000, 600000, DT_LOG_WARN, 1},
        {"empty values",
         {{"DTRAIN_LOG", ""}, {"DTRAIN_TIMEOUT", ""}},
         {0, 0},
         120000,
         600000,
         DT_LOG_WARN,
         1},
        {"variables",
         {{"DTRAIN_INIT_TIMEOUT", "0.5"}, {"DTRAIN_TIMEOUT", "7"}, {"DTRAIN_LOG", "debug"}},
         {0, 0},
         500,
         7000,
         DT_LOG_DEBUG,
         1},
        {"options over variables",
         {{"DTRAIN_INIT_TIMEOUT", "5"}, {"DTRAIN_TIMEOUT", "7"}},
         {10, 20},
         10,
         20,
         DT_LOG_WARN,
         1},
        {"a step", {{"SLURM_STEP_NUM_TASKS", "16"}}, {0, 0}, 120000, 600000, DT_LOG_WARN, 16},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_settings settings;
        struct dtrain_error err = {""};

        memcpy(environment, rows[i].environment, sizeof(environment));
        tap_ok(dt_settings_read(&settings, &rows[i].options, get, &err) == 0 &&
                   settings.init_timeout_ms == rows[i].init_timeout_ms &&
                   settings.timeout_ms == rows[i].timeout_ms && settings.log_level == rows[i].log_level &&
                   settings.step_tasks == rows[i].step_tasks,
               "settings: %s %s", rows[i].name, err.text);
        dt_settings_free(&settings);
    }
}

static void test_comm_config(void)
{
    struct dt_settings settings;
    struct dt_comm_config tp;

    memcpy(environment,
           (struct variable[VARIABLES_MAX]){{"SLURM_DTRAIN_NCCL_CONFIG", "tp.max_ctas=8,tp.net_name=IB"},
                                            {"DTRAIN_NCCL_CONFIG", "tp.max_ctas=16"}},
           sizeof(environment));
    tap_ok(dt_settings_read(&settings, NULL, get, NULL) == 0, "settings: communicators");
    tp = dt_comm_config_of(&settings.comm, DT_COMM_TP);
    tap_ok(tp.values[DT_COMM_MAX_CTAS] == 16 && strcmp(tp.net_name, "IB") == 0,
           "the user's values win over the site's");
    dt_settings_free(&settings);
}

static void test_bad_settings(void)
{
    static const struct {
        const char *name;
        struct variable environment[VARIABLES_MAX];
        struct dtrain_options options;
        const char *words;
    } rows[] = {
        {"a negative option", {{NULL, ""}}, {-1, 0}, "dtrain_options.init_timeout_ms is -1 ms"},
        {"a timeout that is no number", {{"DTRAIN_TIMEOUT", "soon"}}, {0, 0}, "DTRAIN_TIMEOUT: 'soon'"},
        {"a negative timeout", {{"DTRAIN_INIT_TIMEOUT", "-1"}}, {0, 0}, "DTRAIN_INIT_TIMEOUT"},
        {"a timeout of 0", {{"DTRAIN_INIT_TIMEOUT", "0"}}, {0, 0}, "DTRAIN_INIT_TIMEOUT"},
        {"an unknown level", {{"DTRAIN_LOG", "loud"}}, {0, 0}, "DTRAIN_LOG: log level 'loud'"},
        {"two interfaces",
         {{"DTRAIN_SOCKET_IFNAME", "eth0,eth1,eth2,eth3"}},
         {0, 0},
         "expected the name of one"},
        {"a configuration of communicators",
         {{"DTRAIN_NCCL_CONFIG", "tp.max_ctas=0"}},
         {0, 0},
         "DTRAIN_NCCL_CONFIG: tp.max_ctas: '0' is too small"},
        {"a site's configuration",
         {{"SLURM_DTRAIN_NCCL_CONFIG", "tp"}},
         {0, 0},
         "SLURM_DTRAIN_NCCL_CONFIG: 'tp' has no '='"},
        {"a step of no tasks", {{"SLURM_STEP_NUM_TASKS", "0"}}, {0, 0}, "SLURM_STEP_NUM_TASKS"},
        {"a task that is no number", {{"SLURM_PROCID", "first"}}, {0, 0}, "SLURM_PROCID: 'first' is not a number"},
        {"a step of too many tasks",
         {{"SLURM_STEP_NUM_TASKS", "99999999999"}},
         {0, 0},
         "SLURM_STEP_NUM_TASKS"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_settings settings;
        struct dtrain_error err = {""};

        memcpy(environment, rows[i].environment, sizeof(environment));
        if (tap_ok(dt_settings_read(&settings, &rows[i].options, get, &err) < 0, "%s is refused",
                   rows[i].name))
            tap_holds(err.text, rows[i].words, rows[i].name);
        dt_settings_free(&settings);
    }
}

/* ---- Facts -------------------------------------------------------------------------- */

/* n1 and n2 with two tasks each, laid out cyclically: task 1 is rank 2. */
static struct dt_plan *cyclic_plan(void)
{
    static const char *const names[] = {"n1", "n2"};
    struct dt_plan_inputs inputs = {
        .node_count = 2,
        .nodes = names,
        .tasks = (uint32_t[]){2, 2},
        .procids = (uint32_t[]){0, 2, 1, 3},
    };
    struct dt_plan *plan = NULL;

    if (dt_plan_create(&plan, &inputs, NULL) < 0)
        exit(2);
    return plan;
}

static void test_facts(const struct dt_plan *plan)
{
    static const struct {
        const char *name;
        struct dt_boot_facts facts;
        const char *words; /* NULL: right */
    } rows[] = {
        {"as planned", {1, 4, 0, 2, 2, "n2"}, NULL},
        {"as planned, host not known", {2, 4, 1, 2, 2, ""}, NULL},
        {"a larger step",
         {1, 5, 0, 2, 2, "n2"},
         "task 1: the plan has 4 ranks, PMIx says that this step has 5 tasks"},
        {"a task outside", {4, 4, 0, 2, 2, "n2"}, "task 4 of a step with tasks 0 to 3"},
        {"another node",
         {1, 4, 0, 2, 2, "n1"},
         "rank 2 (task 1): the plan puts it on n2, PMIx says that this is n1"},
        {"more nodes", {1, 4, 0, 2, 3, "n2"}, "number of nodes is 2, PMIx says 3"},
        {"more tasks on the node", {1, 4, 0, 3, 2, "n2"}, "tasks on its node is 2, PMIx says 3"},
        {"another local rank", {1, 4, 1, 2, 2, "n2"}, "local rank is 0, PMIx says 1"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        int rc = dt_facts_check_size(&rows[i].facts, plan, &err);

        if (rc == 0)
            rc = dt_facts_check_place(&rows[i].facts, plan, &err);
        if (tap_ok((rc < 0) == (rows[i].words != NULL), "facts: %s", rows[i].name) && rc < 0)
            tap_holds(err.text, rows[i].words, rows[i].name);
    }
}

static void test_variables(const struct dt_plan *plan)
{
    static const struct {
        const char *name;
        char values[DT_RANK_VARIABLES][DT_SETTINGS_VALUE_MAX];
        const char *words;
    } rows[] = {
        {"none set", {"", "", "", ""}, NULL},
        {"all as planned", {"2", "4", "0", "2"}, NULL},
        {"a stale rank", {"1", "", "", ""}, "rank 2 (task 1): RANK=1 in the environment, the plan says 2"},
        {"a stale world", {"", "8", "", ""}, "WORLD_SIZE=8 in the environment, the plan says 4"},
        {"a stale local rank", {"", "", "1", ""}, "LOCAL_RANK=1 in the environment, the plan says 0"},
        {"rubbish", {"", "", "", "x\n"}, "LOCAL_WORLD_SIZE=x? in the environment, the plan says 2"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_settings settings = {0};
        struct dtrain_error err = {""};
        int rc;

        memcpy(settings.rank_variables, rows[i].values, sizeof(rows[i].values));
        rc = dt_facts_check_variables(&settings, plan, 2, &err);
        if (tap_ok((rc < 0) == (rows[i].words != NULL), "variables: %s", rows[i].name) && rc < 0)
            tap_holds(err.text, rows[i].words, rows[i].name);
    }
}

static void test_mapping(const struct dt_plan *plan)
{
    static const struct {
        const char *mapping;
        bool is_right;
    } rows[] = {
        {"(vector,(0,2,1),(0,2,1))", true},
        {"(vector,(1,1,1),(0,1,1),(1,1,1),(0,1,1))", true}, /* the nodes in another order */
        {"(vector,(0,2,2))", false},
        {"(vector,(0,1,4))", true}, /* all on one node: says nothing against it */
        {"(vector,(0,4,1))", false},
        {"", true},
        {"(vector)", true},
        {"(vector,(0,2", true},
        {"(vector,(0,0,0))", true},
        {"(other,(0,2,2))", true},
        {"(vector,(4294967295,4294967295,4294967295))", true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        int rc = dt_facts_check_mapping(rows[i].mapping, plan, 2, &err);

        if (tap_ok((rc == 0) == rows[i].is_right, "mapping '%s'", rows[i].mapping) && rc < 0)
            tap_holds(err.text, "rank 2 (task 1): the plan puts task 3 on its node n2", rows[i].mapping);
    }
}

/* ---- Choices ------------------------------------------------------------------------- */

static void test_boot(void)
{
    struct dtrain_error err = {""};

    unsetenv("PMIX_NAMESPACE");
    tap_ok(dt_boot_choose(1, &err) == &dt_boot_single, "one task needs nobody to meet");
    tap_ok(dt_boot_choose(2, &err) == NULL, "two tasks without PMIx cannot meet");
    tap_holds(err.text,
              "the 2 tasks of this step have no way to meet (single: only for a step of one task; PMIx: ",
              "and the error says what was tried");
}

static void test_backend(void)
{
    struct dtrain_error err = {""};
    const struct dt_backend *backend = dt_backend_choose(DT_BACKEND_HOST, NULL, &err);

    tap_ok(backend == &dt_backend_host, "the host backend can be asked for");
    backend = dt_backend_choose(DT_BACKEND_AUTO, NULL, &err);
    tap_ok(backend != NULL, "auto always finds one");
    if (dt_backend_choose(DT_BACKEND_NCCL, NULL, &err) != NULL)
        tap_skip("nccl without a device is refused", "this machine has a device");
    else
        tap_holds(err.text, "backend nccl: ", "nccl without a device is refused");
}

int main(void)
{
    struct dt_plan *plan = cyclic_plan();

    test_good_settings();
    test_comm_config();
    test_bad_settings();
    test_facts(plan);
    test_variables(plan);
    test_mapping(plan);
    test_boot();
    test_backend();
    dt_plan_destroy(plan);
    return tap_done();
}
