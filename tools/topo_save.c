#define _GNU_SOURCE /* mkostemp */
#include "tools/topo_save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topo/topo_hwloc.h"

#define PATH_BYTES 4096
#define FOLDER_MODE 0755
#define FILE_MODE 0644

/* The folder of a path: "/run/dtrain" of "/run/dtrain/x", "." of "x". */
static int folder_of(char folder[PATH_BYTES], const char *path, struct dtrain_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - path);

    if (path[0] == '\0' || (slash != NULL && slash[1] == '\0'))
        return dt_error_set(err, "cannot save '%.64s': expected a file's name", path);
    if (strlen(path) + 16 >= PATH_BYTES)
        return dt_error_set(err, "cannot save %.64s...: the name is longer than %d bytes", path,
                            PATH_BYTES - 16);
    if (slash == NULL)
        strcpy(folder, ".");
    else if (n == 0)
        strcpy(folder, "/");
    else
        snprintf(folder, PATH_BYTES, "%.*s", (int)n, path);
    return 0;
}

static int write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, text, size);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        text += done;
        size -= (size_t)done;
    }
    return 0;
}

/* The mode is set on the file, so that no umask narrows it. */
static int fill(int fd, const char *text, size_t size)
{
    int rc = write_all(fd, text, size);

    if (rc == 0)
        rc = fchmod(fd, FILE_MODE);
    if (rc == 0)
        rc = fsync(fd);
    if (close(fd) != 0)
        rc = -1;
    return rc;
}

static int save_text(const char *path, const char *text, size_t size, struct dtrain_error *err)
{
    char folder[PATH_BYTES], temporary[PATH_BYTES];
    struct stat there;
    int fd;

    if (folder_of(folder, path, err) != 0)
        return -1;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return dt_error_set(err, "cannot save %s: it is there and no regular file: choose another name",
                            path);
    if (mkdir(folder, FOLDER_MODE) != 0 && errno != EEXIST)
        return dt_error_set(err, "cannot make the folder %s: %s", folder, strerror(errno));
    snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return dt_error_set(err, "cannot write into %s: %s", folder, strerror(errno));
    if (fill(fd, text, size) == 0 && rename(temporary, path) == 0)
        return 0;
    dt_error_set(err, "cannot save %s: %s", path, strerror(errno));
    unlink(temporary);
    return -1;
}

/* What the plugin would say of the file, now that somebody looks. */
static void say_trust(struct dt_out *out, const char *path)
{
    struct dt_topo *topo = NULL;
    struct dtrain_error err;
    bool is_absent;

    if (geteuid() != 0)
        dt_out_text(out, "The plugin reads it only where root owns the file and its folders.\n");
    else if (dt_topo_from_trusted_file(&topo, path, &is_absent, &err) != 0)
        dt_out_printf(out, "The plugin will not read it: %s\n", err.text);
    dt_topo_destroy(topo);
}

int dt_topo_save(struct dt_out *out, const char *path, struct dtrain_error *err)
{
    struct dt_topo *topo = NULL;
    char *text = NULL;
    size_t size;
    int rc = -1;

    if (dt_topo_export_machine(&text, &size, err) != 0)
        goto out;
    if (dt_topo_from_xml(&topo, text, size, "this machine", err) != 0)
        goto out;
    if (save_text(path, text, size, err) != 0)
        goto out;
    dt_out_printf(out, "%s: %u GPUs, %u NICs, %u NUMA nodes\n", path, topo->gpu_count, topo->nic_count,
                  topo->numa_count);
    say_trust(out, path);
    rc = 0;
out:
    dt_topo_destroy(topo);
    free(text);
    return rc;
}
