#include <stdlib.h>

#include "core/error.h"
#include "dp.h"
#include "runtime/math.h"

static void unlink_buffer(struct dt_dp_buffer **list, struct dt_dp_buffer *buffer)
{
    while (*list != buffer)
        list = &(*list)->next;
    *list = buffer->next;
}

/* The one that is free for longest, so that its reduction is the likeliest to have ended. */
static struct dt_dp_buffer *find_free(struct dtrain_dp *dp, size_t bytes)
{
    struct dt_dp_buffer *found = NULL;

    for (struct dt_dp_buffer *i = dp->free; i != NULL; i = i->next)
        if (i->bytes >= bytes)
            found = i;
    return found;
}

/* One that is under way is no reason to stop the backward pass while there are fewer than this. */
#define BUFFERS_MIN 3

static size_t count_free(const struct dtrain_dp *dp)
{
    size_t count = 0;

    for (const struct dt_dp_buffer *i = dp->free; i != NULL; i = i->next)
        count++;
    return count;
}

static struct dt_dp_buffer *buffer_create(struct dtrain_dp *dp, size_t bytes, struct dtrain_error *err)
{
    struct dt_dp_buffer *buffer = calloc(1, sizeof(*buffer));

    if (buffer == NULL) {
        dt_error_memory(err, sizeof(*buffer), "a bucket's buffer");
        return NULL;
    }
    if (dtrain_stream_create(dp->world, &buffer->stream, err) < 0 ||
        dt_dp_memory_alloc(dp, bytes, &buffer->memory, err) < 0) {
        dtrain_stream_destroy(buffer->stream, NULL);
        free(buffer);
        return NULL;
    }
    buffer->bytes = bytes;
    buffer->next = dp->free;
    dp->free = buffer;
    return buffer;
}

static int clear(const struct dt_dp_buffer *buffer, enum dtrain_type type, size_t elements,
                 struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_FILL, .fill = {.x = buffer->memory, .type = type, .n = elements}};

    return dt_math_enqueue(&math, buffer->stream, err);
}

int dt_dp_buffer_lend(struct dtrain_dp *dp, struct dt_dp_lane *lane, size_t bucket, struct dtrain_error *err)
{
    const struct dt_dp_bucket *planned = &lane->plan.buckets[bucket];
    enum dtrain_type type = dp->parameters[lane->plan.order[planned->first]].given.gradient_type;
    size_t bytes = planned->elements * dtrain_type_size(type);
    struct dt_dp_slot *slot = &lane->slots[bucket];
    struct dt_dp_buffer *buffer;

    if (slot->buffer != NULL)
        return 0;
    buffer = find_free(dp, bytes);
    if (buffer == NULL || count_free(dp) < BUFFERS_MIN)
        buffer = buffer_create(dp, bytes, err);
    if (buffer == NULL || clear(buffer, type, planned->elements, err) < 0)
        return -1;
    unlink_buffer(&dp->free, buffer);
    buffer->next = dp->lent;
    dp->lent = buffer;
    slot->buffer = buffer;
    return 0;
}

void dt_dp_buffer_give_back(struct dtrain_dp *dp, struct dt_dp_slot *slot)
{
    unlink_buffer(&dp->lent, slot->buffer);
    slot->buffer->next = dp->free;
    dp->free = slot->buffer;
    slot->buffer = NULL;
}

static void destroy_list(struct dtrain_dp *dp, struct dt_dp_buffer *list)
{
    while (list != NULL) {
        struct dt_dp_buffer *buffer = list;

        list = buffer->next;
        dtrain_stream_destroy(buffer->stream, NULL);
        if (buffer->memory != NULL)
            dtrain_memory_free(dp->world, buffer->memory);
        free(buffer);
    }
}

void dt_dp_buffers_destroy(struct dtrain_dp *dp)
{
    destroy_list(dp, dp->free);
    destroy_list(dp, dp->lent);
}
