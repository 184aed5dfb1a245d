/* Machines of dtrain suggest: what links, NICs and GPUs give, from the topologies that dtrain knows. */
#include "tap.h"
#include "tools/suggest_machine.h"
#include "topo/import/import.h"

#define GB 1e9

static const struct {
    const char *machine;
    uint32_t tp;
    double gb_s; /* of a GPU inside a group of tp */
    enum dt_path path;
} links[] = {
    {"dgx-a100", 2, 300, DT_PATH_NVSWITCH},     {"dgx-a100", 8, 300, DT_PATH_NVSWITCH},
    {"dgx-h100", 8, 450, DT_PATH_NVSWITCH},     {"dgx-1v", 2, 50, DT_PATH_NVLINK},
    {"dgx-1v", 8, 150, DT_PATH_NVLINK},         {"mi250x", 2, 200, DT_PATH_XGMI},
    {"mi300x", 8, 448, DT_PATH_XGMI},           {"mi300x", 2, 64, DT_PATH_XGMI},
    {"juwels-booster", 4, 300, DT_PATH_NVLINK}, {"gh200", 2, 150, DT_PATH_NVLINK},
    {"summit", 3, 100, DT_PATH_NVLINK},         {"pcie8", 2, 32, DT_PATH_SWITCH},
    {"pcie8", 8, 16, DT_PATH_SYSTEM},           {"pcie8-bridged", 2, 300, DT_PATH_NVLINK},
    {"pcie8-bridged", 4, 16, DT_PATH_SYSTEM},
};

static int load(struct dt_suggest_machine *machine, struct dt_suggest_machine_request request,
                struct dtrain_error *err)
{
    struct dt_topo *topo;
    int rc;

    if (dt_import_machine(&topo, request.machine, err) != 0)
        return -1;
    rc = dt_suggest_machine_init(machine, topo, &request, err);
    dt_topo_destroy(topo);
    return rc;
}

/* fp16: all kinds of GPUs have it. */
static struct dt_suggest_machine_request request_of(const char *name)
{
    return (struct dt_suggest_machine_request){.machine = name,
                                               .gpu = strncmp(name, "pcie8", 5) == 0 ? "a100-40" : NULL,
                                               .precision = DT_SUGGEST_FP16};
}

static void test_links(void)
{
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        struct dt_suggest_machine machine;
        struct dtrain_error err = {""};
        bool ok = load(&machine, request_of(links[i].machine), &err) == 0;

        tap_ok(ok && machine.tp[links[i].tp].bytes_s == links[i].gb_s * GB &&
                   machine.tp[links[i].tp].path == links[i].path,
               "%s: %g GB/s in groups of %u", links[i].machine, links[i].gb_s, links[i].tp);
        if (ok && machine.tp[links[i].tp].bytes_s != links[i].gb_s * GB)
            printf("# got %g by path %d\n", machine.tp[links[i].tp].bytes_s,
                   (int)machine.tp[links[i].tp].path);
    }
}

static const struct {
    const char *machine;
    uint32_t gpus, nics;
    double memory_gb, nic_gb_s;
} nodes[] = {
    {"dgx-a100", 8, 8, 85.899345920, 25}, {"dgx-h100", 8, 8, 85.899345920, 50},
    {"p4d", 8, 4, 42.949672960, 12.5},    {"summit", 6, 4, 17.179869184, 6.25},
    {"mi250x", 8, 4, 68.719476736, 25},
};

static void test_nodes(void)
{
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        struct dt_suggest_machine_request request = request_of(nodes[i].machine);
        struct dt_suggest_machine machine;
        struct dtrain_error err = {""};
        bool ok;

        request.nodes = 2;
        ok = load(&machine, request, &err) == 0;
        tap_ok(ok && machine.gpus == nodes[i].gpus && machine.nics == nodes[i].nics &&
                   machine.memory == nodes[i].memory_gb * GB &&
                   machine.nic.bytes_s == nodes[i].nics * nodes[i].nic_gb_s * GB && !machine.is_nic_assumed,
               "%s: GPUs, their memory, and NICs in use", nodes[i].machine);
    }
}

/* Every machine that is known by name is known here, but for those whose GPUs it does not say. */
static void test_known(void)
{
    size_t count;
    const struct dt_import_machine *machines = dt_import_machines(&count);

    for (size_t i = 0; i < count; i++) {
        const struct dt_suggest_known *known = dt_suggest_known_find(machines[i].name);
        bool is_pcie = strncmp(machines[i].name, "pcie8", 5) == 0;

        tap_ok(is_pcie ? known == NULL : known != NULL && dt_suggest_gpu_find(known->gpu) != NULL,
               "%s: its GPUs are %s", machines[i].name, is_pcie ? "for the user to say" : "known");
    }
}

static void test_given(void)
{
    struct dt_suggest_machine_request request = request_of("dgx-a100");
    struct dt_suggest_machine machine;
    struct dtrain_error err;

    request.memory = 1e9;
    request.flops = 5e12;
    request.nic_bytes_s = 2e9;
    tap_ok(load(&machine, request, &err) == 0 && machine.memory == 1e9 && machine.flops == 5e12 &&
               machine.nic.bytes_s == 16e9,
           "what the user says goes before what is known");
}

static const struct {
    struct dt_suggest_machine_request request;
    const char *words;
} bad[] = {
    {{.machine = "pcie8"}, "does not say what its GPUs can do: name their kind with --gpu: v100-16"},
    {{.machine = "dgx-a100", .gpu = "a101"},
     "--gpu=a101 is not known: expected one of v100-16, v100-32, a100-40"},
    {{.machine = "dgx-1v", .precision = DT_SUGGEST_BF16}, "v100-32 has no bf16: use --precision=fp16"},
    {{.machine = "pcie8", .gpu = "h100", .nodes = 2}, "has no NIC in use, and --nodes=2 need one"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct dt_suggest_machine machine;
        struct dtrain_error err = {""};

        tap_ok(load(&machine, bad[i].request, &err) == -1, "row %zu is refused", i);
        tap_holds(err.text, bad[i].words, "and says why");
    }
}

int main(void)
{
    test_links();
    test_nodes();
    test_known();
    test_given();
    test_refusals();
    return tap_done();
}
