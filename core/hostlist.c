#include "hostlist.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

#define FORMAT_EXTRA_MAX 3   /* bytes that a name costs beside itself: its comma, "[" and "]" */
#define SHOWN_BEFORE 32      /* bytes shown in front of a mistake */

struct dt_hostlist {
    uint32_t count;
    uint32_t *offsets; /* of each name in names; the arena is one block with the list */
    char *names;
};

/* LOW-HIGH or LOW: numbers are printed with LOW's width at least. */
struct range {
    uint64_t low, high;
    uint32_t width;
};

/* [RANGE,...]: the numbers of it that the product stands at. */
struct bracket {
    const char *first; /* behind the "[" */
    const char *next;  /* behind the current range */
    struct range range;
    uint64_t number;
    uint32_t count;  /* numbers in all */
    uint64_t digits; /* bytes of all of them */
    size_t width;    /* bytes of the longest one */
};

/* Text and brackets in turn: piece[0] bracket[0] piece[1] ...; no name ends in text behind a bracket. */
struct term {
    struct {
        const char *text;
        size_t length;
    } piece[DT_HOSTLIST_BRACKETS_MAX + 1];
    struct bracket bracket[DT_HOSTLIST_BRACKETS_MAX];
    unsigned brackets;
    uint64_t count; /* names */
    uint64_t bytes; /* of all names with their NULs */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
    return c > ' ' && c <= '~' && c != ',' && c != '[' && c != ']';
}

