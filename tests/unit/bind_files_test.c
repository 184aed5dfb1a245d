/* What a binding must keep, on the topologies of real nodes where they are at hand. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bind_node.h"
#include "tap.h"
#include "topo/topo_hwloc.h"

#define PATH_MAX_BYTES 4096
#define LINE_MAX_BYTES 1024
#define BRUTE_GPUS_MAX 8

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(DT_TOPO_XML_MAX);

    *size = 0;
    if (file != NULL) {
        *size = fread(text, 1, DT_TOPO_XML_MAX, file);
        fclose(file);
    }
    return text;
}

static bool is_each_gpu_once(const struct dt_binding *binding)
{
    uint64_t seen = 0;

    for (uint32_t i = 0; i < binding->task_count; i++) {
        int gpu = binding->tasks[i].gpu;

        if (gpu < 0 || seen >> gpu & 1)
            return false;
        seen |= UINT64_C(1) << gpu;
    }
    return true;
}

static const struct dt_topo_numa *numa_of(const struct dt_topo *topo, const struct dt_bind_task *task)
{
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (topo->numas[i].os_index == topo->gpus[task->gpu].numa)
            return &topo->numas[i];
    return NULL;
}

static bool has_thread_of_core(const struct dt_topo *topo, uint32_t core, hwloc_const_bitmap_t mask)
{
    return mask == NULL ? hwloc_bitmap_intersects(topo->cores[core], topo->cpus)
                        : hwloc_bitmap_intersects(topo->cores[core], mask);
}

/* Inside the GPU's NUMA node and the mask; Slurm's are kept only where these two have nothing in common. */
static bool is_inside_numa(const struct dt_topo *topo, const struct dt_bind_task *task,
                           hwloc_const_bitmap_t mask)
{
    const struct dt_topo_numa *numa = numa_of(topo, task);

    if (mask != NULL && !hwloc_bitmap_isincluded(task->cpus, mask))
        return false;
    if (numa == NULL)
        return !task->keeps_cpus && !hwloc_bitmap_iszero(task->cpus);
    if (task->keeps_cpus)
        return !hwloc_bitmap_intersects(numa->cpus, mask != NULL ? mask : topo->cpus);
    return !hwloc_bitmap_iszero(task->cpus) && hwloc_bitmap_isincluded(task->cpus, numa->cpus) &&
           task->numa == numa->os_index;
}

/* All threads of a core that the mask has, or none. */
static bool is_whole_cores(const struct dt_topo *topo, const struct dt_bind_task *task,
                           hwloc_const_bitmap_t mask)
{
    bool is_whole = true;
    hwloc_bitmap_t core = hwloc_bitmap_alloc();

    for (uint32_t i = 0; i < topo->core_count; i++) {
        hwloc_bitmap_and(core, topo->cores[i], mask != NULL ? mask : topo->cpus);
        if (hwloc_bitmap_intersects(core, task->cpus) && !hwloc_bitmap_isincluded(core, task->cpus))
            is_whole = false;
    }
    hwloc_bitmap_free(core);
    return is_whole;
}

static bool is_enough(const struct dt_topo *topo, const struct dt_binding *binding, int numa,
                      hwloc_const_bitmap_t mask)
{
    uint32_t tasks = 0, cores = 0;

    for (uint32_t i = 0; i < binding->task_count; i++)
        tasks += topo->gpus[binding->tasks[i].gpu].numa == numa;
    for (uint32_t i = 0; i < topo->core_count; i++)
        for (uint32_t j = 0; j < topo->numa_count; j++)
            cores += (numa == -1 || topo->numas[j].os_index == numa) && has_thread_of_core(topo, i, mask) &&
                     hwloc_bitmap_intersects(topo->cores[i], topo->numas[j].cpus);
    return cores >= tasks;
}

static bool is_disjoint(const struct dt_topo *topo, const struct dt_binding *binding,
                        hwloc_const_bitmap_t mask)
{
    for (uint32_t i = 0; i < binding->task_count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct dt_bind_task *a = &binding->tasks[i], *b = &binding->tasks[j];

            if (hwloc_bitmap_intersects(a->cpus, b->cpus) &&
                is_enough(topo, binding, topo->gpus[a->gpu].numa, mask))
                return false;
        }
    return true;
}

/* No NIC in use is nearer, and none as near has two users fewer. */
static bool is_nearest_nic(const struct dt_topo *topo, const struct dt_binding *binding, uint32_t index)
{
    const struct dt_bind_task *task = &binding->tasks[index];
    uint32_t users[DT_TOPO_NICS_MAX] = {0};

    for (uint32_t i = 0; i < binding->task_count; i++)
        if (binding->tasks[i].nic >= 0)
            users[binding->tasks[i].nic]++;
    for (uint32_t nic = 0; nic < topo->nic_count; nic++) {
        uint32_t there = dt_path_quality(topo->nic_path[task->gpu][nic]), here;

        if (!topo->nics[nic].is_used)
            continue;
        if (task->nic < 0)
            return false;
        here = dt_path_quality(topo->nic_path[task->gpu][task->nic]);
        if (there > here || (there == here && users[nic] + 1 < users[task->nic]))
            return false;
    }
    return task->nic < 0 || topo->nics[task->nic].is_used;
}

