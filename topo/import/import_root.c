/* Which element an XML begins with, without reading it: enough to tell whose it is. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "reader.h"

struct span {
    const char *at, *end;
};

static bool starts(struct span span, const char *words)
{
    return (size_t)(span.end - span.at) >= strlen(words) && memcmp(span.at, words, strlen(words)) == 0;
}

/* Moves behind the words; to the end when they are not there. */
static void skip_past(struct span *span, const char *words)
{
    const char *found = memmem(span->at, (size_t)(span->end - span->at), words, strlen(words));

    span->at = found == NULL ? span->end : found + strlen(words);
}

static void skip_blanks(struct span *span)
{
    while (span->at < span->end && memchr(" \t\r\n", *span->at, 4) != NULL)
        span->at++;
}

/* A DOCTYPE can hold declarations between brackets. */
static void skip_markup(struct span *span)
{
    if (starts(*span, "<!--")) {
        skip_past(span, "-->");
        return;
    }
    while (span->at < span->end && *span->at != '>' && *span->at != '[')
        span->at++;
    if (starts(*span, "["))
        skip_past(span, "]");
    skip_past(span, ">");
}

bool dt_import_has_root(const char *text, size_t size, const char *name)
{
    struct span span = {text, text + size};

    if (starts(span, "\xef\xbb\xbf"))
        span.at += 3;
    for (skip_blanks(&span); starts(span, "<?") || starts(span, "<!"); skip_blanks(&span))
        skip_markup(&span);
    if (!starts(span, "<"))
        return false;
    span.at++;
    return starts(span, name) && span.at + strlen(name) < span.end &&
           memchr(" \t\r\n/>", span.at[strlen(name)], 6) != NULL;
}
