/* The traps of real nodes, each as a small topology of its own; and texts that must be refused. */
#include <stdlib.h>

#include "tap.h"
#include "topo/topo_hwloc.h"

#define TEXT_MAX 65536
#define DEPTH 20000

/* Two sockets with a NUMA node and a core each; what a test adds goes to socket 0, socket 1, the machine, the
 * end. */
#define HEAD(version)                                                                                        \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"                \
    "<topology version=\"" version "\">\n"                                                                   \
    "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" allowed_cpuset=\"0x3\" " \
    "nodeset=\"0xf\" complete_nodeset=\"0xf\" allowed_nodeset=\"0xf\" gp_index=\"1\">\n"
#define SOCKET(number, mask)                                                                                 \
    "<object type=\"Package\" os_index=\"" number "\" cpuset=\"" mask "\" complete_cpuset=\"" mask           \
    "\" nodeset=\"" mask "\" complete_nodeset=\"" mask "\" gp_index=\"1" number "\">\n"                      \
    "<object type=\"NUMANode\" os_index=\"" number "\" cpuset=\"" mask "\" complete_cpuset=\"" mask          \
    "\" nodeset=\"" mask "\" complete_nodeset=\"" mask "\" gp_index=\"2" number                              \
    "\" local_memory=\"4096\"/>\n"                                                                           \
    "<object type=\"Core\" os_index=\"" number "\" cpuset=\"" mask "\" complete_cpuset=\"" mask              \
    "\" nodeset=\"" mask "\" complete_nodeset=\"" mask "\" gp_index=\"3" number "\">"                        \
    "<object type=\"PU\" os_index=\"" number "\" cpuset=\"" mask "\" complete_cpuset=\"" mask                \
    "\" nodeset=\"" mask "\" complete_nodeset=\"" mask "\" gp_index=\"4" number "\"/></object>\n"
#define END "</object>\n"
#define MEMORY_OF_GPU                                                                                        \
    "<object type=\"NUMANode\" os_index=\"2\" subtype=\"GPUMemory\" cpuset=\"0x1\" complete_cpuset=\"0x1\" " \
    "nodeset=\"0x4\" complete_nodeset=\"0x4\" gp_index=\"22\" local_memory=\"4096\"/>\n"
#define HOST(buses)                                                                                          \
    "<object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[" buses "]\">\n"
#define BRIDGE(bus, buses)                                                                                   \
    "<object type=\"Bridge\" bridge_type=\"1-1\" depth=\"1\" bridge_pci=\"0000:[" buses                      \
    "]\" pci_busid=\"0000:" bus                                                                              \
    ":00.0\" pci_type=\"0604 [1000:c010] [0000:0000] a0\" pci_link_speed=\"0\">\n"
#define PCI(id, type)                                                                                        \
    "<object type=\"PCIDev\" pci_busid=\"" id "\" pci_type=\"" type                                          \
    " [0000:0000] a1\" pci_link_speed=\"0\">\n"
#define BARE(id, type) PCI(id, type) END
#define OS(name, type) "<object type=\"OSDev\" name=\"" name "\" osdev_type=\"" type "\"/>\n"
#define GP(name, type, index)                                                                                \
    "<object type=\"OSDev\" gp_index=\"" index "\" name=\"" name "\" osdev_type=\"" type "\"/>\n"
#define FABRIC(name, lid)                                                                                    \
    "<object type=\"OSDev\" name=\"" name "\" osdev_type=\"3\"><info name=\"Port1LID\" value=\"" lid         \
    "\"/></object>\n"
#define V100 "0302 [10de:1db1]"
#define A100 "0302 [10de:20b0]"
#define IB "0207 [15b3:101b]"

struct expected_gpu {
    const char *pci, *name;
    int part, package, numa;
};

struct expected_path {
    int a, b; /* b -1: no path is looked at */
    enum dt_path path;
    unsigned count;
};

struct row {
    const char *name, *socket0, *socket1, *machine, *tail;
    struct expected_gpu gpus[9];   /* ends with pci NULL */
    struct expected_path paths[4]; /* ends with a == b == 0 */
    const char *nics;              /* those that are used, by name */
};

