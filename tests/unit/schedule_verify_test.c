/* The check of pipeline schedules: broken ones are refused in the expected words; layers on stages. */
#include <stdlib.h>

#include "runtime/schedule.h"
#include "tap.h"

/* ---- Good schedules that were broken ------------------------------------------------ */

static struct dtrain_pp_action *find(struct dt_schedule *schedule, int stage, enum dtrain_pp_action_kind kind,
                                     int microbatch)
{
    struct dt_schedule_stage *list = &schedule->stages[stage];

    for (size_t i = 0; i < list->count; i++)
        if (list->actions[i].kind == kind && list->actions[i].microbatch == microbatch)
            return &list->actions[i];
    abort();
}

static void erase(struct dt_schedule *schedule, int stage, struct dtrain_pp_action *action)
{
    struct dt_schedule_stage *list = &schedule->stages[stage];
    size_t after = (size_t)(list->actions + list->count - action) - 1;

    memmove(action, action + 1, after * sizeof(*action));
    list->count--;
}

static void swap(struct dtrain_pp_action *a, struct dtrain_pp_action *b)
{
    struct dtrain_pp_action kept = *a;

    *a = *b;
    *b = kept;
}

static void drop_send(struct dt_schedule *schedule)
{
    erase(schedule, 0, find(schedule, 0, DTRAIN_PP_SEND_ACTIVATION, 2));
}

static void drop_receive(struct dt_schedule *schedule)
{
    erase(schedule, 1, find(schedule, 1, DTRAIN_PP_RECV_ACTIVATION, 3));
}

static void drop_last_receive(struct dt_schedule *schedule)
{
    erase(schedule, 0, find(schedule, 0, DTRAIN_PP_RECV_GRADIENT, 3));
}

static void drop_backward(struct dt_schedule *schedule)
{
    erase(schedule, 0, find(schedule, 0, DTRAIN_PP_BACKWARD, 3));
}

static void drop_forward(struct dt_schedule *schedule)
{
    erase(schedule, 0, find(schedule, 0, DTRAIN_PP_FORWARD, 1));
}

static void drop_weight(struct dt_schedule *schedule)
{
    erase(schedule, 1, find(schedule, 1, DTRAIN_PP_BACKWARD_WEIGHT, 2));
}

static void drop_update(struct dt_schedule *schedule)
{
    erase(schedule, 1, find(schedule, 1, DTRAIN_PP_UPDATE, 2));
}

static void weight_first(struct dt_schedule *schedule)
{
    swap(find(schedule, 0, DTRAIN_PP_BACKWARD_INPUT, 0), find(schedule, 0, DTRAIN_PP_BACKWARD_WEIGHT, 0));
}

static void update_first(struct dt_schedule *schedule)
{
    swap(find(schedule, 1, DTRAIN_PP_BACKWARD, 0), find(schedule, 1, DTRAIN_PP_UPDATE, 0));
}

static void backward_twice(struct dt_schedule *schedule)
{
    find(schedule, 1, DTRAIN_PP_BACKWARD, 2)->microbatch = 1;
}

static void backward_first(struct dt_schedule *schedule)
{
    swap(find(schedule, 0, DTRAIN_PP_RECV_GRADIENT, 0), find(schedule, 0, DTRAIN_PP_BACKWARD, 0));
}

static void send_first(struct dt_schedule *schedule)
{
    swap(find(schedule, 0, DTRAIN_PP_FORWARD, 0), find(schedule, 0, DTRAIN_PP_SEND_ACTIVATION, 0));
}

static void swap_receives(struct dt_schedule *schedule)
{
    find(schedule, 1, DTRAIN_PP_RECV_ACTIVATION, 0)->microbatch = 1;
}

static void other_peer(struct dt_schedule *schedule)
{
    find(schedule, 0, DTRAIN_PP_SEND_ACTIVATION, 0)->peer = 2;
}

static void own_peer(struct dt_schedule *schedule)
{
    find(schedule, 0, DTRAIN_PP_SEND_ACTIVATION, 0)->peer = 0;
}

static void no_microbatch(struct dt_schedule *schedule)
{
    find(schedule, 1, DTRAIN_PP_FORWARD, 3)->microbatch = 4;
}

static void back_in_operations(struct dt_schedule *schedule)
{
    find(schedule, 0, DTRAIN_PP_SEND_ACTIVATION, 3)->operation = 0;
}

