#include <string.h>

#include "core/error.h"
#include "ep.h"

#define NO_PLAN (-1) /* a rank's first count when it cannot plan, for the others to see */

static size_t slot_count(const struct dtrain_ep *ep)
{
    return ep->token_count * (size_t)ep->options.top_k;
}

/* The own counts: rows sent to each expert, then how often each was chosen. */
static int32_t *own_row(struct dtrain_ep *ep)
{
    return ep->counts + DT_EP_COUNTS * (size_t)ep->rank * (size_t)ep->options.experts;
}

static int count_slots(struct dtrain_ep *ep, struct dtrain_error *err)
{
    int32_t *sent = own_row(ep), *chosen = sent + ep->options.experts;
    size_t capacity = ep->options.capacity;

    memset(sent, 0, DT_EP_COUNTS * (size_t)ep->options.experts * sizeof(*sent));
    for (size_t i = 0; i < slot_count(ep); i++) {
        int32_t expert = ep->experts[i];

        if (expert >= ep->options.experts)
            return dt_error_set(
                err,
                "dtrain_ep_plan: token %zu has expert %d: expected one below %d, or below 0 for "
                "none",
                i / (size_t)ep->options.top_k, (int)expert, ep->options.experts);
        if (expert < 0)
            continue;
        chosen[expert]++;
        sent[expert] += capacity == 0 || (size_t)sent[expert] < capacity;
    }
    return 0;
}

static void place_slot(struct dtrain_ep *ep, size_t slot)
{
    struct dt_ep_range *range = ep->experts[slot] < 0 ? NULL : &ep->ranges[ep->experts[slot]];

    if (range == NULL || range->next == range->end)
        return;
    ep->host_slots[range->next] = (int32_t)slot;
    ep->host_tokens[range->next++] = (int32_t)(slot / (size_t)ep->options.top_k);
}

/* By expert, in each in order; the slots past a capacity come last, so they are what is left out. */
static void sort_slots(struct dtrain_ep *ep)
{
    const int32_t *sent = own_row(ep);

    ep->line_count = 0;
    for (int i = 0; i < ep->options.experts; i++) {
        ep->ranges[i] = (struct dt_ep_range){ep->line_count, ep->line_count + (size_t)sent[i]};
        ep->line_count = ep->ranges[i].end;
    }
    for (size_t i = 0; i < slot_count(ep); i++)
        place_slot(ep, i);
}

/* The router's choice, as the CPU can read it. */
static int fetch_experts(struct dtrain_ep *ep, const int32_t *experts, size_t tokens,
                         struct dtrain_error *err)
{
    ep->token_count = 0;
    if (tokens > ep->options.tokens_max)
        return dt_error_set(err,
                            "dtrain_ep_plan: tokens is %zu but tokens_max is %zu: create the handle for more",
                            tokens, ep->options.tokens_max);
    if (dt_lane_check_buffer("dtrain_ep_plan", "experts", experts,
                             tokens * (size_t)ep->options.top_k * sizeof(*experts), err) != 0)
        return -1;
    ep->token_count = tokens;
    if (dt_lane_start(&ep->lane, err) != 0 ||
        dtrain_copy(ep->experts, experts, slot_count(ep) * sizeof(*experts), ep->options.stream, err) != 0)
        return -1;
    return dtrain_stream_synchronize(ep->options.stream, err);
}

static int make_lines(struct dtrain_ep *ep, const int32_t *experts, size_t tokens, struct dtrain_error *err)
{
    size_t bytes;

    if (fetch_experts(ep, experts, tokens, err) != 0 || count_slots(ep, err) != 0)
        return -1;
    sort_slots(ep);
    bytes = ep->line_count * sizeof(int32_t);
    if (dtrain_copy(ep->tokens, ep->host_tokens, bytes, ep->options.stream, err) != 0)
        return -1;
    return dtrain_copy(ep->slots, ep->host_slots, bytes, ep->options.stream, err);
}

static int exchange_counts(struct dtrain_ep *ep, struct dtrain_error *err)
{
    size_t count = DT_EP_COUNTS * (size_t)ep->options.experts, bytes = count * sizeof(int32_t);
    struct dtrain_stream *stream = ep->options.stream;

    if (dtrain_copy(ep->own_counts, own_row(ep), bytes, stream, err) != 0 ||
        dtrain_all_gather(ep->options.comm, ep->own_counts, ep->all_counts, count, DTRAIN_INT32, stream,
                          err) != 0 ||
        dtrain_copy(ep->counts, ep->all_counts, (size_t)ep->size * bytes, stream, err) != 0)
        return -1;
    return dtrain_stream_synchronize(stream, err);
}

static int check_others(const struct dtrain_ep *ep, struct dtrain_error *err)
{
    for (int rank = 0; rank < ep->size; rank++) {
        if (ep->counts[DT_EP_COUNTS * (size_t)rank * (size_t)ep->options.experts] == NO_PLAN)
            return dt_error_set(
                err, "dtrain_ep_plan: rank %d of the group cannot plan: its own error says why", rank);
    }
    return 0;
}

static void sum_counts(struct dtrain_ep *ep)
{
    ep->row_count = 0;
    ep->dropped = 0;
    for (size_t expert = 0; expert < (size_t)ep->options.experts; expert++) {
        bool is_own = expert - ep->own.first < ep->own.count;

        ep->routed[expert] = 0;
        for (int rank = 0; rank < ep->size; rank++) {
            size_t sent = dt_ep_sent(ep, rank, expert);

            ep->routed[expert] += dt_ep_chosen(ep, rank, expert);
            ep->dropped += dt_ep_chosen(ep, rank, expert) - (int64_t)sent;
            ep->row_count += is_own ? sent : 0;
        }
    }
}

/* No plan is left: nothing is sent, and no rank expects anything. */
static void forget(struct dtrain_ep *ep)
{
    memset(ep->counts, 0,
           (size_t)ep->size * DT_EP_COUNTS * (size_t)ep->options.experts * sizeof(*ep->counts));
    ep->token_count = ep->line_count = 0;
    sum_counts(ep);
}

/* A rank that cannot plan says so in the exchange, so that the others do not wait for it. */
int dtrain_ep_plan(struct dtrain_ep *ep, const int32_t *experts, size_t tokens, struct dtrain_error *err)
{
    int rc;

    if (ep == NULL)
        return dt_error_set(err, "dtrain_ep_plan: ep is NULL");
    rc = make_lines(ep, experts, tokens, err);
    if (rc != 0)
        *own_row(ep) = NO_PLAN;
    if (exchange_counts(ep, rc == 0 ? err : NULL) != 0 || check_others(ep, rc == 0 ? err : NULL) != 0) {
        forget(ep);
        return -1;
    }
    sum_counts(ep);
    return 0;
}