static const struct row rows[] = {
    {.name = "server graphics and accelerators that are no GPUs",
     .socket0 =
         HOST("00-ff") BARE("0000:01:00.0", "0300 [1a03:2000]") BARE("0000:02:00.0", "0300 [102b:0522]")
             BARE("0000:03:00.0", "0300 [1002:515e]") BARE("0000:00:02.0", "0300 [8086:3e9a]")
                 BARE("0000:04:00.0", "0b40 [8086:4940]") BARE("0000:05:00.0", "0b40 [8086:2710]")
                     BARE("0000:06:00.0", "1200 [8086:09c4]") BARE("0000:07:00.0", "0300 [1234:1111]") END},
    {.name = "bare PCI devices of three vendors, not in PCI order",
     .socket0 = HOST("00-ff") BARE("0000:c1:00.0", "0380 [8086:0bd5]")
         BARE("0000:01:00.0", "1200 [1002:74a1]") BARE("0000:0a:00.0", "0300 [10de:2204]") END,
     .gpus = {{"0000:01:00.0", "", -1, -1, 0},
              {"0000:0a:00.0", "", -1, -1, 0},
              {"0000:c1:00.0", "", -1, -1, 0}},
     .paths = {{0, 2, DT_PATH_BRIDGE, 0}}},
    {.name = "six GPUs behind one function",
     .socket0 = HOST("00-ff") PCI("0000:02:00.0", "1200 [1002:74a0]") OS("rsmi10", "1") OS("rsmi5", "1")
         OS("rsmi6", "1") OS("rsmi7", "1") OS("rsmi8", "1") OS("rsmi9", "1") OS("opencl0d0", "5") END END,
     .gpus = {{"0000:02:00.0", "rsmi5", 0, 0, 0},
              {"0000:02:00.0", "rsmi6", 1, 0, 0},
              {"0000:02:00.0", "rsmi7", 2, 0, 0},
              {"0000:02:00.0", "rsmi8", 3, 0, 0},
              {"0000:02:00.0", "rsmi9", 4, 0, 0},
              {"0000:02:00.0", "rsmi10", 5, 0, 0}},
     .paths = {{0, 5, DT_PATH_XGMI, 0}}},
    {.name = "tiles that one GPU has inside",
     .socket1 = HOST("00-ff") PCI("0000:18:00.0", "0380 [8086:0bd6]") OS("opencl0d0", "5")
         OS("opencl1d0", "5") OS("ze0", "5") OS("ze0.0", "5") OS("ze0.1", "5") END END,
     .gpus = {{"0000:18:00.0", "ze0", -1, -1, 1}}},
    {.name = "an old co-processor and a new GPU object",
     .socket0 = HOST("00-7f") PCI("0000:01:00.0", A100) OS("nvml0", "5") OS("card1", "1") END END,
     .socket1 = HOST("80-ff") PCI("0000:81:00.0", A100) OS("nvml1", "1") OS("cuda1", "5") END END,
     .gpus = {{"0000:01:00.0", "nvml0", -1, -1, 0}, {"0000:81:00.0", "cuda1", -1, -1, 1}},
     .paths = {{0, 1, DT_PATH_SYSTEM, 0}}},
    {.name = "GPU memory as a NUMA node",
     .socket0 = MEMORY_OF_GPU HOST("00-ff") BARE("0000:01:00.0", "0302 [10de:2342]") END,
     .gpus = {{"0000:01:00.0", "", -1, -1, 0}}},
    {.name = "GCDs without a serial number",
     .socket0 =
         HOST("c0-ff") BARE("0000:c1:00.0", "0380 [1002:7408]") BARE("0000:c6:00.0", "0380 [1002:7408]") END,
     .socket1 =
         HOST("10-1f") BARE("0000:11:00.0", "0380 [1002:7408]") BARE("0000:16:00.0", "0380 [1002:7408]") END,
     .gpus = {{"0000:11:00.0", "", -1, 0, 1},
              {"0000:16:00.0", "", -1, 0, 1},
              {"0000:c1:00.0", "", -1, 1, 0},
              {"0000:c6:00.0", "", -1, 1, 0}},
     .paths = {{0, 1, DT_PATH_XGMI, 4}, {1, 2, DT_PATH_SYSTEM, 0}}},
    {.name = "a hybrid cube mesh",
     .socket0 = HOST("00-7f") BARE("0000:06:00.0", V100) BARE("0000:07:00.0", V100) BARE("0000:0a:00.0", V100)
         BARE("0000:0b:00.0", V100) END,
     .socket1 = HOST("80-ff") BARE("0000:85:00.0", V100) BARE("0000:86:00.0", V100) BARE("0000:89:00.0", V100)
         BARE("0000:8a:00.0", V100) END,
     .machine = "<info name=\"Architecture\" value=\"x86_64\"/>",
     .gpus = {{"0000:06:00.0", "", -1, -1, 0},
              {"0000:07:00.0", "", -1, -1, 0},
              {"0000:0a:00.0", "", -1, -1, 0},
              {"0000:0b:00.0", "", -1, -1, 0},
              {"0000:85:00.0", "", -1, -1, 1},
              {"0000:86:00.0", "", -1, -1, 1},
              {"0000:89:00.0", "", -1, -1, 1},
              {"0000:8a:00.0", "", -1, -1, 1}},
     .paths = {{0, 3, DT_PATH_NVLINK, 2}, {0, 1, DT_PATH_NVLINK, 1}, {0, 5, DT_PATH_SYSTEM, 0}}},
    {.name = "NVSwitch",
     .socket0 =
         HOST("00-7f") BARE("0000:01:00.0", "0302 [10de:2321]") BARE("0000:05:00.0", "0680 [10de:22a3]") END,
     .socket1 = HOST("80-ff") BARE("0000:81:00.0", "0302 [10de:2321]") END,
     .gpus = {{"0000:01:00.0", "", -1, -1, 0}, {"0000:81:00.0", "", -1, -1, 1}},
     .paths = {{0, 1, DT_PATH_NVSWITCH, 18}}},
    {.name = "doubled rates of NVLink 3, and a pair without a link",
     .socket0 = HOST("00-ff") PCI("0000:01:00.0", A100) GP("nvml0", "1", "101") END PCI("0000:02:00.0", A100)
         GP("nvml1", "1", "102") END PCI("0000:03:00.0", A100) GP("nvml2", "1", "103") END END,
     .tail = "<distances2 type=\"OSDev\" nbobjs=\"3\" kind=\"9\" name=\"NVLinkBandwidth\" indexing=\"gp\">"
             "<indexes length=\"12\">101 102 103 </indexes>"
             "<u64values length=\"40\">1000000 600000 0 600000 1000000 0 0 0 0 </u64values></distances2>\n",
     .gpus = {{"0000:01:00.0", "nvml0", -1, -1, 0},
              {"0000:02:00.0", "nvml1", -1, -1, 0},
              {"0000:03:00.0", "nvml2", -1, -1, 0}},
     .paths = {{0, 1, DT_PATH_NVLINK, 12}, {0, 2, DT_PATH_BRIDGE, 0}, {1, 2, DT_PATH_BRIDGE, 0}}},
    {.name = "one switch, several, and a NIC for storage beside each GPU's own",
     .socket0 = HOST("00-7f") BRIDGE("00", "01-20") BRIDGE("01", "02-02") PCI("0000:02:00.0", A100)
         END END BRIDGE("01", "03-03") PCI("0000:03:00.0", IB) FABRIC("mlx5_0", "0x1") END END BRIDGE(
             "01", "04-10") BRIDGE("04", "05-05") BARE("0000:05:00.0", A100) END END END BRIDGE("00", "30-31")
             PCI("0000:30:00.0", IB) FABRIC("mlx5_4", "0x2") END END END,
     .gpus = {{"0000:02:00.0", "", -1, -1, 0}, {"0000:05:00.0", "", -1, -1, 0}},
     .paths = {{0, 1, DT_PATH_SWITCHES, 0}},
     .nics = "mlx5_0"},
    {.name = "RoCE beside InfiniBand, and management",
     .socket0 = HOST("00-7f") PCI("0000:02:00.0", IB) FABRIC("mlx5_0", "0xffff") OS("ib0", "2")
         END PCI("0000:03:00.0", "0200 [15b3:1015]") FABRIC("mlx5_1", "0x0")
             END PCI("0000:04:00.0", "0200 [8086:1521]") OS("eno1", "2") END END,
     .nics = "mlx5_0"},
    {.name = "RoCE alone",
     .socket0 = HOST("00-7f") PCI("0000:03:00.0", "0200 [15b3:101d]") FABRIC("mlx5_0", "0x0") OS("eth2", "2")
         END PCI("0000:04:00.0", "0200 [8086:1521]") OS("eno1", "2") END END,
     .nics = "mlx5_0"},
    {.name = "Slingshot, EFA and Omni-Path",
     .socket0 = HOST("00-7f") PCI("0000:03:00.0", "0200 [17db:0501]") OS("hsi0", "2")
         END PCI("0000:04:00.0", "0200 [1d0f:efa2]") FABRIC("rdmap4s0", "0x0")
             END PCI("0000:05:00.0", "0208 [8086:24f0]") FABRIC("hfi1_0", "0x5") END END,
     .nics = "hsi0 rdmap4s0 hfi1_0"},
};

