#include "ep.h"

#include <stdlib.h>

#include "core/error.h"

struct dtrain_tp_shard dt_ep_shard_of(const struct dtrain_ep *ep, int rank)
{
    struct dtrain_tp_shard shard = {0};

    dtrain_tp_shard((size_t)ep->options.experts, ep->size, rank, 1, DTRAIN_TP_UNEVEN, &shard, NULL);
    return shard;
}

/* ---- Sizes ---------------------------------------------------------------------- */

static int check(const struct dtrain_ep_options *options, const char *function, struct dtrain_error *err)
{
    struct dt_lane lane;
    size_t slots, bytes;

    if (options == NULL)
        return dt_error_set(err, "%s: options is NULL", function);
    lane = (struct dt_lane){options->comm, options->stream, options->compute};
    if (dt_lane_check(&lane, function, options->type, err) != 0)
        return -1;
    if (options->experts < 1 || options->top_k < 1)
        return dt_error_set(err, "%s: experts is %d, top_k is %d: expected 1 or more", function,
                            options->experts, options->top_k);
    if (__builtin_mul_overflow(options->tokens_max, (size_t)options->top_k, &slots) || slots > INT32_MAX)
        return dt_error_set(err, "%s: tokens_max is %zu with top_k %d: expected a product below 2^31",
                            function, options->tokens_max, options->top_k);
    /* Both with room for the alignment of the workspace's parts. */
    if (dt_lane_bytes((size_t)options->experts, (size_t)dtrain_comm_size(options->comm) + 1, 64,
                      DTRAIN_FLOAT64, "a table of counts", &bytes, err) != 0)
        return -1;
    return dt_lane_bytes(slots + 1, options->n, 64, DTRAIN_FLOAT64, "an array of rows", &bytes, err);
}

static size_t slots_of(const struct dtrain_ep_options *options)
{
    return options->tokens_max * (size_t)options->top_k;
}

static size_t counts_of(const struct dtrain_ep_options *options)
{
    return DT_EP_COUNTS * (size_t)options->experts;
}

int dtrain_ep_workspace(const struct dtrain_ep_options *options, size_t *bytes, struct dtrain_error *err)
{
    size_t slots;

    if (check(options, "dtrain_ep_workspace", err) != 0)
        return -1;
    if (bytes == NULL)
        return dt_error_set(err, "dtrain_ep_workspace: bytes is NULL");
    slots = slots_of(options);
    *bytes = dt_lane_aligned(counts_of(options) * sizeof(int32_t)) +
             dt_lane_aligned((size_t)dtrain_comm_size(options->comm) * counts_of(options) * sizeof(int32_t)) +
             3 * dt_lane_aligned(slots * sizeof(int32_t)) +
             dt_lane_aligned(slots * options->n * dtrain_type_size(options->type));
    return 0;
}

/* In the order in which dtrain_ep_workspace() adds them up; a line's token, slot and weight have 4 bytes. */
static void divide_workspace(struct dtrain_ep *ep)
{
    size_t counts = dt_lane_aligned(counts_of(&ep->options) * sizeof(int32_t));
    size_t all = dt_lane_aligned((size_t)ep->size * counts_of(&ep->options) * sizeof(int32_t));
    size_t slots = dt_lane_aligned(slots_of(&ep->options) * sizeof(int32_t));
    char *at = ep->options.workspace;

    ep->own_counts = (int32_t *)at;
    ep->all_counts = (int32_t *)(at + counts);
    at += counts + all;
    ep->tokens = (int32_t *)at;
    ep->slots = (int32_t *)(at + slots);
    ep->weights = (float *)(at + 2 * slots);
    ep->lines = at + 3 * slots;
}

/* ---- Life ----------------------------------------------------------------------- */

