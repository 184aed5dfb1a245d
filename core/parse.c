#include "parse.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS_PER_SECOND 1000u
#define WORDS_SHOWN_MAX 512 /* bytes of the list of words in an error */

enum digits { DIGITS_NONE, DIGITS_OK, DIGITS_OVERFLOW };

char *dt_parse_shown(char buf[DT_PARSE_SHOWN_MAX + 4], const char *text)
{
    size_t i = 0;

    if (text == NULL)
        text = "";
    for (; i < DT_PARSE_SHOWN_MAX && text[i] != '\0'; i++)
        buf[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    strcpy(buf + i, text[i] == '\0' ? "" : "...");
    return buf;
}

/* Moves *text behind its leading digits, however many there are. */
static enum digits take_digits(const char **text, uint64_t *value)
{
    enum digits result = dt_parse_is_digit(**text) ? DIGITS_OK : DIGITS_NONE;

    *value = 0;
    for (; dt_parse_is_digit(**text); (*text)++) {
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, (uint64_t)(**text - '0'), value))
            result = DIGITS_OVERFLOW;
    }
    return result;
}

int dt_parse_u64(uint64_t *value, const char *text, uint64_t min, uint64_t max, const char *what,
                 struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    const char *end = text == NULL ? "" : text;
    const char *wrong = NULL;
    uint64_t number;
    enum digits digits = take_digits(&end, &number);

    if (text == NULL || *text == '\0')
        wrong = "is empty";
    else if (digits == DIGITS_NONE || *end != '\0')
        wrong = "is not a number";
    else if (digits == DIGITS_OVERFLOW || number > max)
        wrong = "is too large";
    else if (number < min)
        wrong = "is too small";
    if (wrong != NULL)
        return dt_error_set(err, "%s: '%s' %s: expected a number from %" PRIu64 " to %" PRIu64, what,
                            dt_parse_shown(shown, text), wrong, min, max);
    *value = number;
    return 0;
}

int dt_parse_u32(uint32_t *value, const char *text, uint32_t min, uint32_t max, const char *what,
                 struct dtrain_error *err)
{
    uint64_t wide;

    if (dt_parse_u64(&wide, text, min, max, what, err) != 0)
        return -1;
    *value = (uint32_t)wide;
    return 0;
}

/* Moves *text behind the digits of a fraction; what is finer than a millisecond is cut off. */
static enum digits take_fraction_ms(const char **text, uint64_t *ms)
{
    uint64_t unit = MS_PER_SECOND / 10;

    *ms = 0;
    if (!dt_parse_is_digit(**text))
        return DIGITS_NONE;
    for (; dt_parse_is_digit(**text); (*text)++, unit /= 10)
        *ms += unit * (uint64_t)(**text - '0');
    return DIGITS_OK;
}

int dt_parse_seconds_ms(int *value_ms, const char *text, const char *what, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    const char *end = text == NULL ? "" : text;
    const char *wrong = NULL;
    uint64_t seconds;
    uint64_t ms = 0;
    enum digits whole = take_digits(&end, &seconds);
    enum digits fraction = DIGITS_OK;

    if (*end == '.') {
        end++;
        fraction = take_fraction_ms(&end, &ms);
    }
    if (text == NULL || *text == '\0')
        wrong = "is empty";
    else if (whole == DIGITS_NONE || fraction == DIGITS_NONE || *end != '\0')
        wrong = "is not a number of seconds";
    else if (whole == DIGITS_OVERFLOW || seconds > INT32_MAX / MS_PER_SECOND ||
             seconds * MS_PER_SECOND + ms > INT32_MAX)
        wrong = "is too large";
    else if (seconds == 0 && ms == 0)
        wrong = "is too small";
    if (wrong != NULL)
        return dt_error_set(err,
                            "%s: '%s' %s: expected seconds from 0.001 to 2147483.647, for instance 0.5", what,
                            dt_parse_shown(shown, text), wrong);
    *value_ms = (int)(seconds * MS_PER_SECOND + ms);
    return 0;
}

