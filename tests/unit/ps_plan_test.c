/* Who holds what, and who waits for whom: the pure parts of parameter servers. */
#include "core/error.h"
#include "runtime/ps_clock.h"
#include "runtime/ps_plan.h"
#include "tap.h"

/* ---- Parts of the parameters ------------------------------------------------------ */

struct plan_row {
    const char *name;
    size_t counts[4]; /* 0: no more */
    enum dtrain_type types[4];
    size_t servers;
    size_t tolerance; /* bytes that a server may have more or less than an equal part */
};

static const struct plan_row plan_rows[] = {
    {"one server has all", {70, 5, 333}, {DTRAIN_FLOAT32}, 1, 0},
    {"two servers, one parameter", {1024}, {DTRAIN_FLOAT32}, 2, 0},
    {"three servers, a border in a block", {1000}, {DTRAIN_FLOAT32}, 3, 64},
    {"four servers, mixed sizes", {7, 999, 1, 5000},
     {DTRAIN_FLOAT32, DTRAIN_FLOAT64, DTRAIN_BFLOAT16}, 4, 128},
    {"a parameter over many servers", {1, 100000, 1},
     {DTRAIN_FLOAT64, DTRAIN_FLOAT64, DTRAIN_FLOAT64}, 7, 256},
    {"more servers than blocks", {20, 3}, {DTRAIN_FLOAT32}, 5, 128},
};

static size_t row_size(const struct plan_row *row)
{
    size_t n = 0;

    while (n < 4 && row->counts[n] > 0)
        n++;
    return n;
}

/* Every element is on one server, in order, and pieces begin on borders of blocks. */
static bool is_partition(const struct dt_ps_plan *plan, const struct plan_row *row)
{
    size_t parameter = 0, at = 0;

    for (size_t i = 0; i < plan->begin[row->servers]; i++) {
        const struct dt_ps_piece *piece = &plan->pieces[i];

        if (at == row->counts[parameter]) {
            parameter++;
            at = 0;
        }
        if (piece->parameter != parameter || piece->first != at || piece->count == 0 || at % DT_PS_BLOCK != 0)
            return false;
        at += piece->count;
    }
    return parameter + 1 == row_size(row) && at == row->counts[parameter];
}

static bool is_balanced(const struct dt_ps_plan *plan, const struct plan_row *row)
{
    size_t total = 0, bytes[8] = {0};

    for (size_t s = 0; s < row->servers; s++)
        for (size_t i = plan->begin[s]; i < plan->begin[s + 1]; i++) {
            size_t piece = plan->pieces[i].count * dtrain_type_size(row->types[plan->pieces[i].parameter]);

            bytes[s] += piece;
            total += piece;
        }
    for (size_t s = 0; s < row->servers; s++)
        if (bytes[s] * row->servers > total + row->tolerance * row->servers ||
            (bytes[s] + row->tolerance) * row->servers < total)
            return false;
    return true;
}

static void test_plan(const struct plan_row *row)
{
    struct dtrain_ps_parameter parameters[4];
    struct dt_ps_plan plan;

    for (size_t i = 0; i < row_size(row); i++)
        parameters[i] = (struct dtrain_ps_parameter){.count = row->counts[i], .type = row->types[i]};
    if (!tap_ok(dt_ps_plan_create(&plan, parameters, row_size(row), row->servers, NULL) == 0, "%s",
                row->name))
        return;
    tap_ok(is_partition(&plan, row), "%s: each element is once there", row->name);
    tap_ok(is_balanced(&plan, row), "%s: parts of equal bytes", row->name);
    dt_ps_plan_destroy(&plan);
}

/* ---- Clocks ------------------------------------------------------------------------- */

struct clock_row {
    const char *name;
    int staleness;
    uint64_t pushed[3], updates;
    enum dtrain_ps_state state[3];
    unsigned go;       /* who may go on, a bit each */
    bool is_complete;
    unsigned contributes;
};

static const struct clock_row clock_rows[] = {
    {"at the start", 0, {0, 0, 0}, 0, {0}, 7, false, 0},
    {"one is done", 0, {1, 0, 0}, 0, {0}, 6, false, 1},
    {"all are done", 0, {1, 1, 1}, 0, {0}, 7, true, 7},
    {"after the update", 0, {1, 1, 1}, 1, {0}, 7, false, 0},
    {"the slowest is lost", 0, {5, 5, 4}, 4, {0, 0, DTRAIN_PS_IS_LOST}, 7, true, 3},
    {"the slowest has left", 0, {5, 5, 4}, 4, {0, 0, DTRAIN_PS_HAS_LEFT}, 7, true, 3},
    {"a lost one's gradient had come", 0, {5, 4, 5}, 4, {0, 0, DTRAIN_PS_IS_LOST}, 2, false, 5},
    {"nobody works", 0, {5, 5, 5}, 4, {2, 1, 2}, 7, false, 7},
    {"two ahead of the slowest, two allowed", 2, {4, 3, 2}, 9, {0}, 7, false, 0},
    {"three ahead, two allowed", 2, {5, 3, 2}, 9, {0}, 6, false, 0},
    {"unbounded", DTRAIN_PS_UNBOUNDED, {500, 3, 0}, 503, {0}, 7, false, 0},
};

static void test_clock(const struct clock_row *row)
{
    struct dt_ps_clock clock;
    unsigned go = 0, contributes = 0;

    if (dt_ps_clock_create(&clock, 3, 2, row->staleness, NULL) < 0)
        return;
    clock.updates[1] = row->updates;
    for (size_t w = 0; w < 3; w++) {
        clock.pushed[w * 2] = 77; /* another piece, which does not count */
        clock.pushed[w * 2 + 1] = row->pushed[w];
        clock.state[w] = row->state[w];
    }
    for (size_t w = 0; w < 3; w++) {
        go |= (unsigned)dt_ps_clock_may_go(&clock, w, 1) << w;
        contributes |= (unsigned)dt_ps_clock_contributes(&clock, w, 1) << w;
        tap_ok(dt_ps_clock_steps(&clock, w) == (row->pushed[w] < 77 ? row->pushed[w] : 77),
               "%s: steps of %zu", row->name, w);
    }
    tap_ok(go == row->go, "%s: who may go on", row->name);
    if (row->staleness == 0) {
        tap_ok(dt_ps_clock_is_complete(&clock, 1) == row->is_complete, "%s: complete", row->name);
        tap_ok(contributes == row->contributes, "%s: whose gradients are next", row->name);
    }
    dt_ps_clock_destroy(&clock);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(plan_rows) / sizeof(plan_rows[0]); i++)
        test_plan(&plan_rows[i]);
    for (size_t i = 0; i < sizeof(clock_rows) / sizeof(clock_rows[0]); i++)
        test_clock(&clock_rows[i]);
    return tap_done();
}
