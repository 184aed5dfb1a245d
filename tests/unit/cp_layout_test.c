/* Who holds which tokens, and which blocks of a causal mask are whose. */
#include "dtrain_cp.h"

#include "tap.h"

struct row {
    size_t total;
    int size, rank;
    enum dtrain_cp_layout layout;
    struct dtrain_cp_tokens want;
};

static const struct row rows[] = {
    {16, 1, 0, DTRAIN_CP_CONTIGUOUS, {16, 1, {{0, 16}}}},
    {16, 4, 2, DTRAIN_CP_CONTIGUOUS, {4, 1, {{8, 4}}}},
    {13, 4, 0, DTRAIN_CP_CONTIGUOUS, {4, 1, {{0, 4}}}},
    {13, 4, 3, DTRAIN_CP_CONTIGUOUS, {3, 1, {{10, 3}}}},
    {2, 4, 3, DTRAIN_CP_CONTIGUOUS, {0, 1, {{2, 0}}}},
    {16, 1, 0, DTRAIN_CP_ZIGZAG, {16, 2, {{0, 8}, {8, 8}}}},
    {16, 4, 0, DTRAIN_CP_ZIGZAG, {4, 2, {{0, 2}, {14, 2}}}},
    {16, 4, 3, DTRAIN_CP_ZIGZAG, {4, 2, {{6, 2}, {8, 2}}}},
    {13, 2, 0, DTRAIN_CP_ZIGZAG, {7, 2, {{0, 4}, {10, 3}}}},
    {13, 2, 1, DTRAIN_CP_ZIGZAG, {6, 2, {{4, 3}, {7, 3}}}},
    {3, 4, 1, DTRAIN_CP_ZIGZAG, {1, 2, {{1, 1}, {3, 0}}}},
};

static void test_row(const struct row *row)
{
    struct dtrain_cp_tokens got;

    tap_ok(dtrain_cp_tokens(row->total, row->size, row->rank, row->layout, &got, NULL) == 0 &&
               got.count == row->want.count && got.runs == row->want.runs &&
               memcmp(got.run, row->want.run, sizeof(got.run)) == 0,
           "rank %d of %d has its part of %zu tokens, layout %d", row->rank, row->size, row->total,
           (int)row->layout);
}

/* Every token has one owner, and its place there is where the runs say. */
static void test_inverse(size_t total, int size, enum dtrain_cp_layout layout)
{
    struct dtrain_cp_tokens tokens;
    bool ok = true;

    for (int rank = 0; rank < size; rank++) {
        size_t index = 0;

        ok = ok && dtrain_cp_tokens(total, size, rank, layout, &tokens, NULL) == 0;
        for (int run = 0; ok && run < tokens.runs; run++) {
            for (size_t i = 0; i < tokens.run[run].count; i++, index++) {
                int owner = -1;
                size_t place = SIZE_MAX;

                ok = ok &&
                     dtrain_cp_owner(total, size, layout, tokens.run[run].first + i, &owner, &place, NULL) ==
                         0 &&
                     owner == rank && place == index;
            }
        }
    }
    tap_ok(ok, "owners of %zu tokens on %d ranks, layout %d", total, size, (int)layout);
}

/* Of a token among those that a rank holds. */
static size_t position_of(const struct dtrain_cp_tokens *tokens, size_t index)
{
    return index < tokens->run[0].count ? tokens->run[0].first + index
                                        : tokens->run[1].first + index - tokens->run[0].count;
}

static bool is_seen(const struct dtrain_cp_block *block, size_t query, size_t key)
{
    bool is_inside =
        query - block->query_first < block->query_count && key - block->key_first < block->key_count;

    return is_inside &&
           (block->mask == DTRAIN_CP_FULL ||
            (block->mask == DTRAIN_CP_CAUSAL && key - block->key_first <= query - block->query_first));
}