/* One more than needed, so that none is empty. */
static int allocate(struct dtrain_ep *ep, struct dtrain_error *err)
{
    size_t slots = slots_of(&ep->options) + 1, experts = (size_t)ep->options.experts;
    size_t transfers = experts + (size_t)ep->size * ep->own.count;

    ep->experts = calloc(slots, sizeof(*ep->experts));
    ep->host_tokens = calloc(slots, sizeof(*ep->host_tokens));
    ep->host_slots = calloc(slots, sizeof(*ep->host_slots));
    ep->counts = calloc((size_t)ep->size * DT_EP_COUNTS * experts, sizeof(*ep->counts));
    ep->ranges = calloc(experts, sizeof(*ep->ranges));
    ep->routed = calloc(experts, sizeof(*ep->routed));
    ep->transfers = calloc(transfers, sizeof(*ep->transfers));
    if (ep->experts == NULL || ep->host_tokens == NULL || ep->host_slots == NULL || ep->counts == NULL ||
        ep->ranges == NULL || ep->routed == NULL || ep->transfers == NULL)
        return dt_error_memory(err, 3 * slots * sizeof(int32_t) + transfers * sizeof(*ep->transfers),
                               "a plan of expert parallelism");
    return 0;
}

int dtrain_ep_create(struct dtrain_ep **ep, const struct dtrain_ep_options *options, struct dtrain_error *err)
{
    struct dtrain_ep *made;
    size_t bytes;

    if (ep == NULL)
        return dt_error_set(err, "dtrain_ep_create: ep is NULL");
    if (check(options, "dtrain_ep_create", err) != 0 || dtrain_ep_workspace(options, &bytes, err) != 0 ||
        dt_lane_check_buffer("dtrain_ep_create", "workspace", options->workspace, bytes, err) != 0)
        return -1;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a handle of expert parallelism");
    made->options = *options;
    made->lane = (struct dt_lane){options->comm, options->stream, options->compute};
    made->size = dtrain_comm_size(options->comm);
    made->rank = dtrain_comm_rank(options->comm);
    made->own = dt_ep_shard_of(made, made->rank);
    divide_workspace(made);
    if (allocate(made, err) != 0) {
        dtrain_ep_destroy(made);
        return -1;
    }
    *ep = made;
    return 0;
}

void dtrain_ep_destroy(struct dtrain_ep *ep)
{
    if (ep == NULL)
        return;
    free(ep->experts);
    free(ep->host_tokens);
    free(ep->host_slots);
    free(ep->counts);
    free(ep->ranges);
    free(ep->routed);
    free(ep->transfers);
    free(ep);
}

/* ---- Getters --------------------------------------------------------------------- */

size_t dtrain_ep_rows(const struct dtrain_ep *ep)
{
    return ep->row_count;
}

size_t dtrain_ep_expert_rows(const struct dtrain_ep *ep, int own_expert)
{
    size_t rows = 0;

    if (own_expert < 0 || (size_t)own_expert >= ep->own.count)
        return 0;
    for (int rank = 0; rank < ep->size; rank++)
        rows += dt_ep_sent(ep, rank, ep->own.first + (size_t)own_expert);
    return rows;
}

int dtrain_ep_first_expert(const struct dtrain_ep *ep)
{
    return (int)ep->own.first;
}

int dtrain_ep_expert_count(const struct dtrain_ep *ep)
{
    return (int)ep->own.count;
}

void dtrain_ep_balance(const struct dtrain_ep *ep, struct dtrain_ep_balance *balance)
{
    int64_t most = 0;

    *balance = (struct dtrain_ep_balance){.routed = ep->routed, .dropped = ep->dropped};
    for (int i = 0; i < ep->options.experts; i++) {
        balance->total += ep->routed[i];
        most = ep->routed[i] > most ? ep->routed[i] : most;
    }
    if (balance->total > 0)
        balance->imbalance = (double)most * ep->options.experts / (double)balance->total;
}

double dtrain_ep_balance_loss(const struct dtrain_ep *ep, const double *probabilities)
{
    struct dtrain_ep_balance balance;
    double sum = 0;

    dtrain_ep_balance(ep, &balance);
    for (int i = 0; i < ep->options.experts && balance.total > 0; i++)
        sum += (double)ep->routed[i] / (double)balance.total * probabilities[i];
    return ep->options.experts * sum;
}

int dtrain_ep_finish(struct dtrain_ep *ep, struct dtrain_error *err)
{
    if (ep == NULL)
        return dt_error_set(err, "dtrain_ep_finish: ep is NULL");
    return dt_lane_finish(&ep->lane, err);
}
