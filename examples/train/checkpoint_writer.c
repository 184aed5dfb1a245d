#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_file.h"
#include "checkpoint_format.h"
#include "error.h"

/* Values turned into bytes at a time. */
enum { CHUNK_VALUES = 4096 };

#define TEMPORARY_SUFFIX ".saving"

struct checkpoint_writer {
    FILE *out;
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    enum dtrain_type type; /* of the values */
    uint64_t sum;
};

/* The directory of path; directory has room for PATH_MAX. path fits, the caller looked. */
static const char *directory_of(const char *path, char *directory)
{
    snprintf(directory, PATH_MAX, "%s", path);
    return dirname(directory);
}

int checkpoint_file_check(const char *path, struct dtrain_error *err)
{
    char buffer[PATH_MAX];
    struct stat st;

    if (strlen(path) + sizeof(TEMPORARY_SUFFIX) > PATH_MAX)
        return error_set(err, "--save: the name has %zu bytes, more than the %d that a path can have",
                         strlen(path), PATH_MAX);
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(err, "--save %s: exists and is no regular file: use another name", path);
    if (access(directory_of(path, buffer), W_OK | X_OK) != 0)
        return error_set(err, "--save %s: cannot write to its directory: %s", path, strerror(errno));
    return 0;
}

static int fail(const struct checkpoint_writer *writer, struct dtrain_error *err)
{
    return error_set(err, "cannot write checkpoint %s: %s; the file of that name is as it was", writer->path,
                     strerror(errno));
}

static int put_bytes(struct checkpoint_writer *writer, const unsigned char *bytes, size_t n,
                     struct dtrain_error *err)
{
    writer->sum = format_checksum(writer->sum, bytes, n);
    return fwrite(bytes, 1, n, writer->out) == n ? 0 : fail(writer, err);
}

static int put_header(struct checkpoint_writer *writer, const struct shape *shape,
                      const struct parameter *list, uint64_t step, struct dtrain_error *err)
{
    unsigned char bytes[FORMAT_HEADER_BYTES];
    struct format_header header = {
        .version = FORMAT_VERSION,
        .tensors = (uint32_t)parameter_count(shape),
        .bytes = format_file_bytes(list, parameter_count(shape), writer->type),
        .step = step,
        .layers = (uint32_t)shape->layers,
        .hidden = (uint32_t)shape->hidden,
        .heads = (uint32_t)shape->heads,
        .seq = (uint32_t)shape->seq,
        .vocabulary = SHAPE_VOCABULARY,
        .value_bytes = (uint32_t)dtrain_type_size(writer->type),
    };

    format_put_header(bytes, &header);
    return put_bytes(writer, bytes, sizeof(bytes), err);
}

int checkpoint_writer_open(struct checkpoint_writer **writer, const char *path, const struct shape *shape,
                           const struct parameter *list, enum dtrain_type type, uint64_t step,
                           struct dtrain_error *err)
{
    struct checkpoint_writer *w;

    *writer = NULL;
    if (checkpoint_file_check(path, err) != 0)
        return -1;
    w = calloc(1, sizeof(*w));
    if (w == NULL)
        return error_memory(err, sizeof(*w), "a checkpoint's writer");
    w->type = type;
    w->sum = FORMAT_CHECKSUM_START;
    snprintf(w->path, sizeof(w->path), "%s", path);
    snprintf(w->temporary, sizeof(w->temporary), "%.*s" TEMPORARY_SUFFIX,
             (int)(sizeof(w->temporary) - sizeof(TEMPORARY_SUFFIX)), path);
    w->out = fopen(w->temporary, "wb");
    if (w->out == NULL) {
        fail(w, err);
        free(w);
        return -1;
    }
    if (put_header(w, shape, list, step, err) != 0) {
        checkpoint_writer_abandon(w);
        return -1;
    }
    *writer = w;
    return 0;
}

int checkpoint_writer_tensor(struct checkpoint_writer *writer, const struct parameter *parameter,
                             struct dtrain_error *err)
{
    unsigned char bytes[FORMAT_TENSOR_BYTES];

    format_put_tensor(bytes, parameter);
    return put_bytes(writer, bytes, sizeof(bytes), err);
}

int checkpoint_writer_values(struct checkpoint_writer *writer, const void *values, size_t n,
                             struct dtrain_error *err)
{
    unsigned char bytes[CHUNK_VALUES * sizeof(double)];
    size_t size = dtrain_type_size(writer->type);

    for (size_t done = 0, piece; done < n; done += piece) {
        piece = n - done < CHUNK_VALUES ? n - done : CHUNK_VALUES;
        format_put_values(bytes, (const char *)values + done * size, writer->type, piece);
        if (put_bytes(writer, bytes, piece * size, err) != 0)
            return -1;
    }
    return 0;
}

/* A rename is on disk only once its directory is. */
static int sync_directory(const struct checkpoint_writer *writer, struct dtrain_error *err)
{
    char buffer[PATH_MAX];
    int fd = open(directory_of(writer->path, buffer), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (fd < 0)
        return error_set(err, "checkpoint %s is written, but its directory cannot be synchronised: %s",
                         writer->path, strerror(errno));
    rc = fsync(fd);
    if (rc != 0 && errno != EINVAL) /* file systems without it say EINVAL */
        error_set(err, "checkpoint %s is written, but its directory cannot be synchronised: %s", writer->path,
                  strerror(errno));
    else
        rc = 0;
    close(fd);
    return rc;
}

static int close_file(struct checkpoint_writer *writer, struct dtrain_error *err)
{
    FILE *out = writer->out;

    if (fflush(out) != 0 || fsync(fileno(out)) != 0)
        return fail(writer, err);
    writer->out = NULL;
    return fclose(out) == 0 ? 0 : fail(writer, err);
}

int checkpoint_writer_commit(struct checkpoint_writer *writer, struct dtrain_error *err)
{
    unsigned char bytes[FORMAT_CHECKSUM_BYTES];
    int rc = -1;

    format_put_u64(bytes, writer->sum);
    if (put_bytes(writer, bytes, sizeof(bytes), err) != 0 || close_file(writer, err) != 0)
        goto out;
    if (rename(writer->temporary, writer->path) != 0) {
        fail(writer, err);
        goto out;
    }
    rc = sync_directory(writer, err);
    free(writer);
    return rc;
out:
    checkpoint_writer_abandon(writer);
    return rc;
}

void checkpoint_writer_abandon(struct checkpoint_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->out != NULL)
        fclose(writer->out);
    unlink(writer->temporary);
    free(writer);
}
