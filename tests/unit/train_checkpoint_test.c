/* The file of a checkpoint: there and back, and every way in which a file can be wrong. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/train/checkpoint_file.h"
#include "examples/train/checkpoint_format.h"
#include "tap.h"

enum { TENSORS_MAX = 64, STEP = 77 };

static struct shape shape;
static struct parameter list[TENSORS_MAX];
static char path[] = "train_checkpoint_test.XXXXXX";

static void make_shape(void)
{
    struct options options = {
        .layers = 1, .hidden = 8, .heads = 2, .seq = 4, .batch = 1, .microbatches = 1, .chunks = 1};
    struct layout layout = {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};

    shape_make(&shape, &options, &layout, NULL);
    parameter_list(list, &shape);
}

static void values_of(float *values, size_t count, size_t index, int part, int salt)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(index * 1000 + (size_t)part * 100) + (float)i * 0.25f + (float)salt;
}

static int write_tensor(struct checkpoint_writer *writer, size_t index, int salt, struct dtrain_error *err)
{
    size_t count = list[index].rows * list[index].cols;
    float *values = malloc(count * sizeof(*values));
    int rc = checkpoint_writer_tensor(writer, &list[index], err);

    for (int part = 0; part < FORMAT_PARTS && rc == 0; part++) {
        values_of(values, count, index, part, salt);
        rc = checkpoint_writer_values(writer, values, count, err);
    }
    free(values);
    return rc;
}

static int write_file(int salt, struct dtrain_error *err)
{
    struct checkpoint_writer *writer = NULL;
    int rc = checkpoint_writer_open(&writer, path, &shape, list, DTRAIN_FLOAT32, STEP, err);

    for (size_t i = 0; rc == 0 && i < parameter_count(&shape); i++)
        rc = write_tensor(writer, i, salt, err);
    if (rc == 0)
        return checkpoint_writer_commit(writer, err);
    checkpoint_writer_abandon(writer);
    return rc;
}

static bool tensor_is(struct checkpoint_reader *reader, size_t index, int salt)
{
    size_t count = list[index].rows * list[index].cols;
    float *values = malloc(count * sizeof(*values)), *expected = malloc(count * sizeof(*expected));
    bool same = checkpoint_reader_tensor(reader, &list[index], NULL) == 0;

    for (int part = 0; part < FORMAT_PARTS && same; part++) {
        values_of(expected, count, index, part, salt);
        same = checkpoint_reader_values(reader, values, DTRAIN_FLOAT32, count, NULL) == 0 &&
               memcmp(values, expected, count * sizeof(*values)) == 0;
    }
    free(values);
    free(expected);
    return same;
}

/* The file is the one written with this salt. */
static bool file_is(int salt)
{
    struct checkpoint_reader *reader = NULL;
    uint64_t step = 0;
    bool same = checkpoint_reader_open(&reader, path, &shape, &step, NULL) == 0 && step == STEP;

    for (size_t i = 0; same && i < parameter_count(&shape); i++)
        same = tensor_is(reader, i, salt);
    checkpoint_reader_close(reader);
    return same;
}

/* ---- Files that are wrong ------------------------------------------------ */

struct row {
    const char *name;
    long truncate_to; /* bytes; negative: from the end; 0: not */
    long at;          /* byte to change; negative: from the end */
    unsigned char flip;
    const char *words;
};

static const struct row rows[] = {
    {"nothing but a few bytes", 10, 0, 0, "has only 10 bytes: it is truncated, or no checkpoint"},
    {"the last byte missing", -1, 0, 0, "that were saved: it is truncated or corrupted"},
    {"half of it", 2000, 0, 0, "has 2000 bytes instead of the"},
    {"another magic", 0, 0, 1, "is no checkpoint of this program"},
    {"another version", 0, 8, 1, "has format 3, this program reads formats 1 and 2"},
    {"another size of values", 0, 52, 1, "is corrupted: its checksum is"},
    {"another length", 0, 16, 1, "it is truncated or corrupted"},
    {"a bit of the step", 0, 24, 4, "is corrupted: its checksum is"},
    {"a bit of a name", 0, FORMAT_HEADER_BYTES + 3, 32, "is corrupted: its checksum is"},
    {"a bit of a weight", 0, 3000, 1, "is corrupted: its checksum is"},
    {"a bit of the checksum", 0, -1, 128, "is corrupted: its checksum is"},
};

