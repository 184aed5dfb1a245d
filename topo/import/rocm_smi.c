/*
 * rocm_smi.c - the tables of `rocm-smi --showtopo`, --showtoponuma and so on:
 *
 *   ===== Link Type between two GPUs =====
 *          GPU0         GPU1
 *   GPU0   0            XGMI
 *   GPU1   XGMI         0
 *   ===== Numa Nodes =====
 *   GPU[0] : (Topology) Numa Node: 3
 *   GPU[0] : (Topology) Numa Affinity: 3
 *
 * Weight and hops tell a direct xGMI link from a way over other GPUs; how many links there are, the text
 * does not say. A table that is left out leaves its part unknown.
 */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <string.h>

#include "core/parse.h"
#include "draft.h"
#include "plain.h"
#include "reader.h"

enum table { TABLE_WEIGHT, TABLE_HOPS, TABLE_LINK, TABLE_NUMA, TABLE_COUNT };

static const struct {
    const char *title;
    const char *what; /* of a cell */
} tables[TABLE_COUNT] = {
    [TABLE_WEIGHT] = {"Weight between two GPUs", "weight"},
    [TABLE_HOPS] = {"Hops between two GPUs", "number of hops"},
    [TABLE_LINK] = {"Link Type between two GPUs", "kind of link"},
    [TABLE_NUMA] = {"Numa Nodes", "NUMA node"},
};

enum link { LINK_UNKNOWN, LINK_PCIE, LINK_XGMI };

#define CELL_MAX 1000000u /* of a weight or of hops */

struct nodes {
    uint32_t count;           /* of GPUs that have a line */
    int of[DT_TOPO_GPUS_MAX]; /* -1: not known */
};

struct text {
    uint32_t count; /* of GPUs; 0: not seen yet */
    bool has[TABLE_COUNT];
    uint32_t cells[TABLE_NUMA][DT_TOPO_GPUS_MAX][DT_TOPO_GPUS_MAX]; /* 0: not known */
    struct nodes nodes, affinities;
};

bool dt_rocm_smi_recognises(const char *text, size_t size)
{
    static const char *const marks[] = {"ROCm S", "(Topology)", "between two GPUs"};

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (memmem(text, size, marks[i], strlen(marks[i])) != NULL)
            return true;
    return false;
}

/* The table that a line of equal signs begins; TABLE_COUNT: none of ours. */
static enum table find_table(const char *line)
{
    unsigned i = 0;

    while (i < TABLE_COUNT && strstr(line, tables[i].title) == NULL)
        i++;
    return (enum table)i;
}

static int set_count(struct text *text, uint32_t count, struct dtrain_error *err)
{
    if (count == 0 || count > DT_TOPO_GPUS_MAX)
        return dt_error_set(err, "a table of %u GPUs: expected 1 to %u", count, DT_TOPO_GPUS_MAX);
    if (text->count != 0 && text->count != count)
        return dt_error_set(err, "one table has %u GPUs, another %u: expected the same in all", text->count,
                            count);
    text->count = count;
    return 0;
}

/* GPU0 GPU1 ...: as many as there are rows. */
static int read_heading(struct text *text, enum table table, char *line, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char name[16];
    uint32_t count = 0;

    for (char *word = dt_plain_word(&line); word != NULL; word = dt_plain_word(&line), count++) {
        snprintf(name, sizeof(name), "GPU%u", count);
        if (strcmp(word, name) != 0)
            return dt_error_set(err, "heading of '%s': column %u is '%s': expected %s", tables[table].title,
                                count + 1, dt_parse_shown(shown, word), name);
    }
    return set_count(text, count, err);
}

static bool read_cell(uint32_t *cell, enum table table, const char *word)
{
    if (strcmp(word, "N/A") == 0 || strcmp(word, "UNKNOWN") == 0 || strcmp(word, "NOT_SUPPORTED") == 0)
        return true;
    if (table != TABLE_LINK || strcmp(word, "0") == 0)
        return dt_parse_u32(cell, word, 0, CELL_MAX, "cell", NULL) == 0;
    *cell = strcmp(word, "XGMI") == 0 ? LINK_XGMI : LINK_PCIE;
    return *cell == LINK_XGMI || strncmp(word, "PCI", 3) == 0;
}

