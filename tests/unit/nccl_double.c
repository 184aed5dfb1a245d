#include "nccl_double.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Another module of the build tree, for tests that are compiled so. */
#ifndef NCCL_DOUBLE_MODULE
#define NCCL_DOUBLE_MODULE "tests/fake/nccl/.libs/libdtrain_nccl.so"
#endif

struct dt_backend nccl_double;

void nccl_double_load(void)
{
    const char *folder = getenv("DT_BUILDDIR");
    const struct dt_backend *backend = NULL;
    char path[4096];
    void *module;

    snprintf(path, sizeof(path), "%s/" NCCL_DOUBLE_MODULE, folder != NULL ? folder : ".");
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module != NULL)
        backend = dlsym(module, "dt_backend_nccl");
    if (backend == NULL) {
        printf("Bail out! %s\n", dlerror());
        exit(2);
    }
    nccl_double = *backend;
}

static void set_up(const struct nccl_row *row, uint32_t rank)
{
    char text[32];

    snprintf(text, sizeof(text), "%u", rank);
    setenv("FAKE_NCCL_RANK", text, 1);
    snprintf(text, sizeof(text), "n%u", rank / row->row.layout.tasks + 1);
    setenv("NCCL_HOSTID", text, 1);
    if (row->fail != NULL)
        setenv("FAKE_NCCL_FAIL", row->fail, 1);
    if (row->version != NULL)
        setenv("FAKE_NCCL_VERSION", row->version, 1);
    if (row->config != NULL)
        setenv(DT_COMM_CONFIG_USER_NAME, row->config, 1);
    if (row->variable != NULL)
        putenv((char *)row->variable);
}

int nccl_double_init(struct dtrain_world **world, struct fork_step *step, uint32_t rank,
                     struct dtrain_error *err)
{
    set_up((const struct nccl_row *)(const void *)step->row, rank);
    return fork_init(world, step, rank, NULL, NULL, err);
}

static int copy(struct dtrain_world *world, void *to, const void *from, size_t n, struct dtrain_error *err)
{
    struct dtrain_stream *stream;
    int rc;

    if (dtrain_stream_create(world, &stream, err) != 0)
        return -1;
    rc = dtrain_copy(to, from, n, stream, err);
    return dtrain_stream_destroy(stream, rc == 0 ? err : NULL) != 0 ? -1 : rc;
}

void *nccl_double_upload(struct dtrain_world *world, const void *bytes, size_t n, struct dtrain_error *err)
{
    void *memory;

    if (dtrain_memory_alloc(world, n, &memory, err) != 0)
        return NULL;
    if (copy(world, memory, bytes, n, err) == 0)
        return memory;
    dtrain_memory_free(world, memory);
    return NULL;
}

int nccl_double_download(struct dtrain_world *world, void *bytes, const void *memory, size_t n,
                         struct dtrain_error *err)
{
    return copy(world, bytes, memory, n, err);
}

static int sum_group(struct dtrain_world *world, unsigned axes, void *memory, struct dtrain_error *err)
{
    struct dtrain_stream *stream;
    struct dtrain_comm *comm;
    int rc;

    if (dtrain_comm_get(world, axes, &comm, err) != 0 || dtrain_stream_create(world, &stream, err) != 0)
        return -1;
    rc = dtrain_all_reduce(comm, memory, memory, 1, DTRAIN_INT32, DTRAIN_SUM, stream, err);
    return dtrain_stream_destroy(stream, rc == 0 ? err : NULL) != 0 ? -1 : rc;
}

const char *nccl_double_sum(struct dtrain_world *world, unsigned axes, struct dtrain_error *err)
{
    struct dtrain_group group;
    int sum = dtrain_rank(world), expected = 0, rc;
    void *memory = nccl_double_upload(world, &sum, sizeof(sum), err);

    if (memory == NULL || dtrain_group_get(world, axes, &group, err) != 0)
        return err->text;
    rc = sum_group(world, axes, memory, err);
    if (rc == 0)
        rc = nccl_double_download(world, &sum, memory, sizeof(sum), err);
    dtrain_memory_free(world, memory);
    for (int i = 0; i < group.size; i++)
        expected += dtrain_group_member(world, &group, i);
    if (rc != 0)
        return err->text;
    return sum == expected ? NULL : "a sum over a group";
}

bool nccl_double_check(const struct nccl_row *row)
{
    return fork_check(&row->row);
}
