#include "tools/suggest_search.h"

#include <stdlib.h>
#include <string.h>

struct search {
    struct dt_suggest_result *result;
    const struct dt_suggest_model *model;
    const struct dt_suggest_machine *machine;
    const struct dt_suggest_limits *limits;
    struct dt_suggest_choice best; /* of the sizes at hand */
    bool has_best;
};

double dt_suggest_usable(const struct dt_suggest_machine *machine)
{
    return machine->memory * DT_SUGGEST_USABLE;
}

static bool allows(uint32_t limit, uint32_t value)
{
    return limit == DT_SUGGEST_ANY || limit == value;
}

/* -1, 0, 1. */
static int order_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* The plainer of two equal ones comes first. */
static int order_layouts(const struct dt_suggest_layout *a, const struct dt_suggest_layout *b)
{
    const uint32_t keys[][2] = {
        {a->tp, b->tp},
        {a->pp, b->pp},
        {a->cp, b->cp},
        {a->zero, b->zero},
        {a->recompute, b->recompute},
        {a->interleave, b->interleave},
        {a->microbatch, b->microbatch},
        {a->is_sp, b->is_sp},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return order_u32(keys[i][0], keys[i][1]);
    return 0;
}

static int order_choices(const void *left, const void *right)
{
    const struct dt_suggest_choice *a = left, *b = right;

    if (a->time.total != b->time.total)
        return a->time.total < b->time.total ? -1 : 1;
    if (a->memory.total != b->memory.total)
        return a->memory.total < b->memory.total ? -1 : 1;
    return order_layouts(&a->layout, &b->layout);
}

static void consider(struct search *search, const struct dt_suggest_layout *layout)
{
    struct dt_suggest_choice choice = {.layout = *layout,
                                       .memory = dt_suggest_memory_of(layout, search->model)};
    struct dt_suggest_choice *nearest = &search->result->nearest;

    if (search->result->tried++ == 0 || choice.memory.total < nearest->memory.total)
        *nearest = choice;
    if (choice.memory.total > dt_suggest_usable(search->machine))
        return;
    choice.time = dt_suggest_time_of(layout, search->model, search->machine);
    if (!search->has_best || order_choices(&choice, &search->best) < 0)
        search->best = choice;
    search->has_best = true;
}

/* What the sizes leave open: ZeRO, sequence parallelism, what is recomputed. */
static void try_variants(struct search *search, struct dt_suggest_layout layout)
{
    bool has_replicas = dt_suggest_layout_replicas(&layout) > 1;
    const struct dt_suggest_limits *limits = search->limits;

    for (layout.zero = 0; layout.zero <= DT_SUGGEST_ZERO_MAX; layout.zero++) {
        if (limits->zero == DT_SUGGEST_ANY ? layout.zero > 0 && !has_replicas : limits->zero != layout.zero)
            continue;
        for (unsigned sp = 0; sp < 2; sp++) {
            for (unsigned i = 0; i < DT_SUGGEST_RECOMPUTE_COUNT; i++) {
                layout.is_sp = sp == 1;
                layout.recompute = (enum dt_suggest_recompute)i;
                if (allows(limits->is_sp, sp) && allows(limits->recompute, i) &&
                    dt_suggest_layout_check(&layout, search->model, search->machine, NULL) == 0)
                    consider(search, &layout);
            }
        }
    }
}

static void try_batches(struct search *search, struct dt_suggest_layout layout)
{
    const struct dt_suggest_limits *limits = search->limits;
    uint32_t batch = search->model->batch / layout.dp, depth = search->model->layers / layout.pp;
    uint32_t most = limits->max_microbatch != 0            ? limits->max_microbatch
                    : limits->microbatch != DT_SUGGEST_ANY ? limits->microbatch
                                                           : DT_SUGGEST_MICROBATCH_MAX;

    for (layout.microbatch = 1; layout.microbatch <= batch && layout.microbatch <= most;
         layout.microbatch++) {
        if (batch % layout.microbatch != 0 || !allows(limits->microbatch, layout.microbatch))
            continue;
        for (layout.interleave = 1; layout.interleave <= (layout.pp > 1 ? depth : 1); layout.interleave++)
            if (depth % layout.interleave == 0 && allows(limits->interleave, layout.interleave))
                try_variants(search, layout);
    }
}

static int keep_best(struct search *search, struct dtrain_error *err)
{
    struct dt_suggest_result *result = search->result;
    size_t room = result->room == 0 ? 64 : result->room * 2;
    void *choices;

    if (!search->has_best)
        return 0;
    if (result->count == result->room) {
        choices = realloc(result->choices, room * sizeof(*result->choices));
        if (choices == NULL)
            return dt_error_memory(err, room * sizeof(*result->choices), "the layouts that fit");
        result->choices = choices;
        result->room = room;
    }
    result->choices[result->count++] = search->best;
    return 0;
}

static uint32_t max_cp(const struct search *search)
{
    uint32_t parts = search->model->seq / DT_SUGGEST_CP_TOKENS;

    if (search->limits->max_cp != 0)
        return search->limits->max_cp;
    if (search->limits->cp != DT_SUGGEST_ANY)
        return search->limits->cp;
    return parts > 1 ? parts : 1;
}

static int try_context(struct search *search, struct dt_suggest_layout layout, struct dtrain_error *err)
{
    uint64_t world = (uint64_t)search->machine->nodes * search->machine->gpus;
    uint64_t left = world / layout.tp / layout.pp, most = max_cp(search);

    for (layout.cp = 1; layout.cp <= left && layout.cp <= most; layout.cp++) {
        layout.dp = (uint32_t)(left / layout.cp);
        if (left % layout.cp != 0 || !allows(search->limits->cp, layout.cp) ||
            !allows(search->limits->dp, layout.dp) || search->model->batch % layout.dp != 0)
            continue;
        search->has_best = false;
        try_batches(search, layout);
        if (keep_best(search, err) != 0)
            return -1;
    }
    return 0;
}

static int try_all(struct search *search, struct dtrain_error *err)
{
    const struct dt_suggest_limits *limits = search->limits;
    uint64_t world = (uint64_t)search->machine->nodes * search->machine->gpus;
    uint32_t max_tp = limits->max_tp != 0 ? limits->max_tp : search->machine->gpus;
    uint32_t max_pp = limits->max_pp != 0 ? limits->max_pp : search->model->layers;

    for (uint32_t tp = 1; tp <= max_tp && tp <= search->machine->gpus; tp++) {
        if (search->machine->gpus % tp != 0 || !allows(limits->tp, tp))
            continue;
        for (uint32_t pp = 1; pp <= max_pp && pp <= search->model->layers; pp++) {
            struct dt_suggest_layout layout = {.tp = tp, .pp = pp};

            if (world / tp % pp == 0 && search->model->layers % pp == 0 && allows(limits->pp, pp) &&
                try_context(search, layout, err) != 0)
                return -1;
        }
    }
    return 0;
}

static uint32_t or_else(uint32_t limit, uint32_t value)
{
    return limit == DT_SUGGEST_ANY ? value : limit;
}

/* Nothing divides: why the plainest layout inside the limits does not. */
static int refuse(const struct search *search, struct dtrain_error *err)
{
    const struct dt_suggest_limits *limits = search->limits;
    double world = (double)search->machine->nodes * search->machine->gpus, inner;
    struct dt_suggest_layout layout = {
        .tp = or_else(limits->tp, 1),
        .cp = or_else(limits->cp, 1),
        .pp = or_else(limits->pp, 1),
        .microbatch = or_else(limits->microbatch, 1),
        .interleave = or_else(limits->interleave, 1),
        .zero = or_else(limits->zero, 0),
        .is_sp = limits->is_sp == 1,
        .recompute = (enum dt_suggest_recompute)or_else(limits->recompute, DT_SUGGEST_KEEP),
    };

    inner = (double)layout.tp * layout.cp * layout.pp; /* may be past 64 bits */
    layout.dp = or_else(limits->dp, inner < world ? (uint32_t)(world / inner) : 1);
    if (dt_suggest_layout_check(&layout, search->model, search->machine, err) != 0)
        return dt_error_prefix(err, "no layout of %.0f GPUs divides this model", world);
    return dt_error_set(err,
                        "no layout of %.0f GPUs divides this model within --max-tp, --max-cp, --max-pp and "
                        "--max-microbatch: raise them",
                        world);
}

int dt_suggest_search(struct dt_suggest_result *result, const struct dt_suggest_model *model,
                      const struct dt_suggest_machine *machine, const struct dt_suggest_limits *limits,
                      struct dtrain_error *err)
{
    struct search search = {.result = result, .model = model, .machine = machine, .limits = limits};

    memset(result, 0, sizeof(*result));
    if (try_all(&search, err) != 0)
        return -1;
    if (result->tried == 0)
        return refuse(&search, err);
    if (result->count > 0)
        qsort(result->choices, result->count, sizeof(*result->choices), order_choices);
    return 0;
}

void dt_suggest_result_destroy(struct dt_suggest_result *result)
{
    free(result->choices);
    memset(result, 0, sizeof(*result));
}

bool dt_suggest_search_nodes(uint32_t *nodes, struct dt_suggest_choice *choice,
                             const struct dt_suggest_model *model, const struct dt_suggest_machine *machine,
                             const struct dt_suggest_limits *limits)
{
    struct dt_suggest_machine more = *machine;
    struct dt_suggest_result result;
    bool divides = machine->nics > 0, found = false;

    while (divides && !found && more.nodes <= DT_SUGGEST_NODES_MAX / 2) {
        more.nodes *= 2;
        divides = dt_suggest_search(&result, model, &more, limits, NULL) == 0;
        found = divides && result.count > 0;
        if (found) {
            *nodes = more.nodes;
            *choice = result.choices[0];
        }
        dt_suggest_result_destroy(&result);
    }
    return found;
}
