/* What users do wrong, and ranks that do not agree: the words that tell them. */
#include "dtrain_dp.h"

#include <stdlib.h>

#include "dp_world.h"
#include "tap.h"

static double memory[64]; /* that parameters may point to; nothing runs on it */

/* ---- Registration ---------------------------------------------------------------------- */

struct bad_row {
    const char *name;
    struct dtrain_parameter parameter;
    struct dtrain_dp_options options;
    const char *words;
};

#define GOOD .name = "w", .value = memory, .gradient = memory + 8, .count = 8
#define HELD .name = "w", .count = 8

static const struct bad_row bad_rows[] = {
    {"no name", {.value = memory, .gradient = memory, .count = 1}, {0}, "parameter 0 has no name"},
    {"an empty name", {.name = "", .value = memory, .gradient = memory, .count = 1}, {0},
     "parameter 0 has no name"},
    {"integer values", {GOOD, .type = DTRAIN_INT32}, {0},
     "parameter 0 (w): type is int32 (4): expected float32"},
    {"integer gradients", {GOOD, .gradient_type = DTRAIN_INT8}, {0}, "gradient_type is int8 (6)"},
    {"no type", {GOOD, .type = (enum dtrain_type)77}, {0}, "type is ? (77)"},
    {"no value", {.name = "w", .gradient = memory, .count = 1}, {0},
     "value is NULL: give its address, or set holds"},
    {"no gradient", {.name = "w", .value = memory, .count = 1}, {0}, "gradient is NULL"},
    {"a crooked value", {.name = "w", .value = (char *)memory + 2, .gradient = memory, .count = 1}, {0},
     "float32 must be aligned to 4 bytes"},
    {"a crooked gradient", {.name = "w", .value = memory, .gradient = (char *)memory + 1, .count = 1}, {0},
     "gradient is at"},
    {"too much", {.name = "w", .value = memory, .gradient = memory, .count = SIZE_MAX / 4}, {0},
     "more than memory can hold"},
    {"an unknown flag", {GOOD, .flags = 1 << 9}, {0}, "flags 0x200 have bits that are not known"},
    {"a negative group", {GOOD, .group = -1}, {0}, "group is -1: expected 0 or more"},
    {"an unknown stage", {GOOD}, {.zero_stage = 3, .holds_storage = true},
     "zero_stage is 3: expected 0, 1 or 2"},
    {"a stage without storage", {GOOD}, {.zero_stage = 1}, "zero_stage 1 needs holds_storage"},
    {"storage for what has its own", {GOOD}, {.holds_storage = true}, "with holds_storage it is NULL"},
    {"halves cast in their storage", {HELD, .gradient_type = DTRAIN_FLOAT16},
     {.holds_storage = true, .reduce_in_float32 = true}, "needs gradient_type float32, not float16"},
};

static bool run_bad(struct dp_rank *r)
{
    const struct bad_row *row = r->argument;
    struct dtrain_dp *dp;

    return dtrain_dp_create(&dp, r->world, &row->parameter, 1, &row->options, &r->err) < 0 && dp == NULL &&
           tap_holds(r->err.text, row->words, row->name);
}

/* ---- Calls in the wrong place ------------------------------------------------------------- */

static void fails(struct dp_rank *r, int rc, const char *words)
{
    tap_ok(rc < 0 && strstr(r->err.text, words) != NULL, "refused: %s", words);
    if (strstr(r->err.text, words) == NULL)
        printf("# %s\n", r->err.text);
}

