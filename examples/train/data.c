#include "data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"
#include "random.h"

enum { STREAM_BATCHES = -1 }; /* apart from the streams of the parameters */

static int check_file(FILE *in, const char *path, size_t seq, size_t *size, struct dtrain_error *err)
{
    struct stat st;

    if (fstat(fileno(in), &st) != 0)
        return error_set(err, "cannot read --data %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, "--data %s: expected a regular file", path);
    *size = (size_t)st.st_size;
    if (*size < seq + 1)
        return error_set(
            err,
            "--data %s has %zu bytes, fewer than the %zu of one sequence and its last label: use "
            "a longer text or a smaller --seq",
            path, *size, seq + 1);
    return 0;
}

static int read_all(struct data *data, FILE *in, const char *path, struct dtrain_error *err)
{
    data->text = malloc(data->size);
    if (data->text == NULL)
        return error_memory(err, data->size, "the text");
    if (fread(data->text, 1, data->size, in) != data->size)
        return error_set(err, "--data %s ended before its %zu bytes were read", path, data->size);
    return 0;
}

static int read_file(struct data *data, const char *path, size_t seq, struct dtrain_error *err)
{
    FILE *in = fopen(path, "rb");
    int rc = -1;

    if (in == NULL)
        return error_set(err, "cannot read --data %s: %s", path, strerror(errno));
    if (check_file(in, path, seq, &data->size, err) == 0)
        rc = read_all(data, in, path, err);
    fclose(in);
    return rc;
}

static int receive(struct data *data, struct grid *grid, struct dtrain_error *err)
{
    uint64_t size = data->size;
    int rc = 0;

    if (grid_share(grid, &size, sizeof(size), err) != 0)
        return -1;
    data->size = (size_t)size;
    if (data->text == NULL) {
        data->text = malloc(data->size);
        if (data->text == NULL)
            rc = error_memory(err, data->size, "the text");
    }
    if (grid_agree(grid, rc, err) != 0)
        return -1;
    return grid_share(grid, data->text, data->size, err);
}

int data_load(struct data *data, struct grid *grid, const char *path, size_t seq, struct dtrain_error *err)
{
    int rc = 0;

    *data = (struct data){0};
    if (grid_is_first(grid))
        rc = read_file(data, path, seq, err);
    if (grid_agree(grid, rc, err) != 0)
        return -1;
    return receive(data, grid, err);
}

void data_clear(struct data *data)
{
    free(data->text);
    *data = (struct data){0};
}

void data_sequence(const struct data *data, uint64_t seed, uint64_t step, uint64_t index, size_t seq,
                   int32_t *tokens, int32_t *labels)
{
    uint64_t places = data->size - seq; /* at least 1 */
    uint64_t start = random_bits(random_bits(seed, (uint64_t)STREAM_BATCHES, step), 0, index) % places;

    for (size_t i = 0; i < seq; i++) {
        tokens[i] = data->text[start + i];
        labels[i] = data->text[start + i + 1];
    }
}
