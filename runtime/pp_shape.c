#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pp.h"

size_t dt_pp_shape_count(const struct dtrain_pp_shape *shape)
{
    size_t count = 1;

    if (shape->rank < 1 || shape->rank > DTRAIN_PP_DIMS_MAX)
        return 0;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0 || count > PTRDIFF_MAX / sizeof(double) / shape->dims[i])
            return 0;
        count *= shape->dims[i];
    }
    return count;
}

bool dt_pp_shape_same(const struct dtrain_pp_shape *a, const struct dtrain_pp_shape *b)
{
    bool same = a->rank == b->rank;

    for (int i = 0; same && i < a->rank && i < DTRAIN_PP_DIMS_MAX; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

char *dt_pp_shape_text(const struct dtrain_pp_shape *shape, char buf[DT_PP_SHAPE_TEXT_MAX])
{
    size_t used = (size_t)snprintf(buf, DT_PP_SHAPE_TEXT_MAX, "[");

    for (int i = 0; i < shape->rank && i < DTRAIN_PP_DIMS_MAX; i++)
        used += (size_t)snprintf(buf + used, DT_PP_SHAPE_TEXT_MAX - used, "%s%zu", i > 0 ? ", " : "",
                                 shape->dims[i]);
    snprintf(buf + used, DT_PP_SHAPE_TEXT_MAX - used, "]");
    return buf;
}

void dt_pp_shape_pack(int64_t numbers[DT_PP_SHAPE_NUMBERS], const struct dtrain_pp_shape *shape)
{
    numbers[0] = shape->rank;
    for (int i = 0; i < DTRAIN_PP_DIMS_MAX; i++)
        numbers[1 + i] = i < shape->rank ? (int64_t)shape->dims[i] : 0;
}

void dt_pp_shape_unpack(struct dtrain_pp_shape *shape, const int64_t numbers[DT_PP_SHAPE_NUMBERS])
{
    shape->rank = numbers[0] >= 1 && numbers[0] <= DTRAIN_PP_DIMS_MAX ? (int)numbers[0] : 0;
    for (int i = 0; i < DTRAIN_PP_DIMS_MAX; i++)
        shape->dims[i] = (size_t)numbers[1 + i];
}

/* ---- Announcing ---------------------------------------------------------------- */

static size_t numbers_count(const struct dtrain_pp *pp)
{
    return (size_t)pp->options.microbatches * DT_PP_SHAPE_NUMBERS;
}

/* Shapes of one chunk's inputs from the stage before. */
static int receive(struct dtrain_pp *pp, int chunk, int64_t *numbers, struct dtrain_error *err)
{
    int stages = pp->group.size, from = (pp->group.rank + stages - 1) % stages;
    size_t count = numbers_count(pp);

    if (dtrain_recv(pp->comm, pp->announced, count, DTRAIN_INT64, from, pp->streams[0], err) != 0 ||
        dtrain_copy(numbers, pp->announced, count * sizeof(*numbers), pp->streams[0], err) != 0 ||
        dtrain_stream_synchronize(pp->streams[0], err) != 0)
        return -1;
    for (int i = 0; i < pp->options.microbatches; i++)
        dt_pp_shape_unpack(&pp->input_shapes[dt_pp_shape_index(pp, chunk, i)],
                           &numbers[i * DT_PP_SHAPE_NUMBERS]);
    return 0;
}

static int send(struct dtrain_pp *pp, int chunk, int64_t *numbers, struct dtrain_error *err)
{
    int to = (pp->group.rank + 1) % pp->group.size;
    size_t count = numbers_count(pp);

    for (int i = 0; i < pp->options.microbatches; i++)
        dt_pp_shape_pack(&numbers[i * DT_PP_SHAPE_NUMBERS],
                         &pp->output_shapes[dt_pp_shape_index(pp, chunk, i)]);
    if (dtrain_copy(pp->announced, numbers, count * sizeof(*numbers), pp->streams[0], err) != 0 ||
        dtrain_send(pp->comm, pp->announced, count, DTRAIN_INT64, to, pp->streams[0], err) != 0)
        return -1;
    return dtrain_stream_synchronize(pp->streams[0], err);
}

static int check_output(const struct dtrain_pp *pp, int chunk, int microbatch, struct dtrain_error *err)
{
    const struct dtrain_pp_shape *shape = &pp->output_shapes[dt_pp_shape_index(pp, chunk, microbatch)];
    size_t count = dt_pp_shape_count(shape), most = dt_pp_shape_count(&pp->options.shape);
    char text[DT_PP_SHAPE_TEXT_MAX], most_text[DT_PP_SHAPE_TEXT_MAX];

    if (count >= 1 && count <= most)
        return 0;
    return dt_error_set(err, "it is %s: expected 1 to %zu elements, as in options.shape %s",
                        dt_pp_shape_text(shape, text), most, dt_pp_shape_text(&pp->options.shape, most_text));
}

static int find_outputs(struct dtrain_pp *pp, int chunk, struct dtrain_error *err)
{
    for (int i = 0; i < pp->options.microbatches; i++) {
        struct dtrain_pp_work work = dt_pp_work(pp, chunk, i);
        struct dtrain_pp_shape *shape = &pp->output_shapes[dt_pp_shape_index(pp, chunk, i)];
        struct dtrain_error why = {""};
        char what[DT_SCHEDULE_TEXT_MAX];

        *shape = (struct dtrain_pp_shape){.rank = 0};
        if (pp->options.output_shape(&work, shape, &why) == 0 && check_output(pp, chunk, i, &why) == 0)
            continue;
        snprintf(what, sizeof(what), "the output shape of microbatch %d, chunk %d", i, chunk);
        return dt_pp_fail(pp, what, &why, err);
    }
    return 0;
}

static int announce_chunk(struct dtrain_pp *pp, int chunk, int64_t *numbers, struct dtrain_error *err)
{
    bool is_alone = pp->group.size == 1;
    int model_stage = dt_pp_model_stage(pp, chunk);

    if (model_stage > 0 && !is_alone && receive(pp, chunk, numbers, err) != 0)
        return -1;
    if (dt_pp_is_last(pp, chunk))
        return 0;
    if (find_outputs(pp, chunk, err) != 0)
        return -1;
    if (!is_alone)
        return send(pp, chunk, numbers, err);
    for (int i = 0; i < pp->options.microbatches; i++)
        pp->input_shapes[dt_pp_shape_index(pp, chunk + 1, i)] =
            pp->output_shapes[dt_pp_shape_index(pp, chunk, i)];
    return 0;
}

int dt_pp_shapes_announce(struct dtrain_pp *pp, struct dtrain_error *err)
{
    size_t count = numbers_count(pp);
    int64_t *numbers = malloc(count * sizeof(*numbers));
    int rc = 0;

    if (numbers == NULL)
        return dt_error_memory(err, count * sizeof(*numbers), "the shapes of microbatches");
    for (int chunk = 0; rc == 0 && chunk < pp->options.chunks; chunk++)
        rc = announce_chunk(pp, chunk, numbers, err);
    free(numbers);
    return rc;
}