static void call_out_of_place(struct dp_rank *r, struct dtrain_dp *dp, struct dtrain_zero *zero)
{
    struct dtrain_stream *s = r->stream;
    struct dtrain_error *e = &r->err;
    struct dtrain_adamw adamw = {.lr = 1};
    struct dtrain_zero_range range;

    fails(r, dtrain_dp_ready(dp, 0, s, e), "parameter 0 (a): no pass has begun");
    fails(r, dtrain_dp_finish(dp, s, e), "dtrain_dp_finish: no pass has begun");
    fails(r, dtrain_dp_zero(dp, NULL, e), "dtrain_dp_zero: stream is NULL");
    fails(r, dtrain_dp_norm(dp, NULL, NULL, e), "dtrain_dp_norm: stream is NULL");
    fails(r, dtrain_dp_clip(dp, 0, s, NULL, e), "limit is 0: expected more than 0");
    fails(r, dtrain_zero_step(zero, &adamw, 1, 0, s, e),
          "1 groups of hyperparameters: parameters name groups 0 to 1");
    fails(r, dtrain_zero_step(zero, NULL, 2, 0, s, e), "0 groups of hyperparameters");
    fails(r, dtrain_zero_range_get(zero, 2, &range, e), "index is 2: 2 parameters were registered");
    fails(r, dtrain_zero_wait(zero, 2, s, e), "dtrain_zero_wait: index is 2");
    fails(r, dtrain_zero_export(zero, 0, (enum dtrain_zero_part)3, memory, s, e), "part is 3");
    fails(r, dtrain_zero_import(zero, 1, DTRAIN_ZERO_WEIGHT, NULL, s, e), "parameter 1 (b): full is NULL");
    tap_ok(dtrain_dp_begin(dp, true, e) == 0 && dtrain_dp_ready(dp, 0, s, e) == 0, "a pass begins");
    fails(r, dtrain_dp_begin(dp, true, e), "a pass has begun already");
    fails(r, dtrain_dp_ready(dp, 0, s, e), "parameter 0 (a) is ready for the second time");
    fails(r, dtrain_dp_ready(dp, 2, s, e), "dtrain_dp_ready: index is 2: 2 parameters");
    fails(r, dtrain_dp_zero(dp, s, e), "dtrain_dp_zero: within a pass");
    fails(r, dtrain_dp_norm(dp, s, NULL, e), "dtrain_dp_norm: within a pass");
    fails(r, dtrain_zero_step(zero, &adamw, 1, 0, s, e), "dtrain_zero_step: within a pass");
    fails(r, dtrain_dp_finish(dp, s, e),
          "on rank 0 1 of 2 parameters did not become ready: b: use them in every pass");
    fails(r, dtrain_dp_begin(dp, true, e), "1 of 2 parameters did not become ready: b");
}

static bool run_out_of_place(struct dp_rank *r)
{
    struct dtrain_parameter parameters[2] = {
        {.name = "a", .value = memory, .gradient = memory + 8, .count = 8},
        {.name = "b", .value = memory + 16, .gradient = memory + 24, .count = 8, .group = 1}};
    struct dtrain_dp *dp;
    struct dtrain_zero *zero = NULL;
    bool ok = dtrain_dp_create(&dp, r->world, parameters, 2, NULL, &r->err) == 0 &&
              dtrain_zero_create(&zero, dp, &r->err) == 0;

    if (ok)
        call_out_of_place(r, dp, zero);
    dtrain_zero_destroy(zero);
    dtrain_dp_destroy(dp);
    return ok;
}

/* Stage 2 lends gradients in passes only. */
static bool run_lending(struct dp_rank *r)
{
    struct dtrain_parameter p = {.name = "a", .count = 8};
    struct dtrain_dp_options options = {.zero_stage = 2, .holds_storage = true};
    struct dtrain_dp *dp;
    void *gradient;
    bool ok = dtrain_dp_create(&dp, r->world, &p, 1, &options, &r->err) == 0;

    if (ok) {
        fails(r, dtrain_dp_gradient(dp, 0, r->stream, &gradient, &r->err), "parameter 0 (a) is in no pass");
        fails(r, dtrain_dp_gradient(dp, 1, r->stream, &gradient, &r->err), "dtrain_dp_gradient: index is 1");
        ok = dtrain_dp_begin(dp, true, &r->err) == 0 &&
             dtrain_dp_gradient(dp, 0, r->stream, &gradient, &r->err) == 0 && gradient != NULL &&
             dtrain_dp_ready(dp, 0, r->stream, &r->err) == 0;
        fails(r, dtrain_dp_gradient(dp, 0, r->stream, &gradient, &r->err),
              "parameter 0 (a) is ready already");
    }
    dtrain_dp_destroy(dp);
    return ok;
}

/* ---- Ranks that do not agree ---------------------------------------------------------------- */

struct odd_row {
    const char *name;
    int ranks, odd;
    struct dtrain_parameter parameter; /* the odd rank's second one; count 0: it has none */
    struct dtrain_dp_options options;  /* the odd rank's */
    const char *words;
};

#define SECOND .name = "layer.1", .count = 5

