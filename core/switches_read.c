/* switches_read.c - the text of topology.conf: KEY=VALUE ..., "#" begins a comment, "\" goes on. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "switches_build.h"

#define BLANKS " \t\r\v\f"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define SPEED_MAX UINT32_MAX
#define RECORDS_FIRST 64u

enum key {
    KEY_SWITCH_NAME,
    KEY_BLOCK_NAME,
    KEY_BLOCK_SIZES,
    KEY_NODES,
    KEY_SWITCHES,
    KEY_LINK_SPEED,
    KEY_COUNT
};

static const char *const key_words[KEY_COUNT] = {
    [KEY_SWITCH_NAME] = "SwitchName", [KEY_BLOCK_NAME] = "BlockName", [KEY_BLOCK_SIZES] = "BlockSizes",
    [KEY_NODES] = "Nodes",            [KEY_SWITCHES] = "Switches",    [KEY_LINK_SPEED] = "LinkSpeed",
};

struct reader {
    char *at, *end;      /* what is not read yet; *end may be written */
    uint32_t line, next; /* where the line that was taken begins, and the next one */
    struct dt_switches_record *records; /* texts are borrowed from what is read */
    uint32_t *lines;                    /* of each record */
    uint32_t count, room;
    enum key kind; /* of the records: KEY_SWITCH_NAME or KEY_BLOCK_NAME */
    uint32_t sizes[DT_SWITCHES_LEVELS_MAX];
    uint32_t size_count, sizes_line; /* 0: none yet */
};

/* The values of one line; NULL: not there. */
struct line {
    const char *values[KEY_COUNT];
};

/* ---- Lines ---- */

static bool is_escaped(const char *start, const char *at)
{
    const char *first = at;

    while (first > start && first[-1] == '\\')
        first--;
    return (at - first) % 2 != 0;
}

/* Bytes of a line without its comment and the blanks at its end; "\" there says that it goes on. */
static size_t measure(const char *text, size_t n, bool *goes_on)
{
    const char *hash = memchr(text, '#', n);

    while (hash != NULL && is_escaped(text, hash))
        hash = memchr(hash + 1, '#', n - (size_t)(hash + 1 - text));
    if (hash != NULL)
        n = (size_t)(hash - text);
    while (n > 0 && strchr(BLANKS, text[n - 1]) != NULL)
        n--;
    *goes_on = is_escaped(text, text + n);
    return n - *goes_on;
}

/* The next line with those that it goes on in, joined in place. */
static char *take_line(struct reader *reader)
{
    char *line = reader->at, *to = line;
    bool goes_on = true;

    reader->line = reader->next;
    while (goes_on && reader->at < reader->end) {
        char *newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
        char *stop = newline != NULL ? newline : reader->end;
        size_t n = measure(reader->at, (size_t)(stop - reader->at), &goes_on);

        memmove(to, reader->at, n);
        to += n;
        reader->at = stop + (newline != NULL);
        reader->next++;
    }
    *to = '\0';
    return line;
}

/* ---- Keys and values ---- */

static int find_key(enum key *key, const char *name, struct dtrain_error *err)
{
    unsigned index;

    for (index = 0; index < KEY_COUNT && strcasecmp(name, key_words[index]) != 0;)
        index++;
    *key = (enum key)index;
    return index < KEY_COUNT ? 0 : dt_parse_word(&index, name, key_words, KEY_COUNT, "key", err);
}

/* Cuts the value off at its end; what is behind it is left. */
static int take_value(const char **value, char **at, const char *key, struct dtrain_error *err)
{
    bool is_quoted = **at == '"';
    char *text = *at + is_quoted;
    size_t n = strcspn(text, is_quoted ? "\"" : BLANKS);
    char *stop = text + n;

    if (is_quoted && *stop == '\0')
        return dt_error_set(err, "the value of %s has no closing '\"'", key);
    if (is_quoted && stop[1] != '\0' && strchr(BLANKS, stop[1]) == NULL)
        return dt_error_set(err, "the value of %s goes on behind its closing '\"': expected a blank", key);
    if (n == 0)
        return dt_error_set(err, "%s has no value", key);
    *at = stop + (*stop != '\0');
    *stop = '\0';
    *value = text;
    return 0;
}

static int take_item(struct line *line, char **at, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char *name = *at;
    char *stop = name + strspn(name, LETTERS);
    char *equals = stop + strspn(stop, BLANKS);
    enum key key;

    if (stop == name || *equals != '=')
        return dt_error_set(err,
                            "'%s' is not understood: expected KEY=VALUE with SwitchName or BlockName first, and "
                            "no other file included",
                            dt_parse_shown(shown, name));
    *stop = '\0';
    if (find_key(&key, name, err) != 0)
        return -1;
    if (line->values[key] != NULL)
        return dt_error_set(err, "%s stands twice in the line", key_words[key]);
    *at = equals + 1 + strspn(equals + 1, BLANKS);
    if (take_value(&line->values[key], at, key_words[key], err) != 0)
        return -1;
    *at += strspn(*at, BLANKS);
    return 0;
}

