#include "nvidia_table.h"

#include <ctype.h>
#include <string.h>

#include "core/parse.h"

#define LINKS_MAX 99u

/* "GPU0", but not the "GPU" of "GPU NUMA ID". */
static bool is_gpu_name(const char *word)
{
    return strncmp(word, "GPU", 3) == 0 && isdigit((unsigned char)word[3]) &&
           word[3 + strspn(word + 3, "0123456789")] == '\0';
}

/* The word that begins the text, in buf; a longer one is cut, and then is no device. */
static const char *first_word(char buf[DT_TOPO_NAME_MAX], const char *text)
{
    size_t start = strspn(text, " \t");
    size_t length = strcspn(text + start, " \t");

    if (length >= DT_TOPO_NAME_MAX)
        length = DT_TOPO_NAME_MAX - 1;
    memcpy(buf, text + start, length);
    buf[length] = '\0';
    return text + start + length;
}

/* "NV12", "PIX": false when it is no path. */
static bool read_path(struct dt_path_info *info, const char *word)
{
    static const struct {
        const char *word;
        enum dt_path path;
    } rows[] = {
        {"X", DT_PATH_SELF},     {"PIX", DT_PATH_SWITCH},  {"PXB", DT_PATH_SWITCHES}, {"PHB", DT_PATH_BRIDGE},
        {"NODE", DT_PATH_NUMA}, {"SYS", DT_PATH_SYSTEM}, {"SOC", DT_PATH_SYSTEM},
    };
    uint32_t links;

    *info = (struct dt_path_info){DT_PATH_UNKNOWN, 0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(word, rows[i].word) == 0)
            info->path = rows[i].path;
    if (strncmp(word, "NV", 2) == 0 && dt_parse_u32(&links, word + 2, 1, LINKS_MAX, "links", NULL) == 0)
        *info = (struct dt_path_info){DT_PATH_NVLINK, (uint16_t)links};
    return info->path != DT_PATH_UNKNOWN;
}

bool dt_nvidia_table_is_header(const char *line)
{
    char word[DT_TOPO_NAME_MAX];
    struct dt_path_info ignored;
    const char *rest = first_word(word, line);

    if (!is_gpu_name(word))
        return false;
    first_word(word, rest);
    return !read_path(&ignored, word);
}

static const struct title {
    const char *text;
    enum dt_nvidia_column column;
} titles[] = {
    {"CPU Affinity", DT_NVIDIA_CPUS},
    {"NUMA Affinity", DT_NVIDIA_NUMA},
    {"GPU NUMA ID", DT_NVIDIA_GPU_NUMA},
    {"NUMA", DT_NVIDIA_NUMA},
};

static const struct title *find_title(const char *text)
{
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        if (strncmp(text, titles[i].text, strlen(titles[i].text)) == 0)
            return &titles[i];
    return NULL;
}

static int read_titles(struct dt_nvidia_table *table, const char *text, struct dtrain_error *err)
{
    char word[DT_TOPO_NAME_MAX];

    for (text += strspn(text, " \t"); *text != '\0'; text += strspn(text, " \t")) {
        const struct title *title = find_title(text);

        if (table->column_count == DT_NVIDIA_COLUMNS_MAX)
            return dt_error_set(err, "more than %u columns behind the devices: expected at most that many",
                                DT_NVIDIA_COLUMNS_MAX);
        table->columns[table->column_count++] = title != NULL ? title->column : DT_NVIDIA_OTHER;
        text = title != NULL ? text + strlen(title->text) : first_word(word, text);
    }
    return 0;
}