static const struct odd_row odd_rows[] = {
    {"another count", 4, 2, {.name = "layer.1", .count = 6}, {.holds_storage = true},
     "rank 2 on n1 registered parameter 1 otherwise than rank 0"},
    {"another name", 4, 3, {.name = "layer.9", .count = 5}, {.holds_storage = true},
     "rank 3 on n1 registered parameter 1 otherwise than rank 0"},
    {"another type", 3, 1, {SECOND, .type = DTRAIN_BFLOAT16}, {.holds_storage = true},
     "rank 1 on n1 registered"},
    {"another type of gradients", 3, 1, {SECOND, .gradient_type = DTRAIN_FLOAT64}, {.holds_storage = true},
     "rank 1 on n1 registered parameter 1"},
    {"other flags", 3, 1, {SECOND, .flags = DTRAIN_PARAMETER_UNCOUNTED}, {.holds_storage = true},
     "rank 1 on n1 registered parameter 1"},
    {"an expert for the others", 4, 1, {SECOND, .flags = DTRAIN_PARAMETER_EXPERT}, {.holds_storage = true},
     "rank 1 on n1 registered parameter 1"},
    {"another group", 3, 1, {SECOND, .group = 1}, {.holds_storage = true},
     "rank 1 on n1 registered parameter 1"},
    {"rank 0 is the odd one", 3, 0, {.name = "layer.1", .count = 6}, {.holds_storage = true},
     "rank 0 on n1 registered parameter 1 otherwise than rank 1"},
    {"one parameter less", 3, 2, {.count = 0}, {.holds_storage = true},
     "rank 2 on n1 registered parameter 1"},
    {"other buckets", 4, 3, {SECOND}, {.holds_storage = true, .bucket_bytes = 77},
     "rank 3 on n1 has other options than rank 0"},
    {"another stage", 2, 1, {SECOND}, {.holds_storage = true, .zero_stage = 1},
     "rank 1 on n1 has other options than rank 0"},
};

static bool run_odd(struct dp_rank *r)
{
    const struct odd_row *row = r->argument;
    struct dtrain_parameter parameters[2] = {{.name = "layer.0", .count = 3}, {SECOND}};
    struct dtrain_dp_options options = {.holds_storage = true};
    struct dtrain_dp *dp;
    size_t n = 2;

    if (r->rank == row->odd) {
        parameters[1] = row->parameter;
        options = row->options;
        n = row->parameter.count == 0 ? 1 : 2;
    }
    return dtrain_dp_create(&dp, r->world, parameters, n, &options, &r->err) < 0 &&
           strstr(r->err.text, row->words) != NULL;
}

/* ---- Values that are not the same -------------------------------------------------------------- */

struct copies_row {
    const char *name;
    struct dp_layout layout;
    int odd;           /* rank whose values differ; -1: none */
    size_t parameter;  /* which of its */
    unsigned flags;    /* of all */
    bool is_broadcast; /* before the check */
    unsigned told;     /* the ranks that are told, a bit each */
    const char *words;
};

static const struct copies_row copies_rows[] = {
    {"equal values", {.nodes = 1, .tasks = 4}, -1, 0, 0, false, 0, ""},
    {"rank 2 differs", {.nodes = 2, .tasks = 2}, 2, 1, 0, false, 0xf,
     "parameter 1 (layer.1) on rank 2 on n2 differs from that on rank 0"},
    {"rank 0 differs", {.nodes = 2, .tasks = 2}, 0, 0, 0, false, 0xf,
     "parameter 0 (layer.0) on rank 0 on n1 differs from that on rank 1"},
    {"and no more once rank 0's were broadcast", {.nodes = 2, .tasks = 2}, 2, 1, 0, true, 0, ""},
    {"a copy on a tensor parallel rank", {.nodes = 1, .tasks = 2, .tp = 2}, 1, 1, 0, false, 3,
     "parameter 1 (layer.1) on rank 1 on n1 differs from that on rank 0"},
    {"parts of a tensor may differ", {.nodes = 1, .tasks = 2, .tp = 2}, 1, 1, DTRAIN_PARAMETER_TP_SHARD,
     false, 0, ""},
    {"stages may differ", {.nodes = 1, .tasks = 2, .pp = 2}, 1, 1, 0, false, 0, ""},
    {"experts may differ", {.nodes = 1, .tasks = 2, .ep = 2}, 1, 1, DTRAIN_PARAMETER_EXPERT, false, 0, ""},
    {"copies of an expert may not", {.nodes = 1, .tasks = 4, .ep = 2}, 3, 1, DTRAIN_PARAMETER_EXPERT,
     false, 0xa, "parameter 1 (layer.1) on rank 3 on n1 differs from that on rank 1"},
};

