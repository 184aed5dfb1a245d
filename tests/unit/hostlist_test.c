#include "core/hostlist.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/parse.h"
#include "tap.h"

#define GENERATED_LISTS 300
#define GENERATED_NAMES 400
#define PROPERTY_ROUNDS 400
#define TEXT_MAX 65536

struct row {
    const char *text;
    const char *names; /* comma separated; NULL: refused */
    const char *words;
};

static const struct row rows[] = {
    {"n1", "n1", NULL},
    {"login", "login", NULL},
    {"n[1-3,2]", "n1,n2,n3,n2", NULL},
    {"n[08-012]", "n08,n09,n10,n11,n12", NULL},
    {"n[099-101]", "n099,n100,n101", NULL},
    {"n[9-11],x", "n9,n10,n11,x", NULL},
    {"n[0000000000000000000001-2]", "n0000000000000000000001,n0000000000000000000002", NULL},
    {"n[18446744073709551614-18446744073709551615]", "n18446744073709551614,n18446744073709551615", NULL},
    {"a[1-2]b[3-3,7]", "a1b3,a1b7,a2b3,a2b7", NULL},
    {"a[0-1,5]b[3,1]c[08-09]",
     "a0b3c08,a0b3c09,a1b3c08,a1b3c09,a5b3c08,a5b3c09,a0b1c08,a0b1c09,a1b1c08,a1b1c09,a5b1c08,a5b1c09", NULL},
    {"[0-1][0-1][0-1][0-1]",
     "0000,0001,1000,1001,0100,0101,1100,1101,0010,0011,1010,1011,0110,0111,1110,1111", NULL},
    {"a[1][2][3],b", "a123,b", NULL},
    {"", NULL, "hostlist '': an empty name at byte 1: expected node names such as n[1-3,07],login1"},
    {NULL, NULL, "an empty name at byte 1"},
    {",", NULL, "an empty name at byte 1"},
    {"n1,,n2", NULL, "hostlist 'n1,,n2': an empty name at byte 4"},
    {",n1", NULL, "an empty name at byte 1"},
    {"n1,", NULL, "an empty name at byte 4"},
    {"n1 n2", NULL, "a blank at byte 3"},
    {"n1, n2", NULL, "a blank at byte 4"},
    {" n1", NULL, "a blank at byte 1"},
    {"n1\n", NULL, "'n1?': a blank at byte 3"},
    {"n1\x01", NULL, "a byte that no name has at byte 3"},
    {"n\xc3\xa9", NULL, "a byte that no name has at byte 2"},
    {"n[1", NULL, "a '[' is not closed at byte 4"},
    {"n[1-3", NULL, "a '[' is not closed at byte 6"},
    {"n[1-3,n2", NULL, "a number is missing at byte 7"},
    {"n[", NULL, "a number is missing at byte 3"},
    {"n]1[", NULL, "a ']' without its '[' at byte 2"},
    {"a[1]]", NULL, "a ']' without its '[' at byte 5"},
    {"a[[1]]", NULL, "a number is missing at byte 3"},
    {"n[]", NULL, "a number is missing at byte 3"},
    {"n[1-]", NULL, "a number is missing at byte 5"},
    {"n[-1]", NULL, "a number is missing at byte 3"},
    {"n[1,]", NULL, "a number is missing at byte 5"},
    {"n[1,,2]", NULL, "a number is missing at byte 5"},
    {"n[+1-3]", NULL, "a number is missing at byte 3"},
    {"n[1 -3]", NULL, "only digits, '-' and ',' may stand in brackets at byte 4"},
    {"n[1-2-3]", NULL, "only digits, '-' and ',' may stand in brackets at byte 6"},
    {"n[0x1]", NULL, "only digits, '-' and ',' may stand in brackets at byte 4"},
    {"n[10-8]", NULL, "the range runs backwards at byte 3"},
    {"n[18446744073709551616]", NULL, "the number is too large"},
    {"n[0-65536]", NULL, "the range has too many hosts at byte 3"},
    {"n[0-18446744073709551615]", NULL, "the range has too many hosts"},
    {"n[0-65535][0-65535]", NULL, "there are too many hosts"},
    {"n[0-65535][0-65535][0-65535][0-65535][0-65535]", NULL, "there are too many hosts"},
    {"n[0-65535][0-15],x", NULL, "there are too many hosts"},
    {"a[1,3]b2", NULL, "a name must end with its last bracket, as Slurm has it at byte 7"},
    {"x[1-2].cluster,y", NULL, "a name must end with its last bracket, as Slurm has it at byte 7"},
};

