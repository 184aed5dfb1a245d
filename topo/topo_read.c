#include "topo_read.h"

#include <stdlib.h>
#include <string.h>

#include "topo_child.h"
#include "topo_device.h"
#include "topo_gpu.h"
#include "topo_nic.h"
#include "topo_path.h"

#define CPU_MAX 99999 /* highest os index of a CPU, NUMA node or socket */

/* hwloc opens every plugin that it finds before it looks at which are switched off. */
#define NO_DISPLAY "hwloc_opencl.so:hwloc_gl.so"
#define NO_VENDOR NO_DISPLAY ":hwloc_cuda.so:hwloc_nvml.so:hwloc_rsmi.so:hwloc_levelzero.so:hwloc_pci.so"

/* x86 would visit every CPU, pci read a file of names: sysfs says what is needed. */
char *dt_topo_read_environment[] = {
    (char[]){"HWLOC_HIDE_ERRORS=2"},
    (char[]){"HWLOC_PLUGINS_BLACKLIST=" NO_VENDOR},
    (char[]){"HWLOC_COMPONENTS=-x86,-opencl,-gl,-cuda,-nvml,-rsmi,-levelzero,-pci"},
    NULL,
};

char *dt_topo_read_vendor_environment[] = {
    (char[]){"HWLOC_HIDE_ERRORS=2"},
    (char[]){"HWLOC_PLUGINS_BLACKLIST=" NO_DISPLAY ":hwloc_cuda.so"},
    (char[]){"HWLOC_COMPONENTS=-opencl,-gl,-cuda"},
    NULL,
};

/* Entities can make a small text huge, or read other files; hwloc writes none. */
static int check_xml(const struct dt_topo_read *read, struct dtrain_error *err)
{
    if (memchr(read->text, '\0', read->size) != NULL)
        return dt_error_set(err, "%s holds a zero byte: expected an XML of hwloc's", read->source);
    if (strstr(read->text, "<topology") == NULL)
        return dt_error_set(err, "%s has no <topology>: expected an XML of hwloc's (lstopo --of xml)",
                            read->source);
    if (strstr(read->text, "<!ENTITY") != NULL)
        return dt_error_set(err, "%s defines XML entities: expected an XML of hwloc's, which has none",
                            read->source);
    return 0;
}

static int choose_source(hwloc_topology_t hwloc, const struct dt_topo_read *read, struct dtrain_error *err)
{
    if (read->kind == DT_TOPO_READ_MACHINE)
        return 0;
    if (read->kind == DT_TOPO_READ_SYNTHETIC) {
        if (hwloc_topology_set_synthetic(hwloc, read->text) != 0)
            return dt_error_set(
                err, "%s: '%s' is no synthetic topology: expected one such as 'pack:2 core:8 pu:1'",
                read->source, read->text);
        return 0;
    }
    if (check_xml(read, err))
        return -1;
    if (hwloc_topology_set_xmlbuffer(hwloc, read->text, (int)read->size + 1) != 0)
        return dt_error_set(err,
                            "%s cannot be read: expected a whole XML of hwloc 1.x or 2.x (lstopo --of xml)",
                            read->source);
    return 0;
}

static void choose_types(hwloc_topology_t hwloc, enum dt_topo_read_kind kind)
{
    /* All of the node: what Slurm allows comes from Slurm. */
    hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_io_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_ALL);
    /* Of a machine they are most of what sysfs has to say; in an XML devices may stand below one. */
    if (kind == DT_TOPO_READ_MACHINE)
        hwloc_topology_set_cache_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
}

/* NULL with the error set. */
static hwloc_topology_t load(const struct dt_topo_read *read, struct dtrain_error *err)
{
    hwloc_topology_t hwloc = NULL;

    if (hwloc_topology_init(&hwloc) != 0) {
        dt_error_set(err, "%s: hwloc cannot start: expected its library to be whole", read->source);
        return NULL;
    }
    choose_types(hwloc, read->kind);
    if (choose_source(hwloc, read, err) == 0) {
        if (hwloc_topology_load(hwloc) == 0)
            return hwloc;
        dt_error_set(err, "%s cannot be loaded: expected %s", read->source,
                     read->kind == DT_TOPO_READ_XML ? "a whole XML of hwloc 1.x or 2.x (lstopo --of xml)"
                                                    : "a topology that hwloc understands");
    }
    hwloc_topology_destroy(hwloc);
    return NULL;
}