/* Each pair of tokens, in all blocks, against the mask itself. */
static void test_blocks(size_t total, int size, enum dtrain_cp_layout layout, bool is_causal)
{
    bool ok = true;

    for (int pair = 0; pair < size * size; pair++) {
        struct dtrain_cp_tokens queries, keys;
        struct dtrain_cp_block block;

        ok = ok && dtrain_cp_tokens(total, size, pair / size, layout, &queries, NULL) == 0 &&
             dtrain_cp_tokens(total, size, pair % size, layout, &keys, NULL) == 0 &&
             dtrain_cp_block(total, size, layout, is_causal, pair / size, pair % size, &block, NULL) == 0;
        for (size_t i = 0; ok && i < queries.count * keys.count; i++) {
            size_t query = i / keys.count, key = i % keys.count;

            ok = is_seen(&block, query, key) ==
                 (!is_causal || position_of(&keys, key) <= position_of(&queries, query));
        }
    }
    tap_ok(ok, "blocks of %zu tokens on %d ranks, layout %d%s", total, size, (int)layout,
           is_causal ? ", causal" : "");
}

/* In zigzag all ranks have the same number of pairs. */
static void test_balance(void)
{
    size_t work[4] = {0};

    for (int pair = 0; pair < 16; pair++) {
        struct dtrain_cp_block block = {.mask = DTRAIN_CP_EMPTY};

        dtrain_cp_block(64, 4, DTRAIN_CP_ZIGZAG, true, pair / 4, pair % 4, &block, NULL);
        work[pair / 4] += block.mask == DTRAIN_CP_CAUSAL ? block.query_count * (block.query_count + 1) / 2
                                                         : block.query_count * block.key_count;
    }
    tap_ok(work[0] == 64 * 65 / 2 / 4 && work[1] == work[0] && work[2] == work[0] && work[3] == work[0],
           "zigzag: every rank has %zu of 2080 pairs", work[0]);
}

static void test_bad(void)
{
    struct dtrain_cp_tokens tokens;
    struct dtrain_cp_block block;
    struct dtrain_error err = {""};
    int rank;
    size_t index;

    tap_ok(dtrain_cp_tokens(8, 2, 2, DTRAIN_CP_ZIGZAG, &tokens, &err) == -1, "no such rank");
    tap_holds(err.text, "rank is 2 of 2: expected 0 to size - 1", "  in these words");
    tap_ok(dtrain_cp_tokens(8, 2, 0, (enum dtrain_cp_layout)9, &tokens, &err) == -1, "no such layout");
    tap_holds(err.text, "layout 9 is not known", "  in these words");
    tap_ok(dtrain_cp_tokens(8, 2, 0, DTRAIN_CP_ZIGZAG, NULL, &err) == -1, "no place for the tokens");
    tap_holds(err.text, "dtrain_cp_tokens: tokens is NULL", "  in these words");
    tap_ok(dtrain_cp_owner(8, 2, DTRAIN_CP_ZIGZAG, 8, &rank, &index, &err) == -1, "no such token");
    tap_holds(err.text, "token is 8: the sequence has 8", "  in these words");
    tap_ok(dtrain_cp_owner(8, 0, DTRAIN_CP_ZIGZAG, 1, &rank, &index, &err) == -1, "no ranks");
    tap_holds(err.text, "rank is 0 of 0", "  in these words");
    tap_ok(dtrain_cp_block(8, 2, DTRAIN_CP_ZIGZAG, true, 0, -1, &block, &err) == -1, "no such owner");
    tap_holds(err.text, "rank is -1 of 2", "  in these words");
}

int main(void)
{
    static const size_t totals[] = {0, 1, 3, 13, 16, 24};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        test_row(&rows[i]);
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
        for (int size = 1; size <= 6; size++) {
            test_inverse(totals[i], size, DTRAIN_CP_CONTIGUOUS);
            test_inverse(totals[i], size, DTRAIN_CP_ZIGZAG);
            test_blocks(totals[i], size, DTRAIN_CP_CONTIGUOUS, false);
            test_blocks(totals[i], size, DTRAIN_CP_CONTIGUOUS, true);
            test_blocks(totals[i], size, DTRAIN_CP_ZIGZAG, true);
        }
    }
    test_balance();
    test_bad();
    return tap_done();
}
