#define _GNU_SOURCE
#include "compute.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

enum dtrain_type compute_main_type(enum dtrain_type type)
{
    return type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

/* COMPUTE_MODULE in the folder of the running program. */
static int module_path(char *path, size_t size, struct dtrain_error *err)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (length < 0)
        return error_set(err, "cannot tell where this program lies, for " COMPUTE_MODULE " beside it: %m");
    program[length] = '\0';
    if ((size_t)snprintf(path, size, "%s/" COMPUTE_MODULE, dirname(program)) >= size)
        return error_set(err, "the path of " COMPUTE_MODULE " beside this program is too long");
    return 0;
}

static int open_module(struct compute *c, struct dtrain_error *err)
{
    char path[PATH_MAX];
    compute_open_function *open;

    if (module_path(path, sizeof(path), err) != 0)
        return -1;
    c->module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (c->module == NULL)
        return error_set(err,
                         "the nccl backend moves memory that only " COMPUTE_MODULE " computes on: %s: build "
                         "train with CUDA, or use --dtrain-backend=host",
                         dlerror());
    *(void **)&open = dlsym(c->module, COMPUTE_MODULE_SYMBOL);
    if (open == NULL)
        return error_set(err, "%s has no " COMPUTE_MODULE_SYMBOL "(): it is no module of this program", path);
    return open(c, err);
}

static int open_for(struct compute *c, const char *backend, struct dtrain_error *err)
{
    if (strcmp(backend, "host") == 0)
        return compute_cpu_open(c, err);
    if (strcmp(backend, "nccl") == 0)
        return open_module(c, err);
    return error_set(err,
                     "the %s backend moves memory that this program cannot compute on: use "
                     "--dtrain-backend=host",
                     backend);
}

int compute_open(struct compute **compute, struct dtrain_world *world, enum dtrain_type type,
                 struct dtrain_error *err)
{
    struct compute *c = calloc(1, sizeof(*c));

    *compute = NULL;
    if (c == NULL)
        return error_memory(err, sizeof(*c), "the compute device");
    c->world = world;
    c->type = type;
    c->main = compute_main_type(type);
    if (open_for(c, dtrain_backend(world), err) != 0) {
        c->ops = NULL;
        compute_close(c);
        return -1;
    }
    *compute = c;
    return 0;
}

void compute_close(struct compute *c)
{
    if (c == NULL)
        return;
    if (c->ops != NULL)
        c->ops->close(c);
    if (c->module != NULL)
        dlclose(c->module);
    free(c);
}

static int check(const struct compute *c, struct dtrain_error *err)
{
    return c->failed ? error_set(err, "%s", c->failure.text) : 0;
}

int compute_precede(struct compute *c, struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (check(c, err) != 0)
        return -1;
    return c->stream == NULL ? 0 : dtrain_stream_wait(stream, c->stream, err);
}

int compute_follow(struct compute *c, struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (c->stream == NULL)
        return dtrain_stream_synchronize(stream, err);
    return dtrain_stream_wait(c->stream, stream, err);
}

static int copy(struct compute *c, void *to, const void *from, size_t bytes, struct dtrain_error *err)
{
    if (check(c, err) != 0)
        return -1;
    if (c->stream == NULL) {
        memcpy(to, from, bytes);
        return 0;
    }
    if (dtrain_copy(to, from, bytes, c->stream, err) != 0)
        return -1;
    return dtrain_stream_synchronize(c->stream, err);
}

int compute_copy_in(struct compute *c, void *to, const void *host, size_t bytes, struct dtrain_error *err)
{
    return copy(c, to, host, bytes, err);
}

int compute_copy_out(struct compute *c, void *host, const void *from, size_t bytes, struct dtrain_error *err)
{
    return copy(c, host, from, bytes, err);
}
