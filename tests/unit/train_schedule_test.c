/* 1F1B of examples/train: known schedules, the table of warm-ups and peaks, a run of all stages together. */
#include <stdlib.h>

#include "examples/train/schedule.h"
#include "tap.h"

enum { STAGES_MAX = 8, MICROBATCHES_MAX = 12, TEXT_MAX = 1024 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* "F0" "B0" for the work, "n+0-1": with the next stage activation 0 and gradient 1; "p" with the previous. */
static void append(char *text, const struct action *a)
{
    char word[64];

    if (a->kind == ACTION_FORWARD)
        snprintf(word, sizeof(word), "F%d ", a->forward);
    else if (a->kind == ACTION_BACKWARD)
        snprintf(word, sizeof(word), "B%d ", a->backward);
    else if (a->forward < 0)
        snprintf(word, sizeof(word), "%c-%d ", a->kind == ACTION_NEXT ? 'n' : 'p', a->backward);
    else if (a->backward < 0)
        snprintf(word, sizeof(word), "%c+%d ", a->kind == ACTION_NEXT ? 'n' : 'p', a->forward);
    else
        snprintf(word, sizeof(word), "%c+%d-%d ", a->kind == ACTION_NEXT ? 'n' : 'p', a->forward,
                 a->backward);
    strncat(text, word, TEXT_MAX - strlen(text) - 1);
}

struct row {
    int stages, stage, microbatches;
    const char *text;
};

static const struct row rows[] = {
    {1, 0, 1, "F0 B0 "},
    {1, 0, 3, "F0 B0 F1 B1 F2 B2 "},
    {2, 0, 1, "F0 n+0 n-0 B0 "},
    {2, 1, 1, "p+0 F0 B0 p-0 "},
    {2, 0, 3, "F0 n+0 F1 n+1-0 B0 F2 n+2-1 B1 n-2 B2 "},
    {2, 1, 3, "p+0 F0 B0 p+1-0 F1 B1 p+2-1 F2 B2 p-2 "},
    {4, 0, 2, "F0 n+0 F1 n+1 n-0 B0 n-1 B1 "},
    {4, 1, 2, "p+0 F0 n+0 p+1 F1 n+1 n-0 B0 p-0 n-1 B1 p-1 "},
    {4, 2, 2, "p+0 F0 n+0 p+1 F1 n+1-0 B0 p-0 n-1 B1 p-1 "},
    {4, 3, 2, "p+0 F0 B0 p+1-0 F1 B1 p-1 "},
};

static void check_text(const struct row *row)
{
    struct schedule schedule;
    char text[TEXT_MAX] = "";

    schedule_make(&schedule, row->stages, row->stage, row->microbatches, NULL);
    for (size_t i = 0; i < schedule.count; i++)
        append(text, &schedule.actions[i]);
    if (!tap_ok(strcmp(text, row->text) == 0, "stage %d of %d, %d microbatches", row->stage, row->stages,
                row->microbatches))
        printf("# got %s\n# expected %s\n", text, row->text);
    schedule_clear(&schedule);
}

/* Forwards before the first backward, and activations held at most. */
static void measure(const struct schedule *schedule, int *before, int *peak)
{
    int held = 0;

    *before = -1;
    *peak = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        if (schedule->actions[i].kind == ACTION_BACKWARD) {
            *before = *before < 0 ? held : *before;
            held--;
        }
        held += schedule->actions[i].kind == ACTION_FORWARD;
        *peak = held > *peak ? held : *peak;
    }
}

static void check_table(int stages, int stage, int microbatches)
{
    struct schedule schedule;
    int before, peak;

    schedule_make(&schedule, stages, stage, microbatches, NULL);
    measure(&schedule, &before, &peak);
    tap_ok(before == least(least(stages - stage - 1, microbatches) + 1, microbatches) &&
               peak == least(stages - stage, microbatches) && peak == schedule.slots,
           "stage %d of %d, %d microbatches: %d forwards first, %d activations held", stage, stages,
           microbatches, before, peak);
    schedule_clear(&schedule);
}

/* All stages of one pipeline; a transfer waits until its other end is at its own. */
struct pipeline {
    int stages;
    struct schedule schedules[STAGES_MAX];
    size_t at[STAGES_MAX];
    bool has_input[STAGES_MAX][MICROBATCHES_MAX];    /* the activation arrived */
    bool forward_done[STAGES_MAX][MICROBATCHES_MAX];
    bool has_gradient[STAGES_MAX][MICROBATCHES_MAX]; /* from the next stage */
    bool backward_done[STAGES_MAX][MICROBATCHES_MAX];
};

static const struct action *current(const struct pipeline *p, int stage)
{
    const struct schedule *schedule = &p->schedules[stage];

    return p->at[stage] < schedule->count ? &schedule->actions[p->at[stage]] : NULL;
}

static bool work(struct pipeline *p, int s, const struct action *a)
{
    if (a->kind == ACTION_FORWARD) {
        if (s > 0 && !p->has_input[s][a->forward])
            return false;
        p->forward_done[s][a->forward] = true;
    } else {
        if (!p->forward_done[s][a->backward] || (s < p->stages - 1 && !p->has_gradient[s][a->backward]))
            return false;
        p->backward_done[s][a->backward] = true;
    }
    p->at[s]++;
    return true;
}

/* Both ends must mean the same transfers: what one groups, the other groups. */
static bool meet(struct pipeline *p, int s, const struct action *a)
{
    const struct action *b = current(p, s + 1);

    if (b == NULL || b->kind != ACTION_PREVIOUS || b->forward != a->forward || b->backward != a->backward)
        return false;
    if ((a->forward >= 0 && !p->forward_done[s][a->forward]) ||
        (a->backward >= 0 && !p->backward_done[s + 1][a->backward]))
        return false;
    if (a->forward >= 0)
        p->has_input[s + 1][a->forward] = true;
    if (a->backward >= 0)
        p->has_gradient[s][a->backward] = true;
    p->at[s]++;
    p->at[s + 1]++;
    return true;
}

static bool advance(struct pipeline *p)
{
    bool moved = false;

    for (int s = 0; s < p->stages; s++) {
        const struct action *a = current(p, s);

        if (a == NULL || a->kind == ACTION_PREVIOUS)
            continue;
        moved = (a->kind == ACTION_NEXT ? meet(p, s, a) : work(p, s, a)) || moved;
    }
    return moved;
}

static void check_run(int stages, int microbatches)
{
    struct pipeline p = {.stages = stages};
    bool complete = true;

    for (int s = 0; s < stages; s++)
        schedule_make(&p.schedules[s], stages, s, microbatches, NULL);
    while (advance(&p))
        ;
    for (int s = 0; s < stages; s++) {
        complete = complete && current(&p, s) == NULL;
        for (int m = 0; m < microbatches; m++)
            complete = complete && p.backward_done[s][m];
        schedule_clear(&p.schedules[s]);
    }
    tap_ok(complete, "%d stages with %d microbatches run to the end", stages, microbatches);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_text(&rows[i]);
    for (int stages = 1; stages <= 4; stages++) {
        for (int stage = 0; stage < stages; stage++) {
            for (int m = 1; m <= 6; m += stages)
                check_table(stages, stage, m);
        }
    }
    for (int stages = 1; stages <= STAGES_MAX; stages++) {
        for (int m = 1; m <= MICROBATCHES_MAX; m++)
            check_run(stages, m);
    }
    return tap_done();
}
