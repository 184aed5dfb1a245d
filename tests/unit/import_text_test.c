/* nvidia-smi's and rocm-smi's tables: what small texts say, and what is refused. */
#include <stdlib.h>

#include "import_golden.h"

static const struct import_golden texts[] = {
    {"colours, a wrapped legend of NICs, tabs in the last column",
     "$ nvidia-smi topo -m\r\n"
     "\x1b[4m\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\r\n"
     "GPU0\t X \tNV2\tPXB\tSYS\t0-3,8-11\t0\t\tN/A\r\n"
     "GPU1\tNV2\t X \tSYS\tPXB\t4-7,12-15\t1\t\tN/A\r\n"
     "NIC0\tPXB\tSYS\t X \tSYS\t\t\t\t\r\n"
     "NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t\r\n"
     "\r\nLegend:\r\n\r\n  X    = Self\r\n  PXB  = Connection traversing multiple PCIe bridges (without\r\n"
     "traversing the PCIe Host Bridge)\r\n\r\nNIC Legend:\r\n\r\n  NIC0:\r\n mlx5_0  NIC1: rocep1s0\r\n",
     "GPU0 nvidia numa=0 cpus=0-3,8-11 nics=mlx5_0:switches\n"
     "GPU1 nvidia numa=1 cpus=4-7,12-15 nics=mlx5_0:system\n",
     "X NV2\nNV2 X\n", "mlx5_0", "rocep1s0"},
    {"one GPU without affinities", "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tN/A\tN/A\n",
     "GPU0 nvidia numa=-1 cpus=-\n", "X\n", "", ""},
    {"an empty affinity of CPUs", "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t\t3\n",
     "GPU0 nvidia numa=3 cpus=-\n", "X\n", "", ""},
    {"blanks instead of tabs, old SOC",
     "      GPU0 GPU1 CPU Affinity\nGPU0  X  SOC  0-3\nGPU1 SOC  X   4-7\n",
     "GPU0 nvidia numa=-1 cpus=0-3\nGPU1 nvidia numa=-1 cpus=4-7\n", "X SYS\nSYS X\n", "", ""},
    {"affinity narrowed to what a job may use: of several NUMA nodes none is the GPU's",
     "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
     "GPU0\t X \tPHB\t0-14,16-30\t0-7\nGPU1\tPHB\t X \t16-30\t1\n",
     "GPU0 nvidia numa=-1 cpus=0-14,16-30\nGPU1 nvidia numa=1 cpus=16-30\n", "X PHB\nPHB X\n", "", ""},
    {"more links than a GPU has lead into switches",
     "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV12\tNV12\nGPU1\tNV12\t X \tNV12\nGPU2\tNV12\tNV12\t X \n",
     "GPU0 nvidia numa=-1 cpus=-\nGPU1 nvidia numa=-1 cpus=-\nGPU2 nvidia numa=-1 cpus=-\n",
     "X SW12 SW12\nSW12 X SW12\nSW12 SW12 X\n", "", ""},
    {"rocm-smi: a way over another GPU is no link",
     "============================ ROCm System Management Interface ============================\n"
     "================================ Weight between two GPUs =================================\n"
     "       GPU0         GPU1         GPU2\n"
     "GPU0   0            15           30\nGPU1   15           0            15\n"
     "GPU2   30           15           0\n"
     "\n================================= Hops between two GPUs ==================================\n"
     "       GPU0         GPU1         GPU2\n"
     "GPU0   0            1            1\nGPU1   1            0            1\n"
     "GPU2   1            1            0\n"
     "\n=============================== Link Type between two GPUs ===============================\n"
     "       GPU0         GPU1         GPU2\n"
     "GPU0   0            XGMI         XGMI\nGPU1   XGMI         0            XGMI\n"
     "GPU2   XGMI         XGMI         0\n"
     "\n======================================= Numa Nodes =======================================\n"
     "GPU[0]\t\t: (Topology) Numa Node: 3\nGPU[0]\t\t: (Topology) Numa Affinity: 3\n"
     "GPU[1]\t\t: (Topology) Numa Node: 3\nGPU[1]\t\t: (Topology) Numa Affinity: 3\n"
     "GPU[2]\t\t: (Topology) Numa Node: 1\nGPU[2]\t\t: (Topology) Numa Affinity: -1\n"
     "================================== End of ROCm SMI Log ===================================\n",
     "GPU0 amd numa=3 cpus=-\nGPU1 amd numa=3 cpus=-\nGPU2 amd numa=1 cpus=-\n",
     "X XG SYS\nXG X XG\nSYS XG X\n", "", ""},
    {"rocm-smi: PCIe, N/A, no NUMA nodes",
     "======= Link Type between two GPUs =======\n\n       GPU0  GPU1  GPU2\n"
     "GPU0   0     PCIE  N/A\nGPU1   PCIE  0     N/A\nGPU2   N/A   N/A   0\n",
     "GPU0 amd numa=-1 cpus=-\nGPU1 amd numa=-1 cpus=-\nGPU2 amd numa=-1 cpus=-\n",
     "X SYS -\nSYS X -\n- - X\n", "", ""},
};

