#include "shared_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool shared_file_path(char *path, size_t size, const char *name)
{
    const char *srcdir = getenv("DT_SRCDIR");
    int n = snprintf(path, size, "%s/../shared/%s", srcdir != NULL ? srcdir : ".", name);

    return n > 0 && (size_t)n < size && access(path, R_OK) == 0;
}
