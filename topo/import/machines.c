/* machines.c - reads the texts of machine_facts.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "draft.h"
#include "import.h"
#include "machine_facts.h"
#include "machine_place.h"
#include "plain.h"

#define THREADS_MAX 8u
#define LINKS_MAX 64u
#define SOCKETS_MAX 255u
#define PACKAGES_MAX 63u

struct reader {
    struct dt_topo *topo;
    struct dtrain_error *err;
    enum dt_vendor vendor;
    int sockets[DT_TOPO_NUMAS_MAX]; /* of each NUMA node in the topology */
    struct dt_machine_place gpus[DT_TOPO_GPUS_MAX], nics[DT_TOPO_NICS_MAX];
};

/* What "key value" pairs of a line say. */
struct pairs {
    const char *numa, *socket, *cpus, *threads, *package, *place;
    bool is_memory, is_storage;
};

static int read_pairs(struct pairs *pairs, char *rest, struct dtrain_error *err)
{
    const struct {
        const char *key;
        const char **value;
        bool *flag;
    } rows[] = {
        {"numa", &pairs->numa, NULL},        {"socket", &pairs->socket, NULL},
        {"cpus", &pairs->cpus, NULL},        {"threads", &pairs->threads, NULL},
        {"at", &pairs->place, NULL},         {"package", &pairs->package, NULL},
        {"memory", NULL, &pairs->is_memory}, {"storage", NULL, &pairs->is_storage},
    };
    const size_t count = sizeof(rows) / sizeof(rows[0]);

    *pairs = (struct pairs){0};
    for (char *key = dt_plain_word(&rest); key != NULL; key = dt_plain_word(&rest)) {
        size_t i = 0;

        while (i < count && strcmp(rows[i].key, key) != 0)
            i++;
        if (i == count)
            return dt_error_set(err, "'%s' is not understood", key);
        if (rows[i].flag != NULL)
            *rows[i].flag = true;
        else
            *rows[i].value = dt_plain_word(&rest);
    }
    return 0;
}

static int read_number(int *value, const char *text, uint32_t max, const char *what, struct dtrain_error *err)
{
    uint32_t number;

    if (dt_parse_u32(&number, text, 0, max, what, err) != 0)
        return -1;
    *value = (int)number;
    return 0;
}

static uint32_t count_runs(const char *list)
{
    uint32_t runs = 1;

    for (; *list != '\0'; list++)
        runs += *list == ',';
    return runs;
}

/* The threads of a core are one CPU of each run, or neighbours where the runs are not as many. */
static int add_cores(struct reader *reader, hwloc_const_bitmap_t cpus, const char *list, uint32_t threads)
{
    unsigned all[DT_DRAFT_CPUS_MAX];
    uint32_t count = 0;
    uint32_t cores;
    bool is_apart = count_runs(list) == threads;
    unsigned cpu;

    hwloc_bitmap_foreach_begin(cpu, cpus)
        all[count++] = cpu;
    hwloc_bitmap_foreach_end();
    cores = count / threads;
    for (uint32_t i = 0; i < cores; i++) {
        unsigned core[THREADS_MAX];

        for (uint32_t j = 0; j < threads; j++)
            core[j] = all[is_apart ? i + j * cores : i * threads + j];
        if (dt_draft_add_core(reader->topo, core, threads, reader->err) != 0)
            return -1;
    }
    return 0;
}

static int read_numa(struct reader *reader, char *rest)
{
    struct dtrain_error *err = reader->err;
    struct dt_topo_numa *numa;
    struct pairs pairs;
    uint32_t os_index;
    uint32_t threads;

    if (dt_parse_u32(&os_index, dt_plain_word(&rest), 0, DT_DRAFT_NUMA_OS_MAX, "numa", err) != 0 ||
        read_pairs(&pairs, rest, err) != 0)
        return -1;
    numa = dt_draft_numa(reader->topo, os_index, err);
    if (numa == NULL)
        return -1;
    numa->is_gpu_memory = pairs.is_memory;
    if (pairs.is_memory)
        return 0;
    if (pairs.cpus == NULL || dt_draft_cpus_list(numa->cpus, pairs.cpus, err) != 0 ||
        dt_parse_u32(&threads, pairs.threads, 1, THREADS_MAX, "threads", err) != 0 ||
        read_number(&reader->sockets[numa - reader->topo->numas], pairs.socket, SOCKETS_MAX, "socket", err))
        return -1;
    return add_cores(reader, numa->cpus, pairs.cpus, threads);
}

