/* The plugin's hooks against a double of Slurm: what they set, refuse, say, and never do. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/bind_choice.h"
#include "core/env.h"
#include "core/plan_wire.h"
#include "tap.h"
#include "tests/fake/spank.h"

#define OPTION_TP "SLURM_SPANK__SLURM_SPANK_OPTION_dtrain_dtrain_tp"
#define WORDS_MAX 8

extern char **environ;

static const char *self; /* this program's path */

static bool said(const char *words)
{
    return strstr(fake.said, words) != NULL;
}

static bool is_process_variable(const char *name, const char *value)
{
    const char *got = getenv(name);

    return value == NULL ? got == NULL : got != NULL && strcmp(got, value) == 0;
}

/* A step of 2 nodes, 2 tasks each, cyclic: n1 has 0 and 2, n2 has 1 and 3. */
static void set_step(spank_context_t context)
{
    static const uint32_t ids[2][2] = {{0, 2}, {1, 3}};

    fake_reset(context);
    fake.job_id = 7;
    fake.nodes = 2;
    fake.local_tasks = 2;
    fake.all_tasks = 4;
    fake.node_list = "n[1-2]";
    fake.node_address = "10.0.0.1";
    for (uint32_t node = 0; node < 2; node++) {
        fake.layout_tasks[node] = 2;
        memcpy(fake.layout_ids[node], ids[node], sizeof(ids[node]));
    }
}

/* ---- srun ---- */

struct options {
    const char *name, *value;
};

static int run_srun(const struct options *options)
{
    unsetenv(DT_PLAN_WIRE_NAME);
    if (slurm_spank_init(NULL, 0, NULL) != 0)
        return -2;
    for (; options->name; options++)
        if (fake_option(options->name, options->value) != 0)
            return -3;
    return slurm_spank_local_user_init(NULL, 0, NULL);
}

static const struct srun_row {
    const char *name;
    struct options options[WORDS_MAX];
    int expected;
    const char *words; /* of what was said, or of the plan */
} srun_rows[] = {
    {"tp=2",
     {{"dtrain-tp", "2"}},
     0,
     "1;tp=2;cp=1;ep=1;dp=2;pp=1;etp=2;order=tp-cp-ep-dp-pp;span=node;backend=auto;nodes=n[1-2];tasks=2(x2);"
     "procids=0+2:2/2:1;"
     "addr=10.0.0.1;port=2"},
    {"an order and a backend",
     {{"dtrain-tp", "2"},
      {"dtrain-pp", "2"},
      {"dtrain-order", "pp-tp-cp-ep-dp"},
      {"dtrain-tp-span", "any"},
      {"dtrain-backend", "host"}},
     0,
     "order=pp-tp-cp-ep-dp;span=any;backend=host"},
    {"on alone", {{"dtrain", "on"}}, 0, "tp=1;cp=1;ep=1;dp=4;pp=1"},
    {"a report", {{"dtrain-tp", "2"}, {"dtrain-report", "off"}}, 0, "tp=2"},
    {"sizes that do not divide", {{"dtrain-tp", "3"}}, -1, "dtrain: 4 tasks cannot be divided"},
    {"a group that crosses nodes", {{"dtrain-tp", "4"}}, -1, "--dtrain-tp-span=any"},
    {"dp that disagrees", {{"dtrain-tp", "2"}, {"dtrain-dp", "4"}}, -1, "dp"},
    {"a value of zero", {{"dtrain-tp", "0"}}, -3, "dtrain: --dtrain-tp: '0'"},
    {"a negative value", {{"dtrain-tp", "-1"}}, -3, "--dtrain-tp: '-1'"},
    {"an empty value", {{"dtrain-pp", ""}}, -3, "--dtrain-pp"},
    {"no value", {{"dtrain-pp", NULL}}, -3, "--dtrain-pp"},
    {"a huge value", {{"dtrain-pp", "99999999999999999999"}}, -3, "--dtrain-pp: '99999999999999999999'"},
    {"garbage", {{"dtrain-backend", "mpi"}}, -3, "--dtrain-backend: 'mpi'"},
    {"garbage for the switch", {{"dtrain", "maybe"}}, -3, "--dtrain: 'maybe'"},
};

static void test_srun_row(const struct srun_row *row)
{
    const char *plan;
    int rc;

    set_step(S_CTX_LOCAL);
    rc = run_srun(row->options);
    plan = getenv(DT_PLAN_WIRE_NAME);
    tap_ok(rc == row->expected, "srun: %s: %d", row->name, rc);
    tap_ok((rc == 0) == (plan != NULL), "srun: %s: %s", row->name,
           rc ? "no plan goes out" : "a plan goes out");
    tap_holds(rc == 0 && plan ? plan : fake.said, row->words, row->name);
}

