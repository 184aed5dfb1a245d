#include "hostlist.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hostlist_term.h"
#include "parse.h"

#define FORMAT_EXTRA_MAX 3 /* bytes that a name costs beside itself: its comma, "[" and "]" */
#define SHOWN_BEFORE 32    /* bytes shown in front of a mistake */

struct dt_hostlist {
    uint32_t count;
    uint32_t *offsets; /* of each name in names; the arena is one block with the list */
    char *names;
};

static void expand(struct dt_hostlist *list, const char *at)
{
    char *to = list->names;
    uint32_t i = 0;

    while (i < list->count) {
        struct dt_hostlist_term term;

        (void)dt_hostlist_term_take(&term, &at);
        for (uint64_t n = term.count; n > 0; n--) {
            list->offsets[i++] = (uint32_t)(to - list->names);
            to = dt_hostlist_term_write(to, &term);
            dt_hostlist_term_advance(&term);
        }
        at++;
    }
}

static const char *measure(uint64_t *count, uint64_t *bytes, const char **at)
{
    *count = 0;
    *bytes = 0;
    for (;; (*at)++) {
        struct dt_hostlist_term term;
        const char *wrong = dt_hostlist_term_take(&term, at);

        if (wrong != NULL)
            return wrong;
        *count += term.count;
        *bytes += term.bytes;
        if (*count > DT_HOSTLIST_HOSTS_MAX)
            return "there are too many hosts";
        if (*bytes > DT_HOSTLIST_BYTES_MAX)
            return "the names are too long together";
        if (**at == '\0')
            return NULL;
    }
}

static struct dt_hostlist *allocate(uint32_t count, uint64_t bytes, struct dtrain_error *err)
{
    size_t size = sizeof(struct dt_hostlist) + count * sizeof(uint32_t) + bytes;
    struct dt_hostlist *list = malloc(size);

    if (list == NULL) {
        dt_error_memory(err, size, "a hostlist");
        return NULL;
    }
    list->count = count;
    list->offsets = (uint32_t *)(list + 1);
    list->names = (char *)(list->offsets + count);
    return list;
}

static int refuse(const char *wrong, const char *text, const char *at, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    bool cut = at - text > SHOWN_BEFORE;

    return dt_error_set(err, "hostlist '%s%s': %s at byte %zu: expected node names such as n[1-3,07],login1",
                        cut ? "..." : "", dt_parse_shown(shown, cut ? at - SHOWN_BEFORE : text), wrong,
                        (size_t)(at - text) + 1);
}

int dt_hostlist_parse(struct dt_hostlist **list, const char *text, struct dtrain_error *err)
{
    const char *at = text == NULL ? "" : text;
    const char *start = at;
    uint64_t count;
    uint64_t bytes;
    const char *wrong = measure(&count, &bytes, &at);
    struct dt_hostlist *made;

    if (wrong != NULL)
        return refuse(wrong, start, at, err);
    made = allocate((uint32_t)count, bytes, err);
    if (made == NULL)
        return -1;
    expand(made, start);
    *list = made;
    return 0;
}

void dt_hostlist_destroy(struct dt_hostlist *list)
{
    free(list);
}

uint32_t dt_hostlist_count(const struct dt_hostlist *list)
{
    return list->count;
}

const char *dt_hostlist_name(const struct dt_hostlist *list, uint32_t i)
{
    return i < list->count ? list->names + list->offsets[i] : NULL;
}

/* ---- Format ------------------------------------------------------------ */

/* A name as a prefix and its trailing number; width 0: none that a uint64_t holds. */
struct split {
    const char *name;
    size_t prefix;
    uint64_t number;
    uint32_t width;
};

static struct split split_name(const char *name)
{
    struct split split = {.name = name, .prefix = strlen(name)};
    const char *digits;

