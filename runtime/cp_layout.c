#include "core/error.h"
#include "dtrain_cp.h"
#include "dtrain_tp.h"

static int check(int size, int rank, enum dtrain_cp_layout layout, struct dtrain_error *err)
{
    if (size < 1 || size > INT32_MAX / 2 || rank < 0 || rank >= size)
        return dt_error_set(err, "context parallel: rank is %d of %d: expected 0 to size - 1", rank, size);
    if (layout != DTRAIN_CP_CONTIGUOUS && layout != DTRAIN_CP_ZIGZAG)
        return dt_error_set(err,
                            "context parallel: layout %d is not known: expected DTRAIN_CP_CONTIGUOUS or "
                            "DTRAIN_CP_ZIGZAG",
                            (int)layout);
    return 0;
}

static int run_get(size_t total, int runs, int i, struct dtrain_cp_run *run, struct dtrain_error *err)
{
    struct dtrain_tp_shard shard;

    if (dtrain_tp_shard(total, runs, i, 1, DTRAIN_TP_UNEVEN, &shard, err) != 0)
        return -1;
    *run = (struct dtrain_cp_run){shard.first, shard.count};
    return 0;
}

int dtrain_cp_tokens(size_t total, int size, int rank, enum dtrain_cp_layout layout,
                     struct dtrain_cp_tokens *tokens, struct dtrain_error *err)
{
    if (tokens == NULL)
        return dt_error_set(err, "dtrain_cp_tokens: tokens is NULL");
    if (check(size, rank, layout, err) != 0)
        return -1;
    *tokens = (struct dtrain_cp_tokens){.runs = layout == DTRAIN_CP_ZIGZAG ? 2 : 1};
    if (run_get(total, tokens->runs * size, rank, &tokens->run[0], err) != 0 ||
        (tokens->runs == 2 && run_get(total, 2 * size, 2 * size - 1 - rank, &tokens->run[1], err) != 0))
        return -1;
    tokens->count = tokens->run[0].count + tokens->run[1].count;
    return 0;
}

int dtrain_cp_owner(size_t total, int size, enum dtrain_cp_layout layout, size_t token, int *rank,
                    size_t *index, struct dtrain_error *err)
{
    struct dtrain_cp_tokens tokens;

    if (rank == NULL || index == NULL)
        return dt_error_set(err, "dtrain_cp_owner: %s is NULL", rank == NULL ? "rank" : "index");
    if (token >= total)
        return dt_error_set(err, "dtrain_cp_owner: token is %zu: the sequence has %zu", token, total);
    if (check(size, 0, layout, err) != 0)
        return -1;
    for (int i = 0; i < size; i++) {
        size_t before = 0;

        if (dtrain_cp_tokens(total, size, i, layout, &tokens, err) != 0)
            return -1;
        for (int k = 0; k < tokens.runs; before += tokens.run[k++].count) {
            if (token - tokens.run[k].first < tokens.run[k].count) {
                *rank = i;
                *index = before + token - tokens.run[k].first;
                return 0;
            }
        }
    }
    return dt_error_set(err, "dtrain_cp_owner: no rank of %d holds token %zu", size, token);
}

/*
 * Zigzag's runs of an earlier rank: its first one is before both of ours, its second after both. Those of a
 * later rank: both are between ours. Our own two are in order, so they have one causal mask together.
 */
static void take_causal(enum dtrain_cp_layout layout, int rank, int owner,
                        const struct dtrain_cp_tokens *queries, const struct dtrain_cp_tokens *keys,
                        struct dtrain_cp_block *block)
{
    if (owner == rank) {
        block->mask = DTRAIN_CP_CAUSAL;
    } else if (layout == DTRAIN_CP_CONTIGUOUS) {
        block->mask = owner < rank ? DTRAIN_CP_FULL : DTRAIN_CP_EMPTY;
    } else if (owner < rank) {
        block->key_count = keys->run[0].count;
    } else {
        block->query_first = queries->run[0].count;
        block->query_count = queries->run[1].count;
    }
}

int dtrain_cp_block(size_t total, int size, enum dtrain_cp_layout layout, bool is_causal, int rank, int owner,
                    struct dtrain_cp_block *block, struct dtrain_error *err)
{
    struct dtrain_cp_tokens queries, keys;

    if (block == NULL)
        return dt_error_set(err, "dtrain_cp_block: block is NULL");
    if (dtrain_cp_tokens(total, size, rank, layout, &queries, err) != 0 ||
        dtrain_cp_tokens(total, size, owner, layout, &keys, err) != 0)
        return -1;
    *block = (struct dtrain_cp_block){
        .owner = owner, .mask = DTRAIN_CP_FULL, .query_count = queries.count, .key_count = keys.count};
    if (is_causal)
        take_causal(layout, rank, owner, &queries, &keys, block);
    if (block->mask == DTRAIN_CP_EMPTY || block->query_count == 0 || block->key_count == 0)
        *block = (struct dtrain_cp_block){.owner = owner, .mask = DTRAIN_CP_EMPTY};
    return 0;
}