/* What differs from the step of set_step(), and what is said then. */
static void test_srun_step(const char *name, int expected, const char *words)
{
    static const struct options tp[] = {{"dtrain-tp", "2"}, {NULL, NULL}};
    int rc = run_srun(tp);
    const char *plan = getenv(DT_PLAN_WIRE_NAME);

    tap_ok(rc == expected, "srun: %s: %d", name, rc);
    tap_holds(rc == 0 && plan && !said(words) ? plan : fake.said, words, name);
}

static void test_srun_steps(void)
{
    set_step(S_CTX_LOCAL);
    test_srun_step("a cyclic step", 0, "RANK differs from SLURM_PROCID");
    set_step(S_CTX_LOCAL);
    fake.node_list = NULL;
    test_srun_step("no layout", -1, "the controller does not say the layout of step 7.0");
    set_step(S_CTX_LOCAL);
    fake.node_list = "n[1-3]";
    test_srun_step("a layout that disagrees with itself", -1, "names 3 nodes, its layout has 2");
    set_step(S_CTX_LOCAL);
    fake.node_list = "n[1-";
    test_srun_step("a node list that is none", -1, "n[1-");
    set_step(S_CTX_LOCAL);
    fake.layout_ids[0][0] = 9;
    test_srun_step("task ids that are none", -1, "task id 9 of rank 0 is out of range");
    set_step(S_CTX_LOCAL);
    fake.layout_tasks[0] = fake.layout_tasks[1] = 0;
    test_srun_step("no tasks", -1, "a step of 0 tasks is not possible");
    set_step(S_CTX_LOCAL);
    fake.fails_item = S_JOB_ID;
    test_srun_step("no job id", -1, "Slurm does not say the step's job id");
    set_step(S_CTX_LOCAL);
    fake.tres_per_node = "gres:gpu:1";
    test_srun_step("fewer GPUs than tasks", -1, "2 tasks on n1 are more than the 1 GPUs");
    set_step(S_CTX_LOCAL);
    fake.is_silent = true;
    fake.node_list = "127.0.0.[1-2]";
    test_srun_step("a silent controller, addresses that lead nowhere", 0,
                   "MASTER_ADDR is not set: node 127.0.0.1");
    set_step(S_CTX_LOCAL);
    fake.restart_count = 1;
    test_srun_step("a restart", 0, "port=2");
}

static void test_srun_inactive(void)
{
    static const struct options none[] = {{NULL, NULL}};
    static const struct options off[] = {{"dtrain-tp", "3"}, {"dtrain", "off"}, {NULL, NULL}};

    set_step(S_CTX_LOCAL);
    fake.node_list = NULL; /* would be refused if it were looked at */
    tap_ok(run_srun(none) == 0 && fake.said[0] == '\0', "srun: a step without options is let through");
    tap_ok(is_process_variable("SLURM_MPI_TYPE", NULL) && is_process_variable(DT_PLAN_WIRE_NAME, NULL),
           "and nothing is set");
    set_step(S_CTX_LOCAL);
    fake.step_id = SLURM_INTERACTIVE_STEP;
    tap_ok(run_srun(off) == 0 && run_srun((const struct options[]){{"dtrain-tp", "3"}, {NULL, NULL}}) == 0 &&
               fake.said[0] == '\0',
           "srun: so is salloc's shell");
    set_step(S_CTX_LOCAL);
    fake.node_list = NULL;
    tap_ok(run_srun(off) == 0 && is_process_variable(DT_PLAN_WIRE_NAME, NULL), "srun: so is one that is off");
}

static void test_srun_inherited(void)
{
    static const struct options tp[] = {{"dtrain-tp", "3"}, {NULL, NULL}};
    int rc;

    setenv(OPTION_TP, "3", 1);
    set_step(S_CTX_LOCAL);
    rc = run_srun(tp);
    tap_ok(rc == -1, "srun: a helper of a script with options is refused");
    tap_holds(fake.said, "; for a helper step use srun --dtrain=off", "and told how to be let through");
    tap_ok(is_process_variable("SLURM_MPI_TYPE", "pmix"), "PMIx is chosen by what sbatch left");
    setenv("SLURM_MPI_TYPE", "pmi2", 1);
    run_srun(tp);
    tap_ok(is_process_variable("SLURM_MPI_TYPE", "pmi2"), "the user's own kind of MPI stays");
    setenv("SLURM_MPI_TYPE", "none", 1);
    run_srun(tp);
    tap_ok(is_process_variable("SLURM_MPI_TYPE", "none"), "none too");
    setenv("SLURM_STEP_ID", "4294967290", 1);
    run_srun(tp);
    tap_ok(is_process_variable("SLURM_MPI_TYPE", "pmix"), "but not the none of salloc's shell");
    unsetenv("SLURM_STEP_ID");
    unsetenv("SLURM_MPI_TYPE");
    unsetenv(OPTION_TP);
}

