#include "site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF_ARGUMENT "conf="
#define TOPOLOGY_ARGUMENT "topology="

static const char *find_argument(int argc, char *const *argv, const char *name)
{
    const char *found = NULL;

    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], name, strlen(name)) == 0)
            found = argv[i] + strlen(name);
    return found;
}

static int check_argument(const char *argument, struct dtrain_error *err)
{
    const char *value = strchr(argument, '=');

    if (value == NULL || (strncmp(argument, CONF_ARGUMENT, strlen(CONF_ARGUMENT)) != 0 &&
                          strncmp(argument, TOPOLOGY_ARGUMENT, strlen(TOPOLOGY_ARGUMENT)) != 0))
        return dt_error_set(err,
                            "plugstack.conf: argument '%.64s' is not known: expected conf=FILE or "
                            "topology=FILE",
                            argument);
    if (value[1] != '/' || strlen(value + 1) >= DT_SITE_PATH_MAX)
        return dt_error_set(
            err, "plugstack.conf: '%.128s' is not usable: expected an absolute path behind the =", argument);
    return 0;
}

static int find_path(const char **path, int argc, char *const *argv, const char *name,
                     struct dtrain_error *err)
{
    for (int i = 0; i < argc; i++)
        if (check_argument(argv[i], err))
            return -1;
    *path = find_argument(argc, argv, name);
    return 0;
}

int dt_site_topology(const char **path, int argc, char *const *argv, struct dtrain_error *err)
{
    if (find_path(path, argc, argv, TOPOLOGY_ARGUMENT, err))
        return -1;
    if (*path == NULL)
        *path = DT_SITE_TOPOLOGY;
    return 0;
}

static int check_file(int fd, const char *path, struct dtrain_error *err)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return dt_error_set(err, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return dt_error_set(err, "%s is no regular file: expected one with lines of key = value", path);
    if (status.st_size > DT_CONF_FILE_MAX)
        return dt_error_set(err, "%s has %lld bytes: expected at most %u", path, (long long)status.st_size,
                            DT_CONF_FILE_MAX);
    return 0;
}

/* One byte more than the bound is asked for, so that a file that grew meanwhile is noticed. */
static int read_file(char *text, size_t *used, int fd, const char *path, struct dtrain_error *err)
{
    ssize_t n;

    *used = 0;
    while (*used <= DT_CONF_FILE_MAX && (n = read(fd, text + *used, DT_CONF_FILE_MAX + 1 - *used)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dt_error_set(err, "%s cannot be read: %s", path, strerror(errno));
        *used += (size_t)n;
    }
    if (*used > DT_CONF_FILE_MAX)
        return dt_error_set(err, "%s has more than %u bytes: expected at most that many", path,
                            DT_CONF_FILE_MAX);
    return 0;
}

static int load_fd(struct dt_conf *conf, int fd, const char *path, struct dtrain_error *err)
{
    char *text = malloc(DT_CONF_FILE_MAX + 1);
    size_t used;
    int rc = -1;

    if (text == NULL)
        return dt_error_memory(err, DT_CONF_FILE_MAX + 1, path);
    if (check_file(fd, path, err) == 0 && read_file(text, &used, fd, path, err) == 0)
        rc = dt_conf_parse(conf, text, used, path, err);
    free(text);
    return rc;
}

int dt_site_load(struct dt_conf *conf, int argc, char *const *argv, struct dtrain_error *err)
{
    const char *path, *file;
    int fd, rc;

    dt_conf_defaults(conf);
    if (find_path(&path, argc, argv, CONF_ARGUMENT, err))
        return -1;
    file = path ? path : DT_SITE_CONF;
    /* Not blocking, so that a FIFO in the file's place does not hold srun. */
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT && path == NULL)
        return 0;
    if (fd < 0)
        return dt_error_set(err, "%s cannot be opened: %s", file, strerror(errno));
    rc = load_fd(conf, fd, file, err);
    close(fd);
    return rc;
}