/* Whether the list is the comma-separated names, and nothing more. */
static bool list_equals(const struct dt_hostlist *list, const char *names)
{
    uint32_t i = 0;

    for (; *names != '\0'; i++) {
        size_t length = strcspn(names, ",");
        const char *name = dt_hostlist_name(list, i);

        if (name == NULL || strlen(name) != length || memcmp(name, names, length) != 0) {
            printf("# name %u is %s, expected %.*s\n", i, name ? name : "missing", (int)length, names);
            return false;
        }
        names += length + (names[length] == ',');
    }
    return i == dt_hostlist_count(list);
}

static void check_good(const char *text, const char *names)
{
    struct dtrain_error err = {""};
    struct dt_hostlist *list = NULL;
    int rc = dt_hostlist_parse(&list, text, &err);

    tap_ok(rc == 0 && list_equals(list, names), "parse %.60s", text);
    if (rc != 0)
        printf("# %s\n", err.text);
    dt_hostlist_destroy(list);
}

static void check_bad(const char *text, const char *words)
{
    struct dtrain_error err = {""};
    struct dt_hostlist *list = NULL;
    char shown[DT_PARSE_SHOWN_MAX + 4];
    int rc = dt_hostlist_parse(&list, text, &err);

    if (tap_ok(rc == -1 && list == NULL, "refuse '%s'", dt_parse_shown(shown, text)))
        tap_holds(err.text, words, "... and the error says so");
    dt_hostlist_destroy(list);
}

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].names != NULL)
            check_good(rows[i].text, rows[i].names);
        else
            check_bad(rows[i].text, rows[i].words);
    }
}

static void test_limits(void)
{
    static char text[TEXT_MAX];
    struct dtrain_error err;
    struct dt_hostlist *list = NULL;
    int n = 0;

    memset(text, 'n', DT_HOSTLIST_NAME_MAX + 1);
    check_bad(text, "nnnn': the name is too long at byte 257");
    text[DT_HOSTLIST_NAME_MAX] = '\0';
    tap_ok(dt_hostlist_parse(&list, text, &err) == 0 && dt_hostlist_count(list) == 1, "the longest name");
    dt_hostlist_destroy(list);
    strcpy(text + DT_HOSTLIST_NAME_MAX - 1, "[9-10]");
    check_bad(text, "the name is too long at byte 261");
    memset(text, '1', 300);
    memcpy(text, "n[", 2);
    strcpy(text + 300, "]");
    check_bad(text, "the number is too large");
    memset(text + 2, '0', 298);
    check_bad(text, "the number is too long");
    for (int i = 0; i <= DT_HOSTLIST_BRACKETS_MAX; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "[1]");
    check_bad(text, "the name has too many brackets at byte 97");
    memset(text, 'n', 200);
    strcpy(text + 200, "[0-65535][0-4]");
    check_bad(text, "the names are too long together");
    tap_ok(dt_hostlist_parse(&list, "n[0-65535][0-15]", &err) == 0 &&
               dt_hostlist_count(list) == DT_HOSTLIST_HOSTS_MAX &&
               strcmp(dt_hostlist_name(list, DT_HOSTLIST_HOSTS_MAX - 1), "n6553515") == 0 &&
               dt_hostlist_name(list, DT_HOSTLIST_HOSTS_MAX) == NULL,
           "the largest list");
    dt_hostlist_destroy(list);
}

