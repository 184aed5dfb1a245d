#include "random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

int dt_random_fill(void *bytes, size_t size, struct dtrain_error *err)
{
    unsigned char *at = bytes;

    while (size > 0) {
        ssize_t n = getrandom(at, size, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dt_error_set(err, "getrandom of %zu bytes: %s", size, strerror(errno));
        at += n;
        size -= (size_t)n;
    }
    return 0;
}
