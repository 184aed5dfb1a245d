/* Texts of topologies: what is read keeps the promises of topo.h, and what is refused leaves nothing. */
#include <string.h>

#include "fuzz.h"
#include "topo/import/import.h"

const char dt_fuzz_name[] = "import";
unsigned long dt_fuzz_accepted;
const char *const dt_fuzz_seeds[] = {
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV12\tPXB\t0-3,8-11\t0\t\tN/A\nGPU1\tNV12\t X \tSYS\t4-7,12-15\t1\t\t4\n"
    "NIC0\tPXB\tSYS\t X \n\nNIC Legend:\n  NIC0: mlx5_0\n",
    "\x1b[4m\tGPU0\tGPU1\tCPU Affinity\x1b[0m\nGPU0\t X \tPHB\t0-1\nGPU1\tPHB\t X \t0-1\n",
    "=== Weight between two GPUs ===\n GPU0 GPU1\nGPU0 0 15\nGPU1 15 0\n"
    "=== Hops between two GPUs ===\n GPU0 GPU1\nGPU0 0 1\nGPU1 1 0\n"
    "=== Link Type between two GPUs ===\n GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n"
    "=== Numa Nodes ===\nGPU[0] : (Topology) Numa Node: 3\nGPU[1] : (Topology) Numa Node: N/A\n",
    "<system version=\"1\"><cpu numaid=\"0\" affinity=\"0000000f,ffffffff\">"
    "<pci busid=\"0000:01:00.0\" class=\"0x060400\"><pci busid=\"0000:02:00.0\" class=\"0x030200\" "
    "vendor=\"0x10de\">"
    "<gpu dev=\"0\" sm=\"80\"><nvlink target=\"0000:03:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci>"
    "<pci busid=\"0000:03:00.0\" class=\"0x030200\"/><pci busid=\"0000:04:00.0\" class=\"0x020700\">"
    "<nic><net name=\"mlx5_0\"/></nic></pci></pci></cpu></system>",
    "<!DOCTYPE system [<!ENTITY a \"b\">]><system>&a;</system>",
    NULL,
};

static void check(const struct dt_topo *topo)
{
    struct dtrain_error err = {""};

    dt_fuzz_require(dt_topo_check(topo, &err) == 0, err.text);
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        dt_fuzz_require(hwloc_bitmap_isincluded(topo->gpus[i].cpus, topo->cpus),
                        "a GPU's CPUs are the node's");
    for (uint32_t i = 0; i < topo->core_count; i++)
        dt_fuzz_require(hwloc_bitmap_isincluded(topo->cores[i], topo->cpus), "a core's CPUs are the node's");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* hwloc's reader has a harness of its own; here it would only be slow. */
    static const char *const names[] = {"nccl", "nvidia-smi", "rocm-smi"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;

        if (dt_import_text(&topo, names[i], (const char *)data, n, "fuzz", &err) == 0) {
            dt_fuzz_accepted++;
            check(topo);
        } else {
            dt_fuzz_require(topo == NULL && strncmp(err.text, "fuzz", 4) == 0, "a refusal names its source");
        }
        dt_topo_destroy(topo);
    }
    return 0;
}
