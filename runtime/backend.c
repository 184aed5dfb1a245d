#define _GNU_SOURCE /* dladdr */

#include "backend.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "backend_choice.h"
#include "backend_nccl.h"

#define WHY_MAX 256

static const struct dt_backend *find_host(char *why, size_t size)
{
    (void)why;
    (void)size;
    return &dt_backend_host;
}

/* The module lies beside this library, wherever that was installed. */
static int module_path(char path[PATH_MAX])
{
    Dl_info info;
    const char *slash;
    int folder;

    if (dladdr(&dt_backend_host, &info) == 0 || info.dli_fname == NULL)
        return -1;
    slash = strrchr(info.dli_fname, '/');
    folder = slash != NULL ? (int)(slash + 1 - info.dli_fname) : 0;
    if (snprintf(path, PATH_MAX, "%.*s%s", folder, info.dli_fname, DT_BACKEND_NCCL_MODULE) >= PATH_MAX)
        return -1;
    return 0;
}

/* Never unloaded: CUDA's libraries do not survive that. */
static const struct dt_backend *find_nccl(char *why, size_t size)
{
    const struct dt_backend *backend = NULL;
    char path[PATH_MAX];
    void *module;

    if (module_path(path) < 0) {
        snprintf(why, size, "cannot tell where libdtrain lies");
        return NULL;
    }
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module != NULL)
        backend = dlsym(module, DT_BACKEND_NCCL_SYMBOL);
    if (backend == NULL)
        snprintf(why, size, "%s", dlerror());
    return backend;
}

/* In order of preference. */
static const struct {
    enum dt_backend_choice choice;
    const char *name;
    const struct dt_backend *(*find)(char *why, size_t size);
} candidates[] = {
    {DT_BACKEND_NCCL, "nccl", find_nccl},
    {DT_BACKEND_HOST, "host", find_host},
};

const struct dt_backend *dt_backend_choose(enum dt_backend_choice choice, const struct dt_log *log,
                                           struct dtrain_error *err)
{
    char why[WHY_MAX] = "there is none of this name";

    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        const struct dt_backend *backend;

        if (choice != DT_BACKEND_AUTO && choice != candidates[i].choice)
            continue;
        backend = candidates[i].find(why, sizeof(why));
        if (backend != NULL && backend->is_available(why, sizeof(why))) {
            dt_log(log, DT_LOG_INFO, "backend %s chosen, because %s", candidates[i].name,
                   choice == DT_BACKEND_AUTO ? "it is the first that works" : "it was asked for");
            return backend;
        }
        dt_log(log, DT_LOG_INFO, "backend %s tried, but %s", candidates[i].name, why);
    }
    dt_error_set(err, "backend %s: %s: mend that, or use --dtrain-backend=host", dt_backend_words[choice],
                 why);
    return NULL;
}
