#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "checkpoint_file.h"
#include "checkpoint_format.h"
#include "error.h"

enum { CHUNK_VALUES = 4096, CHUNK_BYTES = CHUNK_VALUES * sizeof(double) };

struct checkpoint_reader {
    FILE *in;
    const char *path;      /* the caller's; outlives the reader */
    enum dtrain_type type; /* of the file's values */
};

static int get_bytes(struct checkpoint_reader *reader, unsigned char *bytes, size_t n,
                     struct dtrain_error *err)
{
    if (fread(bytes, 1, n, reader->in) == n)
        return 0;
    return error_set(err, "cannot read checkpoint %s: %s", reader->path,
                     ferror(reader->in) ? strerror(errno) : "it ended early");
}

static int file_bytes(struct checkpoint_reader *reader, uint64_t *bytes, struct dtrain_error *err)
{
    struct stat st;

    if (fstat(fileno(reader->in), &st) != 0)
        return error_set(err, "cannot read checkpoint %s: %s", reader->path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, "checkpoint %s: expected a regular file", reader->path);
    *bytes = (uint64_t)st.st_size;
    return 0;
}

static int check_length(struct checkpoint_reader *reader, const struct format_header *header, uint64_t bytes,
                        struct dtrain_error *err)
{
    if (header->version != FORMAT_VERSION && header->version != FORMAT_VERSION_FLOAT32)
        return error_set(err, "checkpoint %s has format %u, this program reads formats %d and %d",
                         reader->path, header->version, FORMAT_VERSION_FLOAT32, FORMAT_VERSION);
    if (header->bytes != bytes)
        return error_set(err,
                         "checkpoint %s has %llu bytes instead of the %llu that were saved: it is truncated "
                         "or corrupted",
                         reader->path, (unsigned long long)bytes, (unsigned long long)header->bytes);
    return 0;
}

static int read_header(struct checkpoint_reader *reader, struct format_header *header,
                       struct dtrain_error *err)
{
    unsigned char bytes[FORMAT_HEADER_BYTES];
    uint64_t length = 0;

    if (file_bytes(reader, &length, err) != 0)
        return -1;
    if (length < FORMAT_HEADER_BYTES + FORMAT_CHECKSUM_BYTES)
        return error_set(
            err, "checkpoint %s has only %llu bytes: it is truncated, or no checkpoint of this program",
            reader->path, (unsigned long long)length);
    if (get_bytes(reader, bytes, sizeof(bytes), err) != 0)
        return -1;
    if (memcmp(bytes, FORMAT_MAGIC, FORMAT_MAGIC_BYTES) != 0)
        return error_set(err, "%s is no checkpoint of this program: it does not start with " FORMAT_MAGIC,
                         reader->path);
    format_get_header(header, bytes);
    return check_length(reader, header, length, err);
}

/* Reads everything from the start. */
static int check_sum(struct checkpoint_reader *reader, uint64_t bytes, struct dtrain_error *err)
{
    unsigned char chunk[CHUNK_BYTES];
    uint64_t sum = FORMAT_CHECKSUM_START;

    rewind(reader->in);
    for (uint64_t left = bytes - FORMAT_CHECKSUM_BYTES, piece; left > 0; left -= piece) {
        piece = left < sizeof(chunk) ? left : sizeof(chunk);
        if (get_bytes(reader, chunk, piece, err) != 0)
            return -1;
        sum = format_checksum(sum, chunk, piece);
    }
    if (get_bytes(reader, chunk, FORMAT_CHECKSUM_BYTES, err) != 0)
        return -1;
    if (sum != format_get_u64(chunk))
        return error_set(err, "checkpoint %s is corrupted: its checksum is %016llx, its content's %016llx",
                         reader->path, (unsigned long long)format_get_u64(chunk), (unsigned long long)sum);
    return 0;
}

static int check_size(const char *path, const char *what, uint32_t saved, size_t asked,
                      struct dtrain_error *err)
{
    if (saved == asked)
        return 0;
    return error_set(err, "checkpoint %s holds a model of --%s %u, not of --%s %zu: use --%s=%u", path, what,
                     saved, what, asked, what, saved);
}

