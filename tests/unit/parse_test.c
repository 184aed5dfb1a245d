#include "core/parse.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tap.h"

#define COUNTS_MAX (1u << 20)
#define TASKS_MAX 65535u

struct u64_row {
    const char *text;
    uint64_t min, max;
    uint64_t value;
    const char *words; /* NULL: good */
};

static const struct u64_row u64_rows[] = {
    {"1", 1, 16777216, 1, NULL},
    {"16777216", 1, 16777216, 16777216, NULL},
    {"0", 0, 0, 0, NULL},
    {"007", 1, 9, 7, NULL},
    {"00000000000000000000000000000001", 1, 9, 1, NULL},
    {"18446744073709551615", 0, UINT64_MAX, UINT64_MAX, NULL},
    {"0", 1, 16777216, 0, "--n: '0' is too small: expected a number from 1 to 16777216"},
    {"16777217", 1, 16777216, 0, "'16777217' is too large: expected a number from 1 to 16777216"},
    {"18446744073709551616", 0, UINT64_MAX, 0, "is too large"},
    {"18446744073709551626", 0, UINT64_MAX, 0, "is too large"},
    {"99999999999999999999999", 0, UINT64_MAX, 0, "is too large"},
    {"8x", 1, 9, 0, "--n: '8x' is not a number: expected a number from 1 to 9"},
    {"", 1, 9, 0, "'' is empty"},
    {NULL, 1, 9, 0, "'' is empty"},
    {"+1", 1, 9, 0, "'+1' is not a number"},
    {"-1", 0, UINT64_MAX, 0, "'-1' is not a number"},
    {" 1", 1, 9, 0, "' 1' is not a number"},
    {"1 ", 1, 9, 0, "'1 ' is not a number"},
    {"0x8", 0, 9, 0, "'0x8' is not a number"},
    {"1e3", 0, 9999, 0, "'1e3' is not a number"},
    {"1.0", 0, 9, 0, "'1.0' is not a number"},
    {"1,0", 0, 99, 0, "'1,0' is not a number"},
    {"1\n2\x1b[31m", 0, 99, 0, "'1?2?[31m' is not a number"},
    {"\xd9\xa1", 0, 99, 0, "'?" "?' is not a number"},
};

static void test_u64(void)
{
    for (size_t i = 0; i < sizeof(u64_rows) / sizeof(u64_rows[0]); i++) {
        const struct u64_row *row = &u64_rows[i];
        struct dtrain_error err = {""};
        uint64_t value = 0;
        int rc = dt_parse_u64(&value, row->text, row->min, row->max, "--n", &err);
        char shown[DT_PARSE_SHOWN_MAX + 4];

        dt_parse_shown(shown, row->text);
        if (row->words == NULL)
            tap_ok(rc == 0 && value == row->value, "u64 %zu: '%s'", i, shown);
        else if (tap_ok(rc == -1 && value == 0, "u64 %zu: '%s' is refused", i, shown))
            tap_holds(err.text, row->words, "... and the error says so");
    }
}

static void test_u32(void)
{
    struct dtrain_error err;
    uint32_t value = 7;

    tap_ok(dt_parse_u32(&value, "4294967295", 0, UINT32_MAX, "n", &err) == 0 && value == UINT32_MAX,
           "u32: its largest value");
    value = 7;
    tap_ok(dt_parse_u32(&value, "4294967296", 0, UINT32_MAX, "n", &err) == -1 && value == 7,
           "u32: 2^32 does not wrap");
    tap_holds(err.text, "too large: expected a number from 0 to 4294967295", "u32: 2^32 is too large");
    tap_ok(dt_parse_u32(&value, "x", 0, 1, "n", NULL) == -1, "u32: the error may be NULL");
}

static void test_long_number(void)
{
    static char digits[10001];
    struct dtrain_error err;
    uint64_t value = 0;

    memset(digits, '9', sizeof(digits) - 1);
    tap_ok(dt_parse_u64(&value, digits, 0, UINT64_MAX, "n", &err) == -1, "10,000 nines are refused");
    tap_holds(err.text, "9999...' is too large", "... and shown cut");
    memset(digits, '0', sizeof(digits) - 1);
    digits[9999] = '5';
    tap_ok(dt_parse_u64(&value, digits, 0, 5, "n", &err) == 0 && value == 5, "9,999 leading zeros are zeros");
}

