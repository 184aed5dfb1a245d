/* Pipeline schedules: known ones, the formulas of their warm-ups, peaks and makespans, what is refused. */
#include <math.h>
#include <stdlib.h>

#include "runtime/schedule.h"
#include "tap.h"

enum { STAGES_MAX = 16, MICROBATCHES_MAX = 64, CHUNKS_MAX = 4, FEW = 18, TEXT_MAX = 1024 };

static bool same(double a, double b)
{
    return fabs(a - b) < 1e-6;
}

/* ---- Lists --------------------------------------------------------------------- */

static const char letters[] = {
    [DTRAIN_PP_FORWARD] = 'F',         [DTRAIN_PP_BACKWARD] = 'B',        [DTRAIN_PP_BACKWARD_INPUT] = 'I',
    [DTRAIN_PP_BACKWARD_WEIGHT] = 'W', [DTRAIN_PP_STASH] = 'S',           [DTRAIN_PP_UPDATE] = 'U',
    [DTRAIN_PP_SEND_ACTIVATION] = '>', [DTRAIN_PP_RECV_ACTIVATION] = 'a', [DTRAIN_PP_SEND_GRADIENT] = '<',
    [DTRAIN_PP_RECV_GRADIENT] = 'g',
};

/* "F0 >0 a1": a letter and a microbatch, ".1" for a chunk after the first; computing only when asked for. */
static void text_of(char text[TEXT_MAX], const struct dt_schedule_stage *stage, bool has_transfers)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < stage->count && used < TEXT_MAX; i++) {
        const struct dtrain_pp_action *a = &stage->actions[i];

        if (dt_schedule_is_transfer(a->kind) && !has_transfers)
            continue;
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s%c%d", used > 0 ? " " : "",
                                 letters[a->kind], a->microbatch);
        if (a->chunk > 0 && used < TEXT_MAX)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, ".%d", a->chunk);
    }
}

static const struct list_row {
    enum dtrain_pp_kind kind;
    int stages, microbatches, chunks, stage;
    bool has_transfers;
    const char *text;
} lists[] = {
    {DTRAIN_PP_1F1B, 1, 3, 1, 0, true, "F0 B0 F1 B1 F2 B2"},
    {DTRAIN_PP_1F1B, 4, 6, 1, 1, false, "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5"},
    {DTRAIN_PP_1F1B, 4, 2, 1, 0, true, "F0 >0 F1 >1 g0 B0 g1 B1"},
    {DTRAIN_PP_1F1B, 2, 3, 1, 1, true, "a0 a1 F0 B0 <0 F1 B1 <1 a2 F2 B2 <2"},
    {DTRAIN_PP_GPIPE, 3, 2, 1, 1, true, "a0 a1 F0 >0 F1 >1 g0 g1 B0 <0 B1 <1"},
    /* The textbook's pipeline: two ranks, four microbatches, back with the last one first. */
    {DTRAIN_PP_GPIPE_REVERSE, 2, 4, 1, 0, false, "F0 F1 F2 F3 B3 B2 B1 B0"},
    {DTRAIN_PP_GPIPE_REVERSE, 2, 4, 1, 1, false, "F0 F1 F2 F3 B3 B2 B1 B0"},
    {DTRAIN_PP_INTERLEAVED, 2, 2, 2, 1, false, "F0 F1 F0.1 B0.1 F1.1 B1.1 B0 B1"},
    {DTRAIN_PP_INTERLEAVED, 2, 4, 2, 0, false,
     "F0 F1 F0.1 F1.1 F2 B0.1 F3 B1.1 F2.1 B0 F3.1 B1 B2.1 B3.1 B2 B3"},
    {DTRAIN_PP_INTERLEAVED, 2, 3, 2, 1, false, "F0 F1 F0.1 B0.1 F1.1 B1.1 F2 B0 B1 F2.1 B2.1 B2"},
    {DTRAIN_PP_INTERLEAVED, 4, 1, 2, 3, false, "F0 F0.1 B0.1 B0"},
    {DTRAIN_PP_ZB_H1, 3, 4, 1, 0, false, "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3"},
    {DTRAIN_PP_ZB_H1, 3, 4, 1, 2, false, "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3"},
    {DTRAIN_PP_PIPEDREAM, 3, 4, 1, 0, false, "F0 F1 F2 B0 S0 U0 F3 B1 S1 U1 B2 U2 B3 U3"},
    {DTRAIN_PP_PIPEDREAM, 3, 4, 1, 2, false, "F0 B0 U0 F1 B1 U1 F2 B2 U2 F3 B3 U3"},
    {DTRAIN_PP_INFERENCE, 2, 2, 1, 0, true, "F0 >0 F1 >1"},
    {DTRAIN_PP_INFERENCE, 2, 2, 2, 1, false, "F0 F1 F0.1 F1.1"},
};

