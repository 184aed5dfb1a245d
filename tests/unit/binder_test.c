/* One task's start: the lists of devices, the variables and the words, on a node of eight bridged GPUs. */
#include "plugin/binder.h"

#include <stdlib.h>

#include "core/plan_wire.h"
#include "plugin/bound.h"
#include "plugin/outer.h"
#include "tap.h"
#include "tests/fake/node.h"
#include "tests/fake/spank.h"

#define FAR_CPUS 4000u /* that no machine has: applying fails, and changes nothing here */
#define PLAN(tp, dp, backend, tasks)                                                                 \
    "1;tp=" tp ";cp=1;ep=1;dp=" dp ";pp=1;etp=" tp ";order=tp-cp-ep-dp-pp;span=node;backend=" backend \
    ";nodes=n1;tasks=" tasks ";procids=0+" tasks ":1;addr=10.0.0.1;port=20007"

static struct dt_binder binder;
static struct dt_plan *plan;

static void set_up(const char *wire, const char *choice, const char *list, const char *on_node)
{
    fake_reset(S_CTX_REMOTE);
    fake.job_id = 7;
    dt_plan_destroy(plan);
    dt_topo_destroy(binder.topo);
    memset(&binder, 0, sizeof(binder));
    dt_plan_wire_decode(&plan, wire, NULL);
    dt_bind_choice_decode(&binder.choice, choice, NULL);
    binder.topo = fake_node(0);
    fake_put("SLURM_CPU_BIND_TYPE", "mask_cpu:");
    fake_put("SLURM_CPU_BIND_LIST", "0xffff");
    fake_put("CUDA_VISIBLE_DEVICES", list);
    fake_put("ROCR_VISIBLE_DEVICES", list);
    fake_put("SLURM_STEP_GPUS", list);
    fake_put("SLURM_GPUS_ON_NODE", on_node);
}

static int start(uint32_t local)
{
    struct dt_task task = {.plan = plan, .rank = local, .node = 0, .local = local, .is_speaker = local == 0};
    struct dtrain_error err = {.text = ""};
    int rc = dt_binder_start_task(&binder, &task, NULL, &err);

    if (rc)
        snprintf(fake.said, sizeof(fake.said), "%s", err.text);
    return rc;
}

static void is_value(const char *name, const char *expected)
{
    const char *value = fake_get(name);

    tap_ok(expected ? value != NULL && strcmp(value, expected) == 0 : value == NULL, "%s is %s (%s)", name,
           expected ? expected : "not set", value ? value : "not set");
}