static void test_shown(void)
{
    char buf[DT_PARSE_SHOWN_MAX + 4];
    char text[DT_PARSE_SHOWN_MAX + 2];

    memset(text, 'a', sizeof(text));
    text[DT_PARSE_SHOWN_MAX] = '\0';
    tap_ok(strcmp(dt_parse_shown(buf, text), text) == 0, "shown: the longest text is whole");
    text[DT_PARSE_SHOWN_MAX] = 'a';
    text[DT_PARSE_SHOWN_MAX + 1] = '\0';
    tap_ok(strlen(dt_parse_shown(buf, text)) == DT_PARSE_SHOWN_MAX + 3 &&
               strcmp(buf + DT_PARSE_SHOWN_MAX, "...") == 0,
           "shown: one byte more is cut");
    tap_ok(strcmp(dt_parse_shown(buf, "a\tb\x7f\xff~ "), "a?b??~ ") == 0, "shown: only printable bytes");
    tap_ok(dt_parse_shown(buf, NULL) == buf && buf[0] == '\0', "shown: NULL is empty");
}

struct seconds_row {
    const char *text;
    int ms;
    const char *words;
};

static const struct seconds_row seconds_rows[] = {
    {"120", 120000, NULL},
    {"0.5", 500, NULL},
    {"0.001", 1, NULL},
    {"1.25", 1250, NULL},
    {"0.0019", 1, NULL},
    {"2147483.647", INT32_MAX, NULL},
    {"2147483.648", 0, "is too large"},
    {"2147484", 0, "is too large"},
    {"99999999999999999999", 0, "is too large"},
    {"0", 0, "t: '0' is too small: expected seconds from 0.001"},
    {"0.0009", 0, "is too small"},
    {"", 0, "is empty"},
    {NULL, 0, "is empty"},
    {".5", 0, "is not a number of seconds"},
    {"5.", 0, "is not a number of seconds"},
    {"1.5.5", 0, "is not a number of seconds"},
    {"-1", 0, "is not a number of seconds"},
    {"1s", 0, "is not a number of seconds"},
    {"1e3", 0, "is not a number of seconds"},
    {"inf", 0, "is not a number of seconds"},
    {" 1", 0, "is not a number of seconds"},
};

static void test_seconds(void)
{
    for (size_t i = 0; i < sizeof(seconds_rows) / sizeof(seconds_rows[0]); i++) {
        const struct seconds_row *row = &seconds_rows[i];
        struct dtrain_error err = {""};
        int ms = 0;
        int rc = dt_parse_seconds_ms(&ms, row->text, "t", &err);
        const char *name = row->text == NULL ? "NULL" : row->text;

        if (row->words == NULL)
            tap_ok(rc == 0 && ms == row->ms, "seconds: '%s' is %d ms", name, row->ms);
        else if (tap_ok(rc == -1 && ms == 0, "seconds: '%s' is refused", name))
            tap_holds(err.text, row->words, "... and the error says so");
    }
}

static void test_word(void)
{
    static const char *const words[] = {"auto", "nccl", "host"};
    static const char *many[200];
    struct dtrain_error err = {""};
    unsigned index = 9;

    tap_ok(dt_parse_word(&index, "host", words, 3, "backend", &err) == 0 && index == 2, "word: host");
    index = 9;
    tap_ok(dt_parse_word(&index, "hos", words, 3, "backend", &err) == -1 && index == 9, "word: no prefix");
    tap_holds(err.text, "backend: 'hos' is not known: expected auto, nccl or host", "word: all are listed");
    tap_ok(dt_parse_word(&index, "HOST", words, 3, "backend", &err) == -1, "word: case matters");
    tap_ok(dt_parse_word(&index, NULL, words, 3, "backend", &err) == -1, "word: NULL is refused");
    tap_holds(err.text, "'' is empty: expected auto", "word: NULL is empty");
    for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
        many[i] = "somewhat-long";
    dt_parse_word(&index, "x", many, 200, "w", &err);
    tap_holds(err.text, "somewhat-long, ...", "word: a list that is too long is cut");
}