/* What scontrol accepts by accident; see hostlist.h. */
static bool is_accident(const char *text)
{
    static const char *const accidents[] = {"n[1", "n]1[", "n[1-3", "n1,,n2",
                                            ",n1", "n1,",  "n1 n2", "n1, n2"};

    for (size_t i = 0; i < sizeof(accidents) / sizeof(accidents[0]); i++) {
        if (strcmp(text, accidents[i]) == 0)
            return true;
    }
    return false;
}

static void check_expand_line(char *line)
{
    const char *text = strsep(&line, "\t");
    const char *count;
    const char *names;

    strsep(&line, "\t");
    count = strsep(&line, "\t");
    names = strsep(&line, "\t");
    if (names == NULL)
        tap_ok(false, "a row of the table has four columns");
    else if (strcmp(count, "0") == 0 || is_accident(text))
        check_bad(text, " at byte ");
    else
        check_good(text, names);
}

static int format_names(char **text, const char *names)
{
    static const char *list[TEXT_MAX];
    static char copy[TEXT_MAX];
    char *cursor = copy;
    uint32_t n = 0;

    snprintf(copy, sizeof(copy), "%s", names);
    while (cursor != NULL && n < TEXT_MAX)
        list[n++] = strsep(&cursor, ",");
    return dt_hostlist_format(text, list, n, NULL);
}

static void check_format(const char *names, const char *expected)
{
    char *text = NULL;
    int rc = format_names(&text, names);

    if (!tap_ok(rc == 0 && strcmp(text, expected) == 0, "format %.60s", names))
        printf("# got %s, expected %s\n", text ? text : "nothing", expected);
    free(text);
}

static void check_compress_line(char *line)
{
    const char *names = strsep(&line, "\t");
    const char *expected = strsep(&line, "\t");

    if (expected == NULL)
        tap_ok(false, "a row of the table has two columns");
    else
        check_format(names, expected);
}

static void test_table(const char *name, void (*check)(char *line))
{
    const char *srcdir = getenv("DT_SRCDIR");
    char line[8192];
    FILE *file;

    snprintf(line, sizeof(line), "%s/../shared/hostlists/%s", srcdir ? srcdir : ".", name);
    file = fopen(line, "r");
    if (file == NULL) {
        tap_skip(name, "shared/hostlists is not here");
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#')
            check(line);
    }
    fclose(file);
}

struct format_row {
    const char *names;
    const char *text;
};

static const struct format_row format_rows[] = {
    {"n1", "n1"},
    {"login,login", "login,login"},
    {"n9,n010", "n[9,010]"},
    {"n10,n011", "n[10,011]"},
    {"n099,n100,n0101", "n[099-100,0101]"},
    {"n99,n100,n0101,n0102", "n[99-100,0101-0102]"},
    {"n0999,n1000,n1001", "n[0999-1001]"},
    {"n5,n4,n5,n6,n6,n7", "n[5,4-6,6-7]"},
    {"a1,a,a2", "a1,a,a2"},
    {"a1,a1", "a[1,1]"},
    {"00,01,1,2", "[00-01,1-2]"},
    {"n18446744073709551614,n18446744073709551615", "n[18446744073709551614-18446744073709551615]"},
    {"n18446744073709551616,n18446744073709551617", "n18446744073709551616,n18446744073709551617"},
    {"n000000000000000000000000000001,n000000000000000000000000000002",
     "n[000000000000000000000000000001-000000000000000000000000000002]"},
};

