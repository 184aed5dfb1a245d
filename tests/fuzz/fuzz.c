#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *dt_fuzz_text(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);

    dt_fuzz_require(text != NULL, "memory for the input");
    if (n > 0)
        memcpy(text, data, n);
    text[n] = '\0';
    return text;
}

void dt_fuzz_require(bool holds, const char *promise)
{
    if (holds)
        return;
    fprintf(stderr, "%s: broken promise: %s\n", dt_fuzz_name, promise);
    abort();
}