static const struct import_refusal bad[] = {
    {"nothing", "", "is no topology that is understood"},
    {"another text", "hello\n", "is no topology that is understood"},
    {"a table that is cut off between rows", "\tGPU0\tGPU1\nGPU0\t X \tSYS\n",
     "the table ends after 1 rows: expected 2"},
    {"a table that is cut off in a row", "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSY",
     "row GPU1, column GPU0: 'SY' is not a path"},
    {"a row too short", "\tGPU0\tGPU1\nGPU0\t X\nGPU1\tSYS\t X\n", "row GPU0, column GPU1: '' is not a path"},
    {"a row too long", "\tGPU0\tNIC0\nGPU0\t X \tSYS\nNIC0\tSYS\t X \tSYS\n",
     "row NIC0 has 'SYS' behind its 2 paths"},
    {"more rows of NICs than none, fewer than all",
     "\tGPU0\tNIC0\tNIC1\nGPU0\t X \tSYS\tSYS\nNIC0\tSYS\t X \tPIX\n",
     "the table ends after 2 rows: expected 3"},
    {"an unknown symbol", "\tGPU0\tGPU1\nGPU0\t X \tABC\nGPU1\tABC\t X\n",
     "'ABC' is not a path: expected X, NV1"},
    {"NV without a count", "\tGPU0\tGPU1\nGPU0\t X \tNV\nGPU1\tNV\t X\n", "'NV' is not a path"},
    {"NV0", "\tGPU0\tGPU1\nGPU0\t X \tNV0\nGPU1\tNV0\t X\n", "'NV0' is not a path"},
    {"NV of many digits", "\tGPU0\tGPU1\nGPU0\t X \tNV99999999999\nGPU1\tNV1\t X\n",
     "'NV99999999999' is not a path"},
    {"X beside the diagonal", "\tGPU0\tGPU1\nGPU0\t X \tX\nGPU1\tX\t X\n",
     "expected X for the device itself only"},
    {"no X on the diagonal", "\tGPU0\tGPU1\nGPU0\tSYS\tSYS\nGPU1\tSYS\t X\n",
     "expected X for the device itself only"},
    {"not symmetric", "\tGPU0\tGPU1\nGPU0\t X \tNV1\nGPU1\tNV2\t X\n",
     "GPU1 to GPU0 differs from GPU0 to GPU1"},
    {"a device twice", "\tGPU0\tGPU0\nGPU0\t X \tSYS\nGPU0\tSYS\t X\n", "device GPU0 has two columns"},
    {"a GPU behind a NIC", "\tGPU0\tNIC0\tGPU1\n", "expected all GPUs first"},
    {"rows in another order", "\tGPU0\tGPU1\nGPU1\tSYS\t X\nGPU0\t X \tSYS\n",
     "row 1 is 'GPU1': expected GPU0"},
    {"a list of CPUs that is none", "\tGPU0\tCPU Affinity\nGPU0\t X \t0-\n", "'0-' is not a list of CPUs"},
    {"a range backwards", "\tGPU0\tCPU Affinity\nGPU0\t X \t5-3\n", "'5-3' is not a list of CPUs"},
    {"a CPU that no machine has", "\tGPU0\tCPU Affinity\nGPU0\t X \t0-99999999999\n",
     "is not a list of CPUs"},
    {"a list that ends in a comma", "\tGPU0\tCPU Affinity\nGPU0\t X \t0,\n", "'0,' is not a list of CPUs"},
    {"cells of affinity that are missing", "GPU0 CPU Affinity NUMA Affinity\nGPU0 X 0-3\n",
     "row GPU0 has fewer than the 2 cells"},
    {"too many NUMA nodes", "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0\t0-999\n",
     "more than 256 NUMA nodes"},
    {"rocm-smi: cut off in a table", "=== Hops between two GPUs ===\n GPU0 GPU1\nGPU0 0 1\n",
     "'Hops between two GPUs' ends after 1 rows"},
    {"rocm-smi: cut off before a table", "=== Hops between two GPUs ===\n", "ends before its heading"},
    {"rocm-smi: a short row", "=== Hops between two GPUs ===\n GPU0 GPU1\nGPU0 0\nGPU1 1 0\n",
     "row GPU0, column GPU1: '' is no number of hops"},
    {"rocm-smi: a long row", "=== Hops between two GPUs ===\n GPU0\nGPU0 0 1\n",
     "row GPU0 has '1' behind its 1 cells"},
    {"rocm-smi: an unknown link", "=== Link Type between two GPUs ===\n GPU0 GPU1\nGPU0 0 FOO\nGPU1 FOO 0\n",
     "'FOO' is no kind of link"},
    {"rocm-smi: not symmetric", "=== Hops between two GPUs ===\n GPU0 GPU1\nGPU0 0 1\nGPU1 2 0\n",
     "GPU1 to GPU0 differs"},
    {"rocm-smi: a table twice",
     "=== Hops between two GPUs ===\n GPU0\nGPU0 0\n=== Hops between two GPUs ===\n", "stands there twice"},
    {"rocm-smi: tables of two sizes",
     "=== Hops between two GPUs ===\n GPU0\nGPU0 0\n=== Weight between two GPUs ===\n GPU0 GPU1\n",
     "one table has 1 GPUs, another 2"},
    {"rocm-smi: cut off between NUMA nodes",
     "GPU[0] : (Topology) Numa Node: 0\nGPU[0] : (Topology) Numa Affinity: 0\n"
     "GPU[1] : (Topology) Numa Node: 0\n",
     "2 GPUs have a 'Numa Node', 1 a 'Numa Affinity'"},
    {"rocm-smi: a GPU left out", "GPU[1] : (Topology) Numa Node: 0\n",
     "'Numa Node' of GPU[1]: expected GPU[0]"},
    {"rocm-smi: a NUMA node that is no number", "GPU[0] : (Topology) Numa Node: x\n", "'x' is not a number"},
    {"rocm-smi: no table", "=== ROCm System Management Interface ===\n", "no table of GPUs"},
};

