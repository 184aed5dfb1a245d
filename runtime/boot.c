#include "boot.h"

#include <stdio.h>

#define WHY_MAX 256

static const struct dt_boot *const boots[] = {&dt_boot_single, &dt_boot_pmix};

const struct dt_boot *dt_boot_choose(uint32_t task_count, struct dtrain_error *err)
{
    char reasons[sizeof(boots) / sizeof(boots[0]) * (WHY_MAX + 16)] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof(boots) / sizeof(boots[0]); i++) {
        char why[WHY_MAX] = "";

        if (boots[i]->is_available(task_count, why, sizeof(why)))
            return boots[i];
        used += (size_t)snprintf(reasons + used, sizeof(reasons) - used, "%s%s: %s", i > 0 ? "; " : "",
                                 boots[i]->name, why);
    }
    dt_error_set(err, "the %u tasks of this step have no way to meet (%s)", task_count, reasons);
    return NULL;
}