/* The best sum of pairs over every way to fill groups of `size`, the lowest free GPU first. */
static uint64_t brute_force(const struct dt_topo *topo, uint32_t free_gpus, uint32_t group, uint32_t size,
                            uint32_t in_group)
{
    uint64_t best = 0;

    if (free_gpus == 0)
        return 0;
    for (uint32_t gpu = 0; gpu < topo->gpu_count; gpu++) {
        uint64_t sum = 0;

        if (!(free_gpus >> gpu & 1))
            continue;
        for (uint32_t other = 0; other < topo->gpu_count; other++)
            if (group >> other & 1)
                sum += dt_path_quality(topo->gpu_path[gpu][other]);
        sum += in_group + 1 == size ? brute_force(topo, free_gpus & ~(1u << gpu), 0, size, 0)
                                    : brute_force(topo, free_gpus & ~(1u << gpu), group | 1u << gpu, size,
                                                  in_group + 1);
        if (sum > best)
            best = sum;
        if (in_group == 0)
            break;
    }
    return best;
}

static bool holds(const struct dt_topo *topo, const struct dt_binding *binding, hwloc_const_bitmap_t mask)
{
    bool is_held = is_each_gpu_once(binding) && is_disjoint(topo, binding, mask);

    for (uint32_t i = 0; is_held && i < binding->task_count; i++) {
        const struct dt_bind_task *task = &binding->tasks[i];

        is_held = is_inside_numa(topo, task, mask) && is_whole_cores(topo, task, mask) &&
                  is_nearest_nic(topo, binding, i) && task->reason[0] != '\0';
        if (!is_held)
            printf("# task %u: %s\n", i, task->reason);
    }
    return is_held;
}

static void test_groups(const struct dt_topo *topo, uint32_t size, const char *name)
{
    uint32_t tasks = topo->gpu_count / size * size;
    struct dt_binding *binding = node_bind(topo, tasks, size, NULL, NULL, 0);

    if (!tap_ok(binding != NULL, "%s, tp=%u: bound", name, size))
        return;
    tap_ok(holds(topo, binding, NULL), "GPUs, cores, NICs and memory of %u tasks", tasks);
    if (topo->gpu_count <= BRUTE_GPUS_MAX && tasks == topo->gpu_count)
        tap_ok(binding->quality == brute_force(topo, (1u << topo->gpu_count) - 1, 0, size, 0),
               "no groups are better linked");
    dt_binding_destroy(binding);
}

/* Only every third CPU, and only the GPUs of odd indices. */
static void test_narrowed(const struct dt_topo *topo, const char *name)
{
    uint32_t gpus[DT_TOPO_GPUS_MAX], count = 0;
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    struct dt_binding *binding;
    bool is_allowed = true;
    char *text;
    int cpu;

    hwloc_bitmap_foreach_begin(cpu, topo->cpus)
        if (cpu % 3 == 0)
            hwloc_bitmap_set(mask, (unsigned)cpu);
    hwloc_bitmap_foreach_end();
    for (uint32_t gpu = 1; gpu < topo->gpu_count; gpu += 2)
        gpus[count++] = gpu;
    hwloc_bitmap_list_asprintf(&text, mask);
    binding = node_bind(topo, count, 1, text, gpus, count);
    free(text);
    for (uint32_t i = 0; binding != NULL && i < count; i++)
        is_allowed = is_allowed && binding->tasks[i].gpu % 2 == 1;
    tap_ok(binding != NULL && is_allowed && holds(topo, binding, mask),
           "%s: the odd GPUs inside a third of the CPUs", name);
    dt_binding_destroy(binding);
    hwloc_bitmap_free(mask);
}

/* One task a CPU, none with a GPU. */
static void test_without_gpus(const struct dt_topo *topo, const char *name)
{
    static const uint32_t none[1] = {0};
    uint32_t tasks = topo->core_count < 64 ? topo->core_count : 64;
    struct dt_binding *binding = node_bind(topo, tasks, 1, NULL, none, 0);
    hwloc_bitmap_t seen = hwloc_bitmap_alloc();
    bool is_disjoint_all = binding != NULL;

    for (uint32_t i = 0; binding != NULL && i < tasks; i++) {
        const struct dt_bind_task *task = &binding->tasks[i];

        is_disjoint_all = is_disjoint_all && task->gpu == -1 && !hwloc_bitmap_iszero(task->cpus) &&
                          !hwloc_bitmap_intersects(seen, task->cpus) && is_whole_cores(topo, task, NULL);
        hwloc_bitmap_or(seen, seen, task->cpus);
    }
    tap_ok(is_disjoint_all, "%s: %u tasks without GPUs have cores of their own", name, tasks);
    hwloc_bitmap_free(seen);
    dt_binding_destroy(binding);
}

