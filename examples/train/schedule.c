#include "schedule.h"

#include <stdlib.h>

#include "error.h"

/* Each microbatch: a forward, a backward, and at most four transfers. */
enum { ACTIONS_PER_MICROBATCH = 6, NONE = -1 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void add(struct schedule *schedule, enum action_kind kind, int forward, int backward)
{
    if (forward != NONE || backward != NONE)
        schedule->actions[schedule->count++] = (struct action){kind, forward, backward};
}

/* Transfers that would leave the pipeline are not there: has_next and has_previous. */
struct ends {
    bool has_next, has_previous;
};

static void add_next(struct schedule *schedule, struct ends ends, int forward, int backward)
{
    if (ends.has_next)
        add(schedule, ACTION_NEXT, forward, backward);
}

static void add_previous(struct schedule *schedule, struct ends ends, int forward, int backward)
{
    if (ends.has_previous)
        add(schedule, ACTION_PREVIOUS, forward, backward);
}

static void add_warm_up(struct schedule *schedule, struct ends ends, int warm)
{
    for (int i = 0; i < warm; i++) {
        add_previous(schedule, ends, i, NONE);
        add(schedule, ACTION_FORWARD, i, NONE);
        add_next(schedule, ends, i, NONE);
    }
}

static void add_steady(struct schedule *schedule, struct ends ends, int warm, int microbatches)
{
    if (warm < microbatches)
        add_previous(schedule, ends, warm, NONE);
    for (int i = warm; i < microbatches; i++) {
        int backward = i - warm;

        add(schedule, ACTION_FORWARD, i, NONE);
        add_next(schedule, ends, i, backward);
        add(schedule, ACTION_BACKWARD, NONE, backward);
        add_previous(schedule, ends, i + 1 < microbatches ? i + 1 : NONE, backward);
    }
}

static void add_cool_down(struct schedule *schedule, struct ends ends, int warm, int microbatches)
{
    for (int i = microbatches - warm; i < microbatches; i++) {
        add_next(schedule, ends, NONE, i);
        add(schedule, ACTION_BACKWARD, NONE, i);
        add_previous(schedule, ends, NONE, i);
    }
}

int schedule_make(struct schedule *schedule, int stages, int stage, int microbatches,
                  struct dtrain_error *err)
{
    struct ends ends = {.has_next = (stage < stages - 1), .has_previous = (stage > 0)};
    size_t most = (size_t)microbatches * ACTIONS_PER_MICROBATCH;
    int warm = least(stages - stage - 1, microbatches);

    *schedule = (struct schedule){.slots = least(stages - stage, microbatches)};
    schedule->actions = calloc(most, sizeof(*schedule->actions));
    if (schedule->actions == NULL)
        return error_memory(err, most * sizeof(*schedule->actions), "the pipeline's schedule");
    add_warm_up(schedule, ends, warm);
    add_steady(schedule, ends, warm, microbatches);
    add_cool_down(schedule, ends, warm, microbatches);
    return 0;
}

void schedule_clear(struct schedule *schedule)
{
    free(schedule->actions);
    *schedule = (struct schedule){0};
}
