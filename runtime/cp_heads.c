#include <stdlib.h>

#include "core/error.h"
#include "cp.h"
#include "dtrain_tp.h"
#include "runtime/math.h"

/* One call: tokens by heads, of which each rank has some tokens or some heads. */
struct exchange {
    const struct dtrain_cp *cp;
    size_t heads, n;
    size_t element, own_tokens;
    struct dtrain_tp_shard own_heads;
    bool is_to_heads;
    char *by_heads, *by_tokens, *packed; /* packed: for each rank in order [own tokens, its heads, n] */
    struct dtrain_transfer *transfers;
    size_t transfer_count;
};

static struct dtrain_tp_shard heads_of(const struct exchange *x, int rank)
{
    struct dtrain_tp_shard shard = {0};

    dtrain_tp_shard(x->heads, dtrain_comm_size(x->cp->comm), rank, 1, DTRAIN_TP_UNEVEN, &shard, NULL);
    return shard;
}

static int begin(struct exchange *x, const char *function, const void *by_tokens, const void *by_heads,
                 void *workspace, struct dtrain_error *err)
{
    struct dt_lane lane;
    size_t bytes;

    if (dt_cp_check(x->cp, function, err) != 0 ||
        dt_lane_bytes(x->cp->tokens, x->heads, x->n, x->cp->type, "an array", &bytes, err) != 0)
        return -1;
    lane = dt_cp_lane(x->cp);
    x->element = dtrain_type_size(x->cp->type);
    x->own_tokens = dt_cp_tokens_of(x->cp, dtrain_comm_rank(x->cp->comm));
    x->own_heads = heads_of(x, dtrain_comm_rank(x->cp->comm));
    x->by_tokens = (char *)by_tokens;
    x->by_heads = (char *)by_heads;
    x->packed = workspace;
    bytes = x->own_tokens * x->heads * x->n * x->element;
    if (dt_lane_check_buffer(function, "by_tokens", by_tokens, bytes, err) != 0 ||
        dt_lane_check_buffer(function, "workspace", workspace, bytes, err) != 0 ||
        dt_lane_check_buffer(function, "by_heads", by_heads,
                             x->cp->tokens * x->own_heads.count * x->n * x->element, err) != 0)
        return -1;
    return dt_lane_start(&lane, err);
}

/* All of the own tokens, one rank's heads: between the array by tokens and the packed one. */
static int pack(const struct exchange *x, int rank, struct dtrain_error *err)
{
    struct dtrain_tp_shard shard = heads_of(x, rank);
    size_t unit = x->n * x->element, pitch = x->heads * unit, width = shard.count * unit;
    char *place = x->by_tokens + shard.first * unit, *packed = x->packed + x->own_tokens * shard.first * unit;
    struct dt_math math = {.kind = DT_MATH_COPY_2D};

    math.copy_2d = (struct dt_math_copy_2d){
        .to = x->is_to_heads ? packed : place,
        .from = x->is_to_heads ? place : packed,
        .to_pitch = x->is_to_heads ? width : pitch,
        .from_pitch = x->is_to_heads ? pitch : width,
        .width = width,
        .rows = x->own_tokens,
    };
    return width == 0 || x->own_tokens == 0 ? 0 : dt_math_enqueue(&math, x->cp->stream, err);
}

static int pack_all(const struct exchange *x, struct dtrain_error *err)
{
    for (int i = 0; i < dtrain_comm_size(x->cp->comm); i++) {
        if (pack(x, i, err) != 0)
            return -1;
    }
    return 0;
}

static void add_transfer(struct exchange *x, bool is_send, int peer, char *buf, size_t count)
{
    if (count > 0)
        x->transfers[x->transfer_count++] = (struct dtrain_transfer){is_send, peer, x->cp->type, count, buf};
}

/*
 * With one peer: the own tokens with its heads, packed, and its tokens with the own heads, which lie run by
 * run in the array by heads. A rank's runs are messages of their own on both sides.
 */
static void exchange_with(struct exchange *x, int peer)
{
    int size = dtrain_comm_size(x->cp->comm), rank = dtrain_comm_rank(x->cp->comm);
    struct dtrain_cp_tokens mine = {0}, theirs = {0};
    struct dtrain_tp_shard heads = heads_of(x, peer);
    char *packed = x->packed + x->own_tokens * heads.first * x->n * x->element;

    dtrain_cp_tokens(x->cp->tokens, size, rank, x->cp->layout, &mine, NULL);
    dtrain_cp_tokens(x->cp->tokens, size, peer, x->cp->layout, &theirs, NULL);
    for (int i = 0; i < mine.runs; i++) {
        size_t count = mine.run[i].count * heads.count * x->n;

        add_transfer(x, x->is_to_heads, peer, packed, count);
        packed += count * x->element;
    }
    for (int i = 0; i < theirs.runs; i++) {
        size_t row = x->own_heads.count * x->n;

        add_transfer(x, !x->is_to_heads, peer, x->by_heads + theirs.run[i].first * row * x->element,
                     theirs.run[i].count * row);
    }
}

static int exchange_all(struct exchange *x, struct dtrain_error *err)
{
    int size = dtrain_comm_size(x->cp->comm), rank = dtrain_comm_rank(x->cp->comm), rc;
    size_t bytes = 4 * (size_t)size * sizeof(*x->transfers);

    x->transfers = malloc(bytes);
    if (x->transfers == NULL)
        return dt_error_memory(err, bytes, "transfers");
    for (int i = 0; i < size; i++)
        exchange_with(x, (rank + i) % size);
    rc = dtrain_transfer(x->cp->comm, x->transfers, x->transfer_count, x->cp->stream, err);
    free(x->transfers);
    return rc;
}

int dtrain_cp_to_heads(const struct dtrain_cp *cp, size_t heads, size_t n, const void *by_tokens,
                       void *by_heads, void *workspace, struct dtrain_error *err)
{
    struct exchange x = {.cp = cp, .heads = heads, .n = n, .is_to_heads = true};

    if (begin(&x, "dtrain_cp_to_heads", by_tokens, by_heads, workspace, err) != 0 || pack_all(&x, err) != 0)
        return -1;
    return exchange_all(&x, err);
}

int dtrain_cp_to_tokens(const struct dtrain_cp *cp, size_t heads, size_t n, const void *by_heads,
                        void *by_tokens, void *workspace, struct dtrain_error *err)
{
    struct exchange x = {.cp = cp, .heads = heads, .n = n};

    if (begin(&x, "dtrain_cp_to_tokens", by_tokens, by_heads, workspace, err) != 0 ||
        exchange_all(&x, err) != 0)
        return -1;
    return pack_all(&x, err);
}
