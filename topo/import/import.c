#include "import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/parse.h"
#include "reader.h"
#include "topo/topo_hwloc.h"

#define READ_STEP 65536u

static bool recognises_hwloc(const char *text, size_t size)
{
    return dt_import_has_root(text, size, "topology");
}

static const struct dt_import_source sources[] = {
    {"hwloc", "XML of lstopo or `dtrain topo --save`", recognises_hwloc, dt_topo_from_xml},
    {"nccl", "XML of NCCL_TOPO_FILE or NCCL_TOPO_DUMP_FILE, RCCL's too", dt_nccl_xml_recognises,
     dt_nccl_xml_read},
    {"rocm-smi", "text of `rocm-smi --showtopo`", dt_rocm_smi_recognises, dt_rocm_smi_read},
    {"nvidia-smi", "text of `nvidia-smi topo -m`", dt_nvidia_smi_recognises, dt_nvidia_smi_read},
};

#define SOURCE_COUNT (sizeof(sources) / sizeof(sources[0]))

const struct dt_import_source *dt_import_sources(size_t *count)
{
    *count = SOURCE_COUNT;
    return sources;
}

static const struct dt_import_source *find_named(const char *name, struct dtrain_error *err)
{
    const char *names[SOURCE_COUNT];
    unsigned index;

    for (size_t i = 0; i < SOURCE_COUNT; i++)
        names[i] = sources[i].name;
    return dt_parse_word(&index, name, names, SOURCE_COUNT, "format", err) == 0 ? &sources[index] : NULL;
}

static const struct dt_import_source *find_by_content(const char *text, size_t size, const char *source,
                                                      struct dtrain_error *err)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        if (sources[i].recognises(text, size))
            return &sources[i];
    dt_error_set(err,
                 "%s is no topology that is understood: expected an XML of hwloc or NCCL, or the text of "
                 "`nvidia-smi topo -m` or `rocm-smi --showtopo`",
                 source);
    return NULL;
}

int dt_import_text(struct dt_topo **topo, const char *name, const char *text, size_t size, const char *source,
                   struct dtrain_error *err)
{
    const struct dt_import_source *found;

    if (size > DT_TOPO_XML_MAX)
        return dt_error_set(err, "%s has more than %u bytes: expected at most that many", source,
                            DT_TOPO_XML_MAX);
    found = name != NULL ? find_named(name, err) : find_by_content(text, size, source, err);
    return found != NULL ? found->read(topo, text, size, source, err) : -1;
}

/* Everything up to the end, or until it is more than is allowed. */
static int read_all(char **text, size_t *size, int fd, const char *path, struct dtrain_error *err)
{
    char *buffer = NULL;
    size_t used = 0;
    ssize_t n = 1;

    while (n != 0 && used <= DT_TOPO_XML_MAX) {
        char *grown = used % READ_STEP == 0 ? realloc(buffer, used + READ_STEP) : buffer;

        if (grown == NULL) {
            free(buffer);
            return dt_error_memory(err, used + READ_STEP, path);
        }
        buffer = grown;
        n = read(fd, buffer + used, READ_STEP - used % READ_STEP);
        if (n < 0 && errno != EINTR) {
            free(buffer);
            return dt_error_set(err, "cannot read %s: %s", path, strerror(errno));
        }
        used += n > 0 ? (size_t)n : 0;
    }
    *text = buffer;
    *size = used;
    return 0;
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : "no file";
}

/* Without O_NONBLOCK a FIFO would wait for a writer before it could be refused. */
static int open_regular(int *fd, const char *path, struct dtrain_error *err)
{
    struct stat status;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return dt_error_set(err, "%s is %s: expected a regular file", path, kind_of(status.st_mode));
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
        return dt_error_set(err, "cannot open %s: %s", path, strerror(errno));
    if (fstat(*fd, &status) == 0 && S_ISREG(status.st_mode))
        return 0;
    close(*fd);
    return dt_error_set(err, "%s is no regular file: expected one", path);
}

int dt_import_file(struct dt_topo **topo, const char *name, const char *path, struct dtrain_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = STDIN_FILENO;
    char *text = NULL;
    size_t size = 0;
    int rc;

    if (!is_stdin && open_regular(&fd, path, err) != 0)
        return -1;
    rc = read_all(&text, &size, fd, is_stdin ? "stdin" : path, err);
    if (!is_stdin)
        close(fd);
    if (rc == 0)
        rc = dt_import_text(topo, name, text, size, is_stdin ? "stdin" : path, err);
    free(text);
    return rc;
}