/* Where a device is, from the NUMA node that was described above it. */
static int find_numa(struct reader *reader, const char *text, int *numa, int *socket, hwloc_bitmap_t cpus)
{
    const struct dt_topo *topo = reader->topo;

    if (read_number(numa, text, DT_DRAFT_NUMA_OS_MAX, "numa", reader->err) != 0)
        return -1;
    for (uint32_t i = 0; i < topo->numa_count; i++) {
        if (topo->numas[i].os_index != *numa)
            continue;
        *socket = reader->sockets[i];
        hwloc_bitmap_copy(cpus, topo->numas[i].cpus);
        return 0;
    }
    return dt_error_set(reader->err, "NUMA node %d is not described: expected a line 'numa %d ...' above",
                        *numa, *numa);
}

/* "-" where no address is published. */
static int read_pci(char pci[DT_TOPO_PCI_MAX], const char *text, struct dtrain_error *err)
{
    if (text == NULL)
        return dt_error_set(err, "no PCI address: expected one, or -");
    return strcmp(text, "-") == 0 ? 0 : dt_draft_pci(pci, text, err);
}

static int read_gpu(struct reader *reader, char *rest)
{
    struct dtrain_error *err = reader->err;
    uint32_t index = reader->topo->gpu_count;
    struct dt_topo_gpu *gpu = dt_draft_add_gpu(reader->topo, err);
    struct pairs pairs;

    if (gpu == NULL || read_pci(gpu->pci, dt_plain_word(&rest), err) != 0 ||
        read_pairs(&pairs, rest, err) != 0 ||
        find_numa(reader, pairs.numa, &gpu->numa, &gpu->socket, gpu->cpus) != 0 ||
        dt_machine_place_read(&reader->gpus[index], pairs.place, err) != 0)
        return -1;
    snprintf(gpu->name, sizeof(gpu->name), "GPU%u", index);
    gpu->vendor = reader->vendor;
    if (pairs.package != NULL && read_number(&gpu->package, pairs.package, PACKAGES_MAX, "package", err) != 0)
        return -1;
    if (pairs.cpus == NULL)
        return 0;
    hwloc_bitmap_zero(gpu->cpus);
    return dt_draft_cpus_list(gpu->cpus, pairs.cpus, err);
}

static int read_nic(struct reader *reader, char *rest)
{
    static const char *const kinds[] = {
        [DT_NIC_INFINIBAND] = "infiniband", [DT_NIC_ROCE] = "roce", [DT_NIC_SLINGSHOT] = "slingshot",
        [DT_NIC_EFA] = "efa"};
    struct dtrain_error *err = reader->err;
    uint32_t index = reader->topo->nic_count;
    struct dt_topo_nic *nic = dt_draft_add_nic(reader->topo, err);
    const char *name = dt_plain_word(&rest);
    struct pairs pairs;
    unsigned kind;

    if (nic == NULL || read_pci(nic->pci, dt_plain_word(&rest), err) != 0 ||
        dt_parse_word(&kind, dt_plain_word(&rest), kinds, sizeof(kinds) / sizeof(kinds[0]), "kind", err) ||
        read_pairs(&pairs, rest, err) != 0 ||
        find_numa(reader, pairs.numa, &nic->numa, &nic->socket, nic->cpus) != 0 ||
        dt_machine_place_read(&reader->nics[index], pairs.place, err) != 0)
        return -1;
    snprintf(nic->name, sizeof(nic->name), "%s", name);
    nic->kind = (enum dt_nic_kind)kind;
    nic->is_used = !pairs.is_storage;
    return 0;
}

static int read_link_kind(struct dt_path_info *info, char **rest, struct dtrain_error *err)
{
    static const char *const words[] = {"nvlink", "nvswitch", "xgmi"};
    static const enum dt_path paths[] = {DT_PATH_NVLINK, DT_PATH_NVSWITCH, DT_PATH_XGMI};
    unsigned word;
    uint32_t count;

    if (dt_parse_word(&word, dt_plain_word(rest), words, sizeof(words) / sizeof(words[0]), "link", err) ||
        dt_parse_u32(&count, dt_plain_word(rest), 1, LINKS_MAX, "links", err) != 0)
        return -1;
    *info = (struct dt_path_info){paths[word], (uint16_t)count};
    return 0;
}

static int read_link(struct reader *reader, char *rest)
{
    uint32_t count = reader->topo->gpu_count;
    struct dt_path_info info;
    uint32_t a, b;

    if (dt_parse_u32(&a, dt_plain_word(&rest), 0, count - 1, "GPU", reader->err) != 0 ||
        dt_parse_u32(&b, dt_plain_word(&rest), 0, count - 1, "GPU", reader->err) != 0 ||
        read_link_kind(&info, &rest, reader->err) != 0)
        return -1;
    dt_draft_link_gpus(reader->topo, a, b, info);
    return 0;
}