static int take_type(struct checkpoint_reader *reader, uint32_t value_bytes, struct dtrain_error *err)
{
    if (value_bytes != sizeof(float) && value_bytes != sizeof(double))
        return error_set(err, "checkpoint %s has values of %u bytes, expected 4 or 8", reader->path,
                         value_bytes);
    reader->type = value_bytes == sizeof(double) ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
    return 0;
}

static int check_sizes(const char *path, const struct format_header *header, const struct shape *shape,
                       struct dtrain_error *err)
{
    if (check_size(path, "layers", header->layers, shape->layers, err) != 0 ||
        check_size(path, "hidden", header->hidden, shape->hidden, err) != 0 ||
        check_size(path, "heads", header->heads, shape->heads, err) != 0 ||
        check_size(path, "seq", header->seq, shape->seq, err) != 0)
        return -1;
    if (header->vocabulary != SHAPE_VOCABULARY || header->tensors != parameter_count(shape))
        return error_set(err, "checkpoint %s has %u tensors over a vocabulary of %u, expected %zu over %d",
                         path, header->tensors, header->vocabulary, parameter_count(shape), SHAPE_VOCABULARY);
    return 0;
}

static int check_all(struct checkpoint_reader *reader, const struct shape *shape, uint64_t *step,
                     struct dtrain_error *err)
{
    struct format_header header;

    if (read_header(reader, &header, err) != 0 || check_sum(reader, header.bytes, err) != 0 ||
        take_type(reader, header.value_bytes, err) != 0 ||
        check_sizes(reader->path, &header, shape, err) != 0)
        return -1;
    if (fseek(reader->in, FORMAT_HEADER_BYTES, SEEK_SET) != 0)
        return error_set(err, "cannot read checkpoint %s: %s", reader->path, strerror(errno));
    *step = header.step;
    return 0;
}

int checkpoint_reader_open(struct checkpoint_reader **reader, const char *path, const struct shape *shape,
                           uint64_t *step, struct dtrain_error *err)
{
    struct checkpoint_reader *r = calloc(1, sizeof(*r));

    *reader = NULL;
    if (r == NULL)
        return error_memory(err, sizeof(*r), "a checkpoint's reader");
    r->path = path;
    r->in = fopen(path, "rb");
    if (r->in == NULL) {
        free(r);
        return error_set(err, "cannot read checkpoint %s: %s", path, strerror(errno));
    }
    if (check_all(r, shape, step, err) != 0) {
        checkpoint_reader_close(r);
        return -1;
    }
    *reader = r;
    return 0;
}

int checkpoint_reader_tensor(struct checkpoint_reader *reader, const struct parameter *parameter,
                             struct dtrain_error *err)
{
    unsigned char found[FORMAT_TENSOR_BYTES], expected[FORMAT_TENSOR_BYTES];

    if (get_bytes(reader, found, sizeof(found), err) != 0)
        return -1;
    format_put_tensor(expected, parameter);
    if (memcmp(found, expected, sizeof(found)) == 0)
        return 0;
    return error_set(err, "checkpoint %s holds \"%.*s\" %llu x %llu where \"%s\" %zu x %zu belongs",
                     reader->path, PARAMETER_NAME_MAX, (const char *)found,
                     (unsigned long long)format_get_u64(found + PARAMETER_NAME_MAX),
                     (unsigned long long)format_get_u64(found + PARAMETER_NAME_MAX + 8), parameter->name,
                     parameter->rows, parameter->cols);
}

int checkpoint_reader_values(struct checkpoint_reader *reader, void *values, enum dtrain_type type, size_t n,
                             struct dtrain_error *err)
{
    unsigned char bytes[CHUNK_BYTES];

    for (size_t done = 0, piece; done < n; done += piece) {
        piece = n - done < CHUNK_VALUES ? n - done : CHUNK_VALUES;
        if (get_bytes(reader, bytes, piece * dtrain_type_size(reader->type), err) != 0)
            return -1;
        format_get_values((char *)values + done * dtrain_type_size(type), type, bytes, reader->type, piece);
    }
    return 0;
}

void checkpoint_reader_close(struct checkpoint_reader *reader)
{
    if (reader == NULL)
        return;
    fclose(reader->in);
    free(reader);
}