static void test_plugstack_arguments(void)
{
    char *argv[] = {(char *)"conf=/nonexistent/dtrain.conf"};

    set_step(S_CTX_LOCAL);
    tap_ok(slurm_spank_init(NULL, 1, argv) == 0 && slurm_spank_local_user_init(NULL, 1, argv) == 0 &&
               fake.said[0] == '\0',
           "srun: a broken dtrain.conf does not touch a step without options");
    slurm_spank_init(NULL, 1, argv);
    fake_option("dtrain-tp", "2");
    tap_ok(slurm_spank_local_user_init(NULL, 1, argv) == -1, "and refuses one with them");
    tap_holds(fake.said, "/nonexistent/dtrain.conf cannot be opened", "naming the file");
}

/* ---- What is left to the binder ---- */

static const struct {
    const char *option, *value, *variable, *set; /* of dtrain's, and of srun's environment */
    const char *expected;
} choices[] = {
    {"dtrain", "on", NULL, NULL, "gpu,cpu,nic,mem;none;all;nothing"},
    {"dtrain-bind", "gpu,nic", NULL, NULL, "gpu,nic;none;all;nothing"},
    {"dtrain-bind", "verbose", NULL, NULL, "gpu,cpu,nic,mem;none;all;tasks"},
    {"dtrain-bind", "none", NULL, NULL, "none;none;all;nothing"},
    {"dtrain-visible", "own", NULL, NULL, "gpu,cpu,nic,mem;none;own;nothing"},
    {"dtrain-report", "text", NULL, NULL, "gpu,cpu,nic,mem;none;all;node"},
    {"dtrain", "on", "SLURM_CPU_BIND", "quiet", "gpu,cpu,nic,mem;none;all;nothing"},
    {"dtrain", "on", "SLURM_CPU_BIND", "cores", "gpu,nic,mem;cpu;all;nothing"},
    {"dtrain", "on", "SLURM_GPU_BIND", "closest", "cpu,nic,mem;gpu;all;nothing"},
    {"dtrain", "on", "SLURM_MEM_BIND", "local", "gpu,cpu,nic;mem;all;nothing"},
    {"dtrain-bind", "gpu", "SLURM_CPU_BIND", "cores", "gpu;none;all;nothing"},
};

static void test_choices(void)
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const struct options given[] = {{choices[i].option, choices[i].value}, {NULL, NULL}};

        set_step(S_CTX_LOCAL);
        if (choices[i].variable != NULL)
            setenv(choices[i].variable, choices[i].set, 1);
        tap_ok(run_srun(given) == 0, "srun: --%s=%s", given->name, given->value);
        tap_holds(getenv(DT_BIND_CHOICE_NAME) ? getenv(DT_BIND_CHOICE_NAME) : "", choices[i].expected,
                  "and what the nodes are told");
        if (choices[i].variable != NULL)
            unsetenv(choices[i].variable);
    }
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("SLURM_CPU_BIND", "quiet,mask_cpu:0x1", 1);
    set_step(S_CTX_LOCAL);
    run_srun((const struct options[]){{"dtrain", "on"}, {NULL, NULL}});
    tap_ok(is_process_variable(DT_BIND_CHOICE_NAME, "gpu,cpu,nic,mem;none;all;nothing"),
           "what an outer step was bound to is nobody's choice");
    unsetenv("SLURM_STEP_ID");
    unsetenv("SLURM_CPU_BIND");
}

/* ---- What is left to the library ---- */

/* srun with a file of these lines. */
static int run_srun_conf(const char *lines)
{
    char path[] = "/tmp/dtrain_conf_XXXXXX", argument[64];
    char *argv[] = {argument};
    int fd = mkstemp(path), rc;

    snprintf(argument, sizeof(argument), "conf=%s", path);
    if (fd < 0 || write(fd, lines, strlen(lines)) != (ssize_t)strlen(lines))
        return -2;
    close(fd);
    set_step(S_CTX_LOCAL);
    unsetenv("SLURM_DTRAIN_NCCL_CONFIG");
    slurm_spank_init(NULL, 1, argv);
    fake_option("dtrain-tp", "2");
    rc = slurm_spank_local_user_init(NULL, 1, argv);
    unlink(path);
    return rc;
}