static void build(char text[TEXT_MAX], const struct row *row)
{
    snprintf(text, TEXT_MAX, "%s%s%s%s%s%s%s%s%s%s%s", HEAD("2.0"), row->machine ? row->machine : "",
             SOCKET("0", "0x1"), row->socket0 ? row->socket0 : "", END, SOCKET("1", "0x2"),
             row->socket1 ? row->socket1 : "", END, END, row->tail ? row->tail : "", "</topology>\n");
}

static bool is_as_expected(const struct dt_topo_gpu *gpu, const struct expected_gpu *expected)
{
    return strcmp(gpu->pci, expected->pci) == 0 && strcmp(gpu->name, expected->name) == 0 &&
           gpu->part == expected->part && gpu->package == expected->package && gpu->numa == expected->numa;
}

static void test_gpus(const struct dt_topo *topo, const struct row *row)
{
    uint32_t count = 0;

    while (row->gpus[count].pci != NULL)
        count++;
    if (!tap_ok(topo->gpu_count == count, "%s: %u GPUs, found %u", row->name, count, topo->gpu_count))
        return;
    for (uint32_t i = 0; i < count; i++)
        tap_ok(is_as_expected(&topo->gpus[i], &row->gpus[i]),
               "%s: GPU %u is %s '%s' part %d, found %s '%s' part %d package %d at NUMA node %d", row->name,
               i, row->gpus[i].pci, row->gpus[i].name, row->gpus[i].part, topo->gpus[i].pci,
               topo->gpus[i].name, topo->gpus[i].part, topo->gpus[i].package, topo->gpus[i].numa);
    for (const struct expected_path *path = row->paths; path->a != path->b; path++) {
        struct dt_path_info found = topo->gpu_path[path->a][path->b];

        tap_ok(found.path == path->path && found.count == path->count,
               "%s: GPU %d to %d is %s with %u links, found %s with %u", row->name, path->a, path->b,
               dt_path_words[path->path], path->count, dt_path_words[found.path], found.count);
    }
}

