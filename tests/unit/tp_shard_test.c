/* Shards of sizes that divide and that do not, and the seeds of ranks. */
#include "dtrain_tp.h"

#include "tap.h"

struct row {
    size_t total;
    int size;
    size_t multiple;
    enum dtrain_tp_policy policy;
    size_t padded;
    size_t counts[8]; /* first is their sum so far, for PADDED the rank's memory */
};

static const struct row rows[] = {
    {12, 4, 1, DTRAIN_TP_EVEN, 3, {3, 3, 3, 3}},
    {12, 1, 1, DTRAIN_TP_EVEN, 12, {12}},
    {96, 4, 12, DTRAIN_TP_EVEN, 24, {24, 24, 24, 24}},
    {0, 3, 1, DTRAIN_TP_EVEN, 0, {0, 0, 0}},
    {257, 4, 1, DTRAIN_TP_UNEVEN, 65, {65, 64, 64, 64}},
    {257, 4, 1, DTRAIN_TP_PADDED, 65, {65, 65, 65, 62}},
    {3, 8, 1, DTRAIN_TP_UNEVEN, 1, {1, 1, 1, 0, 0, 0, 0, 0}},
    {3, 8, 1, DTRAIN_TP_PADDED, 1, {1, 1, 1, 0, 0, 0, 0, 0}},
    {9, 4, 1, DTRAIN_TP_PADDED, 3, {3, 3, 3, 0}},
    {60, 4, 12, DTRAIN_TP_UNEVEN, 24, {24, 12, 12, 12}},
    {50257, 8, 128, DTRAIN_TP_PADDED, 6400, {6400, 6400, 6400, 6400, 6400, 6400, 6400, 5457}},
    {29, 3, 8, DTRAIN_TP_UNEVEN, 16, {16, 8, 5}},
    {12, 4, 0, DTRAIN_TP_UNEVEN, 3, {3, 3, 3, 3}},
};

static void test_row(const struct row *row)
{
    struct dtrain_tp_shard shard;
    size_t first = 0, sum = 0;
    bool ok = true;

    for (int rank = 0; rank < row->size; rank++) {
        ok = ok &&
             dtrain_tp_shard(row->total, row->size, rank, row->multiple, row->policy, &shard, NULL) == 0 &&
             shard.count == row->counts[rank] && shard.padded == row->padded && shard.first == first;
        first += row->policy == DTRAIN_TP_PADDED ? row->padded : shard.count;
        sum += shard.count;
    }
    tap_ok(ok && sum == row->total, "%zu over %d ranks in multiples of %zu, policy %d", row->total, row->size,
           row->multiple, (int)row->policy);
}

struct bad {
    size_t total;
    int size, rank;
    size_t multiple;
    int policy;
    const char *words;
};

static const struct bad bads[] = {
    {12, 0, 0, 1, DTRAIN_TP_EVEN, "rank is 0 of 0"},
    {12, 4, 4, 1, DTRAIN_TP_EVEN, "rank is 4 of 4"},
    {12, 4, -1, 1, DTRAIN_TP_UNEVEN, "rank is -1 of 4"},
    {12, 4, 0, 1, 7, "policy 7 is not known"},
    {13, 4, 0, 1, DTRAIN_TP_EVEN, "13 cannot be split over 4 ranks in multiples of 1: use a multiple of 4"},
    {24, 4, 0, 12, DTRAIN_TP_EVEN, "in multiples of 12: use a multiple of 48"},
    {SIZE_MAX, 4, 0, 1, DTRAIN_TP_PADDED, "more than memory can hold"},
    {12, 4, 0, SIZE_MAX / 2, DTRAIN_TP_PADDED, "more than memory can hold"},
};

static void test_bad(const struct bad *bad)
{
    struct dtrain_tp_shard shard;
    struct dtrain_error err = {""};

    tap_ok(dtrain_tp_shard(bad->total, bad->size, bad->rank, bad->multiple,
                           (enum dtrain_tp_policy)bad->policy, &shard, &err) == -1,
           "refused: %s", bad->words);
    tap_holds(err.text, bad->words, "  in these words");
}

/* The same where the value is replicated, apart where it is sharded. */
static void test_seeds(void)
{
    struct dtrain_tp_seeds a = dtrain_tp_seeds(1234, &(struct dtrain_tp_place){0, 0, 0, 0});
    struct dtrain_tp_seeds b = dtrain_tp_seeds(1234, &(struct dtrain_tp_place){3, 0, 2, 1});
    struct dtrain_tp_seeds c = dtrain_tp_seeds(1234, &(struct dtrain_tp_place){3, 2, 0, 0});

    tap_ok(a.replicated == 1234 && a.sharded == 3952 && a.expert == 2258, "the first rank's seeds");
    tap_ok(b.replicated == 1234 && b.sharded == 3955 && b.expert == 2459,
           "other ranks of tp, ep and etp: one seed of what is replicated");
    tap_ok(c.replicated == 1434 && c.sharded == 4155 && c.expert == 2458, "another stage has other seeds");
}

int main(void)
{
    struct dtrain_error err = {""};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        test_row(&rows[i]);
    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++)
        test_bad(&bads[i]);
    tap_ok(dtrain_tp_shard(1, 1, 0, 1, DTRAIN_TP_EVEN, NULL, &err) == -1, "no place for the shard");
    tap_holds(err.text, "shard is NULL", "  in these words");
    test_seeds();
    return tap_done();
}