static int read_row(struct text *text, enum table table, uint32_t row, char *line, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char name[16];
    const char *word = dt_plain_word(&line);

    snprintf(name, sizeof(name), "GPU%u", row);
    if (word == NULL || strcmp(word, name) != 0)
        return dt_error_set(err, "'%s': row %u is '%s': expected %s, a row for each of the %u columns",
                            tables[table].title, row + 1, dt_parse_shown(shown, word), name, text->count);
    for (uint32_t i = 0; i < text->count; i++) {
        word = dt_plain_word(&line);
        if (word == NULL || !read_cell(&text->cells[table][row][i], table, word))
            return dt_error_set(err, "'%s': row %s, column GPU%u: '%s' is no %s", tables[table].title, name,
                                i, dt_parse_shown(shown, word), tables[table].what);
    }
    word = dt_plain_word(&line);
    return word == NULL ? 0
                        : dt_error_set(err, "'%s': row %s has '%s' behind its %u cells: expected nothing",
                                       tables[table].title, name, dt_parse_shown(shown, word), text->count);
}

static int check_symmetry(const struct text *text, enum table table, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < text->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (text->cells[table][i][j] != text->cells[table][j][i])
                return dt_error_set(err,
                                    "'%s': GPU%u to GPU%u differs from GPU%u to GPU%u: expected the same",
                                    tables[table].title, i, j, j, i);
    return 0;
}

static int read_matrix(struct text *text, enum table table, char **rest, struct dtrain_error *err)
{
    char *line = dt_plain_filled_line(rest);

    if (text->has[table])
        return dt_error_set(err, "'%s' stands there twice: expected the tables of one node",
                            tables[table].title);
    text->has[table] = true;
    if (line == NULL)
        return dt_error_set(err, "'%s' ends before its heading", tables[table].title);
    if (read_heading(text, table, line, err) != 0)
        return -1;
    for (uint32_t i = 0; i < text->count; i++) {
        line = dt_plain_filled_line(rest);
        if (line == NULL)
            return dt_error_set(err, "'%s' ends after %u rows: expected %u, one for each GPU",
                                tables[table].title, i, text->count);
        if (read_row(text, table, i, line, err) != 0)
            return -1;
    }
    return check_symmetry(text, table, err);
}

static bool is_unknown(const char *node)
{
    return strcmp(node, "N/A") == 0 || strcmp(node, "-1") == 0 || strcmp(node, "4294967295") == 0;
}

/* "GPU[3] : (Topology) Numa Node: 1" */
static int read_numa(struct text *text, const char *line, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char kind[16];
    char value[16];
    struct nodes *nodes;
    unsigned gpu;
    uint32_t node = 0;
    bool is_known;
    int end = 0;

    if (sscanf(line, " GPU[%3u] : (Topology) Numa %15[A-Za-z]: %15s %n", &gpu, kind, value, &end) != 3 ||
        line[end] != '\0' || (strcmp(kind, "Node") != 0 && strcmp(kind, "Affinity") != 0))
        return dt_error_set(err, "'%s' is not understood: expected 'GPU[0] : (Topology) Numa Node: 3'",
                            dt_parse_shown(shown, line));
    nodes = strcmp(kind, "Node") == 0 ? &text->nodes : &text->affinities;
    if (gpu != nodes->count || gpu >= DT_TOPO_GPUS_MAX)
        return dt_error_set(err, "'Numa %s' of GPU[%u]: expected GPU[%u], one after the other, at most %u",
                            kind, gpu, nodes->count, DT_TOPO_GPUS_MAX);
    is_known = !is_unknown(value);
    if (is_known && dt_parse_u32(&node, value, 0, DT_DRAFT_NUMA_OS_MAX, "NUMA node", err) != 0)
        return -1;
    nodes->of[nodes->count++] = is_known ? (int)node : -1;
    return 0;
}