static void test_comm_config(void)
{
    tap_ok(run_srun_conf("dp.max_ctas = 8\ntp.cga_cluster_size = 4\n") == 0 &&
               is_process_variable("SLURM_DTRAIN_NCCL_CONFIG", "tp.cga_cluster_size=4,dp.max_ctas=8"),
           "srun: keys of the axes in dtrain.conf go to the tasks");
    tap_ok(run_srun_conf("report = off\n") == 0 && is_process_variable("SLURM_DTRAIN_NCCL_CONFIG", NULL),
           "and nothing where there are none");
    tap_ok(run_srun_conf("\ndp.max_ctas = 80\n") == -1, "an impossible value refuses the step");
    tap_holds(fake.said, ":2: dp.max_ctas: '80' is too large", "naming the line");
}

/* ---- A step inside a step ---- */

static void set_outer(const char *plan)
{
    setenv(DT_PLAN_WIRE_NAME, plan, 1);
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_MPI_TYPE", "pmix", 1);
    setenv("PMIX_RANK", "1", 1);
    setenv("PMIX_SERVER_URI41", "x", 1);
    setenv("PMIX_MCA_gds", "hash", 1);
    setenv("RANK", "2", 1);
    setenv("WORLD_SIZE", "4", 1);
    setenv("MASTER_ADDR", "10.0.0.1", 1);
    setenv("MASTER_PORT", "1234", 1);
    setenv("OMP_NUM_THREADS", "4", 1);
    setenv("SLURM_DTRAIN_BIND", "none;none;all;nothing", 1);
    setenv("SLURM_DTRAIN_BOUND", "UCX_NET_DEVICES", 1);
    setenv("SLURM_DTRAIN_NCCL_CONFIG", "dp.max_ctas=8", 1);
    setenv("UCX_NET_DEVICES", "mlx5_0:1", 1);
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
}