static int read_all_links(struct reader *reader, char *rest)
{
    struct dt_path_info info;

    if (read_link_kind(&info, &rest, reader->err) != 0)
        return -1;
    for (uint32_t a = 0; a < reader->topo->gpu_count; a++)
        for (uint32_t b = 0; b < a; b++)
            dt_draft_link_gpus(reader->topo, a, b, info);
    return 0;
}

static int read_vendor(struct reader *reader, char *rest)
{
    static const char *const words[] = {[DT_VENDOR_NVIDIA] = "nvidia", [DT_VENDOR_AMD] = "amd"};
    unsigned word;

    if (dt_parse_word(&word, dt_plain_word(&rest), words, 2, "vendor", reader->err) != 0)
        return -1;
    reader->vendor = (enum dt_vendor)word;
    return 0;
}

static int read_line(struct reader *reader, char *line)
{
    static const struct {
        const char *word;
        int (*read)(struct reader *reader, char *rest);
    } rows[] = {{"vendor", read_vendor}, {"numa", read_numa}, {"gpu", read_gpu},
                {"nic", read_nic},       {"link", read_link}, {"all", read_all_links}};
    const char *word = dt_plain_word(&line);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].word, word) == 0)
            return rows[i].read(reader, line);
    return dt_error_set(reader->err, "'%s' is not understood", word);
}

static struct dt_machine_spot gpu_spot(const struct reader *reader, uint32_t gpu)
{
    const struct dt_topo_gpu *it = &reader->topo->gpus[gpu];

    return (struct dt_machine_spot){&reader->gpus[gpu], it->numa, it->socket};
}

static struct dt_machine_spot nic_spot(const struct reader *reader, uint32_t nic)
{
    const struct dt_topo_nic *it = &reader->topo->nics[nic];

    return (struct dt_machine_spot){&reader->nics[nic], it->numa, it->socket};
}

/* The PCI paths; links of their own stay. */
static void set_paths(struct reader *reader)
{
    struct dt_topo *topo = reader->topo;

    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            enum dt_path path = dt_machine_place_path(gpu_spot(reader, i), gpu_spot(reader, j));

            if (topo->gpu_path[i][j].path == DT_PATH_UNKNOWN)
                dt_draft_link_gpus(topo, i, j, (struct dt_path_info){path, 0});
        }
        for (uint32_t j = 0; j < topo->nic_count; j++)
            topo->nic_path[i][j].path = dt_machine_place_path(gpu_spot(reader, i), nic_spot(reader, j));
    }
}

static int read_machine(struct reader *reader, const char *name, const char *facts)
{
    char *text = strdup(facts);
    char *rest = text;
    int rc = 0;

    if (text == NULL)
        return dt_error_memory(reader->err, strlen(facts), name);
    for (char *line = dt_plain_line(&rest); line != NULL && rc == 0; line = dt_plain_line(&rest))
        rc = read_line(reader, line);
    free(text);
    if (rc != 0)
        return dt_error_prefix(reader->err, "machine %s", name);
    set_paths(reader);
    return dt_draft_finish(reader->topo, reader->err);
}

static int make_machine(struct dt_topo **topo, const char *name, const char *facts, struct dtrain_error *err)
{
    struct reader *reader = calloc(1, sizeof(*reader));
    int rc = -1;

    if (reader == NULL)
        return dt_error_memory(err, sizeof(*reader), name);
    reader->err = err;
    reader->topo = dt_topo_create(name, err);
    if (reader->topo != NULL)
        rc = read_machine(reader, name, facts);
    if (rc == 0)
        *topo = reader->topo;
    else
        dt_topo_destroy(reader->topo);
    free(reader);
    return rc;
}

const struct dt_import_machine *dt_import_machines(size_t *count)
{
    *count = DT_MACHINE_FACTS_COUNT;
    return dt_machine_facts;
}

int dt_import_machine(struct dt_topo **topo, const char *name, struct dtrain_error *err)
{
    const char *names[DT_MACHINE_FACTS_COUNT];
    unsigned index;

    for (size_t i = 0; i < DT_MACHINE_FACTS_COUNT; i++)
        names[i] = dt_machine_facts[i].name;
    if (dt_parse_word(&index, name, names, DT_MACHINE_FACTS_COUNT, "machine", err) != 0)
        return -1;
    return make_machine(topo, dt_machine_facts[index].name, dt_machine_texts[index], err);
}