static void test_pairs(void)
{
    for (uint32_t local = 0; local < 8; local += 7) {
        set_up(PLAN("2", "4", "auto", "8"), "gpu,nic;none;all;nothing", "0,1,2,3,4,5,6,7", "8");
        tap_ok(start(local) == 0 && fake.said[0] == '\0', "task %u of 8 starts in silence: %s", local,
               fake.said);
        is_value("CUDA_VISIBLE_DEVICES", "0,5,1,2,3,4,6,7");
        is_value("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
        is_value("ROCR_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7");
        is_value("UCX_NET_DEVICES", local ? "mlx5_1:1" : "mlx5_0:1");
        is_value("NCCL_IB_HCA", NULL);
        is_value("OMP_NUM_THREADS", NULL);
        is_value(DT_BOUND_NAME, "CUDA_DEVICE_ORDER,UCX_NET_DEVICES");
    }
}

static void test_other_vendor(void)
{
    set_up(PLAN("2", "4", "auto", "8"), "gpu;none;all;nothing", "0,1,2,3,4,5,6,7", "8");
    for (uint32_t i = 0; i < 8; i++)
        binder.topo->gpus[i].vendor = DT_VENDOR_AMD;
    tap_ok(start(0) == 0, "another vendor's GPUs");
    is_value("ROCR_VISIBLE_DEVICES", "0,5,1,2,3,4,6,7");
    is_value("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7");
    is_value("CUDA_DEVICE_ORDER", NULL);
}

static void test_modes(void)
{
    set_up(PLAN("2", "4", "auto", "8"), "gpu;none;own;nothing", "0,1,2,3,4,5,6,7", "8");
    tap_ok(start(1) == 0, "one visible");
    is_value("CUDA_VISIBLE_DEVICES", "5");
    set_up(PLAN("2", "1", "auto", "2"), "gpu;none;all;nothing", "0,1", "2");
    fake_put("SLURM_STEP_GPUS", "5,3");
    tap_ok(start(0) == 0, "a cgroup that counts from 0");
    is_value("CUDA_VISIBLE_DEVICES", "0,1");
    set_up(PLAN("2", "2", "auto", "4"), "gpu;none;all;nothing", "0,1,2,5", "4");
    tap_ok(start(0) == 0, "part of a node");
    is_value("CUDA_VISIBLE_DEVICES", "0,5,1,2");
    set_up(PLAN("2", "1", "auto", "2"), "gpu;none;all;nothing", "0,3,4,6", "4");
    tap_ok(start(0) == 0, "more GPUs than tasks");
    is_value("CUDA_VISIBLE_DEVICES", "3,4,0,6");
    set_up(PLAN("2", "1", "auto", "2"), "none;none;own;nothing", "3,4", "2");
    dt_topo_destroy(binder.topo);
    binder.topo = NULL;
    tap_ok(start(0) == 0, "nothing to bind");
    is_value("CUDA_VISIBLE_DEVICES", "3,4");
    is_value("CUDA_DEVICE_ORDER", NULL);
}

static void test_users_own(void)
{
    set_up(PLAN("2", "1", "auto", "2"), "gpu,nic;none;all;nothing", "3,4", "2");
    fake_put("UCX_NET_DEVICES", "mlx5_7:1");
    fake_put("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
    tap_ok(start(0) == 0, "the user's own variables");
    is_value("UCX_NET_DEVICES", "mlx5_7:1");
    is_value("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    is_value(DT_BOUND_NAME, NULL);
    set_up(PLAN("2", "1", "auto", "2"), "nic;gpu,cpu;all;tasks", "4,3", "2");
    tap_ok(start(0) == 0, "the user's own --gpu-bind");
    is_value("CUDA_VISIBLE_DEVICES", "4,3");
    tap_holds(fake.said, "GPUs left to Slurm, CPUs left to Slurm", "is said");
    tap_holds(fake.said, "--cpu-bind and --gpu-bind win", "with the flags");
}

/* What makes all of it Slurm's; said once a node. */
static void left(const char *name, const char *words, const char *list)
{
    tap_ok(start(1) == 0 && fake.said[0] == '\0', "%s: the others are silent: %s", name, fake.said);
    is_value("CUDA_VISIBLE_DEVICES", list);
    tap_ok(start(0) == 0, "%s: the task starts", name);
    tap_holds(fake.said, words, name);
    is_value("CUDA_VISIBLE_DEVICES", list);
}

static void test_left(void)
{
    set_up(PLAN("2", "1", "auto", "2"), "gpu,cpu;none;all;nothing", "3,4", "2");
    binder.is_failed = true;
    strcpy(binder.problem.text, "the file is broken");
    left("a topology that is none", "n1: binding is left to Slurm: the file is broken", "3,4");
    set_up(PLAN("2", "1", "auto", "2"), "gpu,cpu;none;all;nothing", "8,9", "2");
    left("another machine's topology", "binding is left to Slurm: CUDA_VISIBLE_DEVICES has device 8", "8,9");
    set_up(PLAN("2", "1", "auto", "2"), "gpu;none;all;nothing", "3,4", "2");
    binder.topo->gpu_count = 0;
    left("a topology without GPUs", "shows no such GPU", "3,4");
    set_up(PLAN("2", "1", "auto", "2"), "cpu;none;all;nothing", "3,4", "2");
    fake_put("SLURM_CPU_BIND_LIST", "0x10000");
    left("a CPU that it has not", "Slurm allows CPU 16", "3,4");
    set_up(PLAN("2", "1", "auto", "2"), "gpu;none;all;nothing", "MIG-1,MIG-2", "2");
    left("MIG devices", "the GPU of MIG-1 is known to its vendor's library only", "MIG-1,MIG-2");
    set_up(PLAN("2", "1", "auto", "2"), "gpu;none;all;tasks", "3", "2");
    left("isolated GPUs", "each task has 1 of the 2 GPUs of its node", "3");
    set_up(PLAN("2", "1", "auto", "2"), "gpu,nic;none;all;nothing", "1,2", "2");
    fake.setenv_fails = "CUDA_DEVICE_ORDER";
    left("a variable that cannot be set", "CUDA_DEVICE_ORDER cannot be set to PCI_BUS_ID", "1,2");
    set_up(PLAN("2", "1", "auto", "2"), "gpu;none;own;nothing", "3,4", "2");
    fake_put("ROCR_VISIBLE_DEVICES", NULL);
    binder.is_failed = true;
    strcpy(binder.problem.text, "the file is broken");
    tap_ok(start(1) == 0, "one visible, without a topology");
    is_value("CUDA_VISIBLE_DEVICES", "4");
}

static void test_refused(void)
{
    set_up(PLAN("2", "1", "auto", "2"), "gpu;none;all;nothing", "3", "1");
    tap_ok(start(1) == -1, "more tasks than GPUs are refused");
    tap_holds(fake.said, "2 tasks on n1 have 1 GPUs", "with the numbers");
    set_up(PLAN("2", "1", "host", "2"), "gpu;none;all;nothing", "3", "1");
    tap_ok(start(1) == 0, "but not for the host backend");
    is_value("CUDA_VISIBLE_DEVICES", "3");
}

static void test_cpus(void)
{
    set_up(PLAN("2", "1", "auto", "2"), "gpu,cpu;none;all;tasks", "1,2", "2");
    fake.job_cores = "0-3";
    tap_ok(start(0) == 0, "a job on part of a node whose tasks Slurm does not confine");
    tap_holds(fake.said, "CPUs left to Slurm", "keeps its CPUs");
    tap_holds(fake.said, "since Slurm confines no tasks", "and says why");
    set_up(PLAN("2", "1", "auto", "2"), "gpu,cpu;none;all;tasks", "1,2", "2");
    fake_put("SLURM_CPU_BIND_TYPE", "rank");
    hwloc_bitmap_fill(binder.topo->cpus);
    tap_ok(start(0) == 0, "tasks that Slurm binds by a site's rule");
    tap_holds(fake.said, "CPUs left to Slurm", "keep their CPUs");
    tap_holds(fake.said, "Slurm binds each task by a rule of its own", "and say why");
    set_up(PLAN("2", "1", "auto", "2"), "gpu,cpu;none;all;nothing", "1,2", "2");
    dt_topo_destroy(binder.topo);
    binder.topo = fake_node(FAR_CPUS);
    fake_put("SLURM_CPU_BIND_LIST", NULL);
    fake_put("SLURM_CPU_BIND_TYPE", "none");
    tap_ok(start(0) == 0, "the machine's own CPUs are not the topology's");
    tap_holds(fake.said, "which the topology of the test's node has not", "and that is said");
}

static void test_words(void)
{
    set_up(PLAN("2", "1", "auto", "2"), "gpu,nic;none;all;node", "0,5", "2");
    tap_ok(start(0) == 0, "a line of the node");
    tap_holds(fake.said, "dtrain: n1: local 0: GPU 0000:10:00.0, CPUs left to Slurm, NIC mlx5_0; "
                         "local 1: GPU 0000:60:00.0, CPUs left to Slurm, NIC mlx5_1",
              "tells all tasks");
    fake.said[0] = '\0';
    tap_ok(start(1) == 0 && fake.said[0] == '\0', "once");
    set_up(PLAN("2", "1", "auto", "2"), "gpu;none;all;tasks", "0,5", "2");
    tap_ok(start(1) == 0, "a line of each task");
    tap_holds(fake.said, "dtrain: rank 1, local 1 on n1: GPU 0000:60:00.0", "tells its own");
}

static void test_describe(void)
{
    struct dt_bound *bound = dt_bound_create(1, DT_BIND_GPU | DT_BIND_CPU | DT_BIND_NIC | DT_BIND_MEM, NULL);
    struct dt_topo *topo = fake_node(0);
    uint32_t group = 0, gpu = 0;
    struct dt_bind_request request = {.task_count = 1, .group = &group, .gpus = &gpu, .gpu_count = 1,
                                      .what = bound->items};
    char text[DT_BOUND_LINE_MAX];

    tap_ok(dt_bind(&bound->binding, topo, &request, NULL) == 0, "a binding");
    dt_bound_describe(text, bound, topo, 0);
    tap_holds(text, "GPU 0000:10:00.0, CPUs 0-7, NIC mlx5_0, memory of NUMA node 0", "has all its parts");
    tap_ok(dt_bound_entry(bound, 0) == -1, "without a list there is no entry");
    dt_bound_destroy(bound);
    dt_topo_destroy(topo);
}

int main(void)
{
    test_pairs();
    test_other_vendor();
    test_modes();
    test_users_own();
    test_left();
    test_refused();
    test_cpus();
    test_words();
    test_describe();
    dt_plan_destroy(plan);
    dt_topo_destroy(binder.topo);
    fake_reset(S_CTX_ERROR);
    return tap_done();
}