static void test_outer(spank_context_t context)
{
    static const struct options tp[] = {{"dtrain-tp", "2"}, {NULL, NULL}};
    char *plan;

    set_step(S_CTX_LOCAL);
    run_srun(tp);
    plan = strdup(getenv(DT_PLAN_WIRE_NAME));
    set_step(context);
    set_outer(plan);
    slurm_spank_init(NULL, 0, NULL);
    tap_ok(is_process_variable(DT_PLAN_WIRE_NAME, NULL) && is_process_variable("RANK", NULL) &&
               is_process_variable("WORLD_SIZE", NULL) && is_process_variable("MASTER_ADDR", NULL),
           "inside a step: the outer step's variables are gone");
    tap_ok(is_process_variable("PMIX_RANK", NULL) && is_process_variable("PMIX_SERVER_URI41", NULL) &&
               is_process_variable("SLURM_MPI_TYPE", NULL),
           "and its PMIx");
    tap_ok(is_process_variable("SLURM_DTRAIN_BIND", NULL) && is_process_variable("SLURM_DTRAIN_BOUND", NULL) &&
               is_process_variable("SLURM_DTRAIN_NCCL_CONFIG", NULL) &&
               is_process_variable("UCX_NET_DEVICES", NULL) &&
               is_process_variable("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
           "and what its binder set, but not what was there before");
    tap_ok(is_process_variable("MASTER_PORT", "1234") && is_process_variable("OMP_NUM_THREADS", "4") &&
               is_process_variable("PMIX_MCA_gds", "hash"),
           "what is somebody's own stays");
    set_outer("1;garbage");
    slurm_spank_init(NULL, 0, NULL);
    tap_ok(is_process_variable(DT_PLAN_WIRE_NAME, NULL) && is_process_variable("RANK", "2"),
           "a plan that is none is taken out");
    unsetenv("SLURM_PROCID");
    set_outer(plan);
    setenv("SLURM_PROCID", "99", 1);
    slurm_spank_init(NULL, 0, NULL);
    tap_ok(is_process_variable("RANK", "2"), "a task id that is not in the plan clears no ranks");
    free(plan);
    for (size_t i = 0; i < 2; i++)
        unsetenv(i ? "SLURM_PROCID" : "RANK");
}

/* ---- srun's own command line: this program started again ---- */

static void print_mpi(void)
{
    set_step(S_CTX_LOCAL);
    slurm_spank_init(NULL, 0, NULL);
    printf("%s\n", getenv("SLURM_MPI_TYPE") ? getenv("SLURM_MPI_TYPE") : "");
}

static const struct {
    const char *arguments, *expected;
} cmdlines[] = {
    {"--dtrain-tp=2 a", "pmix"},
    {"--dtrain-p 2 a", "pmix"},
    {"a --dtrain-tp=2", ""},
    {"-n 2 a", ""},
    {"-n 2 --dtrain-tp 2 a", "pmix"},
    {"--mpi=pmi2 --dtrain-tp=2 a", ""},
    {"--dtrain-tp=2 --dtrain=off a", ""},
    {"--interactive --pty --dtrain-tp=2 bash", ""},
};

static void test_cmdlines(void)
{
    unsetenv("SLURM_MPI_TYPE");
    for (size_t i = 0; i < sizeof(cmdlines) / sizeof(cmdlines[0]); i++) {
        char command[4096], answer[64] = "";
        FILE *pipe;

        snprintf(command, sizeof(command), "DT_PRINT_MPI=1 '%s' %s", self, cmdlines[i].arguments);
        pipe = popen(command, "r");
        if (pipe == NULL || fgets(answer, sizeof(answer), pipe) == NULL)
            strcpy(answer, "?");
        if (pipe != NULL)
            pclose(pipe);
        answer[strcspn(answer, "\n")] = '\0';
        tap_ok(strcmp(answer, cmdlines[i].expected) == 0, "srun %s: SLURM_MPI_TYPE is '%s' ('%s')",
               cmdlines[i].arguments, cmdlines[i].expected, answer);
    }
}

/* ---- slurmstepd ---- */

#define PLAN_HEAD "1;tp=2;cp=1;ep=1;dp=2;pp=1;etp=2;order=tp-cp-ep-dp-pp;span=node;backend=auto;"
#define PLAN_TAIL "addr=10.0.0.1;port=20007"
#define PLAN PLAN_HEAD "nodes=n[1-2];tasks=2(x2);procids=0+2:2/2:1;" PLAN_TAIL

/* Node n2 of the step. */
static void set_node(void)
{
    set_step(S_CTX_REMOTE);
    fake.node_id = 1;
    fake.local_to_global[0] = 1;
    fake.local_to_global[1] = 3;
    fake_put(DT_PLAN_WIRE_NAME, PLAN);
    fake_put(DT_BIND_CHOICE_NAME, "none;none;all;nothing");
}

static int start_node(void)
{
    int rc = slurm_spank_init(NULL, 0, NULL);

    rc |= fake_option("dtrain-tp", "2");
    rc |= fake_option("dtrain-tp", "2"); /* Slurm calls twice */
    return rc | slurm_spank_init_post_opt(NULL, 0, NULL);
}

/* A node's place in the plan need not be its place in Slurm's list. */
#define PLAN_SWAPPED PLAN_HEAD "nodes=n[2,1];tasks=2(x2);procids=1+2:2,0+2:2;" PLAN_TAIL

static int start_task(int local)
{
    fake.task_id = local;
    fake.task_global_id = fake.local_to_global[local];
    fake_put("SLURMD_NODENAME", "n2");
    return slurm_spank_task_init(NULL, 0, NULL);
}

static void end_node(void)
{
    tap_ok(slurm_spank_exit(NULL, 0, NULL) == 0, "the end of a step");
}

static bool is_variable(const char *name, const char *value)
{
    const char *got = fake_get(name);

    return got != NULL && strcmp(got, value) == 0;
}

static void test_environment(void)
{
    static const char *const expected[][2] = {
        {"RANK", "3"},
        {"WORLD_SIZE", "4"},
        {"LOCAL_RANK", "1"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"GROUP_RANK", "1"},
        {"DTRAIN_TP_RANK", "1"},
        {"DTRAIN_DP_RANK", "1"},
        {"MASTER_ADDR", "192.0.2.1"},
        {"MASTER_PORT", "20007"},
        {"CUDA_VISIBLE_DEVICES", "4,5"},
    };

    set_node();
    fake_put("RANK", "77");
    fake_put("MASTER_ADDR", "192.0.2.1");
    fake_put("SLURM_GPUS_ON_NODE", "2");
    fake_put("CUDA_VISIBLE_DEVICES", "4,5");
    tap_ok(start_node() == 0 && start_task(1) == 0 && fake.said[0] == '\0', "a task starts: %s", fake.said);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const char *value = fake_get(expected[i][0]);

        tap_ok(value != NULL && strcmp(value, expected[i][1]) == 0, "%s is %s (%s)", expected[i][0],
               expected[i][1], value ? value : "not set");
    }
    end_node();
}

/* Tasks 1 and 3 are the node's: each has a device of its own by LOCAL_RANK. */
static void test_interleaved(void)
{
    static const char *const ranks[] = {"2", "3"}, *const locals[] = {"0", "1"};

    for (int local = 0; local < 2; local++) {
        set_node();
        tap_ok(start_node() == 0 && start_task(local) == 0 && is_variable("RANK", ranks[local]) &&
                   is_variable("LOCAL_RANK", locals[local]),
               "NeMo-RL#3178: task %d of an interleaved step is rank %s, local rank %s",
               fake.local_to_global[local], ranks[local], locals[local]);
        end_node();
    }
}