    while (split.prefix > 0 && dt_parse_is_digit(name[split.prefix - 1]))
        split.prefix--;
    digits = name + split.prefix;
    if (dt_hostlist_number_take(&split.number, &split.width, &digits) != NULL)
        split.width = 0;
    return split;
}

static bool share_bracket(const struct split *a, const struct split *b)
{
    return a->width > 0 && b->width > 0 && a->prefix == b->prefix &&
           memcmp(a->name, b->name, a->prefix) == 0;
}

/* Whether the range that starts at first and ends one before next, as printed, goes on with next. */
static bool continues(const struct split *first, uint64_t hosts, const struct split *next)
{
    return hosts < DT_HOSTLIST_RANGE_MAX && next->number >= hosts && next->number - hosts == first->number &&
           dt_hostlist_number_width(next->number, first->width) == next->width;
}

static char *write_text(char *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

static char *write_ranges(char *to, const char *const *names, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        struct split first = split_name(names[i]);
        struct split last = first;
        uint32_t start = i++;

        for (; i < n; i++) {
            struct split next = split_name(names[i]);

            if (!continues(&first, i - start, &next))
                break;
            last = next;
        }
        to = write_text(to, first.name + first.prefix, first.width);
        if (i - start > 1) {
            *to++ = '-';
            to = write_text(to, last.name + last.prefix, last.width);
        }
        *to++ = ',';
    }
    return to - 1;
}

/* Writes the names at the start of the array that go into one bracket; *n: how many there were. */
static char *write_group(char *to, const char *const *names, uint32_t *n)
{
    struct split first = split_name(names[0]);
    uint32_t count = 1;

    for (; count < *n; count++) {
        struct split next = split_name(names[count]);

        if (!share_bracket(&first, &next))
            break;
    }
    *n = count;
    if (count == 1)
        return write_text(to, names[0], strlen(names[0]));
    to = write_text(to, first.name, first.prefix);
    *to++ = '[';
    to = write_ranges(to, names, count);
    *to++ = ']';
    return to;
}

static int check_name(const char *name, uint32_t i, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    size_t length = 0;

    while (dt_hostlist_is_name_byte(name[length]))
        length++;
    if (name[length] == '\0' && length > 0 && length <= DT_HOSTLIST_NAME_MAX)
        return 0;
    return dt_error_set(err,
                        "hostlist: name %" PRIu32 ", '%s', is no host name: expected 1 to %d printable bytes "
                        "without blanks, ',', ';', '[' and ']'",
                        i + 1, dt_parse_shown(shown, name), DT_HOSTLIST_NAME_MAX);
}

static int check_names(size_t *bytes, const char *const *names, uint32_t n, struct dtrain_error *err)
{
    *bytes = 0;
    if (n > DT_HOSTLIST_HOSTS_MAX)
        return dt_error_set(err, "hostlist: %" PRIu32 " names are too many: expected at most %u", n,
                            DT_HOSTLIST_HOSTS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (check_name(names[i], i, err) != 0)
            return -1;
        *bytes += strlen(names[i]) + 1;
    }
    if (*bytes > DT_HOSTLIST_BYTES_MAX)
        return dt_error_set(err, "hostlist: %zu bytes of names are too many: expected at most %u", *bytes,
                            DT_HOSTLIST_BYTES_MAX);
    return 0;
}

int dt_hostlist_format(char **text, const char *const *names, uint32_t n, struct dtrain_error *err)
{
    size_t bytes;
    char *made;
    char *to;

    if (check_names(&bytes, names, n, err) != 0)
        return -1;
    bytes += (size_t)n * FORMAT_EXTRA_MAX + 1;
    made = malloc(bytes);
    if (made == NULL)
        return dt_error_memory(err, bytes, "a hostlist");
    to = made;
    for (uint32_t i = 0, count; i < n; i += count) {
        count = n - i;
        if (i > 0)
            *to++ = ',';
        to = write_group(to, names + i, &count);
    }
    *to = '\0';
    *text = made;
    return 0;
}