/* A square table of that many devices, all of them GPUs. */
static char *make_table(unsigned count)
{
    char *text = malloc((size_t)count * count * 8 + 64 * count);
    size_t used = 0;

    if (text == NULL)
        abort();
    for (unsigned i = 0; i < count; i++)
        used += (size_t)sprintf(text + used, "\tGPU%u", i);
    for (unsigned i = 0; i < count; i++) {
        used += (size_t)sprintf(text + used, "\nGPU%u", i);
        for (unsigned j = 0; j < count; j++)
            used += (size_t)sprintf(text + used, "\t%s", i == j ? "X" : "SYS");
    }
    return text;
}

static void test_sizes(void)
{
    static const struct {
        unsigned count;
        const char *words; /* "": accepted */
    } rows[] = {{64, ""}, {65, "more than 64 GPUs"}, {200, "more than 128 devices"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;
        char *text = make_table(rows[i].count);
        int rc = dt_import_text(&topo, "nvidia-smi", text, strlen(text), "text", &err);

        tap_ok((rc == 0) == (rows[i].words[0] == '\0'), "%u GPUs", rows[i].count);
        tap_holds(err.text, rows[i].words, "what is said of their number");
        dt_topo_destroy(topo);
        free(text);
    }
}

int main(void)
{
    import_golden_check_texts(texts, IMPORT_GOLDEN_COUNT(texts));
    import_golden_check_refusals(bad, IMPORT_GOLDEN_COUNT(bad));
    test_sizes();
    return tap_done();
}
