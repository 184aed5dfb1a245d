#include "pp.h"

#include <stdlib.h>
#include <string.h>

/* ---- Making --------------------------------------------------------------------- */

static int copy_shapes(struct dtrain_pp_shape **to, const struct dtrain_pp *pp,
                       const struct dtrain_pp_shape *from, struct dtrain_error *err)
{
    size_t count = (size_t)pp->options.chunks * (size_t)pp->shape_rows;

    *to = calloc(count, sizeof(**to));
    if (*to == NULL)
        return dt_error_memory(err, count * sizeof(**to), "the shapes of a pipeline");
    for (size_t i = 0; i < count; i++)
        (*to)[i] = from != NULL ? from[i] : pp->options.shape;
    return 0;
}

static int make_shapes(struct dtrain_pp *pp, const struct dtrain_pp_options *options,
                       struct dtrain_error *err)
{
    bool is_variable = options->output_shape != NULL;
    size_t bytes = (size_t)options->microbatches * DT_PP_SHAPE_NUMBERS * sizeof(int64_t);

    pp->shape_rows = is_variable ? options->microbatches : 1;
    if (copy_shapes(&pp->input_shapes, pp, options->input_shapes, err) != 0 ||
        copy_shapes(&pp->output_shapes, pp, options->output_shapes, err) != 0)
        return -1;
    return is_variable ? dtrain_memory_alloc(pp->world, bytes, &pp->announced, err) : 0;
}

static int make_layers(struct dtrain_pp *pp, struct dtrain_error *err)
{
    const struct dtrain_pp_options *options = &pp->options;
    int parts = pp->group.size * options->chunks, count;

    if (options->layers == 0)
        return 0;
    pp->firsts = calloc((size_t)parts + 1, sizeof(*pp->firsts));
    if (pp->firsts == NULL)
        return dt_error_memory(err, ((size_t)parts + 1) * sizeof(*pp->firsts), "the layers of a pipeline");
    if (options->layer_costs != NULL)
        return dtrain_pp_balance(options->layer_costs, options->layers, pp->group.size, options->chunks,
                                 pp->firsts, err);
    pp->firsts[parts] = options->layers;
    for (int k = 0; k < parts; k++)
        if (dtrain_pp_stage_layers(options->layers, pp->group.size, options->chunks, k % pp->group.size,
                                   k / pp->group.size, &pp->firsts[k], &count, err) != 0)
            return -1;
    return 0;
}