/* ---- What a line says ---- */

static int add_record(struct reader *reader, const struct dt_switches_record *record,
                      struct dtrain_error *err)
{
    if (reader->count == DT_SWITCHES_MAX)
        return dt_error_set(err, "more than %u switches are too many: expected at most that many",
                            DT_SWITCHES_MAX);
    if (reader->count == reader->room) {
        uint32_t room = reader->room > 0 ? 2 * reader->room : RECORDS_FIRST;
        struct dt_switches_record *records = realloc(reader->records, room * sizeof(*records));
        uint32_t *lines;

        if (records == NULL)
            return dt_error_memory(err, room * sizeof(*records), "switches");
        reader->records = records;
        lines = realloc(reader->lines, room * sizeof(*lines));
        if (lines == NULL)
            return dt_error_memory(err, room * sizeof(*lines), "switches");
        reader->lines = lines;
        reader->room = room;
    }
    reader->lines[reader->count] = reader->line;
    reader->records[reader->count++] = *record;
    return 0;
}

/* Keys other than these make no sense in a line that begins with key `first`. */
static int check_keys(const struct line *line, enum key first, unsigned allowed, struct dtrain_error *err)
{
    for (unsigned key = 0; key < KEY_COUNT; key++)
        if (line->values[key] != NULL && !(allowed & 1u << key))
            return dt_error_set(err, "%s does not go with %s: take it out of the line", key_words[key],
                                key_words[first]);
    return 0;
}

/* A file is of topology/tree or of topology/block. */
static int check_kind(struct reader *reader, enum key kind, struct dtrain_error *err)
{
    enum key other = kind == KEY_SWITCH_NAME ? KEY_BLOCK_NAME : KEY_SWITCH_NAME;

    if (reader->count > 0 && reader->kind == other)
        return dt_error_set(err, "%s in a file with %s in line %u: expected one of the two", key_words[kind],
                            key_words[other], reader->lines[0]);
    reader->kind = kind;
    return 0;
}

static int apply_switch(struct reader *reader, const struct line *line, struct dtrain_error *err)
{
    const unsigned allowed =
        1u << KEY_SWITCH_NAME | 1u << KEY_NODES | 1u << KEY_SWITCHES | 1u << KEY_LINK_SPEED;
    const char *nodes = line->values[KEY_NODES], *switches = line->values[KEY_SWITCHES];
    const struct dt_switches_record record = {line->values[KEY_SWITCH_NAME], nodes == NULL, nodes, switches};
    char shown[DT_PARSE_SHOWN_MAX + 4];
    uint32_t speed;

    if (check_keys(line, KEY_SWITCH_NAME, allowed, err) != 0 || check_kind(reader, KEY_SWITCH_NAME, err) != 0)
        return -1;
    if ((nodes == NULL) == (switches == NULL))
        return dt_error_set(err, "switch %s has %s: expected one of Nodes and Switches",
                            dt_parse_shown(shown, record.name), nodes == NULL ? "nothing below it" : "both");
    if (line->values[KEY_LINK_SPEED] != NULL &&
        dt_parse_u32(&speed, line->values[KEY_LINK_SPEED], 0, SPEED_MAX, "LinkSpeed", err) != 0)
        return -1;
    return add_record(reader, &record, err);
}

static int apply_block(struct reader *reader, const struct line *line, struct dtrain_error *err)
{
    const struct dt_switches_record record = {line->values[KEY_BLOCK_NAME], 0, line->values[KEY_NODES], NULL};
    char shown[DT_PARSE_SHOWN_MAX + 4];

    if (check_keys(line, KEY_BLOCK_NAME, 1u << KEY_BLOCK_NAME | 1u << KEY_NODES, err) != 0 ||
        check_kind(reader, KEY_BLOCK_NAME, err) != 0)
        return -1;
    if (record.nodes == NULL)
        return dt_error_set(err, "block %s has no Nodes", dt_parse_shown(shown, record.name));
    return add_record(reader, &record, err);
}

