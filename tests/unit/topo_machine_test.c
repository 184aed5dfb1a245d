/* This machine, read in a child: bounded, and without a vendor's runtime or a trace in this process. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "topo/topo_child.h"
#include "topo/topo_hwloc.h"
#include "topo/topo_read.h"

#define TIMEOUT_MS 20000
#define MAPS_MAX (1u << 20)

static const char *const runtimes[] = {"libcuda",      "libnvidia",  "libcudart",   "libOpenCL",
                                       "libX11",       "libXNVCtrl", "librocm_smi", "libamdhip",
                                       "libze_loader", "libhsa",     "libpciaccess"};

extern char **environ;

/* Of the sanitizers' runtime, when it is linked in: its malloc never fails. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void put_file(struct dt_topo_wire *wire, const char *path)
{
    static char text[MAPS_MAX];
    FILE *file = fopen(path, "r");
    size_t size = file != NULL ? fread(text, 1, sizeof(text), file) : 0;

    dt_topo_wire_put_text(wire, text, size);
}

/* What the child has mapped once it has read the machine, and has it still open. */
static void maps_work(struct dt_topo_wire *wire, void *arg)
{
    struct dt_topo_wire ignored = {0};

    dt_topo_read_work(&ignored, arg);
    dt_topo_wire_destroy(&ignored);
    put_file(wire, "/proc/self/maps");
}

/* The first of this process's files that the child should not have: all but its streams and its result. */
static void fds_work(struct dt_topo_wire *wire, void *arg)
{
    char found[16] = "";

    (void)arg;
    for (int fd = 4; fd < 256 && found[0] == '\0'; fd++)
        if (fcntl(fd, F_GETFD) != -1)
            snprintf(found, sizeof(found), "%d", fd);
    dt_topo_wire_put_text(wire, found, strlen(found));
}

static void hang_work(struct dt_topo_wire *wire, void *arg)
{
    (void)wire;
    (void)arg;
    for (;;)
        pause();
}

static void die_work(struct dt_topo_wire *wire, void *arg)
{
    (void)wire;
    (void)arg;
    abort();
}

static void exhaust_work(struct dt_topo_wire *wire, void *arg)
{
    size_t step = 64u << 20, taken = 0;
    char *memory;

    (void)arg;
    while (taken < (size_t)16 << 30 && (memory = malloc(step)) != NULL) {
        memory[0] = 1;
        taken += step;
    }
    dt_topo_wire_put_text(wire, taken < (size_t)16 << 30 ? "bounded" : "endless", 7);
}

static void half_work(struct dt_topo_wire *wire, void *arg)
{
    struct dtrain_error err;
    struct dt_topo *topo = dt_topo_create("half", &err);

    (void)arg;
    dt_topo_wire_put_topo(wire, topo);
    wire->size /= 2;
}