static int make_schedule(struct dtrain_pp *pp, struct dtrain_error *err)
{
    const struct dtrain_pp_options *options = &pp->options;
    const struct dt_schedule_request request = {
        .kind = options->kind,
        .stages = pp->group.size,
        .microbatches = options->microbatches,
        .chunks = options->chunks,
        .times = {options->forward_time, options->backward_time, options->weight_time},
    };

    if (dt_schedule_create(&pp->schedule, &request, err) != 0 || dt_schedule_verify(pp->schedule, err) != 0)
        return -1;
    return dt_pp_plan_create(&pp->plan, pp->schedule, pp->group.rank, err);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The largest boundary's; those at the ends of the model have none. */
static size_t elements_of(const struct dtrain_pp *pp)
{
    size_t most = pp->options.output_shape != NULL ? dt_pp_shape_count(&pp->options.shape) : 0;

    for (int c = 0; c < pp->options.chunks && pp->options.output_shape == NULL; c++) {
        if (dt_pp_model_stage(pp, c) > 0)
            most = larger(most, dt_pp_shape_count(&pp->input_shapes[c]));
        if (!dt_pp_is_last(pp, c))
            most = larger(most, dt_pp_shape_count(&pp->output_shapes[c]));
    }
    return most;
}

#define BUFFER_ALIGNMENT 64

static int make_buffers(struct dtrain_pp *pp, struct dtrain_error *err)
{
    size_t bytes = elements_of(pp) * dtrain_type_size(pp->options.type);

    pp->buffer_bytes = (bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    if (pp->plan.buffers > 0 && pp->buffer_bytes > PTRDIFF_MAX / (size_t)pp->plan.buffers)
        return dt_error_set(err, "%d activations of %zu bytes are more than memory can hold",
                            pp->plan.buffers, pp->buffer_bytes);
    return dtrain_memory_alloc(pp->world, pp->buffer_bytes * (size_t)pp->plan.buffers, &pp->buffers, err);
}

/* The live weights and a stash of each for every version that the schedule keeps beside them. */
static int make_versions(struct dtrain_pp *pp, const struct dtrain_pp_options *options,
                         struct dtrain_error *err)
{
    size_t count = options->parameter_count, stashes = (size_t)pp->plan.stashes;

    pp->parameters = calloc((1 + stashes) * count + 1, sizeof(*pp->parameters));
    if (pp->parameters == NULL)
        return dt_error_memory(err, (1 + stashes) * count * sizeof(*pp->parameters),
                               "the versions of weights");
    for (size_t i = 0; i < count; i++)
        pp->parameters[i] = options->parameters[i].data;
    for (size_t i = count; i < (1 + stashes) * count; i++)
        if (dtrain_memory_alloc(pp->world, options->parameters[i % count].bytes, &pp->parameters[i], err))
            return -1;
    return 0;
}

static int copy_parameters(struct dtrain_pp *pp, const struct dtrain_pp_options *options,
                           struct dtrain_error *err)
{
    size_t bytes = options->parameter_count * sizeof(*options->parameters);
    struct dtrain_pp_parameter *copy = malloc(bytes + 1);

    if (copy == NULL)
        return dt_error_memory(err, bytes, "a pipeline's parameters");
    if (bytes > 0)
        memcpy(copy, options->parameters, bytes);
    pp->options.parameters = copy;
    return 0;
}

static int make_events(struct dtrain_pp *pp, struct dtrain_error *err)
{
    pp->events = calloc(pp->plan.count + 1, sizeof(*pp->events));
    pp->operation_steps = calloc(pp->plan.count + 1, sizeof(*pp->operation_steps));
    if (pp->events == NULL || pp->operation_steps == NULL)
        return dt_error_memory(err, (pp->plan.count + 1) * sizeof(*pp->events), "a pipeline's timeline");
    for (size_t i = pp->plan.count; i-- > 0;)
        if (dt_schedule_is_transfer(pp->plan.steps[i].action.kind))
            pp->operation_steps[pp->plan.steps[i].action.operation] = i;
    return 0;
}

static int make_streams(struct dtrain_pp *pp, struct dtrain_error *err)
{
    if (dtrain_stream_create(pp->world, &pp->compute, err) != 0)
        return -1;
    for (int i = 0; i < DT_PP_STREAMS; i++)
        if (dtrain_stream_create(pp->world, &pp->streams[i], err) != 0)
            return -1;
    return 0;
}

static int make_all(struct dtrain_pp *pp, const struct dtrain_pp_options *options, struct dtrain_error *err)
{
    int rc = -1;

    if (copy_parameters(pp, options, err) == 0 && make_shapes(pp, options, err) == 0 &&
        make_layers(pp, err) == 0 && make_schedule(pp, err) == 0 && make_buffers(pp, err) == 0 &&
        make_versions(pp, options, err) == 0 && make_events(pp, err) == 0)
        rc = make_streams(pp, err);
    pp->options.input_shapes = pp->options.output_shapes = NULL;
    pp->options.layer_costs = NULL;
    return rc;
}

/* ---- Life ---------------------------------------------------------------------------- */

/* Stages learn of each other's refusal, then of each other's lack of memory. */
static int agree_and_make(struct dtrain_pp *pp, const struct dtrain_pp_options *options,
                          struct dtrain_error *err)
{
    struct dtrain_error own = {""};
    bool is_good = dt_pp_options_check(options, pp->group.rank, pp->group.size, &own) == 0;

    if (dt_pp_agree(pp->world, &pp->group, pp->comm, options, is_good ? NULL : &own, err) != 0)
        return -1;
    is_good = make_all(pp, options, &own) == 0;
    return dt_pp_agree(pp->world, &pp->group, pp->comm, options, is_good ? NULL : &own, err);
}

int dtrain_pp_create(struct dtrain_world *world, const struct dtrain_pp_options *options,
                     struct dtrain_pp **pp, struct dtrain_error *err)
{
    struct dtrain_pp *made;

    if (world == NULL || options == NULL || pp == NULL)
        return dt_error_set(err, "dtrain_pp_create: world, options or pp is NULL: all are needed");
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a pipeline");
    made->world = world;
    made->options = *options;
    made->options.chunks = options->chunks == 0 ? 1 : options->chunks;
    made->options.parameters = NULL;
    made->is_queued = strcmp(dtrain_backend(world), "host") != 0;
    if (dtrain_group_get(world, DTRAIN_PP, &made->group, err) != 0 ||
        dtrain_comm_get(world, DTRAIN_PP, &made->comm, err) != 0 || agree_and_make(made, options, err) != 0) {
        dtrain_pp_destroy(made);
        return -1;
    }
    *pp = made;
    return 0;
}

void dtrain_pp_destroy(struct dtrain_pp *pp)
{
    size_t count;

    if (pp == NULL)
        return;
    dtrain_stream_destroy(pp->compute, NULL);
    for (int i = 0; i < DT_PP_STREAMS; i++)
        dtrain_stream_destroy(pp->streams[i], NULL);
    dt_pp_tied_clear(pp);
    count = pp->options.parameter_count;
    for (size_t i = count; pp->parameters != NULL && i < (1 + (size_t)pp->plan.stashes) * count; i++)
        dtrain_memory_free(pp->world, pp->parameters[i]);
    dtrain_memory_free(pp->world, pp->buffers);
    dtrain_memory_free(pp->world, pp->announced);
    free(pp->parameters);
    free((void *)pp->options.parameters);
    free(pp->input_shapes);
    free(pp->output_shapes);
    free(pp->firsts);
    free(pp->events);
    free(pp->operation_steps);
    dt_pp_plan_clear(&pp->plan);
    dt_schedule_destroy(pp->schedule);
    free(pp);
}

/* ---- What there is --------------------------------------------------------------------- */

void dtrain_pp_info(const struct dtrain_pp *pp, struct dtrain_pp_info *info)
{
    *info = (struct dtrain_pp_info){
        .stage = pp->group.rank,
        .stages = pp->group.size,
        .chunks = pp->options.chunks,
        .microbatches = pp->options.microbatches,
        .slots = pp->plan.slots,
        .buffers = pp->plan.buffers,
        .buffer_bytes = pp->buffer_bytes,
        .versions = 1 + pp->plan.stashes,
    };
}

const struct dtrain_pp_action *dtrain_pp_schedule(const struct dtrain_pp *pp, size_t *count)
{
    const struct dt_schedule_stage *list = &pp->schedule->stages[pp->group.rank];

    *count = list->count;
    return list->actions;
}

const struct dtrain_pp_event *dtrain_pp_trace(const struct dtrain_pp *pp, size_t *count)
{
    *count = pp->plan.count;
    return pp->events;
}