/* "node, any or both"; words past the buffer's end are left out behind "...". */
static char *list_words(char buf[WORDS_SHOWN_MAX], const char *const *words, unsigned n)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        const char *joint = i == 0 ? "" : i + 1 == n ? " or " : ", ";

        if (used + strlen(joint) + strlen(words[i]) + sizeof(", ...") > WORDS_SHOWN_MAX) {
            strcpy(buf + used, ", ...");
            break;
        }
        used += (size_t)snprintf(buf + used, WORDS_SHOWN_MAX - used, "%s%s", joint, words[i]);
    }
    return buf;
}

int dt_parse_word(unsigned *index, const char *text, const char *const *words, unsigned n,
                  const char *what, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char list[WORDS_SHOWN_MAX];

    for (unsigned i = 0; text != NULL && i < n; i++) {
        if (strcmp(text, words[i]) == 0) {
            *index = i;
            return 0;
        }
    }
    return dt_error_set(err, "%s: '%s' %s: expected %s", what, dt_parse_shown(shown, text),
                        text == NULL || *text == '\0' ? "is empty" : "is not known",
                        list_words(list, words, n));
}

struct run {
    uint32_t count;
    uint32_t repeat;
};

/* Reads COUNT or COUNT(xREPEAT). Returns what is wrong, or NULL with *text behind the run. */
static const char *take_run(struct run *run, const char **text, uint32_t max_n, uint32_t max_count)
{
    uint64_t count;
    uint64_t repeat = 1;
    enum digits digits = take_digits(text, &count);

    if (digits == DIGITS_NONE)
        return "has no number";
    if (digits == DIGITS_OVERFLOW || count > max_count)
        return "has a count that is too large";
    if (**text == '(') {
        if ((*text)[1] != 'x')
            return "is malformed";
        *text += 2;
        digits = take_digits(text, &repeat);
        if (digits == DIGITS_NONE || **text != ')')
            return "is malformed";
        if (digits == DIGITS_OVERFLOW || repeat > max_n)
            return "has too many nodes";
        if (repeat == 0)
            return "has a repeat of 0";
        (*text)++;
    }
    *run = (struct run){(uint32_t)count, (uint32_t)repeat};
    return NULL;
}

/* Checks the whole text before a byte is allocated. Returns what is wrong and where, or NULL. */
static const char *count_nodes(uint32_t *n, const char **at, const char *text, uint32_t max_n,
                               uint32_t max_count)
{
    uint32_t total = 0;

    for (*at = text;; (*at)++) {
        struct run run;
        const char *wrong = take_run(&run, at, max_n, max_count);

        if (wrong != NULL)
            return wrong;
        if (run.repeat > max_n - total)
            return "has too many nodes";
        total += run.repeat;
        if (**at == '\0')
            break;
        if (**at != ',')
            return "is malformed";
    }
    *n = total;
    return NULL;
}

static void fill_counts(uint32_t *counts, const char *text)
{
    while (*text != '\0') {
        struct run run;

        (void)take_run(&run, &text, UINT32_MAX, UINT32_MAX);
        while (run.repeat-- > 0)
            *counts++ = run.count;
        text += *text == ',';
    }
}

int dt_parse_task_counts(uint32_t **counts, uint32_t *n, const char *text, uint32_t max_n,
                         uint32_t max_count, const char *what, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    const char *at;
    const char *wrong;
    uint32_t total;
    uint32_t *array;

    if (text == NULL || *text == '\0')
        return dt_error_set(err, "%s: '' is empty: expected task counts such as 2(x3),1", what);
    wrong = count_nodes(&total, &at, text, max_n, max_count);
    if (wrong != NULL)
        return dt_error_set(err,
                            "%s: '%s' %s at byte %zu: expected task counts such as 2(x3),1, at most %" PRIu32
                            " nodes with at most %" PRIu32 " tasks each",
                            what, dt_parse_shown(shown, text), wrong, (size_t)(at - text) + 1, max_n,
                            max_count);
    array = malloc(total * sizeof(*array));
    if (array == NULL)
        return dt_error_memory(err, total * sizeof(*array), what);
    fill_counts(array, text);
    *counts = array;
    *n = total;
    return 0;
}

char *dt_parse_trim(char *text, const char *blanks)
{
    size_t length;

    text += strspn(text, blanks);
    length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}
