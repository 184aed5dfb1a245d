#include "hostlist_term.h"

#include <string.h>

#include "parse.h"

bool dt_hostlist_is_name_byte(char c)
{
    return c > ' ' && c <= '~' && strchr(",;[]", c) == NULL;
}

static uint32_t digits_of(uint64_t number)
{
    uint32_t digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

uint32_t dt_hostlist_number_width(uint64_t number, uint32_t width)
{
    uint32_t digits = digits_of(number);

    return digits > width ? digits : width;
}

/* ---- Reading: each take_ function moves *at behind what it read, or returns what is wrong there. ---- */

const char *dt_hostlist_number_take(uint64_t *number, uint32_t *width, const char **at)
{
    const char *start = *at;

    *number = 0;
    if (!dt_parse_is_digit(**at))
        return "a number is missing";
    for (; dt_parse_is_digit(**at); (*at)++) {
        if (__builtin_mul_overflow(*number, 10u, number) ||
            __builtin_add_overflow(*number, (uint64_t)(**at - '0'), number))
            return "the number is too large";
    }
    if (*at - start > DT_HOSTLIST_NAME_MAX)
        return "the number is too long";
    *width = (uint32_t)(*at - start);
    return NULL;
}

static const char *take_range(struct dt_hostlist_range *range, const char **at)
{
    const char *start = *at;
    const char *wrong = dt_hostlist_number_take(&range->low, &range->width, at);
    uint32_t width;

    range->high = range->low;
    if (wrong != NULL || **at != '-')
        return wrong;
    (*at)++;
    wrong = dt_hostlist_number_take(&range->high, &width, at);
    if (wrong != NULL)
        return wrong;
    if (range->high < range->low || range->high - range->low >= DT_HOSTLIST_RANGE_MAX) {
        *at = start;
        return range->high < range->low ? "the range runs backwards" : "the range has too many hosts";
    }
    return NULL;
}

/* Bytes of all numbers of a range: a sum over the numbers of 1, 2, ... digits. */
static uint64_t range_digits(const struct dt_hostlist_range *range)
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
        sum += (top - low + 1) * dt_hostlist_number_width(low, range->width);
        if (top == range->high)
            return sum;
        low = top + 1;
    }
}

static void bracket_rewind(struct dt_hostlist_bracket *bracket)
{
    bracket->next = bracket->first;
    (void)take_range(&bracket->range, &bracket->next);
    bracket->number = bracket->range.low;
}

static const char *take_bracket(struct dt_hostlist_bracket *bracket, const char **at)
{
    *bracket = (struct dt_hostlist_bracket){.first = *at};
    for (;; (*at)++) {
        struct dt_hostlist_range range;
        const char *wrong = take_range(&range, at);
        size_t width;

        if (wrong != NULL)
            return wrong;
        bracket->count += (uint32_t)(range.high - range.low) + 1;
        if (bracket->count > DT_HOSTLIST_HOSTS_MAX)
            return "there are too many hosts";
        bracket->digits += range_digits(&range);
        width = dt_hostlist_number_width(range.high, range.width);
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
static const char *measure_term(struct dt_hostlist_term *term)
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

const char *dt_hostlist_term_take(struct dt_hostlist_term *term, const char **at)
{
    const char *start = *at;

    for (term->brackets = 0;; term->brackets++) {
        const char *piece = *at;
        const char *wrong;

        while (dt_hostlist_is_name_byte(**at))
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

static bool bracket_advance(struct dt_hostlist_bracket *bracket)
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
void dt_hostlist_term_advance(struct dt_hostlist_term *term)
{
    for (unsigned i = 0; i < term->brackets; i++) {
        if (bracket_advance(&term->bracket[i == 0 ? term->brackets - 1 : i - 1]))
            return;
    }
}

static char *write_number(char *to, uint64_t number, uint32_t width)
{
    uint32_t length = dt_hostlist_number_width(number, width);

    for (uint32_t i = length; i > 0; i--, number /= 10)
        to[i - 1] = (char)('0' + number % 10);
    return to + length;
}

char *dt_hostlist_term_write(char *to, const struct dt_hostlist_term *term)
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