static void test_nics(const struct dt_topo *topo, const struct row *row)
{
    char used[1024] = "";

    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].is_used)
            snprintf(used + strlen(used), sizeof(used) - strlen(used), "%s%s", used[0] ? " " : "",
                     topo->nics[i].name);
    tap_ok(strcmp(used, row->nics ? row->nics : "") == 0, "%s: NICs '%s', found '%s'", row->name,
           row->nics ? row->nics : "", used);
}

static void test_rows(void)
{
    static char text[TEXT_MAX];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;

        build(text, &rows[i]);
        if (!tap_ok(dt_topo_from_xml(&topo, text, strlen(text), "a row", &err) == 0, "%s: read %s",
                    rows[i].name, err.text))
            continue;
        test_gpus(topo, &rows[i]);
        test_nics(topo, &rows[i]);
        dt_topo_destroy(topo);
    }
}

static void test_places(void)
{
    static char text[TEXT_MAX];
    struct row row = {.socket0 = MEMORY_OF_GPU};
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    uint32_t memories = 0;

    build(text, &row);
    if (!tap_ok(dt_topo_from_xml(&topo, text, strlen(text), "places", &err) == 0, "places %s", err.text))
        return;
    for (uint32_t i = 0; i < topo->numa_count; i++)
        memories += topo->numas[i].is_gpu_memory && topo->numas[i].os_index == 2 &&
                    hwloc_bitmap_iszero(topo->numas[i].cpus);
    tap_ok(topo->numa_count == 3 && memories == 1, "NUMA node 2 is a GPU's memory");
    tap_ok(topo->core_count == 2 && hwloc_bitmap_weight(topo->cpus) == 2, "two cores and two CPUs");
    dt_topo_destroy(topo);
}

#define VALID HEAD("2.0") SOCKET("0", "0x1") END SOCKET("1", "0x2") END END "</topology>\n"
/* Has the number of the machine that it is in. */
#define PACKAGE_1                                                                                            \
    "<object type=\"Package\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" gp_index=\"1\"/>"
#define ENTITIES                                                                                             \
    "<!DOCTYPE topology [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;\">]>"  \
    "<topology version=\"2.0\">&c;</topology>"

