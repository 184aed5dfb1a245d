/* A saved topology that root reads: only if root owns it and the folders above, and nobody else can write
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topo_hwloc.h"

#define COMPONENT_MAX 255

static int check_owner(int fd, const char *path, const char *component, struct dtrain_error *err)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return dt_error_set(err, "%s: cannot look at '%s': %s", path, component, strerror(errno));
    if (status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return dt_error_set(
            err,
            "%s: '%s' belongs to user %u with mode %04o: expected root's, and that nobody else "
            "can write it (chown root, chmod go-w)",
            path, component, (unsigned)status.st_uid, (unsigned)status.st_mode & 07777u);
    return 0;
}

/* The next component without a NUL; false at the end of the path. */
static bool next_component(char component[COMPONENT_MAX + 1], const char **rest)
{
    size_t length;

    *rest += strspn(*rest, "/");
    length = strcspn(*rest, "/");
    if (length == 0 || length > COMPONENT_MAX)
        return false;
    memcpy(component, *rest, length);
    component[length] = '\0';
    *rest += length;
    *rest += strspn(*rest, "/");
    return true;
}

/* Links are not followed: whoever can make one elsewhere would choose the file. */
static int open_component(int folder, const char *component, bool is_last)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (is_last ? 0 : O_DIRECTORY);

    return openat(folder, component, flags);
}

/* The file's descriptor; -1 with the error set. */
static int walk(const char *path, bool *is_absent, struct dtrain_error *err)
{
    const char *rest = path;
    char component[COMPONENT_MAX + 1] = "/";
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (path[0] != '/' || strstr(path, "..") != NULL)
        dt_error_set(err, "'%s' is no full path: expected one from / and without '..'", path);
    else if (fd < 0)
        dt_error_set(err, "%s: cannot open /: %s", path, strerror(errno));
    else
        while (check_owner(fd, path, component, err) == 0) {
            int next;

            if (*rest == '\0')
                return fd;
            if (!next_component(component, &rest)) {
                dt_error_set(err, "%s holds a name of more than %d bytes, or none", path, COMPONENT_MAX);
                break;
            }
            next = open_component(fd, component, *rest == '\0');
            if (next < 0) {
                *is_absent = errno == ENOENT;
                dt_error_set(err, "%s: cannot open '%s': %s (links are not followed)", path, component,
                             strerror(errno));
                break;
            }
            close(fd);
            fd = next;
        }
    if (fd >= 0)
        close(fd);
    return -1;
}

static int read_whole(char *text, size_t size, int fd, const char *path, struct dtrain_error *err)
{
    for (size_t used = 0; used < size;) {
        ssize_t n = read(fd, text + used, size - used);

        if (n == 0)
            return dt_error_set(err, "%s ended after %zu of %zu bytes: expected nobody to write it", path,
                                used, size);
        if (n < 0 && errno != EINTR)
            return dt_error_set(err, "%s: cannot read: %s", path, strerror(errno));
        used += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int read_file(struct dt_topo **topo, int fd, const char *path, struct dtrain_error *err)
{
    struct stat status;
    char *text;
    int rc = -1;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return dt_error_set(err, "%s is no regular file: expected one written by `dtrain topo --save`", path);
    if (status.st_size <= 0 || status.st_size > (off_t)DT_TOPO_XML_MAX)
        return dt_error_set(err, "%s has %lld bytes: expected 1 to %u", path, (long long)status.st_size,
                            DT_TOPO_XML_MAX);
    text = malloc((size_t)status.st_size);
    if (text == NULL)
        return dt_error_memory(err, (size_t)status.st_size, path);
    if (read_whole(text, (size_t)status.st_size, fd, path, err) == 0)
        rc = dt_topo_from_xml(topo, text, (size_t)status.st_size, path, err);
    free(text);
    return rc;
}

int dt_topo_from_trusted_file(struct dt_topo **topo, const char *path, bool *is_absent,
                              struct dtrain_error *err)
{
    int fd, rc;

    *topo = NULL;
    *is_absent = false;
    fd = walk(path, is_absent, err);
    if (fd < 0)
        return -1;
    rc = read_file(topo, fd, path, err);
    close(fd);
    return rc;
}
