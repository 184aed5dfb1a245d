/* Plans of buckets against vectors worked out by hand, and properties of many. */
#include "runtime/dp_plan.h"

#include <stdlib.h>

#include "tap.h"

#define MIB ((size_t)1 << 20)
#define ITEMS_MAX 8

struct row {
    const char *name;
    size_t n;
    struct dt_dp_item items[ITEMS_MAX];
    size_t order[ITEMS_MAX];
    const char *want; /* the buckets' parameters in order: "3 2|1 0" */
};

static const struct row rows[] = {
    {"no parameters", 0, {{0}}, {0}, ""},
    {"one small parameter", 1, {{10, 4, 0}}, {0}, "0"},
    {"the first bucket closes at 1 MiB exactly",
     3, {{1000, 4, 0}, {MIB / 8, 4, 0}, {MIB / 8, 4, 0}}, {2, 1, 0}, "2 1|0"},
    {"not one element before", 3, {{1000, 4, 0}, {MIB / 8, 4, 0}, {MIB / 8 - 1, 4, 0}}, {2, 1, 0}, "2 1 0"},
    {"the second one at 25 MiB exactly",
     5, {{1, 4, 0}, {MIB * 25 / 8, 4, 0}, {MIB * 25 / 8, 4, 0}, {MIB / 8, 4, 0}, {MIB / 8, 4, 0}},
     {4, 3, 2, 1, 0}, "4 3|2 1|0"},
    {"nor that one before",
     5, {{1, 4, 0}, {MIB * 25 / 8, 4, 0}, {MIB * 25 / 8 - 2, 4, 0}, {MIB / 8, 4, 0}, {MIB / 8, 4, 0}},
     {4, 3, 2, 1, 0}, "4 3|2 1 0"},
    {"a huge parameter is not cut, and closes its bucket",
     3, {{5, 4, 0}, {MIB * 100, 4, 0}, {5, 4, 0}}, {2, 1, 0}, "2 1|0"},
    {"types do not mix; buckets are ordered by their last parameters",
     5, {{7, 4, 0}, {7, 2, 1}, {7, 4, 0}, {7, 2, 1}, {7, 8, 3}}, {4, 3, 2, 1, 0}, "4|3 1|2 0"},
    {"each type has its first bucket of 1 MiB",
     4, {{9, 4, 0}, {9, 2, 1}, {MIB / 4, 4, 0}, {MIB / 2, 2, 1}}, {3, 2, 1, 0}, "3|2|1|0"},
    {"another order makes other buckets",
     3, {{1000, 4, 0}, {MIB / 8, 4, 0}, {MIB / 8, 4, 0}}, {1, 0, 2}, "1 0 2"},
    {"not all items take part", 4, {{1, 4, 0}, {1, 4, 0}, {1, 4, 0}, {1, 4, 0}}, {2, 0, SIZE_MAX}, "2 0"},
    {"empty parameters have their place", 3, {{0, 4, 0}, {MIB, 4, 0}, {0, 4, 0}}, {2, 1, 0}, "2 1|0"},
};

static void print_plan(const struct dt_dp_plan *plan, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t b = 0; b < plan->bucket_count; b++)
        for (size_t i = 0; i < plan->buckets[b].count; i++) {
            const char *before = i > 0 ? " " : b > 0 ? "|" : "";

            used += (size_t)snprintf(text + used, size - used, "%s%zu", before,
                                     plan->order[plan->buckets[b].first + i]);
        }
}

static void test_row(const struct row *row)
{
    struct dt_dp_cut cut = {DT_DP_FIRST_BUCKET_BYTES, DT_DP_BUCKET_BYTES, 1};
    struct dt_dp_plan plan;
    size_t count = 0;
    char text[128];

    while (count < row->n && row->order[count] != SIZE_MAX)
        count++;
    if (!tap_ok(dt_dp_plan_create(&plan, row->items, row->n, row->order, count, &cut, NULL) == 0,
                "%s: planned", row->name))
        return;
    print_plan(&plan, text, sizeof(text));
    tap_ok(strcmp(text, row->want) == 0, "%s (%s)", row->name, text);
    dt_dp_plan_destroy(&plan);
}

/* Parameters of a bucket lie apart, aligned and inside; buckets divide into aligned shards. */
static bool is_sound(const struct dt_dp_plan *plan, const struct dt_dp_item *items, size_t shards)
{
    size_t seen = 0;

    for (size_t b = 0; b < plan->bucket_count; b++) {
        const struct dt_dp_bucket *bucket = &plan->buckets[b];
        size_t end = 0;

        if (bucket->first != seen || bucket->count == 0 || bucket->elements % (DT_DP_ALIGNMENT * shards) != 0)
            return false;
        for (size_t i = 0; i < bucket->count; i++) {
            size_t item = plan->order[bucket->first + i];

            if (plan->bucket[item] != b || plan->at[item] < end || plan->at[item] % DT_DP_ALIGNMENT != 0 ||
                items[item].key != items[plan->order[bucket->first]].key)
                return false;
            end = plan->at[item] + items[item].count;
        }
        if (end > bucket->elements || bucket->elements - end >= DT_DP_ALIGNMENT * (shards + 1))
            return false;
        seen += bucket->count;
    }
    return seen == plan->count;
}

static void test_random(unsigned seed, size_t n, size_t shards)
{
    static const size_t sizes[] = {4, 2, 2, 8};
    struct dt_dp_cut cut = {1000, 5000, shards};
    struct dt_dp_item *items = calloc(n, sizeof(*items));
    size_t *order = calloc(n, sizeof(*order));
    struct dt_dp_plan plan;
    bool ok;

    for (size_t i = 0; i < n; i++) {
        unsigned key = seed % 4;

        seed = seed * 1103515245 + 12345;
        items[i] = (struct dt_dp_item){(seed >> 8) % 700, sizes[key], key};
        order[i] = n - 1 - i;
    }
    ok = dt_dp_plan_create(&plan, items, n, order, n, &cut, NULL) == 0 && is_sound(&plan, items, shards);
    tap_ok(ok, "%zu parameters in %zu buckets of %zu shards lie as they should", n, plan.bucket_count,
           shards);
    dt_dp_plan_destroy(&plan);
    free(items);
    free(order);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        test_row(&rows[i]);
    for (unsigned i = 1; i <= 8; i++)
        test_random(i, 20 * i, i);
    return tap_done();
}