static bool has_no_children(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static void test_machine(void)
{
    char **before = environ, *first = environ[0];
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;

    if (tap_ok(dt_topo_from_machine(&topo, TIMEOUT_MS, &err) == 0, "this machine is read %s", err.text)) {
        tap_ok(topo->core_count > 0 && topo->numa_count > 0, "it has cores and NUMA nodes");
        tap_ok(hwloc_bitmap_weight(topo->cpus) >= (int)sysconf(_SC_NPROCESSORS_ONLN), "it has all CPUs");
        tap_ok(strcmp(topo->source, "this machine") == 0, "it is called this machine");
    }
    tap_ok(environ == before && environ[0] == first && getenv("HWLOC_COMPONENTS") == NULL,
           "the environment is as it was");
    tap_ok(has_no_children(), "no child is left");
    dt_topo_destroy(topo);
}

static char *read_maps(char **environment)
{
    struct dt_topo_read read = {DT_TOPO_READ_MACHINE, NULL, 0, "maps"};
    struct dtrain_error err = {""};
    struct dt_topo_wire wire;
    char *maps = NULL;
    size_t size;

    if (dt_topo_child_run(&wire, maps_work, &read, environment, TIMEOUT_MS, "maps", &err) == 0)
        dt_topo_wire_get_text(&maps, &size, &wire, "maps", &err);
    dt_topo_wire_destroy(&wire);
    return maps;
}

static unsigned count_runtimes(const char *maps)
{
    unsigned count = 0;

    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
        count += strstr(maps, runtimes[i]) != NULL;
    return count;
}

static void test_runtimes(void)
{
    static const char control[] = "without these settings hwloc does load one, so that the test sees it";
    char *without[] = {NULL};
    char *maps = read_maps(dt_topo_read_environment), *others = read_maps(without);

    if (tap_ok(maps != NULL && strstr(maps, "libhwloc") != NULL, "the child's memory map"))
        tap_ok(count_runtimes(maps) == 0, "no vendor's runtime is loaded in the child");
    if (others == NULL || strstr(others, "hwloc_opencl") == NULL)
        tap_skip(control, "hwloc's OpenCL plugin is not installed (Debian: libhwloc-plugins)");
    else
        tap_ok(count_runtimes(others) > 0, "%s", control);
    free(maps);
    free(others);
}

static void test_own_maps(void)
{
    struct dt_topo_wire wire = {0};
    struct dtrain_error err;
    char *maps = NULL;
    size_t size;

    put_file(&wire, "/proc/self/maps");
    dt_topo_wire_get_text(&maps, &size, &wire, "maps", &err);
    tap_ok(maps != NULL && strstr(maps, "hwloc_") == NULL && count_runtimes(maps) == 0,
           "no plugin of hwloc's is loaded here");
    dt_topo_wire_destroy(&wire);
    free(maps);
}

static void test_children(void)
{
    static const struct {
        const char *name;
        dt_topo_child_work *work;
        int timeout_ms;
        const char *words; /* NULL: it is well */
    } rows[] = {
        {"a child that hangs", hang_work, 50, "was not read within 50 ms"},
        {"a child that dies", die_work, TIMEOUT_MS, "reading it broke off"},
        {"a child that takes all memory", exhaust_work, TIMEOUT_MS, NULL},
        {"a child that sends half", half_work, TIMEOUT_MS, "reading it broke off"},
        {"a child without others' files", fds_work, TIMEOUT_MS, NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo_wire wire;
        char *text = NULL;
        size_t size = 0;
        int rc;

        if (rows[i].work == exhaust_work && __sanitizer_set_death_callback != NULL) {
            tap_skip(rows[i].name, "a sanitizer takes memory beforehand, and ends the child where malloc() fails");
            continue;
        }
        rc = dt_topo_child_run(&wire, rows[i].work, NULL, dt_topo_read_environment, rows[i].timeout_ms, "x.xml",
                               &err);
        if (rc == 0)
            rc = dt_topo_wire_get_text(&text, &size, &wire, "x.xml", &err);
        tap_ok((rc == 0) == (rows[i].words == NULL), "%s", rows[i].name);
        tap_holds(err.text, rows[i].words != NULL ? rows[i].words : "", rows[i].name);
        if (rc == 0)
            tap_ok(strcmp(text, rows[i].work == exhaust_work ? "bounded" : "") == 0, "%s: '%s'", rows[i].name,
                   text);
        tap_ok(has_no_children(), "%s: no child is left", rows[i].name);
        dt_topo_wire_destroy(&wire);
        free(text);
    }
}

static void test_export(void)
{
    struct dtrain_error err = {""};
    struct dt_topo *here = NULL, *again = NULL;
    char *text = NULL;
    size_t size = 0;

    if (!tap_ok(dt_topo_export_machine(&text, &size, &err) == 0, "this machine's XML %s", err.text))
        return;
    if (tap_ok(dt_topo_from_xml(&again, text, size, "saved.xml", &err) == 0, "it is read again %s",
               err.text) &&
        dt_topo_from_machine(&here, TIMEOUT_MS, &err) == 0)
        tap_ok(again->core_count == here->core_count && again->gpu_count == here->gpu_count &&
                   hwloc_bitmap_isequal(again->cpus, here->cpus),
               "it is the same node");
    dt_topo_destroy(here);
    dt_topo_destroy(again);
    free(text);
}

int main(void)
{
    int others[] = {dup(STDIN_FILENO), dup(STDIN_FILENO), dup(STDIN_FILENO)};

    test_machine();
    test_runtimes();
    test_own_maps();
    test_children();
    test_export();
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        close(others[i]);
    return tap_done();
}