static void check_list(const struct list_row *row)
{
    const struct dt_schedule_request request = {
        row->kind, row->stages, row->microbatches, row->chunks, {0, 0, 0}};
    struct dt_schedule *schedule;
    char text[TEXT_MAX];

    if (dt_schedule_create(&schedule, &request, NULL) != 0) {
        tap_ok(false, "%s is made", row->text);
        return;
    }
    text_of(text, &schedule->stages[row->stage], row->has_transfers);
    if (!tap_ok(strcmp(text, row->text) == 0, "%s, stage %d of %d, %d microbatches, %d chunks",
                dtrain_pp_kind_name(row->kind), row->stage, row->stages, row->microbatches, row->chunks))
        printf("# got      %s\n# expected %s\n", text, row->text);
    dt_schedule_destroy(schedule);
}

/* ---- Formulas --------------------------------------------------------------------- */

static const struct dt_schedule_costs costs[] = {
    {1, 0.5, 0.5, 0}, {1, 1, 1, 0}, {2, 3, 1, 0}, {3, 2, 2, 0}, {1, 1.5, 0.25, 0}};

/* Of a schedule without communication; negative: there is no formula. */
static double makespan(const struct dt_schedule_request *request, const struct dt_schedule_costs *c)
{
    double m = request->microbatches, v = request->chunks, after = request->stages - 1;

    switch (request->kind) {
    case DTRAIN_PP_1F1B:
    case DTRAIN_PP_GPIPE:
    case DTRAIN_PP_GPIPE_REVERSE:
        return (m + after) * (c->forward + c->backward + c->weight);
    case DTRAIN_PP_INTERLEAVED:
        if (request->microbatches % request->stages != 0)
            return -1;
        return (m * v + after) * (c->forward + c->backward + c->weight);
    case DTRAIN_PP_ZB_H1:
        if (request->microbatches < request->stages || c->weight > c->forward || c->weight > c->backward)
            return -1;
        return m * (c->forward + c->backward + c->weight) + after * (c->forward + c->backward - c->weight);
    case DTRAIN_PP_PIPEDREAM:
        return (m + after) * (c->forward + c->backward + c->weight);
    case DTRAIN_PP_INFERENCE:
        if (request->chunks > 1 && request->microbatches % request->stages != 0)
            return -1;
        return (m * v + after) * c->forward;
    }
    return -1;
}