/* GPUs come first, then NICs. */
static int add_device(struct dt_nvidia_table *table, const char *name, struct dtrain_error *err)
{
    struct dt_nvidia_row *row = &table->rows[table->count];

    if (table->count == DT_NVIDIA_DEVICES_MAX)
        return dt_error_set(err, "more than %u devices: expected at most that many", DT_NVIDIA_DEVICES_MAX);
    for (uint32_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return dt_error_set(err, "device %s has two columns: expected each once", name);
    strcpy(row->name, name);
    row->is_gpu = is_gpu_name(name);
    if (row->is_gpu && table->count > 0 && !row[-1].is_gpu)
        return dt_error_set(err, "column %s stands behind a NIC's: expected all GPUs first", name);
    table->count++;
    return 0;
}

static int read_header(struct dt_nvidia_table *table, const char *line, struct dtrain_error *err)
{
    char word[DT_TOPO_NAME_MAX];

    for (line += strspn(line, " \t"); *line != '\0'; line += strspn(line, " \t")) {
        const char *rest = first_word(word, line);

        if (strcmp(word, "CPU") == 0 || strcmp(word, "NUMA") == 0 || strcmp(word, "GPU") == 0)
            return read_titles(table, line, err);
        if (add_device(table, word, err) != 0)
            return -1;
        line = rest;
    }
    return 0;
}

static const char *known(const char *cell)
{
    return cell[0] == '\0' || strcmp(cell, "N/A") == 0 ? NULL : cell;
}

static void set_column(struct dt_nvidia_row *row, enum dt_nvidia_column column, const char *cell)
{
    if (column == DT_NVIDIA_CPUS)
        row->cpus = known(cell);
    else if (column == DT_NVIDIA_NUMA)
        row->numa = known(cell);
    else if (column == DT_NVIDIA_GPU_NUMA)
        row->gpu_numa = known(cell);
}

static char *trim(char *cell)
{
    cell += strspn(cell, " ");
    cell[strcspn(cell, " ")] = '\0';
    return cell;
}

/* Columns end in tabs, the last ones in several; what stands last belongs to the last column. */
static void read_cells(struct dt_nvidia_table *table, struct dt_nvidia_row *row, char *rest)
{
    for (uint32_t i = 0; rest != NULL; i++) {
        char *cell = trim(strsep(&rest, "\t"));
        uint32_t column = i < table->column_count ? i : table->column_count - 1;

        if (i < table->column_count || cell[0] != '\0')
            set_column(row, table->columns[column], cell);
    }
}

static int read_affinities(struct dt_nvidia_table *table, struct dt_nvidia_row *row, char *rest,
                           struct dtrain_error *err)
{
    char *words[DT_NVIDIA_COLUMNS_MAX + 1];
    uint32_t count = 0;

    if (table->column_count > 0 && strchr(rest, '\t') != NULL) {
        read_cells(table, row, rest + (rest[strspn(rest, " ")] == '\t' ? strspn(rest, " ") + 1 : 0));
        return 0;
    }
    while (count <= table->column_count && (words[count] = dt_plain_word(&rest)) != NULL)
        count++;
    if (count != 0 && count != table->column_count)
        return dt_error_set(err, "row %s has %s than the %u cells of affinity in the heading", row->name,
                            count < table->column_count ? "fewer" : "more", table->column_count);
    for (uint32_t i = 0; i < count; i++)
        set_column(row, table->columns[i], words[i]);
    return 0;
}

static int read_row(struct dt_nvidia_table *table, uint32_t index, char *line, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    struct dt_nvidia_row *row = &table->rows[index];
    size_t name_end;
    const char *name = dt_plain_word(&line);

    if (name == NULL || strcmp(name, row->name) != 0)
        return dt_error_set(err, "row %u is '%s': expected %s, a row for each of the %u columns of devices",
                            index + 1, dt_parse_shown(shown, name), row->name, table->count);
    for (uint32_t i = 0; i < table->count; i++) {
        char cell[DT_TOPO_NAME_MAX];

        /* Looked at without cutting it off, so that the tab behind the last one stays. */
        name_end = (size_t)(first_word(cell, line) - line);
        if (!read_path(&table->paths[index][i], cell))
            return dt_error_set(
                err,
                "row %s, column %s: '%s' is not a path: expected X, NV1 to NV%u, PIX, PXB, PHB, "
                "NODE or SYS",
                row->name, table->rows[i].name, dt_parse_shown(shown, cell), LINKS_MAX);
        if ((table->paths[index][i].path == DT_PATH_SELF) != (i == index))
            return dt_error_set(err, "row %s, column %s is '%s': expected X for the device itself only",
                                row->name, table->rows[i].name, cell);
        line += name_end;
    }
    if (row->is_gpu)
        return read_affinities(table, row, line, err);
    name = dt_plain_word(&line);
    return name == NULL ? 0
                        : dt_error_set(err, "row %s has '%s' behind its %u paths: expected nothing",
                                       row->name, dt_parse_shown(shown, name), table->count);
}

static int check_symmetry(const struct dt_nvidia_table *table, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < table->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (table->paths[i][j].path != table->paths[j][i].path ||
                table->paths[i][j].count != table->paths[j][i].count)
                return dt_error_set(err, "%s to %s differs from %s to %s: expected the same path both ways",
                                    table->rows[i].name, table->rows[j].name, table->rows[j].name,
                                    table->rows[i].name);
    return 0;
}

/* "NIC0: mlx5_0" anywhere below the table: terminals and mails wrap it. */
static void read_legend(struct dt_nvidia_table *table, char *rest)
{
    struct dt_nvidia_row *named = NULL;

    for (char *word = dt_plain_word(&rest); word != NULL; word = dt_plain_word(&rest)) {
        size_t length = strlen(word);

        if (named != NULL && length < sizeof(named->legend))
            strcpy(named->legend, word);
        named = NULL;
        if (length < 2 || word[length - 1] != ':')
            continue;
        word[length - 1] = '\0';
        for (uint32_t i = 0; i < table->count; i++)
            if (!table->rows[i].is_gpu && strcmp(table->rows[i].name, word) == 0)
                named = &table->rows[i];
    }
}

static bool is_end(const char *line)
{
    return line == NULL || strncmp(line, "Legend:", 7) == 0 || strncmp(line, "NIC Legend:", 11) == 0;
}

/* Tables are published without the rows of the NICs: those of the GPUs say the same, but for two NICs. */
static void mirror_rows(struct dt_nvidia_table *table, uint32_t first)
{
    for (uint32_t i = first; i < table->count; i++)
        for (uint32_t j = 0; j < table->count; j++)
            table->paths[i][j] =
                j < first ? table->paths[j][i] : (struct dt_path_info){DT_PATH_UNKNOWN, 0};
}

int dt_nvidia_table_read(struct dt_nvidia_table *table, char *plain, struct dtrain_error *err)
{
    char *line = dt_plain_filled_line(&plain);

    while (line != NULL && !dt_nvidia_table_is_header(line))
        line = dt_plain_filled_line(&plain);
    if (line == NULL)
        return dt_error_set(err, "no line with the columns GPU0, GPU1 ...: expected the text of "
                                 "`nvidia-smi topo -m`");
    if (read_header(table, line, err) != 0)
        return -1;
    for (uint32_t i = 0; i < table->count; i++) {
        line = dt_plain_filled_line(&plain);
        if (is_end(line) && !table->rows[i].is_gpu && table->rows[i - 1].is_gpu) {
            mirror_rows(table, i);
            break;
        }
        if (is_end(line))
            return dt_error_set(err, "the table ends after %u rows: expected %u, one for each device", i,
                                table->count);
        if (read_row(table, i, line, err) != 0)
            return -1;
    }
    read_legend(table, plain);
    return check_symmetry(table, err);
}