static void test_format(void)
{
    static const char *const bad[] = {"a b", "", "a,b", "a;b", "a[1]", "a\n", "\xff"};
    struct dtrain_error err = {""};
    char *text = NULL;

    for (size_t i = 0; i < sizeof(format_rows) / sizeof(format_rows[0]); i++)
        check_format(format_rows[i].names, format_rows[i].text);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        tap_ok(dt_hostlist_format(&text, &bad[i], 1, &err) == -1 && text == NULL,
               "format: bad name %zu is refused", i);
    dt_hostlist_format(&text, bad, 2, &err);
    tap_holds(err.text, "hostlist: name 1, 'a b', is no host name: expected 1 to 255",
              "format: the error names it");
    tap_ok(dt_hostlist_format(&text, NULL, 0, &err) == 0 && text[0] == '\0', "format: no names");
    free(text);
}

/* A range longer than dt_hostlist_parse() takes is split. */
static void test_format_split(void)
{
    enum { HOSTS = 70000 };
    static char names[HOSTS][16];
    static const char *list[HOSTS];
    struct dtrain_error err;
    char *text = NULL;

    for (int i = 0; i < HOSTS; i++) {
        snprintf(names[i], sizeof(names[i]), "n%d", i);
        list[i] = names[i];
    }
    tap_ok(dt_hostlist_format(&text, list, HOSTS, &err) == 0 && strcmp(text, "n[0-65535,65536-69999]") == 0,
           "format: a range that is too long is split");
    free(text);
}

static uint32_t random_state = 12345;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * n) >> 32);
}

static int random_name(char *name, size_t size)
{
    static const char *const prefixes[] = {"n", "", "gpu-", "n0", "r1c", "x-"};
    static const char *const suffixes[] = {"", "", "", "", "-ib", "b2"};
    int width = (int)random_below(4);

    return snprintf(name, size, "%s%0*u%s", prefixes[random_below(6)], width,
                    random_below(12) + 95 * random_below(2), suffixes[random_below(6)]);
}

/* Neighbours often follow each other, so that ranges are common. */
static void random_names(char (*names)[32], const char **list, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t first = random_below(120);
        uint32_t run = random_below(5);
        int width = (int)random_below(4);

        random_name(names[i], sizeof(names[i]));
        list[i] = names[i];
        i++;
        for (uint32_t j = 0; j < run && i < n; j++, i++) {
            snprintf(names[i], sizeof(names[i]), "n%0*u", width, first + j);
            list[i] = names[i];
        }
    }
}

static bool same_names(const struct dt_hostlist *list, const char *const *names, uint32_t n)
{
    bool same = dt_hostlist_count(list) == n;

    for (uint32_t i = 0; same && i < n; i++)
        same = strcmp(dt_hostlist_name(list, i), names[i]) == 0;
    return same;
}

static void test_round_trip(void)
{
    static char names[64][32];
    const char *list[64];
    uint32_t failures = 0;

    for (int round = 0; round < PROPERTY_ROUNDS; round++) {
        uint32_t n = 1 + random_below(64);
        struct dt_hostlist *parsed = NULL;
        char *text = NULL;

        random_names(names, list, n);
        if (dt_hostlist_format(&text, list, n, NULL) != 0 || dt_hostlist_parse(&parsed, text, NULL) != 0 ||
            !same_names(parsed, list, n)) {
            failures++;
            printf("# not the same again: %s\n", text);
        }
        dt_hostlist_destroy(parsed);
        free(text);
    }
    tap_ok(failures == 0, "format, then parse, is the identity on %d lists", PROPERTY_ROUNDS);
}

/* ---- Against scontrol --------------------------------------------------- */

static char conf_path[] = "/tmp/hostlist-test-XXXXXX";

/* scontrol wants a configuration, though expanding a list needs no cluster. */
static bool write_conf(void)
{
    static const char conf[] = "ClusterName=test\nSlurmctldHost=localhost\n"
                               "NodeName=n1\nPartitionName=p Nodes=n1\n";
    int fd = mkstemp(conf_path);
    bool ok = fd >= 0 && write(fd, conf, sizeof(conf) - 1) == (ssize_t)(sizeof(conf) - 1);

    if (fd >= 0)
        close(fd);
    return ok && setenv("SLURM_CONF", conf_path, 1) == 0;
}