struct counts_row {
    const char *text;
    const char *expanded;
    const char *words;
};

static const struct counts_row counts_rows[] = {
    {"2(x3),1", "2,2,2,1", NULL},
    {"1", "1", NULL},
    {"3,3(x1),2(x1)", "3,3,2", NULL},
    {"0", "0", NULL},
    {"08(x02)", "8,8", NULL},
    {"65535", "65535", NULL},
    {"65536", "", "has a count that is too large at byte 6"},
    {"2(x3", "", "'2(x3' is malformed at byte 5"},
    {"2(x3),", "", "has no number at byte 7"},
    {",2", "", "has no number at byte 1"},
    {"2(x0),1", "", "has a repeat of 0"},
    {"2(x),1", "", "is malformed at byte 4"},
    {"(x3)", "", "has no number at byte 1"},
    {"2(x3)(x2)", "", "is malformed at byte 6"},
    {"2(3)", "", "is malformed at byte 2"},
    {"2(x+3)", "", "is malformed"},
    {"", "", "is empty"},
    {NULL, "", "is empty"},
    {"1(x4000000000)", "", "has too many nodes"},
    {"1(x1048576),1", "", "has too many nodes"},
    {"1(x99999999999999999999999)", "", "has too many nodes"},
    {"1(x4294967297)", "", "has too many nodes"},
    {"4294967297", "", "too large"},
    {"2\t", "", "'2?' is malformed at byte 2"},
};

/* Whether counts are what the text says; "..." at its end stands for more of the same. */
static bool counts_equal(const uint32_t *counts, uint32_t n, const char *expanded)
{
    uint32_t i = 0;

    while (*expanded != '\0' && strcmp(expanded, "...") != 0) {
        char *end;
        unsigned long value = strtoul(expanded, &end, 10);

        if (end == expanded || i == n || counts[i++] != value)
            return false;
        expanded = end + (*end == ',');
    }
    return *expanded != '\0' || i == n;
}

static void check_counts(const char *text, const char *expanded, const char *words)
{
    struct dtrain_error err = {""};
    uint32_t *counts = NULL;
    uint32_t n = 0;
    int rc = dt_parse_task_counts(&counts, &n, text, COUNTS_MAX, TASKS_MAX, "tasks", &err);

    if (words == NULL)
        tap_ok(rc == 0 && counts_equal(counts, n, expanded), "counts: '%s'", text);
    else if (tap_ok(rc == -1 && counts == NULL, "counts: '%s' is refused", text == NULL ? "NULL" : text))
        tap_holds(err.text, words, "... and the error says so");
    free(counts);
}

static void test_counts(void)
{
    for (size_t i = 0; i < sizeof(counts_rows) / sizeof(counts_rows[0]); i++)
        check_counts(counts_rows[i].text, counts_rows[i].expanded, counts_rows[i].words);
}

static void check_counts_line(char *line)
{
    char *cursor = line;
    const char *value = strsep(&cursor, "\t");
    const char *nodes = strsep(&cursor, "\t");
    const char *expanded = strsep(&cursor, "\t");

    if (expanded == NULL)
        tap_ok(false, "counts: a row of the table has three columns");
    else
        check_counts(value, expanded, strcmp(nodes, "-1") == 0 ? "expected task counts" : NULL);
}

static void test_counts_table(void)
{
    const char *srcdir = getenv("DT_SRCDIR");
    char line[4096];
    FILE *file;

    snprintf(line, sizeof(line), "%s/../shared/hostlists/tasks_per_node.tsv", srcdir ? srcdir : ".");
    file = fopen(line, "r");
    if (file == NULL) {
        tap_skip("counts: a table of Slurm's values", "shared/hostlists is not here");
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#')
            check_counts_line(line);
    }
    fclose(file);
}

int main(void)
{
    test_u64();
    test_u32();
    test_long_number();
    test_shown();
    test_seconds();
    test_word();
    test_counts();
    test_counts_table();
    return tap_done();
}