static uint32_t digits_of(uint64_t number)
{
    uint32_t digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

static uint32_t printed_width(uint64_t number, uint32_t width)
{
    uint32_t digits = digits_of(number);

    return digits > width ? digits : width;
}

/* ---- Reading: each take_ function moves *at behind what it read, or returns what is wrong there. ---- */

static const char *take_number(uint64_t *number, uint32_t *width, const char **at)
{
    const char *start = *at;

    *number = 0;
    if (!is_digit(**at))
        return "a number is missing";
    for (; is_digit(**at); (*at)++) {
        if (__builtin_mul_overflow(*number, 10u, number) ||
            __builtin_add_overflow(*number, (uint64_t)(**at - '0'), number))
            return "the number is too large";
    }
    if (*at - start > DT_HOSTLIST_NAME_MAX)
        return "the number is too long";
    *width = (uint32_t)(*at - start);
    return NULL;
}

static const char *take_range(struct range *range, const char **at)
{
    const char *start = *at;
    const char *wrong = take_number(&range->low, &range->width, at);
    uint32_t width;

    range->high = range->low;
    if (wrong != NULL || **at != '-')
        return wrong;
    (*at)++;
    wrong = take_number(&range->high, &width, at);
    if (wrong != NULL)
        return wrong;
    if (range->high < range->low || range->high - range->low >= DT_HOSTLIST_RANGE_MAX) {
        *at = start;
        return range->high < range->low ? "the range runs backwards" : "the range has too many hosts";
    }
    return NULL;
}

/* Bytes of all numbers of a range: a sum over the numbers of 1, 2, ... digits. */
static uint64_t range_digits(const struct range *range)
{
    uint64_t low = range->low;
    uint64_t sum = 0;

    for (;;) {
        uint32_t digits = digits_of(low);
        uint64_t top = range->high;

        if (digits < digits_of(range->high)) {
            top = 9;
            for (uint32_t i = 1; i < digits; i++)
                top = top * 10 + 9;
        }
        sum += (top - low + 1) * printed_width(low, range->width);
        if (top == range->high)
            return sum;
        low = top + 1;
    }
}

static void bracket_rewind(struct bracket *bracket)
{
    bracket->next = bracket->first;
    (void)take_range(&bracket->range, &bracket->next);
    bracket->number = bracket->range.low;
}

static const char *take_bracket(struct bracket *bracket, const char **at)
{
    *bracket = (struct bracket){.first = *at};
    for (;; (*at)++) {
        struct range range;
        const char *wrong = take_range(&range, at);
        size_t width;

        if (wrong != NULL)
            return wrong;
        bracket->count += (uint32_t)(range.high - range.low) + 1;
        if (bracket->count > DT_HOSTLIST_HOSTS_MAX)
            return "there are too many hosts";
        bracket->digits += range_digits(&range);
        width = printed_width(range.high, range.width);
        if (width > bracket->width)
            bracket->width = width;
        if (**at != ',')
            break;
    }
    if (**at != ']')
        return **at == '\0' ? "a '[' is not closed" : "only digits, '-' and ',' may stand in brackets";
    (*at)++;
    bracket_rewind(bracket);
    return NULL;
}

/* What the product of the term's brackets needs, before anything of it is made. */
static const char *measure_term(struct term *term)
{
    size_t text = 0;
    size_t longest = 0;

    term->count = 1;
    for (unsigned i = 0; i <= term->brackets; i++)
        text += term->piece[i].length;
    for (unsigned i = 0; i < term->brackets; i++) {
        longest += term->bracket[i].width;
        term->count *= term->bracket[i].count;
        if (term->count > DT_HOSTLIST_HOSTS_MAX)
            return "there are too many hosts";
    }
    if (text + longest > DT_HOSTLIST_NAME_MAX)
        return "the name is too long";
    term->bytes = term->count * (text + 1);
    for (unsigned i = 0; i < term->brackets; i++)
        term->bytes += term->count / term->bracket[i].count * term->bracket[i].digits;
    return NULL;
}

static const char *wrong_byte(char c)
{
    if (c == ' ' || c == '\t' || c == '\n')
        return "a blank";
    return c == ']' ? "a ']' without its '['" : "a byte that no name has";
}

static const char *take_term(struct term *term, const char **at)
{
    const char *start = *at;

    for (term->brackets = 0;; term->brackets++) {
        const char *piece = *at;
        const char *wrong;

        while (is_name_byte(**at))
            (*at)++;
        term->piece[term->brackets].text = piece;
        term->piece[term->brackets].length = (size_t)(*at - piece);
        if (**at != '[')
            break;
        if (term->brackets == DT_HOSTLIST_BRACKETS_MAX)
            return "the name has too many brackets";
        (*at)++;
        wrong = take_bracket(&term->bracket[term->brackets], at);
        if (wrong != NULL)
            return wrong;
    }
    if (**at != '\0' && **at != ',')
        return wrong_byte(**at);
    if (*at == start)
        return "an empty name";
    if (term->brackets > 0 && term->piece[term->brackets].length > 0) {
        *at -= term->piece[term->brackets].length;
        return "a name must end with its last bracket, as Slurm has it";
    }
    return measure_term(term);
}

/* ---- Expansion --------------------------------------------------------- */

static bool bracket_advance(struct bracket *bracket)
{
    if (bracket->number < bracket->range.high) {
        bracket->number++;
        return true;
    }
    if (*bracket->next != ',') {
        bracket_rewind(bracket);
        return false;
    }
    bracket->next++;
    (void)take_range(&bracket->range, &bracket->next);
    bracket->number = bracket->range.low;
    return true;
}

/* Slurm's order of the product: the last bracket fastest, then the first, the second, and so on. */
static void term_advance(struct term *term)
{
    for (unsigned i = 0; i < term->brackets; i++) {
        if (bracket_advance(&term->bracket[i == 0 ? term->brackets - 1 : i - 1]))
            return;
    }
}

static char *write_number(char *to, uint64_t number, uint32_t width)
{
    uint32_t length = printed_width(number, width);

    for (uint32_t i = length; i > 0; i--, number /= 10)
        to[i - 1] = (char)('0' + number % 10);
    return to + length;
}

static char *write_name(char *to, const struct term *term)
{
    for (unsigned i = 0;; i++) {
        memcpy(to, term->piece[i].text, term->piece[i].length);
        to += term->piece[i].length;
        if (i == term->brackets)
            break;
        to = write_number(to, term->bracket[i].number, term->bracket[i].range.width);
    }
    *to++ = '\0';
    return to;
}

static void expand(struct dt_hostlist *list, const char *at)
{
    char *to = list->names;
    uint32_t i = 0;

    while (i < list->count) {
        struct term term;

        (void)take_term(&term, &at);
        for (uint64_t n = term.count; n > 0; n--) {
            list->offsets[i++] = (uint32_t)(to - list->names);
            to = write_name(to, &term);
            term_advance(&term);
        }
        at++;
    }
}

static const char *measure(uint64_t *count, uint64_t *bytes, const char **at)
{
    *count = 0;
    *bytes = 0;
    for (;; (*at)++) {
        struct term term;
        const char *wrong = take_term(&term, at);

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

    while (split.prefix > 0 && is_digit(name[split.prefix - 1]))
        split.prefix--;
    digits = name + split.prefix;
    if (take_number(&split.number, &split.width, &digits) != NULL)
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
           printed_width(next->number, first->width) == next->width;
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

    while (is_name_byte(name[length]))
        length++;
    if (name[length] == '\0' && length > 0 && length <= DT_HOSTLIST_NAME_MAX)
        return 0;
    return dt_error_set(err,
                        "hostlist: name %" PRIu32 ", '%s', is no host name: expected 1 to %d printable bytes "
                        "without blanks, commas and brackets",
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