/* Output of `scontrol show WHAT TEXT` with commas for newlines; NULL when it cannot be had. */
static char *ask_scontrol(const char *what, const char *text)
{
    static char command[TEXT_MAX + 64];
    static char output[16 * TEXT_MAX];
    FILE *pipe;
    size_t n;

    snprintf(command, sizeof(command), "scontrol -- show %s '%s' 2>/dev/null", what, text);
    pipe = popen(command, "r");
    if (pipe == NULL)
        return NULL;
    n = fread(output, 1, sizeof(output) - 1, pipe);
    if (pclose(pipe) != 0 || n == 0)
        return NULL;
    output[n - 1] = '\0';
    for (char *c = output; (c = strchr(c, '\n')) != NULL;)
        *c = ',';
    return output;
}

static int random_bracket(char *to, size_t size)
{
    uint32_t ranges = 1 + random_below(3);
    int n = 0;

    for (uint32_t i = 0; i < ranges; i++) {
        uint32_t low = random_below(12) + 90 * random_below(2);

        n += snprintf(to + n, size - (size_t)n, "%s%0*u", i == 0 ? "[" : ",", (int)random_below(4), low);
        if (random_below(2) == 0)
            n += snprintf(to + n, size - (size_t)n, "-%0*u", (int)random_below(4), low + random_below(4));
    }
    return n + snprintf(to + n, size - (size_t)n, "]");
}

static int random_expression(char *to, size_t size)
{
    static const char *const pieces[] = {"n", "", "gpu-", "r0", "-ib", "x1000c"};
    uint32_t brackets = random_below(5);
    int n = 0;

    if (brackets == 0)
        return random_name(to, size);
    for (uint32_t i = 0; i < brackets; i++) {
        n += snprintf(to + n, size - (size_t)n, "%s", pieces[random_below(6)]);
        n += random_bracket(to + n, size - (size_t)n);
    }
    return n;
}

static void test_scontrol_expand(void)
{
    static char text[TEXT_MAX];
    const char *expected;
    int n = 0;

    for (int i = 0; i < GENERATED_LISTS; i++) {
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", i == 0 ? "" : ",");
        n += random_expression(text + n, sizeof(text) - (size_t)n);
    }
    expected = ask_scontrol("hostnames", text);
    if (tap_ok(expected != NULL, "scontrol expands %d generated expressions", GENERATED_LISTS))
        check_good(text, expected);
}

static void test_scontrol_format(void)
{
    static char names[GENERATED_NAMES][32];
    static const char *list[GENERATED_NAMES];
    static char text[TEXT_MAX];
    const char *expected;
    int n = 0;

    random_names(names, list, GENERATED_NAMES);
    for (int i = 0; i < GENERATED_NAMES; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s", i == 0 ? "" : ",", names[i]);
    expected = ask_scontrol("hostlist", text);
    if (tap_ok(expected != NULL, "scontrol writes %d generated names", GENERATED_NAMES))
        check_format(text, expected);
}

static void test_scontrol(void)
{
    const char *probe;

    if (write_conf() && (probe = ask_scontrol("hostnames", "n1")) != NULL && strcmp(probe, "n1") == 0) {
        test_scontrol_expand();
        test_scontrol_format();
    } else {
        tap_skip("equal to scontrol on generated expressions", "no scontrol that works here");
    }
    unlink(conf_path);
}

int main(void)
{
    test_rows();
    test_limits();
    test_table("hostlists_expand.tsv", check_expand_line);
    test_table("hostlists_compress.tsv", check_compress_line);
    test_format();
    test_format_split();
    test_round_trip();
    test_scontrol();
    return tap_done();
}
