#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void mark_truncation(struct dtrain_error *err, int length)
{
    if (length >= DTRAIN_ERROR_MAX)
        memcpy(err->text + DTRAIN_ERROR_MAX - 4, "...", 4);
}

int dt_error_set(struct dtrain_error *err, const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return -1;
    va_start(args, fmt);
    mark_truncation(err, vsnprintf(err->text, sizeof(err->text), fmt, args));
    va_end(args);
    return -1;
}

int dt_error_prefix(struct dtrain_error *err, const char *fmt, ...)
{
    struct dtrain_error old;
    char prefix[256];
    va_list args;

    if (err == NULL)
        return -1;
    old = *err;
    va_start(args, fmt);
    vsnprintf(prefix, sizeof(prefix), fmt, args);
    va_end(args);
    return dt_error_set(err, "%s: %s", prefix, old.text);
}

int dt_error_memory(struct dtrain_error *err, size_t bytes, const char *what)
{
    return dt_error_set(err, "cannot allocate %zu bytes for %s", bytes, what);
}
