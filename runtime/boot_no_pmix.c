/* Stands for boot_pmix.c in a build without PMIx. */
#include "boot.h"

#include <stdio.h>

static bool pmix_is_available(uint32_t task_count, char *why, size_t size)
{
    (void)task_count;
    snprintf(why, size, "this libdtrain was built without it: configure --with-pmix and build again");
    return false;
}

const struct dt_boot dt_boot_pmix = {
    .name = "PMIx",
    .is_available = pmix_is_available,
};
