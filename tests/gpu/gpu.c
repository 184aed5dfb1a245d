#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "tests/unit/tap.h"

enum { ENOUGH_MS = 120000 };

struct dt_backend gpu_backend;

static bool load(char *why, size_t size)
{
    const char *folder = getenv("DT_BUILDDIR");
    const struct dt_backend *backend = NULL;
    char path[4096];
    void *module;

    snprintf(path, sizeof(path), "%s/%s", folder != NULL ? folder : ".", gpu_kind.backend);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module != NULL)
        backend = dlsym(module, "dt_backend_nccl");
    if (backend == NULL) {
        snprintf(why, size, "%s", dlerror());
        return false;
    }
    gpu_backend = *backend;
    return true;
}

static void tell(int fd, char *why, size_t size)
{
    int count = 0;

    if (!gpu_backend.is_available(why, size) || cudaGetDeviceCount(&count) != cudaSuccess)
        count = 0;
    if (write(fd, &count, sizeof(count)) < 0 || write(fd, why, size) < 0)
        _exit(1);
    _exit(0);
}

int gpu_count(char *why, size_t size)
{
    int count = 0, ends[2];
    pid_t child;

    memset(why, 0, size);
    if (!load(why, size) || pipe(ends) != 0)
        return 0;
    child = fork();
    if (child == 0)
        tell(ends[1], why, size);
    close(ends[1]);
    if (read(ends[0], &count, sizeof(count)) != sizeof(count) || read(ends[0], why, size) < 0)
        count = 0;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return count;
}

int gpu_skip(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    return 0;
}

bool gpu_run(const char *name, struct fork_layout layout, fork_body *body)
{
    struct fork_row row = {
        .name = name,
        .layout = layout,
        .timeout_ms = ENOUGH_MS,
        .body = body,
        .words = {"well"},
        .backend = &gpu_backend,
    };

    return fork_check(&row);
}
