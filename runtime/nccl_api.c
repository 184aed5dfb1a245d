#define _GNU_SOURCE /* dladdr, RTLD_NOLOAD */
#include "nccl_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OLDEST 21900 /* non-blocking creation inside groups, ncclMemAlloc, ncclCommRegister */

#define FUNCTION(name, since) {"nccl" #name, offsetof(struct dt_nccl_api, name), since}

static const struct {
    const char *name;
    size_t offset;
    int since;
} functions[] = {
    FUNCTION(GetVersion, 0),
    FUNCTION(GetUniqueId, 0),
    FUNCTION(GetErrorString, 0),
    FUNCTION(GetLastError, 0),
    FUNCTION(CommInitRankConfig, 0),
    FUNCTION(CommFinalize, 0),
    FUNCTION(CommDestroy, 0),
    FUNCTION(CommAbort, 0),
    FUNCTION(CommGetAsyncError, 0),
    FUNCTION(GroupStart, 0),
    FUNCTION(GroupEnd, 0),
    FUNCTION(AllReduce, 0),
    FUNCTION(Broadcast, 0),
    FUNCTION(ReduceScatter, 0),
    FUNCTION(AllGather, 0),
    FUNCTION(Send, 0),
    FUNCTION(Recv, 0),
    FUNCTION(MemAlloc, 0),
    FUNCTION(MemFree, 0),
    FUNCTION(CommRegister, 0),
    FUNCTION(CommDeregister, 0),
    FUNCTION(CommInitRankScalable, 22300),
    FUNCTION(CommWindowRegister, 22700),
    FUNCTION(CommWindowDeregister, 22700),
    FUNCTION(CommRevoke, 22807),
};
#define FUNCTION_COUNT (sizeof(functions) / sizeof(functions[0]))

/* Filled once, by the first call; read only from then on. A process has one NCCL. */
static struct {
    pthread_once_t once;
    int rc;
    struct dt_nccl_api api;
    struct dtrain_error error;
} found = {.once = PTHREAD_ONCE_INIT, .rc = -1};

char *dt_nccl_version_text(char text[DT_BACKEND_VERSION_MAX], int version)
{
    snprintf(text, DT_BACKEND_VERSION_MAX, "%d.%d.%d", version / 10000 % 100, version / 100 % 100,
             version % 100);
    return text;
}

int dt_nccl_api_refuse(const struct dt_nccl_api *api, const char *what, int since, struct dtrain_error *err)
{
    char text[DT_BACKEND_VERSION_MAX];

    return dt_error_set(err, "%s needs NCCL %s, this is %s (%s)", what, dt_nccl_version_text(text, since),
                        api->version_text, api->path);
}

static void *open_library(struct dt_nccl_api *api)
{
    void *library = dlopen(DT_NCCL_LIBRARY, RTLD_NOW | RTLD_NOLOAD);

    api->was_loaded = library != NULL;
    return library != NULL ? library : dlopen(DT_NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

static void name_library(struct dt_nccl_api *api)
{
    Dl_info info;
    void *symbol;

    memcpy(&symbol, &api->GetVersion, sizeof(symbol));
    snprintf(api->path, sizeof(api->path), "%s",
             dladdr(symbol, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : DT_NCCL_LIBRARY);
}

static int read_version(struct dt_nccl_api *api, void *library, struct dtrain_error *err)
{
    void *symbol = dlsym(library, "ncclGetVersion");
    ncclResult_t result;

    if (symbol == NULL)
        return dt_error_set(err, "%s has no ncclGetVersion: expected NCCL 2.19 or newer", DT_NCCL_LIBRARY);
    memcpy(&api->GetVersion, &symbol, sizeof(symbol));
    name_library(api);
    result = api->GetVersion(&api->version);
    if (result != ncclSuccess)
        return dt_error_set(err, "ncclGetVersion of %s failed (%d)", api->path, (int)result);
    dt_nccl_version_text(api->version_text, api->version);
    if (api->version < OLDEST)
        return dt_error_set(err, "NCCL %s (%s) is too old: expected 2.19 or newer", api->version_text,
                            api->path);
    return 0;
}

static int find_functions(struct dt_nccl_api *api, void *library, struct dtrain_error *err)
{
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        void *symbol = functions[i].since <= api->version ? dlsym(library, functions[i].name) : NULL;

        if (symbol == NULL && functions[i].since <= api->version)
            return dt_error_set(err, "NCCL %s (%s) has no %s: expected a whole library", api->version_text,
                                api->path, functions[i].name);
        memcpy((char *)api + functions[i].offset, &symbol, sizeof(symbol));
    }
    return 0;
}

static void find(void)
{
    void *library = open_library(&found.api);

    if (library == NULL)
        dt_error_set(&found.error, "%s cannot be loaded: %s", DT_NCCL_LIBRARY, dlerror());
    else if (read_version(&found.api, library, &found.error) == 0)
        found.rc = find_functions(&found.api, library, &found.error);
}

const struct dt_nccl_api *dt_nccl_api(struct dtrain_error *err)
{
    pthread_once(&found.once, find);
    if (found.rc == 0)
        return &found.api;
    dt_error_set(err, "%s", found.error.text);
    return NULL;
}
