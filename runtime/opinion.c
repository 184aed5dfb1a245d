#include "opinion.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *dt_rank_text(const struct dt_plan *plan, uint32_t rank, char *text, size_t size)
{
    if (rank < dt_plan_world(plan))
        snprintf(text, size, "rank %u on %s", rank, dt_plan_node_name(plan, dt_plan_rank_node(plan, rank)));
    else
        snprintf(text, size, "rank %u", rank);
    return text;
}

/* Axes of size 1 are left out, but for pp and dp: a reader looks for those. */
static void axes_text(char text[DT_OPINION_AXES_MAX], const struct dt_layout *layout)
{
    static const enum dt_axis shown[] = {DT_TP, DT_CP, DT_EP, DT_PP, DT_DP};
    char order[DT_ORDER_MAX];
    size_t used = 0;

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        enum dt_axis axis = shown[i];
        uint32_t size = layout->size[axis == DT_EP ? DT_EXPERT : DT_DENSE][axis];

        if (size > 1 || (axis != DT_CP && axis != DT_EP))
            used +=
                (size_t)snprintf(text + used, DT_OPINION_AXES_MAX - used, "%s=%u ", dt_axis_name(axis), size);
    }
    snprintf(text + used, DT_OPINION_AXES_MAX - used, "order=%s", dt_layout_order_text(layout, order));
}

void dt_opinion_init(struct dt_opinion *opinion, uint32_t rank, const struct dt_plan *plan,
                     uint64_t plan_hash, const char *backend)
{
    *opinion = (struct dt_opinion){.rank = rank, .count = 1, .plan_hash = plan_hash};
    snprintf(opinion->version, sizeof(opinion->version), "%s", DTRAIN_VERSION);
    snprintf(opinion->backend, sizeof(opinion->backend), "%s", backend);
    axes_text(opinion->axes, dt_plan_layout(plan));
}

bool dt_opinion_equals(const struct dt_opinion *a, const struct dt_opinion *b)
{
    return a->plan_hash == b->plan_hash && a->config_hash == b->config_hash &&
           strcmp(a->version, b->version) == 0 &&
           strcmp(a->backend, b->backend) == 0 && strcmp(a->axes, b->axes) == 0;
}

void dt_opinions_add(struct dt_opinions *opinions, const struct dt_opinion *opinion)
{
    for (uint32_t i = 0; i < opinions->n; i++) {
        struct dt_opinion *held = &opinions->items[i];

        if (!dt_opinion_equals(held, opinion))
            continue;
        held->count += opinion->count;
        held->device[0] = '\0';
        if (opinion->rank < held->rank)
            held->rank = opinion->rank;
        return;
    }
    if (opinions->n < DT_OPINIONS_MAX)
        opinions->items[opinions->n++] = *opinion;
}

static void difference_text(char *text, size_t size, const struct dt_opinion *odd,
                            const struct dt_opinion *first)
{
    if (strcmp(odd->version, first->version) != 0)
        snprintf(text, size, "runs libdtrain %s, rank %u runs %s", odd->version, first->rank, first->version);
    else if (strcmp(odd->axes, first->axes) != 0)
        snprintf(text, size, "was started with %s, rank %u with %s", odd->axes, first->rank, first->axes);
    else if (odd->plan_hash != first->plan_hash)
        snprintf(text, size,
                 "has the plan %016" PRIx64 ", rank %u the plan %016" PRIx64
                 " (same axes, other nodes or tasks)",
                 odd->plan_hash, first->rank, first->plan_hash);
    else if (strcmp(odd->backend, first->backend) == 0)
        snprintf(text, size,
                 "was given another configuration of communicators (DTRAIN_NCCL_CONFIG) than rank %u",
                 first->rank);
    else
        snprintf(text, size, "uses the backend %s, rank %u uses %s", odd->backend, first->rank,
                 first->backend);
}

bool dt_opinions_agree(const struct dt_opinions *opinions, const struct dt_plan *plan, char *text,
                       size_t size)
{
    size_t used = 0;

    for (uint32_t i = 1; i < opinions->n && used < size; i++) {
        const struct dt_opinion *odd = &opinions->items[i];
        char who[DT_RANK_TEXT_MAX], what[2 * DT_OPINION_AXES_MAX + 64], more[32] = "";

        if (odd->count > 1)
            snprintf(more, sizeof(more), " (and %u more)", odd->count - 1);
        difference_text(what, sizeof(what), odd, &opinions->items[0]);
        used += (size_t)snprintf(text + used, size - used, "%s%s%s %s", i > 1 ? "; " : "",
                                 dt_rank_text(plan, odd->rank, who, sizeof(who)), more, what);
    }
    return opinions->n <= 1;
}

void dt_opinions_write(struct dt_buffer *buffer, const struct dt_opinions *opinions)
{
    dt_buffer_u32(buffer, opinions->n);
    for (uint32_t i = 0; i < opinions->n; i++) {
        const struct dt_opinion *opinion = &opinions->items[i];

        dt_buffer_u32(buffer, opinion->rank);
        dt_buffer_u32(buffer, opinion->count);
        dt_buffer_u64(buffer, opinion->plan_hash);
        dt_buffer_u64(buffer, opinion->config_hash);
        dt_buffer_text(buffer, opinion->version);
        dt_buffer_text(buffer, opinion->backend);
        dt_buffer_text(buffer, opinion->axes);
        dt_buffer_text(buffer, opinion->device);
    }
}

void dt_opinions_read(struct dt_reader *reader, struct dt_opinions *opinions)
{
    uint32_t n = dt_reader_u32(reader);

    if (n > DT_OPINIONS_MAX)
        reader->is_broken = true;
    for (uint32_t i = 0; i < n && !reader->is_broken; i++) {
        struct dt_opinion opinion;

        opinion.rank = dt_reader_u32(reader);
        opinion.count = dt_reader_u32(reader);
        opinion.plan_hash = dt_reader_u64(reader);
        opinion.config_hash = dt_reader_u64(reader);
        dt_reader_text(reader, opinion.version, sizeof(opinion.version));
        dt_reader_text(reader, opinion.backend, sizeof(opinion.backend));
        dt_reader_text(reader, opinion.axes, sizeof(opinion.axes));
        dt_reader_text(reader, opinion.device, sizeof(opinion.device));
        if (!reader->is_broken)
            dt_opinions_add(opinions, &opinion);
    }
}