/* The order that works only with buffers: both stages of a pair send, then both receive. */
static void cross_sends(struct dt_schedule *schedule)
{
    static const struct dtrain_pp_action first[] = {
        {DTRAIN_PP_FORWARD, 0, 0, -1, -1},     {DTRAIN_PP_SEND_ACTIVATION, 0, 0, 1, 0},
        {DTRAIN_PP_FORWARD, 1, 0, -1, -1},     {DTRAIN_PP_SEND_ACTIVATION, 1, 0, 1, 1},
        {DTRAIN_PP_RECV_GRADIENT, 0, 0, 1, 2}, {DTRAIN_PP_BACKWARD, 0, 0, -1, -1},
        {DTRAIN_PP_RECV_GRADIENT, 1, 0, 1, 3}, {DTRAIN_PP_BACKWARD, 1, 0, -1, -1},
    };
    static const struct dtrain_pp_action second[] = {
        {DTRAIN_PP_RECV_ACTIVATION, 0, 0, 0, 0}, {DTRAIN_PP_FORWARD, 0, 0, -1, -1},
        {DTRAIN_PP_BACKWARD, 0, 0, -1, -1},      {DTRAIN_PP_SEND_GRADIENT, 0, 0, 0, 1},
        {DTRAIN_PP_RECV_ACTIVATION, 1, 0, 0, 2}, {DTRAIN_PP_FORWARD, 1, 0, -1, -1},
        {DTRAIN_PP_BACKWARD, 1, 0, -1, -1},      {DTRAIN_PP_SEND_GRADIENT, 1, 0, 0, 3},
    };

    memcpy(schedule->stages[0].actions, first, sizeof(first));
    memcpy(schedule->stages[1].actions, second, sizeof(second));
    schedule->stages[0].count = sizeof(first) / sizeof(first[0]);
    schedule->stages[1].count = sizeof(second) / sizeof(second[0]);
}

/* All forwards first, in a schedule that promises to hold fewer activations. */
static void hold_all(struct dt_schedule *schedule)
{
    schedule->request.kind = DTRAIN_PP_1F1B;
}

static const struct row {
    const char *name;
    enum dtrain_pp_kind kind;
    int stages, microbatches, chunks;
    void (*break_it)(struct dt_schedule *schedule);
    const char *words;
} rows[] = {
    {"a send that is missing", DTRAIN_PP_1F1B, 2, 4, 1, drop_send,
     "stage 1: recv-activation of microbatch 2, chunk 0, from stage 0 does not pair up: what comes next is "
     "stage 0: send-activation of microbatch 3, chunk 0, to stage 1"},
    {"a receive that is missing", DTRAIN_PP_1F1B, 2, 4, 1, drop_receive,
     "stage 1: forward of microbatch 3, chunk 0 comes before its activation was received"},
    {"the last gradient is not received", DTRAIN_PP_1F1B, 2, 4, 1, drop_last_receive,
     "stage 0: backward of microbatch 3, chunk 0 comes before its forward was done and its gradient "
     "received"},
    {"a backward that is missing", DTRAIN_PP_1F1B, 2, 4, 1, drop_backward,
     "stage 0: backward of microbatch 3, chunk 0 is missing"},
    {"a forward that is missing", DTRAIN_PP_1F1B, 2, 4, 1, drop_forward,
     "stage 0: send-activation of microbatch 1, chunk 0, to stage 1 comes before its forward"},
    {"a weight gradient that is missing", DTRAIN_PP_ZB_H1, 2, 4, 1, drop_weight,
     "stage 1: backward-weight of microbatch 2, chunk 0 is missing"},
    {"an update that is missing", DTRAIN_PP_PIPEDREAM, 2, 4, 1, drop_update,
     "stage 1: update of microbatch 2, chunk 0 is missing"},
    {"a weight gradient before the input's", DTRAIN_PP_ZB_H1, 2, 4, 1, weight_first,
     "stage 0: backward-weight of microbatch 0, chunk 0 comes before its backward-input"},
    {"an update before the backward", DTRAIN_PP_PIPEDREAM, 2, 4, 1, update_first,
     "stage 1: update of microbatch 0, chunk 0 comes before its backward"},
    {"a gradient twice", DTRAIN_PP_1F1B, 2, 4, 1, backward_twice,
     "stage 1: backward of microbatch 1, chunk 0 is done twice"},
    {"a backward before its gradient came", DTRAIN_PP_1F1B, 2, 4, 1, backward_first,
     "stage 0: backward of microbatch 0, chunk 0 comes before its forward was done and its gradient "
     "received"},
    {"a send before its forward", DTRAIN_PP_1F1B, 2, 4, 1, send_first,
     "stage 0: send-activation of microbatch 0, chunk 0, to stage 1 comes before its forward"},
    {"receives in another order", DTRAIN_PP_1F1B, 2, 4, 1, swap_receives, "does not pair up"},
    {"a send to another stage", DTRAIN_PP_1F1B, 3, 4, 1, other_peer,
     "stage 0: send-activation of microbatch"},
    {"a send to itself", DTRAIN_PP_1F1B, 2, 4, 1, own_peer, "has no such peer"},
    {"a microbatch too many", DTRAIN_PP_1F1B, 2, 4, 1, no_microbatch, "stage 1: forward of microbatch 4"},
    {"an operation that goes back", DTRAIN_PP_1F1B, 2, 4, 1, back_in_operations,
     "is in an operation before the last one's"},
    {"pytorch#172668: sends that cross without buffers", DTRAIN_PP_1F1B, 2, 2, 1, cross_sends,
     "deadlock: stage 1: send-gradient of microbatch 0, chunk 0, to stage 0 waits, while the other is at "
     "stage 0: send-activation of microbatch 1, chunk 0, to stage 1"},
    {"more held than promised", DTRAIN_PP_GPIPE, 2, 4, 1, hold_all,
     "stage 0: forward of microbatch 2, chunk 0 makes 3 activations held: expected at most 2"},
};

