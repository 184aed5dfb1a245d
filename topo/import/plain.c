#include "plain.h"

#include <stdlib.h>
#include <string.h>

#define ESCAPE '\x1b'

/* The size of the escape sequence that begins here: ESC [ parameters letter, or ESC and one byte. */
static size_t escape_size(const char *text, size_t size)
{
    size_t i = 2;

    if (size < 2 || text[1] != '[')
        return size < 2 ? size : 2;
    while (i < size && (unsigned char)text[i] >= ' ' && (unsigned char)text[i] < '@')
        i++;
    return i < size ? i + 1 : i;
}

static void copy_visible(char *to, const char *text, size_t size)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    size_t i = size >= 3 && memcmp(text, byte_order_mark, 3) == 0 ? 3 : 0;

    while (i < size) {
        if (text[i] == ESCAPE) {
            i += escape_size(text + i, size - i);
            continue;
        }
        if (text[i] != '\r')
            *to++ = text[i];
        i++;
    }
    *to = '\0';
}

int dt_plain_copy(char **plain, const char *text, size_t size, struct dtrain_error *err)
{
    if (memchr(text, '\0', size) != NULL)
        return dt_error_set(err, "has a NUL byte: expected plain text (UTF-8)");
    *plain = malloc(size + 1);
    if (*plain == NULL)
        return dt_error_memory(err, size + 1, "a text");
    copy_visible(*plain, text, size);
    return 0;
}

static char *cut(char **rest, const char *ends)
{
    char *start = *rest;
    size_t length = strcspn(start, ends);

    *rest = start + length + (start[length] != '\0');
    start[length] = '\0';
    return start;
}

char *dt_plain_line(char **rest)
{
    return **rest == '\0' ? NULL : cut(rest, "\n");
}

char *dt_plain_filled_line(char **rest)
{
    char *line;

    do
        line = dt_plain_line(rest);
    while (line != NULL && line[strspn(line, " \t")] == '\0');
    return line;
}

char *dt_plain_word(char **rest)
{
    *rest += strspn(*rest, " \t\n");
    return **rest == '\0' ? NULL : cut(rest, " \t\n");
}
