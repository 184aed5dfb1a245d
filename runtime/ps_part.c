#include <stdlib.h>

#include "core/error.h"
#include "ps.h"

#define ALIGNMENT 64 /* of each array: a cache line */

/* ---- Memory -------------------------------------------------------------------- */

/* The next array of a piece of memory that is not there yet: its offset. */
static size_t reserve(size_t *used, size_t bytes)
{
    size_t at = *used;

    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static enum dtrain_type state_type_of(const struct dtrain_ps_parameter *p)
{
    return p->type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

/* Moments that the rule has. */
static int moment_count(const struct dtrain_ps_options *options)
{
    if (options->rule == DTRAIN_PS_ADAMW)
        return 2;
    return options->rule == DTRAIN_PS_SGD && options->momentum != 0;
}

/* Arrays of a part at `base`; base NULL: only counts. */
static void part_place(const struct dtrain_ps *ps, struct dt_ps_part *part, char *base, size_t *used)
{
    size_t count = part->piece.count, state = count * dtrain_type_size(part->state_type);
    void **states[] = {&part->weight, &part->first, &part->second};
    size_t at = reserve(used, count * dtrain_type_size(part->type));
    bool is_value = part->state_type == part->type;

    part->value = base != NULL ? base + at : NULL;
    part->weight = part->value;
    for (int i = is_value ? 1 : 0; i <= moment_count(&ps->options); i++) {
        at = reserve(used, state);
        *states[i] = base != NULL ? base + at : NULL;
    }
}

static void part_init(const struct dtrain_ps *ps, struct dt_ps_part *part, const struct dt_ps_piece *piece,
                      size_t *slots)
{
    const struct dtrain_ps_parameter *p = &ps->parameters[piece->parameter];
    size_t value = dtrain_type_size(p->type), gradient = dtrain_type_size(p->gradient_type);

    *part = (struct dt_ps_part){.piece = *piece,
                                .type = p->type,
                                .gradient_type = p->gradient_type,
                                .state_type = state_type_of(p)};
    part->slot_at = reserve(slots, piece->count * (value > gradient ? value : gradient));
}

/* Slots of all lanes, sum, then each part's arrays, in one piece of the backend's memory. */
static int allocate(struct dtrain_ps *ps, size_t slots, struct dtrain_error *err)
{
    size_t used = slots * ps->lane_count, largest = 0, sum_at;

    if (ps->part_count == 0)
        return 0;
    for (size_t i = 0; i < ps->part_count; i++) {
        size_t state = ps->parts[i].piece.count * dtrain_type_size(ps->parts[i].state_type);

        largest = state > largest ? state : largest;
    }
    sum_at = reserve(&used, largest);
    for (size_t i = 0; i < ps->part_count; i++)
        part_place(ps, &ps->parts[i], NULL, &used);
    if (dtrain_memory_alloc(ps->world, used, (void **)&ps->memory, err) < 0)
        return -1;
    for (size_t i = 0; i < ps->lane_count; i++)
        ps->lanes[i].slots = ps->memory + i * slots;
    ps->sum = ps->memory + sum_at;
    used = slots * ps->lane_count;
    reserve(&used, largest);
    for (size_t i = 0; i < ps->part_count; i++)
        part_place(ps, &ps->parts[i], ps->memory, &used);
    return 0;
}

int dt_ps_parts_create(struct dtrain_ps *ps, struct dtrain_error *err)
{
    const struct dt_ps_piece *pieces = ps->plan.pieces + ps->plan.begin[ps->self];
    size_t n = ps->plan.begin[ps->self + 1] - ps->plan.begin[ps->self], slots = 0;

    ps->parts = calloc(n + 1, sizeof(*ps->parts));
    if (ps->parts == NULL)
        return dt_error_memory(err, n * sizeof(*ps->parts), "a server's parts");
    ps->part_count = n;
    for (size_t i = 0; i < n; i++)
        part_init(ps, &ps->parts[i], &pieces[i], &slots);
    if (dt_ps_clock_create(&ps->clock, ps->worker_count, n, ps->options.staleness, err) < 0 ||
        dtrain_stream_create(ps->world, &ps->stream, err) < 0)
        return -1;
    return allocate(ps, slots, err);
}

void dt_ps_parts_destroy(struct dtrain_ps *ps)
{
    dtrain_memory_free(ps->world, ps->memory);
    free(ps->parts);
}

/* ---- The first values ------------------------------------------------------------ */

static int give(struct dtrain_ps *ps, struct dt_ps_lane *lane, struct dtrain_error *err)
{
    size_t begin = ps->plan.begin[lane->number], n = ps->plan.begin[lane->number + 1] - begin;

    for (size_t i = 0; i < n; i++) {
        const struct dt_ps_piece *piece = &ps->plan.pieces[begin + i];
        const struct dtrain_ps_parameter *p = &ps->parameters[piece->parameter];

        lane->transfers[i] = (struct dtrain_transfer){
            .is_send = true, .peer = DT_PS_SERVER_SEAT, .type = p->type, .count = piece->count,
            .buf = (char *)p->value + piece->first * dtrain_type_size(p->type)};
    }
    return n == 0 ? 0 : dtrain_transfer(lane->comm, lane->transfers, n, lane->stream, err);
}

static int widen(const struct dt_ps_part *part, struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_SCALE,
                           .scale = {.to = part->weight, .from = part->value, .to_type = part->state_type,
                                     .from_type = part->type, .n = part->piece.count, .by = {.factor = 1}}};

    return part->weight == part->value ? 0 : dt_math_enqueue(&math, stream, err);
}

static int take(struct dtrain_ps *ps, struct dt_ps_lane *lane, struct dtrain_error *err)
{
    for (size_t i = 0; i < ps->part_count; i++) {
        const struct dt_ps_part *part = &ps->parts[i];

        lane->transfers[i] = (struct dtrain_transfer){.peer = DT_PS_WORKER_SEAT, .type = part->type,
                                                      .count = part->piece.count, .buf = part->value};
    }
    if (ps->part_count > 0 &&
        dtrain_transfer(lane->comm, lane->transfers, ps->part_count, lane->stream, err) < 0)
        return -1;
    for (size_t i = 0; i < ps->part_count; i++)
        if (widen(&ps->parts[i], lane->stream, err) < 0)
            return -1;
    return 0;
}

int dt_ps_parts_fill(struct dtrain_ps *ps, struct dtrain_error *err)
{
    if (ps->is_server)
        return take(ps, &ps->lanes[0], err) < 0 ? -1 : dtrain_stream_synchronize(ps->lanes[0].stream, err);
    if (ps->self != 0)
        return 0;
    for (size_t i = 0; i < ps->lane_count; i++)
        if (give(ps, &ps->lanes[i], err) < 0)
            return -1;
    for (size_t i = 0; i < ps->lane_count; i++)
        if (dtrain_stream_synchronize(ps->lanes[i].stream, err) < 0)
            return -1;
    return 0;
}