/* Columns of gpu_locality.tsv. */
enum { ROW_FILE, ROW_PCI, ROW_ID, ROW_DEVICES, ROW_NUMA, ROW_CPUS, ROW_PACKAGE, ROW_L3, ROW_NICS,
       ROW_COLUMNS = ROW_NICS + 3 /* at its switch, its host bridge, its CPUs */ };

/* names: "ib0+mlx5_0 ib1+mlx5_1"; "-": none. */
static bool is_named(const char *names, const char *nic)
{
    size_t length = strlen(nic);

    for (const char *at = strstr(names, nic); at != NULL; at = strstr(at + 1, nic))
        if ((at == names || at[-1] == '+' || at[-1] == ' ') && strchr("+ ", at[length]) != NULL)
            return true;
    return false;
}

/* The nearest column that names NICs in use says which one it must be; none: any. */
static bool is_right_nic(const struct dt_topo *topo, const struct dt_bind_task *task,
                         char *columns[ROW_COLUMNS])
{
    for (int column = ROW_NICS; column < ROW_COLUMNS; column++)
        for (uint32_t nic = 0; nic < topo->nic_count; nic++)
            if (topo->nics[nic].is_used && is_named(columns[column], topo->nics[nic].name))
                return task->nic >= 0 && is_named(columns[column], topo->nics[task->nic].name);
    return true;
}

static bool is_right(const struct dt_topo *topo, const struct dt_bind_task *task, char *columns[ROW_COLUMNS])
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    bool is_near = true;

    if (columns[ROW_NUMA][0] != '\0') {
        hwloc_bitmap_list_sscanf(cpus, columns[ROW_CPUS]);
        is_near = !task->keeps_cpus && hwloc_bitmap_isincluded(task->cpus, cpus) &&
                  task->numa == atoi(columns[ROW_NUMA]);
    }
    hwloc_bitmap_free(cpus);
    return is_near && is_right_nic(topo, task, columns);
}

/* All GPUs behind the row's PCI function. */
static bool is_row_right(const struct dt_topo *topo, const struct dt_binding *binding,
                         char *columns[ROW_COLUMNS])
{
    uint32_t found = 0, right = 0;

    for (uint32_t i = 0; i < binding->task_count; i++) {
        if (strcmp(topo->gpus[binding->tasks[i].gpu].pci, columns[ROW_PCI]) != 0)
            continue;
        found++;
        right += is_right(topo, &binding->tasks[i], columns);
    }
    return found > 0 && found == right;
}

static void split_row(char *columns[ROW_COLUMNS], char *line)
{
    for (int i = 0; i < ROW_COLUMNS; i++) {
        columns[i] = line;
        line += strcspn(line, "\t\n");
        if (*line != '\0')
            *line++ = '\0';
    }
}

/* Each task against the right answers, if the file has some. */
static void test_answers(const struct dt_topo *topo, const char *name)
{
    char line[LINE_MAX_BYTES];
    struct dt_binding *binding = node_bind(topo, topo->gpu_count, topo->gpu_count, NULL, NULL, 0);
    uint32_t rows = 0, right = 0;
    FILE *file;

    file = fopen("gpu_locality.tsv", "r");
    while (binding != NULL && file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *columns[ROW_COLUMNS];

        split_row(columns, line);
        if (strcmp(columns[ROW_FILE], name) != 0)
            continue;
        rows++;
        right += is_row_right(topo, binding, columns);
    }
    tap_ok(rows == right, "%s: %u of %u GPUs have the cores, memory and NIC of the right answers", name,
           right, rows);
    if (file != NULL)
        fclose(file);
    dt_binding_destroy(binding);
}

static void test_file(const char *name)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    size_t size;
    char *text;

    text = read_file(name, &size);
    if (!tap_ok(dt_topo_from_xml(&topo, text, size, name, &err) == 0, "%s is read", name)) {
        printf("# %s\n", err.text);
    } else {
        for (uint32_t tp = 1; tp <= topo->gpu_count; tp *= 2)
            test_groups(topo, tp, name);
        if (topo->gpu_count > 1) {
            test_narrowed(topo, name);
            test_answers(topo, name);
        }
        test_without_gpus(topo, name);
    }
    free(text);
    dt_topo_destroy(topo);
}

static int is_xml(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 4 && strcmp(entry->d_name + length - 4, ".xml") == 0;
}

int main(void)
{
    const char *source = getenv("DT_SRCDIR");
    char folder[PATH_MAX_BYTES];
    struct dirent **files;
    int count;

    snprintf(folder, sizeof(folder), "%s/../shared/topologies", source != NULL ? source : ".");
    count = chdir(folder) == 0 ? scandir(".", &files, is_xml, alphasort) : -1;
    if (count <= 0)
        tap_skip("bindings on real nodes", "there is no folder of topologies");
    for (int i = 0; i < count; i++) {
        test_file(files[i]->d_name);
        free(files[i]);
    }
    if (count >= 0)
        free(files);
    return tap_done();
}
