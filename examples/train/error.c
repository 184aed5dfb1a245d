#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int error_set(struct dtrain_error *err, const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return -1;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    return -1;
}

int error_memory(struct dtrain_error *err, size_t bytes, const char *what)
{
    return error_set(err, "cannot allocate %zu bytes for %s", bytes, what);
}