static int check_numa(struct text *text, struct dtrain_error *err)
{
    uint32_t nodes = text->nodes.count;
    uint32_t affinities = text->affinities.count;

    if (nodes != 0 && affinities != 0 && nodes != affinities)
        return dt_error_set(
            err,
            "%u GPUs have a 'Numa Node', %u a 'Numa Affinity': expected the same; the text may "
            "be cut off",
            nodes, affinities);
    return nodes + affinities == 0 ? 0 : set_count(text, nodes > 0 ? nodes : affinities, err);
}

static int read_text(struct text *text, char *rest, struct dtrain_error *err)
{
    enum table table = TABLE_COUNT;

    for (char *line = dt_plain_line(&rest); line != NULL; line = dt_plain_line(&rest)) {
        if (line[0] == '=') {
            table = find_table(line);
            if (table < TABLE_NUMA && read_matrix(text, table, &rest, err) != 0)
                return -1;
        } else if (strstr(line, "(Topology) Numa") != NULL && read_numa(text, line, err) != 0) {
            return -1;
        }
    }
    if (check_numa(text, err) != 0)
        return -1;
    return text->count > 0
               ? 0
               : dt_error_set(err, "no table of GPUs: expected the text of `rocm-smi --showtopo`");
}

/* Sysfs's node, which Affinity is, is where the function sits; Node is the driver's own count of nodes. */
static int get_numa(const struct text *text, uint32_t gpu)
{
    if (text->affinities.count > 0 && text->affinities.of[gpu] != -1)
        return text->affinities.of[gpu];
    return text->nodes.count > 0 ? text->nodes.of[gpu] : -1;
}

static int add_gpus(struct dt_topo *topo, const struct text *text, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < text->count; i++) {
        struct dt_topo_gpu *gpu = dt_draft_add_gpu(topo, err);

        if (gpu == NULL)
            return -1;
        snprintf(gpu->name, sizeof(gpu->name), "GPU%u", i);
        gpu->vendor = DT_VENDOR_AMD;
        gpu->numa = get_numa(text, i);
        if (gpu->numa != -1 && dt_draft_numa(topo, (uint32_t)gpu->numa, err) == NULL)
            return -1;
    }
    return 0;
}

/* The weight of one xGMI link is the smallest there is. */
static uint32_t find_least_weight(const struct text *text)
{
    uint32_t least = 0;

    for (uint32_t i = 0; i < text->count; i++)
        for (uint32_t j = 0; j < i; j++) {
            uint32_t weight = text->cells[TABLE_WEIGHT][i][j];

            if (text->cells[TABLE_LINK][i][j] == LINK_XGMI && weight != 0 && (least == 0 || weight < least))
                least = weight;
        }
    return least;
}

static struct dt_path_info find_path(const struct dt_topo *topo, const struct text *text, uint32_t a,
                                     uint32_t b, uint32_t least_weight)
{
    bool is_direct = text->cells[TABLE_HOPS][a][b] <= 1 && text->cells[TABLE_WEIGHT][a][b] <= least_weight;
    int numa = topo->gpus[a].numa;

    if (text->cells[TABLE_LINK][a][b] == LINK_XGMI && is_direct)
        return (struct dt_path_info){DT_PATH_XGMI, 0};
    if (numa != -1 && numa == topo->gpus[b].numa)
        return (struct dt_path_info){DT_PATH_NUMA, 0};
    if (text->cells[TABLE_LINK][a][b] != LINK_UNKNOWN)
        return (struct dt_path_info){DT_PATH_SYSTEM, 0};
    return (struct dt_path_info){DT_PATH_UNKNOWN, 0};
}

static int fill(struct dt_topo *topo, void *state, char *plain, struct dtrain_error *err)
{
    struct text *text = state;
    uint32_t least_weight;

    if (read_text(text, plain, err) != 0 || add_gpus(topo, text, err) != 0)
        return -1;
    least_weight = find_least_weight(text);
    for (uint32_t i = 0; i < text->count; i++)
        for (uint32_t j = 0; j < i; j++)
            dt_draft_link_gpus(topo, i, j, find_path(topo, text, i, j, least_weight));
    return 0;
}

int dt_rocm_smi_read(struct dt_topo **topo, const char *text, size_t size, const char *source,
                     struct dtrain_error *err)
{
    static const struct dt_draft_reader reader = {sizeof(struct text), fill};

    return dt_draft_read(topo, &reader, text, size, source, err);
}
