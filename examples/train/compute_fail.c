/* Apart from compute.c, so that a module has its own. */
#include <stdarg.h>
#include <stdio.h>

#include "compute.h"

void compute_fail(struct compute *c, const char *fmt, ...)
{
    va_list args;

    if (c->failed)
        return;
    c->failed = true;
    va_start(args, fmt);
    vsnprintf(c->failure.text, sizeof(c->failure.text), fmt, args);
    va_end(args);
}