static void check_row(const struct row *row)
{
    const struct dt_schedule_request request = {
        row->kind, row->stages, row->microbatches, row->chunks, {0, 0, 0}};
    struct dt_schedule *schedule;
    struct dtrain_error err = {""};

    if (dt_schedule_create(&schedule, &request, NULL) != 0 || dt_schedule_verify(schedule, NULL) != 0)
        abort();
    row->break_it(schedule);
    tap_ok(dt_schedule_verify(schedule, &err) == -1, "%s", row->name);
    tap_holds(err.text, row->words, "in the expected words");
    dt_schedule_destroy(schedule);
}

/* ---- Layers ---------------------------------------------------------------------------- */

static void check_even(int layers, int stages, int chunks)
{
    int next = 0, least = layers, most = 0;
    bool ok = true;

    for (int k = 0; k < stages * chunks; k++) {
        int first = -1, count = -1;

        ok = ok && dtrain_pp_stage_layers(layers, stages, chunks, k % stages, k / stages, &first, &count,
                                          NULL) == 0;
        ok = ok && first == next;
        next = first + count;
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    tap_ok(ok && next == layers && least >= 1 && most - least <= 1, "%d layers on %d stages, %d chunks",
           layers, stages, chunks);
}

/* The best split by trying all of them. */
static double best_of(const double *costs, int layers, int parts)
{
    double best = 0, own = 0;

    if (parts == 1) {
        for (int i = 0; i < layers; i++)
            best += costs[i];
        return best;
    }
    best = 1e30;
    for (int cut = layers - 1; cut >= parts - 1; cut--) {
        double before = best_of(costs, cut, parts - 1), worst;

        own += costs[cut];
        worst = before > own ? before : own;
        best = worst < best ? worst : best;
    }
    return best;
}

static void check_balance(const double *costs, int layers, int stages, int chunks)
{
    int firsts[DTRAIN_PP_STAGES_MAX + 1], parts = stages * chunks;
    double worst = 0;
    bool ok = dtrain_pp_balance(costs, layers, stages, chunks, firsts, NULL) == 0 && firsts[0] == 0;

    for (int k = 0; ok && k < parts; k++) {
        double sum = 0;

        ok = firsts[k + 1] > firsts[k];
        for (int i = firsts[k]; i < firsts[k + 1]; i++)
            sum += costs[i];
        worst = sum > worst ? sum : worst;
    }
    ok = ok && firsts[parts] == layers;
    tap_ok(ok && worst <= best_of(costs, layers, parts) + 1e-9, "%d layers of different costs on %d x %d: %g",
           layers, stages, chunks, worst);
}

static void check_layers(void)
{
    static const double costs[] = {5, 1, 1, 1, 7, 2, 2, 9, 1, 1, 3, 12};
    static const double bad[] = {1, 0, 1};
    struct dtrain_error err = {""};
    int first, count, firsts[4];

    check_even(8, 4, 1);
    check_even(10, 4, 1);
    check_even(13, 3, 4);
    check_even(4, 4, 1);
    for (int parts = 1; parts <= 12; parts++)
        check_balance(costs, 12, parts, 1);
    check_balance(costs, 12, 2, 3);
    tap_ok(dtrain_pp_stage_layers(3, 4, 1, 0, 0, &first, &count, &err) == -1, "a stage without layers");
    tap_holds(err.text, "3 layers on 4 stages with 1 chunk(s) each leave a stage without layers",
              "is refused");
    tap_ok(dtrain_pp_stage_layers(8, 4, 1, 4, 0, &first, &count, &err) == -1, "a stage that is not there");
    tap_holds(err.text, "stage 4, chunk 0 is not there: expected 0 to 3, 0 to 0", "is refused");
    tap_ok(dtrain_pp_stage_layers(8, 0, 1, 0, 0, &first, &count, &err) == -1, "no stages are refused");
    tap_ok(dtrain_pp_balance(bad, 3, 3, 1, firsts, &err) == -1, "a layer that costs nothing");
    tap_holds(err.text, "the cost of layer 1 is 0: expected more than 0", "is refused");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
    check_layers();
    return tap_done();
}