static int add_size(struct reader *reader, const char *text, struct dtrain_error *err)
{
    uint32_t size, count = reader->size_count, last = count > 0 ? reader->sizes[count - 1] : 1;

    if (dt_parse_u32(&size, text, 1, DT_SWITCHES_NODES_MAX, "BlockSizes", err) != 0)
        return -1;
    if (count > 0 && (size == last || size % last != 0))
        return dt_error_set(err, "BlockSizes: %u comes after %u: expected a multiple of it", size, last);
    if (count == DT_SWITCHES_LEVELS_MAX)
        return dt_error_set(err, "BlockSizes has more than %u sizes: expected at most that many", count);
    reader->sizes[reader->size_count++] = size;
    return 0;
}

static int apply_sizes(struct reader *reader, const struct line *line, struct dtrain_error *err)
{
    const char *text = line->values[KEY_BLOCK_SIZES];

    if (check_keys(line, KEY_BLOCK_SIZES, 1u << KEY_BLOCK_SIZES, err) != 0)
        return -1;
    if (reader->sizes_line != 0)
        return dt_error_set(err, "BlockSizes is given again, after line %u: keep one of the two",
                            reader->sizes_line);
    reader->sizes_line = reader->line;
    for (;;) {
        char size[DT_PARSE_SHOWN_MAX + 1] = "";
        size_t n = strcspn(text, ",");

        memcpy(size, text, n < sizeof(size) ? n : sizeof(size) - 1);
        if (add_size(reader, size, err) != 0)
            return -1;
        if (text[n] == '\0')
            return 0;
        text += n + 1;
    }
}

static int read_line(struct reader *reader, char *text, struct dtrain_error *err)
{
    struct line line = {{NULL}};

    text += strspn(text, BLANKS);
    if (*text == '\0')
        return 0;
    while (*text != '\0')
        if (take_item(&line, &text, err) != 0)
            return -1;
    if (line.values[KEY_SWITCH_NAME] != NULL)
        return apply_switch(reader, &line, err);
    if (line.values[KEY_BLOCK_NAME] != NULL)
        return apply_block(reader, &line, err);
    if (line.values[KEY_BLOCK_SIZES] != NULL)
        return apply_sizes(reader, &line, err);
    return dt_error_set(err, "the line names nothing: expected SwitchName, BlockName or BlockSizes");
}

/* ---- The file ---- */

static int check_text(struct reader *reader, const char *text, size_t n, struct dtrain_error *err)
{
    const char *nul = memchr(text, '\0', n);

    reader->line = reader->next = 1;
    if (n > DT_SWITCHES_FILE_MAX)
        return dt_error_set(err, "the file has %zu bytes: expected at most %u", n, DT_SWITCHES_FILE_MAX);
    for (const char *at = text; nul != NULL && at < nul; at++)
        reader->line += *at == '\n';
    if (nul != NULL)
        return dt_error_set(err, "the line has a NUL byte: expected text");
    return 0;
}

/* Sizes make tiers of blocks: the second one of as many blocks as it holds the first, and so on. */
static int plan_tiers(struct dt_switches_plan *plan, struct reader *reader, struct dtrain_error *err)
{
    reader->line = reader->sizes_line;
    if (reader->size_count > 0 && reader->kind == KEY_SWITCH_NAME)
        return dt_error_set(err, "BlockSizes in a file with SwitchName in line %u: expected one of the two",
                            reader->lines[0]);
    for (uint32_t i = 1; i < reader->size_count; i++)
        plan->fans[plan->fan_count++] = reader->sizes[i] / reader->sizes[i - 1];
    return 0;
}

static int read_all(struct dt_switches **switches, struct reader *reader, struct dtrain_error *err)
{
    struct dt_switches_plan plan = {0};
    uint32_t at = 0;

    while (reader->at < reader->end)
        if (read_line(reader, take_line(reader), err) != 0)
            return -1;
    if (reader->count == 0)
        return dt_error_set(err, "the file names no switch and no block");
    if (plan_tiers(&plan, reader, err) != 0)
        return -1;
    plan.records = reader->records;
    plan.count = reader->count;
    if (dt_switches_build(switches, &plan, &at, err) == 0)
        return 0;
    reader->line = reader->lines[at];
    return -1;
}

int dt_switches_parse(struct dt_switches **switches, const char *text, size_t n, const char *file,
                      struct dtrain_error *err)
{
    struct reader reader = {0};
    char *copy = NULL;
    int rc = -1;

    *switches = NULL;
    if (check_text(&reader, text, n, err) != 0)
        return dt_error_prefix(err, "%s:%u", file, reader.line);
    copy = malloc(n + 1);
    if (copy == NULL)
        return dt_error_memory(err, n + 1, file);
    if (n > 0)
        memcpy(copy, text, n);
    reader.at = copy;
    reader.end = copy + n;
    rc = read_all(switches, &reader, err);
    if (rc != 0)
        dt_error_prefix(err, "%s:%u", file, reader.line);
    free(reader.records);
    free(reader.lines);
    free(copy);
    return rc;
}