static bool fill_values(struct dp_rank *r, const struct dtrain_dp *dp, const struct copies_row *row)
{
    for (size_t i = 0; i < 2; i++) {
        double values[5] = {1, 2, 3, 4, 5};

        if (r->rank == row->odd && row->parameter == i)
            values[3] += 0x1p-20;
        if (!dp_put(r, dtrain_dp_value(dp, i), DTRAIN_FLOAT32, 5, values))
            return false;
    }
    return true;
}

static bool check_copies(struct dp_rank *r, struct dtrain_dp *dp, const struct copies_row *row)
{
    bool is_told = (row->told >> r->rank & 1) != 0;
    int rc;

    if (!fill_values(r, dp, row) || (row->is_broadcast && dtrain_dp_broadcast(dp, r->stream, &r->err) < 0))
        return false;
    rc = dtrain_dp_check(dp, r->stream, &r->err);
    return is_told ? rc < 0 && strstr(r->err.text, row->words) != NULL : rc == 0;
}

static bool run_copies(struct dp_rank *r)
{
    const struct copies_row *row = r->argument;
    struct dtrain_parameter parameters[2] = {{.name = "layer.0", .count = 5, .flags = row->flags},
                                             {.name = "layer.1", .count = 5, .flags = row->flags}};
    struct dtrain_dp_options options = {.holds_storage = true};
    struct dtrain_dp *dp;
    bool ok =
        dtrain_dp_create(&dp, r->world, parameters, 2, &options, &r->err) == 0 && check_copies(r, dp, row);

    dtrain_dp_destroy(dp);
    return ok;
}

/* ---- A parameter that one rank does not use ------------------------------------------------------ */

static bool run_unused(struct dp_rank *r)
{
    struct dtrain_parameter parameters[3] = {
        {.name = "a", .count = 5}, {.name = "b", .count = 5}, {.name = "c", .count = 5}};
    struct dtrain_dp_options options = {.holds_storage = true};
    struct dtrain_dp *dp;
    int rc = dtrain_dp_create(&dp, r->world, parameters, 3, &options, &r->err);

    if (rc == 0)
        rc = dtrain_dp_begin(dp, true, &r->err);
    for (size_t i = 0; i < 3 && rc == 0; i++)
        if (r->rank != 1 || i != 1)
            rc = dtrain_dp_ready(dp, i, r->stream, &r->err);
    if (rc == 0)
        rc = dtrain_dp_finish(dp, NULL, &r->err);
    dtrain_dp_destroy(dp);
    return rc < 0 && strstr(r->err.text, "on rank 1 1 of 3 parameters did not become ready: b") != NULL;
}

int main(void)
{
    const struct dp_layout alone = {.nodes = 1, .tasks = 1};

    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++)
        tap_ok(dp_run(&alone, NULL, run_bad, (void *)&bad_rows[i]) == 0, "%s is refused", bad_rows[i].name);
    tap_ok(dp_run(&alone, NULL, run_out_of_place, NULL) == 0, "calls out of place are refused");
    tap_ok(dp_run(&alone, NULL, run_lending, NULL) == 0, "gradients are lent in passes");
    for (size_t i = 0; i < sizeof(odd_rows) / sizeof(odd_rows[0]); i++)
        tap_ok(dp_run(&(struct dp_layout){.nodes = 1, .tasks = (uint32_t)odd_rows[i].ranks}, NULL, run_odd,
                      (void *)&odd_rows[i]) == 0,
               "%s: all ranks are told who", odd_rows[i].name);
    for (size_t i = 0; i < sizeof(copies_rows) / sizeof(copies_rows[0]); i++)
        tap_ok(dp_run(&copies_rows[i].layout, NULL, run_copies, (void *)&copies_rows[i]) == 0, "%s",
               copies_rows[i].name);
    tap_ok(dp_run(&(struct dp_layout){.nodes = 2, .tasks = 2}, NULL, run_unused, NULL) == 0,
           "a parameter that one rank does not use is an error on all");
    return tap_done();
}