static void test_node_order(void)
{
    set_node();
    fake_put(DT_PLAN_WIRE_NAME, PLAN_SWAPPED);
    tap_ok(start_node() == 0 && start_task(1) == 0 && fake.said[0] == '\0',
           "Slurm's second node is the plan's first: %s", fake.said);
    tap_ok(strcmp(fake_get("RANK"), "1") == 0 && strcmp(fake_get("GROUP_RANK"), "0") == 0,
           "its second task is rank 1");
    end_node();
}

/* Steps in which nothing may be injected. */
static void test_untouched(const char *name, uint32_t step_id, const char *option, const char *value)
{
    uint32_t before;

    set_node();
    fake.step_id = step_id;
    slurm_spank_init(NULL, 0, NULL);
    if (option != NULL)
        fake_option(option, value);
    slurm_spank_init_post_opt(NULL, 0, NULL);
    before = fake_count();
    tap_ok(start_task(0) == 0 && fake_count() == before + 1 && fake.said[0] == '\0',
           "nothing is injected: %s", name);
    slurm_spank_exit(NULL, 0, NULL);
}

static void test_untouched_steps(void)
{
    test_untouched("a plan without an option", 0, NULL, NULL);
    test_untouched("off", 0, "dtrain", "off");
    test_untouched("the batch script", SLURM_BATCH_SCRIPT, "dtrain-tp", "2");
    test_untouched("the interactive step", SLURM_INTERACTIVE_STEP, "dtrain-tp", "2");
    test_untouched("the extern step", SLURM_EXTERN_CONT, "dtrain-tp", "2");
}

/* Plans that are not this node's: kept, said by the first task, failing all tasks, nothing set. */
static const struct {
    const char *name, *plan, *words;
} tampered[] = {
    {"missing", NULL, "SLURM_DTRAIN_PLAN did not arrive with the step"},
    {"empty", "", "SLURM_DTRAIN_PLAN"},
    {"garbage", "\x01\xff;;;", "SLURM_DTRAIN_PLAN"},
    {"another version", "9;tp=2", "SLURM_DTRAIN_PLAN"},
    {"cut off", PLAN_HEAD "nodes=n[1-2];tasks=2", "SLURM_DTRAIN_PLAN"},
    {"more nodes", PLAN_HEAD "nodes=n[1-3];tasks=2(x3);procids=0+6:1;" PLAN_TAIL, "SLURM_DTRAIN_PLAN"},
    {"more tasks",
     "1;tp=2;cp=1;ep=1;dp=3;pp=1;etp=2;order=tp-cp-ep-dp-pp;span=node;backend=auto;nodes=n[1-2];tasks=4,2;"
     "procids=0+6:1;" PLAN_TAIL,
     "number of tasks 6, Slurm says 4"},
    {"a node's tasks",
     "1;tp=1;cp=1;ep=1;dp=4;pp=1;etp=1;order=tp-cp-ep-dp-pp;span=node;backend=auto;nodes=n[1-2];tasks=3,1;"
     "procids=0+4:1;" PLAN_TAIL,
     "number of tasks on this node 3, Slurm says 2"},
    {"other task ids", PLAN_HEAD "nodes=n[1-2];tasks=2(x2);procids=0+4:1;" PLAN_TAIL,
     "the plan says task id 0, Slurm says 1"},
    {"other sizes",
     "1;tp=1;cp=1;ep=1;dp=4;pp=1;etp=1;order=tp-cp-ep-dp-pp;span=node;backend=auto;nodes=n[1-2];tasks=2(x2);"
     "procids=0+2:2/2:1;" PLAN_TAIL,
     "the plan says 1, the option says --dtrain-tp=2"},
};

static void check_failed(const char *name, const char *words, int rc)
{
    uint32_t before = fake_count();

    tap_ok(rc == 0, "%s: the hooks before the tasks do not fail", name);
    tap_ok(start_task(0) == -1, "%s: the task fails", name);
    tap_holds(fake.said, words, name);
    fake.said[0] = '\0';
    tap_ok(start_task(1) == -1 && fake_count() == before + 1 && fake.said[0] == '\0',
           "%s: the others too, silently, unset", name);
    end_node();
}

static void test_tampered(void)
{
    char *huge = malloc(DT_PLAN_WIRE_MAX + 2);

    for (size_t i = 0; i < sizeof(tampered) / sizeof(tampered[0]); i++) {
        set_node();
        fake_put(DT_PLAN_WIRE_NAME, tampered[i].plan);
        check_failed(tampered[i].name, tampered[i].words, start_node());
    }
    memset(huge, 'x', DT_PLAN_WIRE_MAX + 1);
    huge[DT_PLAN_WIRE_MAX + 1] = '\0';
    set_node();
    fake_put(DT_PLAN_WIRE_NAME, huge);
    check_failed("huge", "is longer than", start_node());
    free(huge);
}

