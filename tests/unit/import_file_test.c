/* Which reader takes a text, and which files are read at all. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"
#include "topo/import/import.h"

static const struct {
    const char *text, *name; /* NULL: none */
} kinds[] = {
    {"<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">",
     "hwloc"},
    {"<topology>", "hwloc"},
    {"\xef\xbb\xbf<!-- by hand -->\n<system version=\"1\">", "nccl"},
    {"<systems/>", NULL},
    {"<system", NULL},
    {"<!-- <system>", NULL},
    {"\tGPU0\tGPU1\n", "nvidia-smi"},
    {"\x1b[4m\tGPU0\tCPU Affinity\x1b[0m\n", "nvidia-smi"},
    {"GPU0 X SYS\n", NULL},
    {"GPU[0] : (Topology) Numa Node: 0\n", "rocm-smi"},
    {"=== Hops between two GPUs ===\n GPU0\nGPU0 0\n", "rocm-smi"},
    {"", NULL},
    {"GPU utilisation\n", NULL},
};

static void test_kinds(void)
{
    size_t count;
    const struct dt_import_source *sources = dt_import_sources(&count);

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *found = NULL;

        for (size_t j = 0; j < count && found == NULL; j++)
            if (sources[j].recognises(kinds[i].text, strlen(kinds[i].text)))
                found = sources[j].name;
        tap_ok(found == kinds[i].name ||
                   (found != NULL && kinds[i].name != NULL && strcmp(found, kinds[i].name) == 0),
               "text %zu is of %s", i, kinds[i].name != NULL ? kinds[i].name : "none");
    }
}

static char folder[] = "/tmp/dt_import_XXXXXX";

static void put_path(char path[256], const char *name)
{
    snprintf(path, 256, "%s/%s", folder, name);
}

static void write_file(const char *path, const char *text, off_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
        (size > 0 && ftruncate(fd, size) != 0))
        abort();
    close(fd);
}

static void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, strlen(path) + 1);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        abort();
    close(fd);
}

static void refused(const char *format, const char *path, const char *words, const char *name)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;

    tap_ok(dt_import_file(&topo, format, path, &err) == -1 && topo == NULL, "%s: refused", name);
    tap_holds(err.text, words, name);
}

#define TABLE "\tGPU0\nGPU0\t X\n"

static void test_files(void)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    char path[256];

    put_path(path, "good");
    write_file(path, TABLE, 0);
    tap_ok(dt_import_file(&topo, NULL, path, &err) == 0 && topo->gpu_count == 1, "a regular file is read");
    dt_topo_destroy(topo);
    refused("rocm-smi", path, "no table of GPUs", "read as another format");
    refused("lstopo", path, "format: 'lstopo' is not known: expected hwloc, nccl", "an unknown format");
    put_path(path, "large");
    write_file(path, TABLE, 17 * 1024 * 1024);
    refused(NULL, path, "has more than 16777216 bytes", "a file too large");
    put_path(path, "nul");
    write_file(path, TABLE, 100);
    refused("nvidia-smi", path, "has a NUL byte", "a file with NULs");
    put_path(path, "fifo");
    if (mkfifo(path, 0600) != 0)
        abort();
    refused(NULL, path, "is a FIFO: expected a regular file", "a FIFO");
    put_path(path, "socket");
    make_socket(path);
    refused(NULL, path, "is a socket: expected a regular file", "a socket");
    put_path(path, "absent");
    refused(NULL, path, "No such file", "no file");
    refused(NULL, folder, "is a folder: expected a regular file", "a folder");
    refused(NULL, "/dev/zero", "is a device: expected a regular file", "a device");
}

static void test_stdin(void)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    int ends[2];

    if (pipe(ends) != 0 || write(ends[1], TABLE, strlen(TABLE)) != (ssize_t)strlen(TABLE) ||
        dup2(ends[0], 0) != 0)
        abort();
    close(ends[1]);
    tap_ok(dt_import_file(&topo, NULL, "-", &err) == 0 && topo->gpu_count == 1, "- is stdin");
    dt_topo_destroy(topo);
    close(ends[0]);
}

static void remove_files(void)
{
    static const char *const names[] = {"good", "large", "nul", "fifo", "socket"};
    char path[256];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        put_path(path, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(void)
{
    if (mkdtemp(folder) == NULL)
        abort();
    test_kinds();
    test_files();
    test_stdin();
    remove_files();
    return tap_done();
}