static long file_size(void)
{
    struct stat st;

    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void flip(long at, unsigned char bits)
{
    FILE *file = fopen(path, "r+b");
    int byte;

    fseek(file, at, SEEK_SET);
    byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ bits, file);
    fclose(file);
}

static void check_refused(const struct shape *of, const char *words, const char *name)
{
    struct checkpoint_reader *reader = NULL;
    struct dtrain_error err = {""};
    uint64_t step;

    if (tap_ok(checkpoint_reader_open(&reader, path, of, &step, &err) == -1, "%s: refused", name))
        tap_holds(err.text, words, name);
    checkpoint_reader_close(reader);
}

static void check_row(const struct row *row)
{
    long size;

    write_file(0, NULL);
    size = file_size();
    if (row->truncate_to != 0 &&
        truncate(path, row->truncate_to < 0 ? size + row->truncate_to : row->truncate_to) != 0)
        tap_ok(false, "cannot truncate");
    if (row->flip != 0)
        flip(row->at < 0 ? size + row->at : row->at, row->flip);
    check_refused(&shape, row->words, row->name);
}

static void check_other_sizes(void)
{
    struct shape other = shape;

    write_file(0, NULL);
    other.hidden = 16;
    check_refused(&other, "holds a model of --hidden 8, not of --hidden 16: use --hidden=8", "another width");
    other = shape;
    other.layers = 2;
    check_refused(&other, "holds a model of --layers 1, not of --layers 2", "other layers");
    other = shape;
    other.seq = 5;
    check_refused(&other, "--seq 4, not of --seq 5", "another sequence");
}

static void check_missing(void)
{
    unlink(path);
    check_refused(&shape, "No such file or directory", "no file");
}

static void check_order(void)
{
    struct checkpoint_reader *reader = NULL;
    struct dtrain_error err = {""};
    uint64_t step;

    write_file(0, NULL);
    checkpoint_reader_open(&reader, path, &shape, &step, NULL);
    tap_ok(checkpoint_reader_tensor(reader, &list[1], &err) == -1, "a tensor that is not next is refused");
    tap_holds(err.text, "holds \"embedding.tokens\" 256 x 8 where \"embedding.positions\" 4 x 8 belongs",
              "with both names");
    checkpoint_reader_close(reader);
}

/* ---- Types of values ------------------------------------------------------------ */

/* The first tensor's weights, written in one type and read in another. */
static bool converts(enum dtrain_type saved, enum dtrain_type asked)
{
    enum { COUNT = 256 * 8 };
    static double from[COUNT], to[COUNT]; /* room for float32, too */
    struct checkpoint_writer *writer = NULL;
    struct checkpoint_reader *reader = NULL;
    bool same = true;
    uint64_t step;

    for (size_t i = 0; i < COUNT; i++) {
        if (saved == DTRAIN_FLOAT64)
            from[i] = 1.0 / (double)(i + 3);
        else
            ((float *)from)[i] = 1.0f / (float)(i + 3);
    }
    checkpoint_writer_open(&writer, path, &shape, list, saved, STEP, NULL);
    for (size_t i = 0; i < parameter_count(&shape); i++) {
        checkpoint_writer_tensor(writer, &list[i], NULL);
        for (int part = 0; part < FORMAT_PARTS; part++)
            checkpoint_writer_values(writer, from, list[i].rows * list[i].cols, NULL);
    }
    if (checkpoint_writer_commit(writer, NULL) != 0 ||
        checkpoint_reader_open(&reader, path, &shape, &step, NULL) != 0 ||
        checkpoint_reader_tensor(reader, &list[0], NULL) != 0 ||
        checkpoint_reader_values(reader, to, asked, COUNT, NULL) != 0)
        same = false;
    for (size_t i = 0; same && i < COUNT; i++) {
        double value = saved == DTRAIN_FLOAT64 ? from[i] : (double)((float *)from)[i];

        same = asked == DTRAIN_FLOAT64 ? to[i] == value : ((float *)to)[i] == (float)value;
    }
    checkpoint_reader_close(reader);
    return same;
}