static void test_failing_items(void)
{
    static const int items[] = {S_JOB_NODEID, S_JOB_NNODES, S_JOB_LOCAL_TASK_COUNT, S_JOB_TOTAL_TASK_COUNT,
                                S_JOB_LOCAL_TO_GLOBAL_ID};

    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        set_node();
        fake.fails_item = items[i];
        check_failed("an item that Slurm does not give", "Slurm does not say", start_node());
    }
    set_node();
    fake.node_id = 2;
    check_failed("a place behind the last node", "highest place of a node 1, Slurm says 2", start_node());
    set_node();
    fake.local_to_global[0] = 9;
    check_failed("a task behind the last", "highest task id 3, Slurm says 9", start_node());
    set_node();
    fake.local_tasks = 0;
    check_failed("a node without tasks", "Slurm says that this node has 0 tasks: expected 1 to 65535",
                 start_node());
}

static void test_refused_remotely(void)
{
    int rc;

    set_node();
    rc = slurm_spank_init(NULL, 0, NULL);
    rc |= fake_option("dtrain-tp", "2");
    rc |= fake_option("dtrain-pp", "none");
    rc |= slurm_spank_init_post_opt(NULL, 0, NULL);
    check_failed("an option that is refused", "--dtrain-pp: 'none'", rc);
}

