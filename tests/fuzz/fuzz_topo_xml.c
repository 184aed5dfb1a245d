/* An hwloc XML: refused with a reason, or a topology that keeps what every source must. */
#include "fuzz.h"
#include "topo/topo_hwloc.h"

const char dt_fuzz_name[] = "topo_xml";
unsigned long dt_fuzz_accepted;
/* Each starts a child and hwloc in it. */
const uint32_t dt_fuzz_cost = 40;

#define SETS "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\""
#define HEAD                                                                                                 \
    "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" " SETS                                \
    " allowed_cpuset=\"0x1\" allowed_nodeset=\"0x1\" gp_index=\"1\">"                                        \
    "<object type=\"Package\" os_index=\"0\" " SETS " gp_index=\"2\">"                                       \
    "<object type=\"NUMANode\" os_index=\"0\" " SETS " gp_index=\"3\" local_memory=\"4096\"/>"               \
    "<object type=\"Core\" os_index=\"0\" " SETS " gp_index=\"4\"><object type=\"PU\" os_index=\"0\" " SETS  \
    " gp_index=\"5\"/></object>"
#define HOST                                                                                                 \
    "<object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[00-ff]\" gp_index=\"6\">"
#define GPU(bus, name, index)                                                                                \
    "<object type=\"PCIDev\" pci_busid=\"0000:" bus ":00.0\" pci_type=\"0302 [10de:20b0] [0000:0000] a1\" "  \
    "pci_link_speed=\"0\"><object type=\"OSDev\" gp_index=\"" index "\" name=\"" name                        \
    "\" osdev_type=\"1\"/></object>"
#define NIC                                                                                                  \
    "<object type=\"PCIDev\" pci_busid=\"0000:03:00.0\" pci_type=\"0207 [15b3:101b] [0000:0000] a1\" "       \
    "pci_link_speed=\"0\"><object type=\"OSDev\" name=\"mlx5_0\" osdev_type=\"3\">"                          \
    "<info name=\"Port1LID\" value=\"0x1\"/></object></object>"
#define LINKS                                                                                                \
    "<distances2 type=\"OSDev\" nbobjs=\"2\" kind=\"9\" name=\"NVLinkBandwidth\" indexing=\"gp\">"           \
    "<indexes length=\"8\">101 102 </indexes><u64values length=\"32\">1000000 50000 50000 1000000 "          \
    "</u64values></distances2>"
#define TAIL "</object></object>"

const char *const dt_fuzz_seeds[] = {
    HEAD TAIL "</topology>",
    HEAD HOST GPU("01", "nvml0", "101") GPU("02", "nvml1", "102") NIC "</object>" TAIL LINKS "</topology>",
    HEAD HOST GPU("01", "rsmi0", "101") "</object>" TAIL "</topology>",
    "<topology version=\"1.0\"></topology>",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;

    if (dt_topo_from_xml(&topo, (const char *)data, n, "fuzz", &err) == 0) {
        dt_fuzz_accepted++;
        dt_fuzz_require(dt_topo_check(topo, &err) == 0, "a topology that was read is whole");
        dt_fuzz_require(topo->core_count > 0 && !hwloc_bitmap_iszero(topo->cpus), "it has cores and CPUs");
    } else {
        dt_fuzz_require(topo == NULL && err.text[0] != '\0', "a refusal makes no topology and says why");
    }
    dt_topo_destroy(topo);
    return 0;
}