static const struct {
    const char *name, *text, *words;
} bad[] = {
    {"nothing", "", "has no <topology>"},
    {"no XML", "GPU0\tGPU1\nX\tNV4\n", "has no <topology>"},
    {"other XML", "<?xml version=\"1.0\"?><system version=\"1\"><cpu/></system>", "has no <topology>"},
    {"a root of another name", "<x><topology version=\"2.0\"/></x>", "expected a whole XML of hwloc"},
    {"no objects", "<topology version=\"2.0\"></topology>", "expected"},
    {"a later version", HEAD("9.0") SOCKET("0", "0x1") END END "</topology>",
     "expected a whole XML of hwloc"},
    {"entities", ENTITIES, "defines XML entities"},
    {"no CPUs", "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\"/></topology>", "expected"},
    {"a CPU with a huge number",
     HEAD("2.0") "<object type=\"PU\" os_index=\"4294967294\" cpuset=\"0x1\"/>" END "</topology>",
     "expected"},
    {"an object inside itself by its number", HEAD("2.0") PACKAGE_1 END "</topology>", "expected"},
};

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;
        int rc = dt_topo_from_xml(&topo, bad[i].text, strlen(bad[i].text), "bad.xml", &err);

        if (tap_ok(rc == -1 && topo == NULL, "%s: refused", bad[i].name)) {
            tap_holds(err.text, bad[i].words, bad[i].name);
            tap_holds(err.text, "bad.xml", "the error names the file");
        }
        dt_topo_destroy(topo);
    }
}

/* Cut anywhere before its end, a topology is refused. */
static void test_truncated(void)
{
    size_t whole = strlen(VALID) - strlen("</topology>\n");
    unsigned taken = 0;

    for (size_t size = 0; size < whole; size += 97) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;

        taken += dt_topo_from_xml(&topo, VALID, size, "cut.xml", &err) == 0 || err.text[0] == '\0';
        dt_topo_destroy(topo);
    }
    tap_ok(taken == 0, "a topology that is cut off is refused");
}

static void test_zero_byte(void)
{
    static const char text[] = VALID "\0<x/>";
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;

    tap_ok(dt_topo_from_xml(&topo, text, sizeof(text), "zero.xml", &err) == -1, "a zero byte is refused");
    tap_holds(err.text, "holds a zero byte", "a zero byte");
}

static void test_deep(void)
{
    static const char open[] = "<object type=\"Group\" cpuset=\"0x3\">", close[] = "</object>";
    size_t size = DEPTH * (sizeof(open) + sizeof(close)) + TEXT_MAX, used;
    char *text = calloc(1, size);
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;

    if (text == NULL)
        exit(1);
    used = (size_t)snprintf(text, size, "%s", HEAD("2.0"));
    for (int i = 0; i < DEPTH; i++, used += sizeof(open) - 1)
        memcpy(text + used, open, sizeof(open) - 1);
    for (int i = 0; i < DEPTH; i++, used += sizeof(close) - 1)
        memcpy(text + used, close, sizeof(close) - 1);
    memcpy(text + used, END "</topology>", sizeof(END "</topology>"));
    tap_ok(dt_topo_from_xml(&topo, text, strlen(text), "deep.xml", &err) == -1, "deep nesting is refused");
    tap_holds(err.text, "deep.xml", "deep nesting");
    free(text);
}

static void test_huge(void)
{
    char *text = calloc(1, DT_TOPO_XML_MAX + 1u);
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;

    if (text == NULL)
        exit(1);
    tap_ok(dt_topo_from_xml(&topo, text, DT_TOPO_XML_MAX + 1u, "huge.xml", &err) == -1,
           "a huge text is refused");
    tap_holds(err.text, "huge.xml has 16777217 bytes: expected at most 16777216", "a huge text");
    free(text);
}

static void test_synthetic(void)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;

    tap_ok(dt_topo_from_synthetic(&topo, "pack:2 core:8 pu:2", &err) == 0 && topo->core_count == 16 &&
               hwloc_bitmap_weight(topo->cpus) == 32,
           "a synthetic topology has its cores");
    dt_topo_destroy(topo);
    tap_ok(dt_topo_from_synthetic(&topo, "pack:two", &err) == -1, "no synthetic topology");
    tap_holds(err.text, "'pack:two' is no synthetic topology", "no synthetic topology");
}

int main(void)
{
    test_rows();
    test_places();
    test_bad();
    test_truncated();
    test_zero_byte();
    test_deep();
    test_huge();
    test_synthetic();
    return tap_done();
}
