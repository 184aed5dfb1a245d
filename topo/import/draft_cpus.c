/* CPU lists and masks: bounded, and refused as soon as something is not understood. */
#include <ctype.h>
#include <string.h>

#include "core/parse.h"
#include "draft.h"

#define MASK_WORD_DIGITS 8u
#define MASK_WORD_BITS 32u

static bool take_number(const char **text, unsigned *value)
{
    const char *start = *text;

    for (*value = 0; isdigit((unsigned char)**text) && *value < DT_DRAFT_CPUS_MAX; (*text)++)
        *value = *value * 10 + (unsigned)(**text - '0');
    return *text != start && *value < DT_DRAFT_CPUS_MAX;
}

static bool take_range(const char **text, unsigned *first, unsigned *last)
{
    if (!take_number(text, first))
        return false;
    *last = *first;
    if (**text != '-')
        return true;
    (*text)++;
    return take_number(text, last) && *last >= *first;
}

int dt_draft_cpus_list(hwloc_bitmap_t cpus, const char *text, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    const char *at = text + strspn(text, " \t");
    unsigned first, last;
    bool is_read;

    do {
        is_read = take_range(&at, &first, &last);
        if (is_read && hwloc_bitmap_set_range(cpus, first, (int)last) != 0)
            return dt_error_memory(err, DT_DRAFT_CPUS_MAX / 8, "a set of CPUs");
    } while (is_read && *at == ',' && at++);
    if (!is_read || at[strspn(at, " \t")] != '\0')
        return dt_error_set(err, "'%s' is not a list of CPUs: expected numbers below %u such as 0-15,128-143",
                            dt_parse_shown(shown, text), DT_DRAFT_CPUS_MAX);
    return 0;
}

static int hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, tolower((unsigned char)c));

    return at == NULL ? -1 : (int)(at - digits);
}

/* One hexadecimal word from the end of the text before `end`; false when it is none. */
static bool take_word(uint32_t *word, const char *text, size_t *end)
{
    size_t digits = 0;

    for (*word = 0; *end > 0 && text[*end - 1] != ','; (*end)--, digits++) {
        int value = hex_value(text[*end - 1]);

        if (value < 0 || digits == MASK_WORD_DIGITS)
            return false;
        *word |= (uint32_t)value << (4 * digits);
    }
    return digits > 0;
}

int dt_draft_cpus_mask(hwloc_bitmap_t cpus, const char *text, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    size_t end = strlen(text);
    uint32_t word;

    for (unsigned base = 0; base < DT_DRAFT_CPUS_MAX && take_word(&word, text, &end);
         base += MASK_WORD_BITS) {
        for (unsigned bit = 0; bit < MASK_WORD_BITS; bit++)
            if ((word >> bit & 1) != 0 && hwloc_bitmap_set(cpus, base + bit) != 0)
                return dt_error_memory(err, DT_DRAFT_CPUS_MAX / 8, "a set of CPUs");
        if (end == 0)
            return 0;
        end--;
    }
    return dt_error_set(
        err, "'%s' is not a mask of CPUs: expected words such as 000000ff,ffff0000 for at most %u CPUs",
        dt_parse_shown(shown, text), DT_DRAFT_CPUS_MAX);
}