static int warm_up_of(const struct dt_schedule_stage *stage)
{
    int n = 0;

    for (size_t i = 0; i < stage->count; i++) {
        if (stage->actions[i].kind == DTRAIN_PP_BACKWARD ||
            stage->actions[i].kind == DTRAIN_PP_BACKWARD_INPUT)
            break;
        n += stage->actions[i].kind == DTRAIN_PP_FORWARD;
    }
    return n;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* By the table of formulas, written down again: forwards before the first backward, and the peak. */
static void expected(const struct dt_schedule_request *request, int stage, int *before, int *peak)
{
    int p = request->stages, m = request->microbatches, v = request->chunks, s = stage;

    switch (request->kind) {
    case DTRAIN_PP_GPIPE:
    case DTRAIN_PP_GPIPE_REVERSE:
        *before = *peak = m;
        return;
    case DTRAIN_PP_INTERLEAVED:
        *before = *peak = least(2 * (p - s - 1) + (v - 1) * p + 1, m * v);
        return;
    case DTRAIN_PP_ZB_H1:
        *before = least(p - s, m);
        *peak = least(p, m);
        return;
    case DTRAIN_PP_INFERENCE:
        *before = m * v;
        *peak = 1;
        return;
    case DTRAIN_PP_1F1B:
    case DTRAIN_PP_PIPEDREAM:
        break;
    }
    *before = *peak = least(p - s, m);
}

static bool stages_are_right(const struct dt_schedule *schedule, const struct dt_schedule_timeline *timeline)
{
    const struct dt_schedule_request *request = &schedule->request;
    bool is_partial = request->chunks > 1 && request->microbatches % request->stages != 0;

    for (int s = 0; s < request->stages; s++) {
        int before, peak;

        expected(request, s, &before, &peak);
        /* A group of microbatches that is not full only ever holds less. */
        if (timeline->peaks[s] > peak || (!is_partial && timeline->peaks[s] != peak) ||
            (!is_partial && warm_up_of(&schedule->stages[s]) != before)) {
            printf("# stage %d: %d held of %d, %d forwards first of %d\n", s, timeline->peaks[s], peak,
                   warm_up_of(&schedule->stages[s]), before);
            return false;
        }
    }
    return true;
}

static bool times_are_right(const struct dt_schedule *schedule)
{
    size_t count = schedule->request.microbatches <= FEW ? sizeof(costs) / sizeof(costs[0]) : 1;

    for (size_t i = 0; i < count; i++) {
        double wanted = makespan(&schedule->request, &costs[i]);
        struct dt_schedule_timeline timeline;
        bool ok;

        if (dt_schedule_simulate(&timeline, schedule, &costs[i], NULL) != 0)
            return false;
        ok = wanted < 0 || same(timeline.makespan, wanted);
        if (!ok)
            printf("# costs %zu: makespan %g, expected %g\n", i, timeline.makespan, wanted);
        ok = stages_are_right(schedule, &timeline) && ok;
        dt_schedule_timeline_clear(&timeline);
        if (!ok)
            return false;
    }
    return true;
}

static bool is_right(const struct dt_schedule_request *request)
{
    struct dt_schedule *schedule = NULL;
    struct dtrain_error err = {""};
    bool ok = dt_schedule_create(&schedule, request, &err) == 0 && dt_schedule_verify(schedule, &err) == 0 &&
              times_are_right(schedule);

    dt_schedule_destroy(schedule);
    if (!ok)
        printf("# %d microbatches, %d chunks: %s\n", request->microbatches, request->chunks, err.text);
    return ok;
}

/* All numbers of microbatches; one test for each number of stages. */
static void check_formulas(enum dtrain_pp_kind kind, int stages)
{
    int chunks = dt_schedule_has_chunks(kind) ? CHUNKS_MAX : 1;
    bool ok = true;

    for (int v = 1; v <= chunks; v++)
        for (int m = 1; m <= MICROBATCHES_MAX; m++)
            ok = ok && is_right(&(struct dt_schedule_request){kind, stages, m, v, {0, 0, 0}});
    tap_ok(ok, "%s on %d stages is proved, and its formulas hold", dtrain_pp_kind_name(kind), stages);
}

/* idle over computing, of f = b = w = 1. */
static double bubble(enum dtrain_pp_kind kind, int stages, int microbatches, int chunks)
{
    const struct dt_schedule_request request = {kind, stages, microbatches, chunks, {0, 0, 0}};
    struct dt_schedule_timeline timeline;
    struct dt_schedule *schedule;
    double share = -1;

    if (dt_schedule_create(&schedule, &request, NULL) != 0)
        return -1;
    if (dt_schedule_simulate(&timeline, schedule, &costs[1], NULL) == 0) {
        share = timeline.bubble / (1 - timeline.bubble);
        dt_schedule_timeline_clear(&timeline);
    }
    dt_schedule_destroy(schedule);
    return share;
}

static void check_bubbles(void)
{
    for (int p = 2; p <= 8; p += 3) {
        double of_1f1b = bubble(DTRAIN_PP_1F1B, p, 2 * p, 1);

        tap_ok(same(of_1f1b, (p - 1) / (2.0 * p)), "%d stages: 1F1B's bubble is (p-1)/m of the ideal", p);
        tap_ok(same(bubble(DTRAIN_PP_ZB_H1, p, 2 * p, 1) * 3, of_1f1b), "%d stages: ZB-H1's is a third", p);
        tap_ok(same(bubble(DTRAIN_PP_INTERLEAVED, p, 2 * p, 2) * 2, of_1f1b),
               "%d stages: that of two chunks is half", p);
        tap_ok(bubble(DTRAIN_PP_INTERLEAVED, p, 2 * p + 1, 2) >
                   bubble(DTRAIN_PP_INTERLEAVED, p, 2 * p + 1, 1) / 2,
               "%d stages: microbatches that are no multiple cost something", p);
    }
}

/* A receive stands before what runs when the data come: a transfer costs its latency, not each time. */
static void check_overlap(void)
{
    const struct dt_schedule_request request = {DTRAIN_PP_GPIPE, 8, 32, 1, {0, 0, 0}};
    const struct dt_schedule_costs slow = {1, 1, 1, 0.05};
    struct dt_schedule_timeline timeline;
    struct dt_schedule *schedule;

    if (dt_schedule_create(&schedule, &request, NULL) != 0 ||
        dt_schedule_simulate(&timeline, schedule, &slow, NULL) != 0)
        return;
    tap_ok(same(timeline.makespan, 39 * 3 + 14 * 0.05), "gpipe's transfers run beside computing (%g)",
           timeline.makespan);
    dt_schedule_timeline_clear(&timeline);
    dt_schedule_destroy(schedule);
}

/* ---- Refusals ------------------------------------------------------------------------ */

static const struct bad_row {
    struct dt_schedule_request request;
    const char *words;
} bads[] = {
    {{DTRAIN_PP_1F1B, 0, 1, 1, {0, 0, 0}}, "0 stages: expected 1 to 64"},
    {{DTRAIN_PP_1F1B, 65, 1, 1, {0, 0, 0}}, "65 stages"},
    {{DTRAIN_PP_1F1B, 4, 0, 1, {0, 0, 0}}, "0 microbatches: expected 1 to"},
    {{DTRAIN_PP_1F1B, 4, 1 << 30, 1, {0, 0, 0}}, "1073741824 microbatches"},
    {{DTRAIN_PP_INTERLEAVED, 4, 8, 0, {0, 0, 0}}, "0 chunks: expected 1 to 8"},
    {{DTRAIN_PP_INTERLEAVED, 4, 8, 9, {0, 0, 0}}, "9 chunks"},
    {{DTRAIN_PP_ZB_H1, 4, 8, 2, {0, 0, 0}}, "zb-h1 has one chunk a stage, not 2: use interleaved"},
    {{DTRAIN_PP_1F1B, 4, 8, 1, {1, 0, 1}}, "1 forward, 0 backward, 1 weight"},
    {{(enum dtrain_pp_kind)7, 4, 8, 1, {0, 0, 0}}, "schedule 7 is not known"},
};

static void check_bad(const struct bad_row *row)
{
    struct dt_schedule *schedule = NULL;
    struct dtrain_error err = {""};

    tap_ok(dt_schedule_create(&schedule, &row->request, &err) == -1 && schedule == NULL, "refused: %s",
           row->words);
    tap_holds(err.text, row->words, "and says so");
}

static void check_names(void)
{
    struct dtrain_error err = {""};
    enum dtrain_pp_kind kind;

    for (int i = 0; i <= DTRAIN_PP_INFERENCE; i++)
        tap_ok(
            dt_schedule_kind_parse(&kind, dtrain_pp_kind_name((enum dtrain_pp_kind)i), "--kind", &err) == 0 &&
                (int)kind == i,
            "%s is a word", dtrain_pp_kind_name((enum dtrain_pp_kind)i));
    tap_ok(dt_schedule_kind_parse(&kind, "1F1B", "--kind", &err) == -1, "1F1B is none");
    tap_holds(err.text, "zb-h1", "the words are listed");
    tap_ok(strcmp(dtrain_pp_kind_name((enum dtrain_pp_kind)99), "?") == 0 &&
               strcmp(dtrain_pp_action_name((enum dtrain_pp_action_kind)99), "?") == 0 &&
               strcmp(dtrain_pp_action_name(DTRAIN_PP_RECV_GRADIENT), "recv-gradient") == 0,
           "names of actions");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        check_list(&lists[i]);
    for (int kind = 0; kind <= DTRAIN_PP_INFERENCE; kind++)
        for (int p = 1; p <= STAGES_MAX; p++)
            check_formulas((enum dtrain_pp_kind)kind, p);
    check_bubbles();
    check_overlap();
    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++)
        check_bad(&bads[i]);
    check_names();
    return tap_done();
}
