/* Layouts: rows of sizes and orders, groups against the definition, and what is refused. */
#include <stdlib.h>

#include "core/layout.h"
#include "tap.h"

#define MASK(axis) (1u << (axis))

/* Groups of the facts: 16 ranks, tp2 cp2 dp2 pp2. */
static void test_known_groups(void)
{
    static const struct {
        const char *order, *axes;
        uint32_t index, size, members[4];
    } rows[] = {
        {"", "tp", 0, 2, {0, 1}},
        {"", "cp", 0, 2, {0, 2}},
        {"", "cp", 1, 2, {1, 3}},
        {"", "cp", 2, 2, {4, 6}},
        {"", "dp", 0, 2, {0, 4}},
        {"", "dp", 3, 2, {3, 7}},
        {"", "dp", 4, 2, {8, 12}},
        {"", "pp", 1, 2, {1, 9}},
        {"", "dp-cp", 0, 4, {0, 2, 4, 6}},
        {"", "tp-pp", 0, 4, {0, 1, 8, 9}},
        {"TP-CP-EP-DP-PP", "dp", 3, 2, {3, 7}},
    };
    struct dt_layout_request request = {.tp = 2, .cp = 2, .pp = 2};
    struct dtrain_error err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_layout layout;
        unsigned axes;
        bool ok;

        request.order = rows[i].order;
        ok = dt_layout_init(&layout, 16, &request, &err) == 0 &&
             dt_axes_parse(&axes, DT_DENSE, rows[i].axes, &err) == 0 &&
             dt_group_size(&layout, DT_DENSE, axes) == rows[i].size;
        for (uint32_t j = 0; ok && j < rows[i].size; j++)
            ok = dt_group_member(&layout, DT_DENSE, axes, rows[i].index, j) == rows[i].members[j];
        tap_ok(ok, "16 ranks, order '%s': group %u of %s", rows[i].order, rows[i].index, rows[i].axes);
    }
}

/* Every set of axes on every rank: member, index and rank are each other's inverse and a partition. */
static bool groups_are_consistent(const struct dt_layout *layout, enum dt_grid grid)
{
    for (unsigned axes = 0; axes < 1u << DT_AXIS_COUNT; axes++) {
        uint32_t size = dt_group_size(layout, grid, axes);

        for (uint32_t rank = 0; rank < layout->world; rank++) {
            uint32_t index = dt_group_index(layout, grid, axes, rank);
            uint32_t place = dt_group_rank(layout, grid, axes, rank);
            uint32_t first = dt_group_member(layout, grid, axes, index, 0);

            if (index >= dt_group_count(layout, grid, axes) || place >= size ||
                dt_group_member(layout, grid, axes, index, place) != rank)
                return false;
            /* Members differ from the first only in the set's axes. */
            for (unsigned axis = 0; axis < DT_AXIS_COUNT; axis++)
                if (!(axes & MASK(axis)) && dt_layout_coord(layout, grid, (enum dt_axis)axis, rank) !=
                                                dt_layout_coord(layout, grid, (enum dt_axis)axis, first))
                    return false;
        }
    }
    return true;
}

static void test_every_group(void)
{
    static const struct {
        uint32_t world;
        struct dt_layout_request request;
    } rows[] = {
        {1, {.tp = 1}},
        {16, {.tp = 8, .pp = 2}},
        {24, {.tp = 2, .pp = 3, .ep = 2, .etp = 1}},
        {64, {.tp = 4, .cp = 2, .pp = 2, .ep = 8, .etp = 2}},
        {32, {.tp = 2, .pp = 2, .ep = 4, .order = "ep-tp-dp-pp"}},
        {30, {.tp = 5, .pp = 3, .order = "dp-tp-pp"}},
        {16, {.tp = 2, .pp = 4, .order = "tp-pp-dp"}},
    };
    struct dtrain_error err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_layout layout;
        bool ok = dt_layout_init(&layout, rows[i].world, &rows[i].request, &err) == 0;

        ok = ok && groups_are_consistent(&layout, DT_DENSE) && groups_are_consistent(&layout, DT_EXPERT);
        tap_ok(ok, "every set of axes divides %u ranks (row %zu)", rows[i].world, i);
    }
}

static void test_refusals(void)
{
    static const struct {
        uint32_t world;
        struct dt_layout_request request;
        const char *words;
    } rows[] = {
        {16, {.tp = 3}, "16 tasks cannot be divided into data parallel replicas by tp=3 x cp=1 x pp=1 = 3: use -n 15 or -n 18"},
        {8, {.tp = 16}, "8 tasks are too few for tp=16 x cp=1 x pp=1"},
        {16, {.tp = 16777216, .cp = 16777216, .pp = 16777216}, "too few"},
        {16, {.tp = 8, .dp = 4}, "--dtrain-dp=4 disagrees: 16 tasks over tp=8 x cp=1 x pp=1 make dp=2; use -n 32"},
        {8, {.tp = 2, .ep = 3}, "expert replicas"},
        {8, {.tp = 2, .order = "tp"}, "leaves out dp, whose size is 4"},
        {8, {.tp = 2, .ep = 2, .order = "tp-dp-pp"}, "leaves out ep, whose size is 2"},
        {8, {.order = "tp-xx"}, "'xx' in 'tp-xx' is no axis"},
        {8, {.order = "tp-"}, "is no axis"},
        {8, {.order = "tp--pp"}, "is no axis"},
        {8, {.order = "tp-dp-tp"}, "axis tp stands twice"},
        {32, {.tp = 4, .pp = 2, .cp = 2, .order = "tp-pp-cp-dp"}, "their pipelines would differ"},
        {0, {.tp = 1}, "a world of 0 ranks"},
        {16777217, {.tp = 1}, "a world of 16777217 ranks"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_layout layout;
        int rc = dt_layout_init(&layout, rows[i].world, &rows[i].request, &err);

        tap_ok(rc == -1, "refused: %s", rows[i].words);
        tap_holds(err.text, rows[i].words, "and says so");
    }
}

static void test_axes(void)
{
    static const struct {
        enum dt_grid grid;
        const char *text;
        unsigned axes; /* 0: refused */
    } rows[] = {
        {DT_DENSE, "tp", MASK(DT_TP)},
        {DT_DENSE, "dp-cp", MASK(DT_DP) | MASK(DT_CP)},
        {DT_DENSE, "CP-dp", MASK(DT_DP) | MASK(DT_CP)},
        {DT_EXPERT, "tp-ep-pp", MASK(DT_TP) | MASK(DT_EP) | MASK(DT_PP)},
        {DT_DENSE, "ep", 0},
        {DT_EXPERT, "cp", 0},
        {DT_DENSE, "", 0},
        {DT_DENSE, "tp,dp", 0},
        {DT_DENSE, "tp-tp", 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err;
        unsigned axes = 0;
        int rc = dt_axes_parse(&axes, rows[i].grid, rows[i].text, &err);

        tap_ok(rows[i].axes ? rc == 0 && axes == rows[i].axes : rc == -1, "axes '%s'", rows[i].text);
    }
}

int main(void)
{
    test_known_groups();
    test_every_group();
    test_refusals();
    test_axes();
    return tap_done();
}