static void check_types(void)
{
    tap_ok(converts(DTRAIN_FLOAT64, DTRAIN_FLOAT64), "float64 is kept as it is");
    tap_ok(file_size() == (long)format_file_bytes(list, parameter_count(&shape), DTRAIN_FLOAT64),
           "in a file of the length computed");
    tap_ok(converts(DTRAIN_FLOAT64, DTRAIN_FLOAT32), "a float32 run reads float64, rounded");
    tap_ok(converts(DTRAIN_FLOAT32, DTRAIN_FLOAT64), "a float64 run reads float32");
}

/* What the first version of this program wrote: no size of values, all float32. */
static void check_version_1(void)
{
    unsigned char bytes[FORMAT_HEADER_BYTES] = {0};
    struct format_header header = {.version = 1, .layers = 3};

    format_put_header(bytes, &header);
    format_get_header(&header, bytes);
    tap_ok(header.value_bytes == 4 && header.layers == 3, "version 1 has float32");
}

/* ---- Saves that end early ------------------------------------------------- */

/* In a child whose files may not grow past a limit; the signal kills it, or the write fails. */
static int save_limited(rlim_t bytes, bool is_killed)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        struct rlimit limit = {bytes, bytes};
        struct rlimit none = {0, 0};

        setrlimit(RLIMIT_CORE, &none);
        signal(SIGXFSZ, is_killed ? SIG_DFL : SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(write_file(2, NULL) == 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return status;
}

static void check_interrupted(void)
{
    char temporary[sizeof(path) + 8];
    int status;

    write_file(1, NULL);
    status = save_limited(5000, true);
    tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ, "a process is killed while it saves");
    tap_ok(file_is(1), "the last good file is still there");
    status = save_limited(5000, false);
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a save that cannot write fails");
    tap_ok(file_is(1), "the last good file is still there");
    snprintf(temporary, sizeof(temporary), "%s.saving", path);
    tap_ok(access(temporary, F_OK) != 0, "what was written of the new one is gone");
    tap_ok(write_file(3, NULL) == 0 && file_is(3), "the next save replaces it");
}

static void check_targets(void)
{
    struct dtrain_error err = {""};

    tap_ok(checkpoint_file_check(path, &err) == 0, "a file can be saved over %s", err.text);
    tap_ok(checkpoint_file_check("/dev/full", &err) == -1, "a device cannot");
    tap_holds(err.text, "--save /dev/full: exists and is no regular file", "with the reason");
    tap_ok(checkpoint_file_check("no/such/folder/file", &err) == -1, "nor in a folder that is not there");
    tap_holds(err.text, "cannot write to its directory: No such file or directory", "with the reason");
}

int main(void)
{
    int fd = mkstemp(path);

    if (!tap_ok(fd >= 0, "a file for the test"))
        return tap_done();
    close(fd);
    make_shape();
    tap_ok(write_file(1, NULL) == 0 && file_is(1), "what is written is read");
    tap_ok(file_size() == (long)format_file_bytes(list, parameter_count(&shape), DTRAIN_FLOAT32),
           "its length is as computed");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
    check_other_sizes();
    check_missing();
    check_order();
    check_types();
    check_version_1();
    check_interrupted();
    check_targets();
    unlink(path);
    return tap_done();
}
