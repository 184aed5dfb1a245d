/* What the binder reads of Slurm and of the driver: CPU masks, lists of devices, /proc. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/allowed.h"
#include "plugin/devices.h"
#include "tap.h"
#include "tests/fake/node.h"
#include "tests/fake/spank.h"

/* ---- CPUs ---- */

static const struct {
    const char *text, *cpus; /* NULL: refused */
} masks[] = {
    {"0x1", "0"},
    {"0x1,0x2", "0-1"},
    {"0xFF00", "8-15"},
    {"0x00000000000000010000000000000000", "64"},
    {"ff", "0-7"},
    {"0x0", ""},
    {"", NULL},
    {"0x", NULL},
    {"0x1,", NULL},
    {"0x1,,0x2", NULL},
    {"0xg", NULL},
    {"1-2", NULL},
    {"\xe1", NULL},
};

static void test_masks(void)
{
    static char wide[4096];

    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
        struct dtrain_error err = {.text = ""};
        char text[256] = "";
        int rc = dt_allowed_parse_masks(cpus, masks[i].text, &err);

        hwloc_bitmap_list_snprintf(text, sizeof(text), cpus);
        tap_ok(masks[i].cpus ? rc == 0 && strcmp(text, masks[i].cpus) == 0
                             : rc == -1 && strstr(err.text, "SLURM_CPU_BIND_LIST") != NULL,
               "masks %s: %s", masks[i].text, rc ? "refused" : text);
        hwloc_bitmap_free(cpus);
    }
    memset(wide, 'f', sizeof(wide) - 1);
    tap_ok(dt_allowed_parse_masks(NULL, wide, NULL) == -1, "a mask that is too wide is refused");
}