/* Tasks that are not who the plan says. */
static void test_wrong_tasks(void)
{
    static const struct {
        int local;
        uint32_t global;
        const char *variable, *value, *words;
    } rows[] = {
        {0, 3, NULL, NULL, "task 3 has local id 0, the plan says 1"},
        {1, 1, NULL, NULL, "task 1 has local id 1, the plan says 0"},
        {-1, 1, NULL, NULL, "Slurm does not say this task's local and global id"},
        {0, 99, NULL, NULL, "task id 99 is not in the plan of 4 tasks"},
        {0, 1, "SLURM_PROCID", "5", "SLURM_PROCID is 5, the plan says 1"},
        {0, 1, "SLURM_PROCID", "x", "SLURM_PROCID: 'x'"},
        {0, 1, "SLURM_STEP_NUM_TASKS", "8", "SLURM_STEP_NUM_TASKS is 8, the plan says 4"},
        {0, 1, "SLURMD_NODENAME", "n9", "rank 2 runs on n9, the plan says n2"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_node();
        start_node();
        fake.task_id = rows[i].local;
        fake.task_global_id = rows[i].global;
        if (rows[i].variable != NULL)
            fake_put(rows[i].variable, rows[i].value);
        tap_ok(slurm_spank_task_init(NULL, 0, NULL) == -1 && fake_get("RANK") == NULL, "a wrong task fails");
        tap_holds(fake.said, rows[i].words, "and says why");
        slurm_spank_exit(NULL, 0, NULL);
    }
    set_node();
    fake.setenv_fails = "RANK";
    start_node();
    tap_ok(start_task(0) == -1 && said("RANK cannot be set to 2"),
           "a variable that cannot be set fails the task");
    slurm_spank_exit(NULL, 0, NULL);
}

static void test_devices(void)
{
    static const struct {
        const char *on_node, *list, *plan;
        int expected;
        const char *words;
    } rows[] = {
        {NULL, "0", PLAN, 0, ""}, /* not Slurm's list */
        {"1", "0", PLAN, -1,
         "2 tasks on n2 have 1 GPUs: use --gpus-per-node=2, --ntasks-per-node=1, or --dtrain-backend=host"},
        {"1", "0",
         "1;tp=2;cp=1;ep=1;dp=2;pp=1;etp=2;order=tp-cp-ep-dp-pp;span=node;backend=host;nodes=n[1-2];tasks=2("
         "x2);procids=0+2:2/2:1;" PLAN_TAIL,
         0, ""},
        {"2", "1", PLAN, 0, "each task has 1 of the 2 GPUs of its node in CUDA_VISIBLE_DEVICES"},
        {"8", "3,4", PLAN, 0, "use --gpus-per-node=8 or --gres=gpu:8"},
        {"2", "0,0", PLAN, 0,
         "device 0 stands in the list twice: expected each once: the devices stay as Slurm set them"},
        {"2", "a b", PLAN, 0, "the devices stay as Slurm set them"},
        {"2", "NoDevFiles", PLAN, 0, ""},
        {"2", "", PLAN, 0, ""},
        {"x", "0", PLAN, 0, ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_node();
        fake_put(DT_PLAN_WIRE_NAME, rows[i].plan);
        fake_put("SLURM_GPUS_ON_NODE", rows[i].on_node);
        fake_put("CUDA_VISIBLE_DEVICES", rows[i].list);
        fake_put("ROCR_VISIBLE_DEVICES", rows[i].list);
        start_node();
        tap_ok(start_task(0) == rows[i].expected, "devices \"%s\" of %s: %d", rows[i].list,
               rows[i].on_node ? rows[i].on_node : "-", rows[i].expected);
        tap_holds(fake.said, rows[i].words, "and what is said");
        tap_ok((rows[i].words[0] == '\0') == (fake.said[0] == '\0') && !strstr(fake.said, "ROCR"),
               "once or not at all");
        tap_ok(strcmp(fake_get("CUDA_VISIBLE_DEVICES"), rows[i].list) == 0, "and they stay");
        slurm_spank_exit(NULL, 0, NULL);
    }
}

/* A choice that did not arrive, or is none, leaves all of it to Slurm. */
static void test_binding(void)
{
    static const struct {
        const char *choice, *argument, *words;
    } rows[] = {
        {NULL, NULL, "n2: binding is left to Slurm: SLURM_DTRAIN_BIND did not arrive with the step"},
        {"x", NULL, "SLURM_DTRAIN_BIND 'x' is not what srun's plugin sets"},
        {"gpu;none;all;nothing", "topology=relative", "'topology=relative' is not usable"},
        {"gpu;none;all;nothing", "topologie=/x", "argument 'topologie=/x' is not known"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *argv[] = {(char *)rows[i].argument};
        int argc = rows[i].argument != NULL;

        set_node();
        fake_put(DT_BIND_CHOICE_NAME, rows[i].choice);
        fake_put("SLURM_GPUS_ON_NODE", "2");
        fake_put("CUDA_VISIBLE_DEVICES", "4,5");
        slurm_spank_init(NULL, argc, argv);
        fake_option("dtrain-tp", "2");
        tap_ok(slurm_spank_init_post_opt(NULL, argc, argv) == 0 && start_task(0) == 0,
               "without a binding a task starts");
        tap_holds(fake.said, rows[i].words, "and it is said");
        fake.said[0] = '\0';
        tap_ok(start_task(1) == 0 && fake.said[0] == '\0', "once a node");
        tap_ok(strcmp(fake_get("CUDA_VISIBLE_DEVICES"), "4,5") == 0, "and the devices stay");
        slurm_spank_exit(NULL, 0, NULL);
    }
}

/* ---- Elsewhere ---- */

static void test_other_contexts(void)
{
    static const spank_context_t contexts[] = {S_CTX_SLURMD, S_CTX_JOB_SCRIPT, S_CTX_ERROR};

    for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
        fake_reset(contexts[i]);
        tap_ok(slurm_spank_init(NULL, 0, NULL) == 0 && fake.options == 0 && fake.said[0] == '\0',
               "nothing is done in context %d", contexts[i]);
    }
    set_step(S_CTX_ALLOCATOR);
    tap_ok(slurm_spank_init(NULL, 0, NULL) == 0 && fake.options == 13, "sbatch knows the options (%u)",
           fake.options);
    tap_ok(fake_option("dtrain-tp", "2") == 0 && fake_option("dtrain-tp", "-2") == -1,
           "and refuses a bad value");
    tap_holds(fake.said, "dtrain: --dtrain-tp: '-2'", "naming it");
    tap_ok(slurm_spank_exit(NULL, 0, NULL) == 0 && slurm_spank_exit(NULL, 0, NULL) == 0,
           "an end without a start");
}

static void test_register_fails(void)
{
    set_step(S_CTX_LOCAL);
    fake.options = 30; /* room for two */
    tap_ok(slurm_spank_init(NULL, 0, NULL) == 0, "options that Slurm does not take let srun run");
    tap_holds(fake.said, "Slurm does not take the option --dtrain-dp", "and are named");
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1 && getenv("DT_PRINT_MPI") != NULL) {
        print_mpi();
        return 0;
    }
    for (size_t i = 0; i < sizeof(srun_rows) / sizeof(srun_rows[0]); i++)
        test_srun_row(&srun_rows[i]);
    test_srun_steps();
    test_srun_inactive();
    test_srun_inherited();
    test_plugstack_arguments();
    test_choices();
    test_comm_config();
    test_outer(S_CTX_LOCAL);
    test_outer(S_CTX_ALLOCATOR);
    test_cmdlines();
    test_environment();
    test_untouched_steps();
    test_interleaved();
    test_node_order();
    test_tampered();
    test_failing_items();
    test_refused_remotely();
    test_wrong_tasks();
    test_devices();
    test_binding();
    test_other_contexts();
    test_register_fails();
    fake_reset(S_CTX_ERROR);
    return tap_done();
}
