/* nccl_xml.c - NCCL's topology XML to a tree, with expat. */
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "draft.h"
#include "nccl_tree.h"
#include "reader.h"

#define DEPTH_MAX 32u
#define CLASS_NVSWITCH 0x0680u /* its two high bytes: a bridge of another kind */
#define LINKS_MAX 1000u

/* Where the reader is; a level inherits what is above it. */
struct level {
    int cpu, pci, gpu; /* indices into the tree; -1: none */
    bool is_pci;
    bool has_device; /* a <gpu> or <net> at this function */
};

struct reader {
    XML_Parser parser;
    struct dt_nccl_tree *tree;
    struct dtrain_error *err;
    bool is_refused;
    uint32_t depth;
    struct level levels[DEPTH_MAX + 1];
};

static void refuse(struct reader *reader)
{
    dt_error_prefix(reader->err, "line %lu", (unsigned long)XML_GetCurrentLineNumber(reader->parser));
    reader->is_refused = true;
    XML_StopParser(reader->parser, XML_FALSE);
}

static const char *find_attribute(const char **attributes, const char *name)
{
    for (size_t i = 0; attributes[i] != NULL; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return NULL;
}

/* "0x10de", at most eight digits; 0 when the attribute is not there. */
static int read_hex(uint32_t *value, const char **attributes, const char *name, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    const char *text = find_attribute(attributes, name);
    size_t digits;

    *value = 0;
    if (text == NULL)
        return 0;
    digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
    if (digits == 0 || digits > 8 || text[2 + digits] != '\0')
        return dt_error_set(err, "%s '%s' is no hexadecimal number: expected one such as 0x10de", name,
                            dt_parse_shown(shown, text));
    *value = (uint32_t)strtoul(text + 2, NULL, 16);
    return 0;
}

static int start_system(struct reader *reader, const char **attributes)
{
    (void)attributes;
    return reader->depth == 1 ? 0 : dt_error_set(reader->err, "<system> inside another element");
}

static int start_cpu(struct reader *reader, const char **attributes)
{
    struct dt_nccl_tree *tree = reader->tree;
    struct dt_nccl_cpu *cpu = &tree->cpus[tree->cpu_count];
    const char *numa = find_attribute(attributes, "numaid");
    const char *affinity = find_attribute(attributes, "affinity");
    uint32_t os_index = 0;

    if (tree->cpu_count == DT_NCCL_CPUS_MAX)
        return dt_error_set(reader->err, "more than %u <cpu>: expected at most that many", DT_NCCL_CPUS_MAX);
    if (numa != NULL && strcmp(numa, "-1") != 0 &&
        dt_parse_u32(&os_index, numa, 0, DT_DRAFT_NUMA_OS_MAX, "numaid", reader->err) != 0)
        return -1;
    cpu->numa = numa == NULL || strcmp(numa, "-1") == 0 ? -1 : (int)os_index;
    for (uint32_t i = 0; i < tree->cpu_count; i++)
        if (tree->cpus[i].numa == cpu->numa)
            return dt_error_set(reader->err, "NUMA node %d a second time: expected the topology of one node",
                                cpu->numa);
    cpu->cpus = hwloc_bitmap_alloc();
    if (cpu->cpus == NULL)
        return dt_error_memory(reader->err, DT_DRAFT_CPUS_MAX / 8, "a set of CPUs");
    reader->levels[reader->depth].cpu = (int)tree->cpu_count++;
    return affinity == NULL ? 0 : dt_draft_cpus_mask(cpu->cpus, affinity, reader->err);
}

static int start_pci(struct reader *reader, const char **attributes)
{
    struct dt_nccl_tree *tree = reader->tree;
    struct level *level = &reader->levels[reader->depth];
    struct dt_nccl_pci *pci = &tree->pcis[tree->pci_count];
    const char *busid = find_attribute(attributes, "busid");

    if (level->cpu == -1)
        return dt_error_set(reader->err, "<pci> outside of any <cpu>");
    if (busid == NULL)
        return dt_error_set(reader->err, "<pci> without busid: expected one such as 0000:c4:00.0");
    if (tree->pci_count == DT_NCCL_PCIS_MAX)
        return dt_error_set(reader->err, "more than %u <pci>: expected at most that many", DT_NCCL_PCIS_MAX);
    if (dt_draft_pci(pci->pci, busid, reader->err) != 0 ||
        read_hex(&pci->class_code, attributes, "class", reader->err) != 0 ||
        read_hex(&pci->vendor, attributes, "vendor", reader->err) != 0)
        return -1;
    pci->parent = level->pci;
    pci->cpu = level->cpu;
    *level = (struct level){level->cpu, (int)tree->pci_count++, -1, true, false};
    return 0;
}

static struct dt_nccl_device *add_device(struct reader *reader, bool is_gpu, const char *name)
{
    struct dt_nccl_tree *tree = reader->tree;
    const struct level *level = &reader->levels[reader->depth];
    struct dt_nccl_device *device = &tree->devices[tree->device_count];

    if (tree->device_count == DT_NCCL_DEVICES_MAX) {
        dt_error_set(reader->err, "more than %u GPUs and NICs: expected at most that many",
                     DT_NCCL_DEVICES_MAX);
        return NULL;
    }
    if (strlen(name) >= sizeof(device->name)) {
        dt_error_set(reader->err, "a name of %zu bytes: expected at most %u", strlen(name),
                     DT_TOPO_NAME_MAX - 1);
        return NULL;
    }
    *device = (struct dt_nccl_device){.is_gpu = is_gpu, .pci = level->pci, .cpu = level->cpu};
    strcpy(device->name, name);
    tree->device_count++;
    for (uint32_t i = reader->depth; i > 0; i--)
        if (reader->levels[i].is_pci) {
            reader->levels[i].has_device = true;
            break;
        }
    return device;
}

static int start_gpu(struct reader *reader, const char **attributes)
{
    struct level *level = &reader->levels[reader->depth];
    struct dt_nccl_device *gpu;

    if (level->pci == -1)
        return dt_error_set(reader->err, "<gpu> outside of any <pci>");
    gpu = add_device(reader, true, "");
    if (gpu == NULL)
        return -1;
    gpu->is_amd = find_attribute(attributes, "gcn") != NULL;
    level->gpu = (int)(gpu - reader->tree->devices);
    return 0;
}

static int start_net(struct reader *reader, const char **attributes)
{
    const struct level *level = &reader->levels[reader->depth];
    const char *name = find_attribute(attributes, "name");

    if (level->cpu == -1)
        return dt_error_set(reader->err, "<net> outside of any <cpu>");
    if (name == NULL || name[0] == '\0')
        return dt_error_set(reader->err, "<net> without name: expected one such as mlx5_0");
    for (uint32_t i = 0; i < reader->tree->device_count; i++) {
        const struct dt_nccl_device *other = &reader->tree->devices[i];

        /* Ports, and the same net once more as one for collectives. */
        if (!other->is_gpu && other->pci == level->pci && strcmp(other->name, name) == 0)
            return 0;
    }
    return add_device(reader, false, name) == NULL ? -1 : 0;
}

static int start_link(struct reader *reader, const char **attributes, bool is_xgmi)
{
    struct dt_nccl_tree *tree = reader->tree;
    struct dt_nccl_link *link = &tree->links[tree->link_count];
    const char *target = find_attribute(attributes, "target");
    uint32_t count;
    uint32_t class_code;

    if (reader->levels[reader->depth].gpu == -1 || target == NULL)
        return dt_error_set(reader->err, "a link outside of a <gpu> or without target");
    if (tree->link_count == DT_NCCL_LINKS_MAX)
        return dt_error_set(reader->err, "more than %u links: expected at most that many", DT_NCCL_LINKS_MAX);
    if (dt_parse_u32(&count, find_attribute(attributes, "count"), 1, LINKS_MAX, "count", reader->err) != 0 ||
        read_hex(&class_code, attributes, "tclass", reader->err) != 0)
        return -1;
    link->is_to_switch = class_code >> 8 == CLASS_NVSWITCH;
    /* A switch that a virtual machine does not see is written as fffffff:ffff:ff. */
    if (!link->is_to_switch && dt_draft_pci(link->target, target, reader->err) != 0)
        return -1;
    link->gpu = reader->levels[reader->depth].gpu;
    link->is_xgmi = is_xgmi;
    link->count = (uint16_t)count;
    tree->link_count++;
    return 0;
}

static int start_nvlink(struct reader *reader, const char **attributes)
{
    return start_link(reader, attributes, false);
}

static int start_xgmi(struct reader *reader, const char **attributes)
{
    return start_link(reader, attributes, true);
}

static const struct {
    const char *name;
    int (*start)(struct reader *reader, const char **attributes);
} elements[] = {
    {"system", start_system}, {"cpu", start_cpu},       {"pci", start_pci},   {"gpu", start_gpu},
    {"net", start_net},       {"nvlink", start_nvlink}, {"xgmi", start_xgmi},
};

static int start_element(struct reader *reader, const char *name, const char **attributes)
{
    if (reader->depth == 1 && strcmp(name, "system") != 0)
        return dt_error_set(reader->err, "this is not NCCL's: expected <system> as the first element");
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
        if (strcmp(name, elements[i].name) == 0)
            return elements[i].start(reader, attributes);
    return 0;
}

static void XMLCALL on_start(void *context, const char *name, const char **attributes)
{
    struct reader *reader = context;

    if (reader->is_refused)
        return;
    if (reader->depth == DEPTH_MAX) {
        dt_error_set(reader->err, "elements nest deeper than %u: expected at most that", DEPTH_MAX);
        refuse(reader);
        return;
    }
    reader->levels[reader->depth + 1] = reader->levels[reader->depth];
    reader->levels[++reader->depth].is_pci = false;
    if (start_element(reader, name, attributes) != 0)
        refuse(reader);
}

/* A function without <gpu> or <net>, as in files written by hand, is what its class says. */
static int end_pci(struct reader *reader)
{
    const struct level *level = &reader->levels[reader->depth];
    const struct dt_nccl_pci *pci = &reader->tree->pcis[level->pci];
    bool is_gpu = dt_nccl_pci_is_gpu(pci);

    if (level->has_device || (!is_gpu && !dt_nccl_pci_is_nic(pci)))
        return 0;
    return add_device(reader, is_gpu, is_gpu ? "" : pci->pci) == NULL ? -1 : 0;
}

static void XMLCALL on_end(void *context, const char *name)
{
    struct reader *reader = context;

    (void)name;
    if (reader->is_refused)
        return;
    if (reader->levels[reader->depth].is_pci && end_pci(reader) != 0)
        refuse(reader);
    reader->depth--;
}

static void XMLCALL on_doctype(void *context, const char *name, const char *system, const char *public,
                               int has_internal)
{
    struct reader *reader = context;

    (void)name, (void)system, (void)public, (void)has_internal;
    dt_error_set(reader->err, "a DOCTYPE: expected none, NCCL writes none");
    refuse(reader);
}

bool dt_nccl_xml_recognises(const char *text, size_t size)
{
    return dt_import_has_root(text, size, "system");
}

int dt_nccl_tree_parse(struct dt_nccl_tree *tree, const char *text, size_t size, struct dtrain_error *err)
{
    struct reader reader = {.tree = tree, .err = err, .levels = {{-1, -1, -1, false, false}}};
    int rc = -1;

    reader.parser = XML_ParserCreate(NULL);
    if (reader.parser == NULL)
        return dt_error_memory(err, size, "an XML parser");
    XML_SetUserData(reader.parser, &reader);
    XML_SetElementHandler(reader.parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(reader.parser, on_doctype);
    if (XML_Parse(reader.parser, text, (int)size, XML_TRUE) == XML_STATUS_OK)
        rc = 0;
    else if (!reader.is_refused)
        dt_error_set(err, "line %lu: %s: expected a whole XML of NCCL",
                     (unsigned long)XML_GetCurrentLineNumber(reader.parser),
                     XML_ErrorString(XML_GetErrorCode(reader.parser)));
    XML_ParserFree(reader.parser);
    return rc;
}

static int fill(struct dt_topo *topo, struct dt_nccl_tree *tree, const char *text, size_t size,
                struct dtrain_error *err)
{
    return dt_nccl_tree_parse(tree, text, size, err) != 0 || dt_nccl_tree_fill(topo, tree, err) != 0 ? -1 : 0;
}

int dt_nccl_xml_read(struct dt_topo **topo, const char *text, size_t size, const char *source,
                     struct dtrain_error *err)
{
    struct dt_nccl_tree *tree = calloc(1, sizeof(*tree));
    struct dt_topo *made = dt_topo_create(source, err);
    int rc = -1;

    if (made == NULL || tree == NULL)
        dt_error_memory(err, sizeof(*tree), "the tree of an XML");
    else if (fill(made, tree, text, size, err) != 0)
        dt_error_prefix(err, "%s", source);
    else
        rc = dt_draft_finish(made, err);
    if (rc == 0)
        *topo = made;
    else
        dt_topo_destroy(made);
    for (uint32_t i = 0; tree != NULL && i < tree->cpu_count; i++)
        hwloc_bitmap_free(tree->cpus[i].cpus);
    free(tree);
    return rc;
}