static int fill_numas(struct dt_topo *topo, hwloc_topology_t hwloc, struct dtrain_error *err)
{
    for (hwloc_obj_t obj = NULL; (obj = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, obj));) {
        struct dt_topo_numa *numa = &topo->numas[topo->numa_count];

        if (topo->numa_count == DT_TOPO_NUMAS_MAX || obj->os_index > CPU_MAX)
            return dt_error_set(err,
                                "%s has more than %u NUMA nodes, or one numbered %u: expected at most %d",
                                topo->source, DT_TOPO_NUMAS_MAX, obj->os_index, CPU_MAX);
        numa->os_index = (int)obj->os_index;
        numa->is_gpu_memory = dt_topo_device_owns_memory(obj);
        if (!numa->is_gpu_memory)
            hwloc_bitmap_copy(numa->cpus, obj->cpuset);
        topo->numa_count++;
    }
    return 0;
}

/* Cores; where a source names none, each CPU is one. */
static int fill_cores(struct dt_topo *topo, hwloc_topology_t hwloc, struct dtrain_error *err)
{
    hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int count = hwloc_get_nbobjs_by_type(hwloc, type);

    if (count <= 0 || (unsigned)count > DT_TOPO_CORES_MAX)
        return dt_error_set(err, "%s has %d cores: expected 1 to %u", topo->source, count, DT_TOPO_CORES_MAX);
    topo->cores = calloc((size_t)count, sizeof(topo->cores[0]));
    if (topo->cores == NULL)
        return dt_error_memory(err, (size_t)count * sizeof(topo->cores[0]), "cores");
    for (int i = 0; i < count; i++) {
        topo->cores[i] = hwloc_bitmap_dup(hwloc_get_obj_by_type(hwloc, type, (unsigned)i)->cpuset);
        if (topo->cores[i] == NULL)
            return dt_error_memory(err, sizeof(topo->cores[0]), "a core");
        topo->core_count++;
    }
    return 0;
}

static int fill_cpus(struct dt_topo *topo, hwloc_topology_t hwloc, struct dtrain_error *err)
{
    hwloc_const_bitmap_t cpus = hwloc_topology_get_topology_cpuset(hwloc);

    if (cpus == NULL || hwloc_bitmap_iszero(cpus) || hwloc_bitmap_last(cpus) < 0 ||
        hwloc_bitmap_last(cpus) > CPU_MAX)
        return dt_error_set(err, "%s has no CPUs, or one above number %d: expected a node", topo->source,
                            CPU_MAX);
    hwloc_bitmap_copy(topo->cpus, cpus);
    return 0;
}

static int fill(struct dt_topo *topo, hwloc_topology_t hwloc, struct dtrain_error *err)
{
    struct dt_topo_devices devices = {.hwloc = hwloc};

    if (fill_cpus(topo, hwloc, err) || fill_numas(topo, hwloc, err) || fill_cores(topo, hwloc, err) ||
        dt_topo_gpu_find(topo, &devices, err) || dt_topo_nic_find(topo, &devices, err))
        return -1;
    dt_topo_path_find(topo, &devices);
    dt_topo_nic_choose(topo);
    return dt_topo_check(topo, err);
}

void dt_topo_read_work(struct dt_topo_wire *wire, void *arg)
{
    const struct dt_topo_read *read = arg;
    struct dtrain_error err = {""};
    struct dt_topo *topo = dt_topo_create(read->source, &err);
    hwloc_topology_t hwloc = topo != NULL ? load(read, &err) : NULL;

    if (hwloc == NULL || fill(topo, hwloc, &err))
        dt_topo_wire_put_error(wire, &err);
    else if (dt_topo_wire_put_topo(wire, topo))
        dt_topo_wire_destroy(wire);
}

void dt_topo_read_export_work(struct dt_topo_wire *wire, void *arg)
{
    const struct dt_topo_read *read = arg;
    struct dtrain_error err = {""};
    hwloc_topology_t hwloc;
    char *xml = NULL;
    int size = 0;

    dt_topo_child_lift_memory();
    hwloc = load(read, &err);
    if (hwloc != NULL && hwloc_topology_export_xmlbuffer(hwloc, &xml, &size, 0) != 0)
        dt_error_set(&err, "%s: hwloc cannot write its XML: expected memory for it", read->source);
    if (xml == NULL || size <= 0)
        dt_topo_wire_put_error(wire, &err);
    else if (dt_topo_wire_put_text(wire, xml, strnlen(xml, (size_t)size)))
        dt_topo_wire_destroy(wire);
}
