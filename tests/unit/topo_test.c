/* What every source of a topology must keep, and how good a path is. */
#include "tap.h"
#include "topo/topo.h"

static const char *const paths_from_best[] = {
    "self",     "NVLink", "NVSwitch",  "xGMI",   "Xe Link", "switch",
    "switches", "bridge", "NUMA node", "socket", "system",  "unknown",
};

static void test_words(void)
{
    for (unsigned i = 0; i < DT_PATH_COUNT; i++)
        tap_ok(dt_path_words[i] != NULL && strcmp(dt_path_words[i], paths_from_best[i]) == 0,
               "path %u is called %s", i, paths_from_best[i]);
}

static void test_quality(void)
{
    for (unsigned i = 1; i < DT_PATH_COUNT; i++) {
        struct dt_path_info better = {(enum dt_path)(i - 1), 0}, worse = {(enum dt_path)i, UINT16_MAX};

        tap_ok(dt_path_quality(better) > dt_path_quality(worse), "%s is better than %s with any count",
               paths_from_best[i - 1], paths_from_best[i]);
    }
    tap_ok(dt_path_quality((struct dt_path_info){DT_PATH_NVLINK, 2}) >
               dt_path_quality((struct dt_path_info){DT_PATH_NVLINK, 1}),
           "two links are better than one");
    tap_ok(dt_path_quality((struct dt_path_info){DT_PATH_COUNT, 1}) == 0, "a path of no kind has no quality");
}

static void make_valid(struct dt_topo *topo)
{
    topo->gpu_count = 2;
    topo->nic_count = topo->numa_count = 1;
    strcpy(topo->gpus[0].pci, "0000:01:00.0");
    strcpy(topo->gpus[1].pci, "0000:02:00.0");
    topo->gpus[0].part = topo->gpus[1].part = -1;
    topo->gpus[1].numa = -1;
    topo->gpu_path[0][1] = topo->gpu_path[1][0] = (struct dt_path_info){DT_PATH_SOCKET, 0};
    topo->nic_path[0][0] = topo->nic_path[1][0] = (struct dt_path_info){DT_PATH_SYSTEM, 0};
}

static void keep(struct dt_topo *topo)
{
    (void)topo;
}

static void break_count(struct dt_topo *topo)
{
    topo->gpu_count = DT_TOPO_GPUS_MAX + 1;
}

static void break_numas(struct dt_topo *topo)
{
    topo->numa_count = 2;
}

static void break_gpu_numa(struct dt_topo *topo)
{
    topo->gpus[1].numa = 7;
}

static void break_nic_numa(struct dt_topo *topo)
{
    topo->nics[0].numa = 7;
}

static void break_pci(struct dt_topo *topo)
{
    strcpy(topo->gpus[1].pci, topo->gpus[0].pci);
}

static void split_function(struct dt_topo *topo)
{
    break_pci(topo);
    topo->gpus[1].part = 1;
}

static void break_diagonal(struct dt_topo *topo)
{
    topo->gpu_path[1][1].path = DT_PATH_SWITCH;
}

static void break_self(struct dt_topo *topo)
{
    topo->gpu_path[0][1].path = topo->gpu_path[1][0].path = DT_PATH_SELF;
}

static void break_symmetry(struct dt_topo *topo)
{
    topo->gpu_path[1][0].count = 3;
}

static void break_kind(struct dt_topo *topo)
{
    topo->gpu_path[0][1].path = topo->gpu_path[1][0].path = DT_PATH_COUNT;
}

static void break_nic_path(struct dt_topo *topo)
{
    topo->nic_path[1][0].path = DT_PATH_SELF;
}

static void test_check(void)
{
    static const struct {
        const char *name;
        void (*change)(struct dt_topo *topo);
        const char *words; /* NULL: it is right */
    } rows[] = {
        {"two GPUs and a NIC", keep, NULL},
        {"two parts of one function", split_function, NULL},
        {"more GPUs than there is room for", break_count, "test has 65 GPUs: expected at most 64"},
        {"a NUMA node twice", break_numas, "NUMA node 0 twice"},
        {"a GPU at no NUMA node", break_gpu_numa, "GPU 1 is at NUMA node 7"},
        {"a NIC at no NUMA node", break_nic_numa, "NIC 0 is at NUMA node 7"},
        {"a GPU twice", break_pci, "GPUs 0 and 1 are both 0000:01:00.0"},
        {"a GPU that is not itself", break_diagonal, "from GPU 1 to GPU 1"},
        {"a GPU that is another", break_self, "from GPU 0 to GPU 1"},
        {"a path with another way back", break_symmetry, "socket (0 links) but back socket (3)"},
        {"a path of no kind", break_kind, "of kind 12"},
        {"a NIC that is a GPU", break_nic_path, "from GPU 1 to NIC 0"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = dt_topo_create("test", &err);
        int rc;

        make_valid(topo);
        rows[i].change(topo);
        rc = dt_topo_check(topo, &err);
        if (rows[i].words == NULL)
            tap_ok(rc == 0, "%s: right", rows[i].name);
        else if (tap_ok(rc == -1, "%s: refused", rows[i].name))
            tap_holds(err.text, rows[i].words, rows[i].name);
        dt_topo_destroy(topo);
    }
}

int main(void)
{
    test_words();
    test_quality();
    test_check();
    dt_topo_destroy(NULL);
    return tap_done();
}