static void test_cores(void)
{
    static const struct {
        const char *text;
        uint32_t expected;
    } rows[] = {{"0", 1}, {"0-3", 4}, {"0-3,8,10-11", 7}, {"", 0}, {NULL, 0}, {"3-1", 0}, {"x", 0}, {",", 0},
                {"0-", 0}, {"999999999999", 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(dt_allowed_count_cores(rows[i].text) == rows[i].expected, "%s names %u cores",
               rows[i].text ? rows[i].text : "-", rows[i].expected);
}

static void test_allowed(void)
{
    struct dt_topo *topo = fake_node(0);
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    struct dtrain_error err = {.text = ""};

    fake_reset(S_CTX_REMOTE);
    fake_put("SLURM_CPU_BIND_TYPE", "mask_cpu:");
    fake_put("SLURM_CPU_BIND_LIST", "0x0f,0xf0");
    tap_ok(dt_allowed_load(cpus, topo, NULL, &err) == 0 && hwloc_bitmap_weight(cpus) == 8,
           "what all tasks of the node may use is the step's");
    tap_ok(dt_allowed_are_own(cpus, topo, NULL), "cores that Slurm does not tell are the job's");
    fake.job_cores = "0-7";
    tap_ok(dt_allowed_are_own(cpus, topo, NULL), "all of the job's cores are the job's");
    fake.job_cores = "0-3";
    tap_ok(!dt_allowed_are_own(cpus, topo, NULL), "more cores than the job has are others' too");
    fake_put("SLURM_CPU_BIND_LIST", "0x10000");
    tap_ok(dt_allowed_load(cpus, topo, NULL, &err) == -1, "a CPU that the topology has not");
    tap_holds(err.text, "Slurm allows CPU 16, which the topology of the test's node has not", "is named");
    fake_put("SLURM_CPU_BIND_LIST", "0xzz");
    tap_ok(dt_allowed_load(cpus, topo, NULL, &err) == -1, "a list that is none is refused");
    fake_put("SLURM_CPU_BIND_LIST", NULL);
    tap_ok(dt_allowed_load(cpus, topo, NULL, &err) == -1, "so is one that is missing");
    hwloc_bitmap_free(cpus);
    dt_topo_destroy(topo);
}

/* ---- The driver ---- */

#define INFORMATION                                                                                  \
    "Model: \t\t NVIDIA A100\nIRQ:   \t\t 31\nGPU UUID: \t GPU-aaaa-01\nBus Location: \t 0000:10:00.0\n" \
    "Device Minor: \t 3\n"

static void test_driver_text(void)
{
    static const struct {
        const char *text;
        bool expected;
        uint32_t minor;
        const char *uuid;
    } rows[] = {
        {INFORMATION, true, 3, "GPU-aaaa-01"},
        {"Device Minor: 0", true, 0, ""},
        {"Device Minor: x\n", false, 0, ""},
        {"Device Minor:\n", false, 0, ""},
        {"Device Minor: 99999999999999999999\n", false, 0, ""},
        {"", false, 0, ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_driver_gpu gpu = {.uuid = ""};

        tap_ok(dt_driver_parse(&gpu, rows[i].text) == rows[i].expected &&
                   (!rows[i].expected || (gpu.minor == rows[i].minor && strcmp(gpu.uuid, rows[i].uuid) == 0)),
               "a GPU's file, row %zu", i);
    }
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/%s/information", folder, name);
    file = fopen(path, "w");
    if (file == NULL)
        return;
    fputs(text, file);
    fclose(file);
}

static void remove_file(const char *folder, const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s/information", folder, name);
    unlink(path);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    rmdir(path);
}

static void test_driver_folder(void)
{
    char folder[] = "/tmp/dtrain-driver-XXXXXX";
    struct dt_driver driver;

    dt_driver_load(&driver, "/nonexistent");
    tap_ok(driver.count == 0, "no driver: no GPUs");
    if (mkdtemp(folder) == NULL) {
        tap_skip("a driver's folder", "no temporary folder can be made");
        return;
    }
    write_file(folder, "0000:10:00.0", INFORMATION);
    write_file(folder, "0000:20:00.0", "Video BIOS: x\n");
    dt_driver_load(&driver, folder);
    tap_ok(driver.count == 1 && driver.gpus[0].minor == 3 && strcmp(driver.gpus[0].pci, "0000:10:00.0") == 0,
           "a driver's folder: the GPU that is understood");
    remove_file(folder, "0000:10:00.0");
    remove_file(folder, "0000:20:00.0");
    rmdir(folder);
}

/* ---- Devices ---- */

/* Files in the reverse order of PCI addresses. */
static void fill_driver(struct dt_driver *driver, const struct dt_topo *topo)
{
    memset(driver, 0, sizeof(*driver));
    for (uint32_t i = 0; i < 8; i++) {
        struct dt_driver_gpu *gpu = &driver->gpus[driver->count++];

        strcpy(gpu->pci, topo->gpus[i].pci);
        gpu->minor = 7 - i;
        snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-aaaa-0%u", i);
    }
}

static const struct {
    const char *list, *step;
    bool has_driver;
    const char *expected; /* entry:GPU ...; NULL: refused */
    const char *words;
} devices[] = {
    {"0,1,2,3", "0,1,2,3", false, "0:0 1:1 2:2 3:3", ""},
    {"2,3", "2,3", false, "2:2 3:3", ""},
    {"3,2", "", false, "2:2 3:3", ""},
    /* counted from 0 in a cgroup: the lowest address is the first */
    {"0,1", "2,3", false, "0:2 1:3", ""},
    {"0,1", "6,4", false, "0:4 1:6", ""},
    {"0", "5", false, "0:5", ""},
    /* files that are not in PCI order */
    {"0,1", "0,1", true, "6:6 7:7", ""},
    {"0,1", "2,4", true, "0:3 1:5", ""},
    /* names */
    {"GPU-aaaa-03,GPU-aaaa-01", "1,2", true, "GPU-aaaa-03:3 GPU-aaaa-01:1", ""},
    {"MIG-GPU-aaaa-02/1/0", "", true, "MIG-GPU-aaaa-02/1/0:2", ""},
    {"MIG-GPU-aaaa-02/1/0,MIG-GPU-aaaa-02/2/0", "", true, NULL, "is on a GPU that the list has already"},
    {"MIG-8f2a", "", true, NULL, "the GPU of MIG-8f2a is known to its vendor's library only"},
    {"GPU-aaaa", "", true, NULL, "GPU-aaaa fits several GPUs"},
    {"GPU-b", "", true, NULL, "no GPU in /proc/driver/nvidia/gpus has the name GPU-b"},
    {"GPU-aaaa-01", "", false, NULL, "has the name GPU-aaaa-01"},
    /* what is not there */
    {"7,8", "7,8", false, NULL, "CUDA_VISIBLE_DEVICES has device 8, the topology of the test's node has 8"},
    {"8", "8", true, NULL, "the driver has no GPU /dev/nvidia8"},
    {"0,1", "2,3,4", false, NULL, "has devices that SLURM_STEP_GPUS has not"},
    {"4,5", "2,3", false, NULL, "has devices that SLURM_STEP_GPUS has not"},
    {"0,GPU-aaaa-01", "", true, NULL, "CUDA_VISIBLE_DEVICES: 'GPU-aaaa-01'"},
    {"0.1", "", false, NULL, "CUDA_VISIBLE_DEVICES: '0.1'"},
    {"0,1", "a,b", false, NULL, "SLURM_STEP_GPUS: 'a'"},
};

static void test_devices_row(size_t row, const struct dt_topo *topo)
{
    struct dt_driver driver = {.count = 0};
    struct dt_visible visible, step;
    uint32_t gpus[DT_VISIBLE_ENTRIES_MAX];
    struct dt_devices_source source = {topo, &driver, DT_VENDOR_NVIDIA, "CUDA_VISIBLE_DEVICES", &step};
    struct dtrain_error err = {.text = ""};
    char got[512] = "";
    int rc;

    if (devices[row].has_driver)
        fill_driver(&driver, topo);
    dt_visible_parse(&visible, devices[row].list, "list", NULL);
    dt_visible_parse(&step, devices[row].step, "step", NULL);
    rc = dt_devices_resolve(gpus, &visible, &source, &err);
    for (uint32_t i = 0; rc == 0 && i < visible.count; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s:%u", i ? " " : "", visible.entries[i],
                 gpus[i]);
    tap_ok(devices[row].expected ? rc == 0 && strcmp(got, devices[row].expected) == 0 : rc == -1,
           "devices %s of %s%s: %s", devices[row].list, devices[row].step,
           devices[row].has_driver ? " with a driver" : "", rc ? "refused" : got);
    tap_holds(err.text, devices[row].words, "and what is said");
}

static void test_vendors(void)
{
    struct dt_topo *topo = fake_node(0);
    struct dt_driver driver = {.count = 0};
    struct dt_visible visible, step = {.count = 0};
    uint32_t gpus[DT_VISIBLE_ENTRIES_MAX];
    struct dt_devices_source source = {topo, &driver, DT_VENDOR_AMD, "ROCR_VISIBLE_DEVICES", &step};

    topo->gpus[1].vendor = topo->gpus[4].vendor = DT_VENDOR_AMD;
    dt_visible_parse(&visible, "0,1", "list", NULL);
    tap_ok(dt_devices_resolve(gpus, &visible, &source, NULL) == 0 && gpus[0] == 1 && gpus[1] == 4,
           "each vendor's numbers count its own GPUs");
    tap_ok(dt_devices_count(topo, DT_VENDOR_AMD) == 2 && dt_devices_count(topo, DT_VENDOR_INTEL) == 0,
           "and so do we");
    dt_topo_destroy(topo);
}

int main(void)
{
    struct dt_topo *topo = fake_node(0);

    test_masks();
    test_cores();
    test_allowed();
    test_driver_text();
    test_driver_folder();
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
        test_devices_row(i, topo);
    test_vendors();
    dt_topo_destroy(topo);
    fake_reset(S_CTX_ERROR);
    return tap_done();
}
