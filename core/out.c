#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define U64_DIGITS_MAX 20
#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

void dt_out_init(struct dt_out *out, int (*write)(void *, const char *, size_t), void *context)
{
    out->write = write;
    out->context = context;
    out->failed = 0;
    out->used = 0;
}

static void drain(struct dt_out *out)
{
    size_t n = out->used;

    out->used = 0;
    if (n == 0 || out->failed != 0)
        return;
    errno = 0;
    if (out->write(out->context, out->buffer, n) != 0)
        out->failed = errno != 0 ? errno : EIO;
}

static void put_in_parts(struct dt_out *out, const char *text, size_t n)
{
    while (n > 0 && out->failed == 0) {
        size_t room = DT_OUT_BUFFER - out->used;
        size_t part = n < room ? n : room;

        memcpy(out->buffer + out->used, text, part);
        out->used += part;
        text += part;
        n -= part;
        if (out->used == DT_OUT_BUFFER)
            drain(out);
    }
}

static inline void put(struct dt_out *out, const char *text, size_t n)
{
    if (n >= DT_OUT_BUFFER - out->used) {
        put_in_parts(out, text, n);
        return;
    }
    memcpy(out->buffer + out->used, text, n);
    out->used += n;
}

void dt_out_text(struct dt_out *out, const char *text)
{
    put(out, text, strlen(text));
}

void dt_out_u64(struct dt_out *out, uint64_t value)
{
    uint64_t limit = 10;
    size_t n = 1;

    for (; n < U64_DIGITS_MAX && value >= limit; n++)
        limit *= 10;
    if (DT_OUT_BUFFER - out->used <= U64_DIGITS_MAX)
        drain(out);
    out->used += n;
    for (char *at = out->buffer + out->used; n > 0; n--) {
        *--at = (char)('0' + value % 10);
        value /= 10;
    }
}

/* What does not fit the stack is formatted a second time, so that no text is ever cut. */
static void DT_PRINTF(3, 0) put_long(struct dt_out *out, size_t n, const char *fmt, va_list args)
{
    char *text = malloc(n + 1);

    if (text == NULL) {
        out->failed = ENOMEM;
        return;
    }
    vsnprintf(text, n + 1, fmt, args);
    put(out, text, n);
    free(text);
}

void dt_out_printf(struct dt_out *out, const char *fmt, ...)
{
    char text[512];
    va_list args, again;
    int n;

    if (out->failed != 0)
        return;
    va_start(args, fmt);
    va_copy(again, args);
    n = vsnprintf(text, sizeof(text), fmt, args);
    if (n < 0)
        out->failed = errno != 0 ? errno : EINVAL;
    else if ((size_t)n < sizeof(text))
        put(out, text, (size_t)n);
    else
        put_long(out, (size_t)n, fmt, again);
    va_end(again);
    va_end(args);
}

/* Bytes that follow the lead byte of a UTF-8 sequence; -1: no lead byte of a valid one. */
static int utf8_tail(unsigned char lead)
{
    if (lead >= 0xC2 && lead <= 0xDF)
        return 1;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 2;
    if (lead >= 0xF0 && lead <= 0xF4)
        return 3;
    return -1;
}

/* Surrogates, overlong forms and code points past U+10FFFF show in the second byte. */
static bool is_second_byte(unsigned char lead, unsigned char second)
{
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;

    return second >= low && second <= high;
}

/* Bytes of the valid sequence of two or more bytes at `at`; 0: there is none. */
static size_t utf8_length(const unsigned char *at)
{
    int tail = utf8_tail(at[0]);

    if (tail < 0 || !is_second_byte(at[0], at[1]))
        return 0;
    for (int i = 2; i <= tail; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    return (size_t)tail + 1;
}

static size_t put_json_char(struct dt_out *out, const unsigned char *at)
{
    char escaped[8] = {'\\', (char)at[0], '\0'};
    size_t n;

    if (at[0] < 0x20)
        snprintf(escaped, sizeof(escaped), "\\u%04x", at[0]);
    if (at[0] < 0x20 || at[0] == '"' || at[0] == '\\') {
        dt_out_text(out, escaped);
        return 1;
    }
    n = at[0] < 0x80 ? 1 : utf8_length(at);
    if (n == 0)
        dt_out_text(out, REPLACEMENT);
    else
        put(out, (const char *)at, n);
    return n > 0 ? n : 1;
}

void dt_out_json(struct dt_out *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    put(out, "\"", 1);
    while (*at != '\0')
        at += put_json_char(out, at);
    put(out, "\"", 1);
}

int dt_out_flush(struct dt_out *out, struct dtrain_error *err)
{
    drain(out);
    if (out->failed != 0)
        return dt_error_set(err, "cannot write the output: %s", strerror(out->failed));
    return 0;
}
