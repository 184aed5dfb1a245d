#include "compute.h"

#include <string.h>

#include "error.h"

static const struct compute *const implementations[] = {
    &compute_cpu,
};

int compute_choose(const struct compute **compute, const char *backend, struct dtrain_error *err)
{
    for (size_t i = 0; i < sizeof(implementations) / sizeof(implementations[0]); i++) {
        *compute = implementations[i];
        if (strcmp((*compute)->backend, backend) == 0)
            return 0;
    }
    return error_set(err,
                     "the %s backend moves memory that this build of train cannot compute on: use "
                     "--dtrain-backend=host",
                     backend);
}
