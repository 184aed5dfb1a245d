/* examples/train on the NCCL module: the losses of every layout, way and type are those of one process on
 * CPUs. */
#include <math.h>
#include <stdlib.h>

#include "nccl_double.h"
#include "tap.h"
#include "train_bench.h"

/* Less where the CPU runs the GPU's kernels. */
#ifndef TRAIN_STEPS
#define TRAIN_STEPS 4
#define TRAIN_RANKS 8
#define TRAIN_WAYS WAYS
#endif

enum { STEPS = TRAIN_STEPS, ENOUGH_MS = 120000 };

static const struct type_row {
    enum dtrain_type type;
    double tolerance;
} types[] = {
    {DTRAIN_FLOAT64, 1e-12},
    {DTRAIN_FLOAT32, 1e-5},
    {DTRAIN_BFLOAT16, 1e-2},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static const struct way {
    const char *name;
    enum dtrain_pp_kind schedule;
    int chunks, zero;
    bool sequence_parallel;
} ways[] = {
    {"1f1b", DTRAIN_PP_1F1B, 1, 0, false},
    {"1f1b, zero 2, sequence parallel", DTRAIN_PP_1F1B, 1, 2, true},
    {"interleaved, zero 1", DTRAIN_PP_INTERLEAVED, 2, 1, false},
    {"zb-h1, zero 1, sequence parallel", DTRAIN_PP_ZB_H1, 1, 1, true},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static double expected[TYPES][STEPS]; /* of one process; forked ranks have them from here */

static int train(struct dtrain_world *world, enum dtrain_type type, const struct way *way, double *losses,
                 struct dtrain_error *err)
{
    struct bench bench;
    struct options options = bench_options(8, 2);
    int rc;

    options.layers = 4;
    options.type = type;
    options.clip = 1;
    options.schedule = way->schedule;
    options.chunks = way->chunks;
    options.zero = way->zero;
    options.sequence_parallel = way->sequence_parallel;
    rc = bench_open(&bench, world, &options, err);
    if (rc == 0)
        rc = bench_train(&bench, STEPS, losses, err);
    bench_close(&bench);
    return rc;
}

static int check_losses(struct dtrain_world *world, const struct type_row *type, const double *alone,
                        const struct way *way, struct dtrain_error *err)
{
    double losses[STEPS];

    if (train(world, type->type, way, losses, err) != 0)
        return -1;
    for (int k = 0; k < STEPS; k++) {
        if (fabs(losses[k] - alone[k]) <= type->tolerance * alone[k])
            continue;
        snprintf(err->text, sizeof(err->text), "%s, type %d, step %d: loss %.15g, alone %.15g", way->name,
                 (int)type->type, k + 1, losses[k], alone[k]);
        return -1;
    }
    return 0;
}

/* NULL, or what is wrong. */
static const char *check_all(struct dtrain_world *world, struct dtrain_error *err)
{
    for (int i = 0; i < TYPES; i++) {
        for (int k = 0; k < TRAIN_WAYS; k++) {
            if (check_losses(world, &types[i], expected[i], &ways[k], err) != 0)
                return err->text;
        }
    }
    return NULL;
}

/* The doubles' own verdict, and that what was used was given back. */
static const char *check_rules(void)
{
    struct fake_nccl_counts counts;

    if (fake_nccl_counts(&counts) != 0)
        return "fake_nccl_counts";
    return counts.violations == 0 && counts.live_comms == 0 ? NULL : "a rule of NCCL's is broken";
}

static void body(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""}, last = {""};
    const char *wrong = err.text;

    if (nccl_double_init(&world, step, rank, &err) == 0)
        wrong = check_all(world, &err);
    if (dtrain_finalize(world, &last) != 0 && wrong == NULL)
        wrong = last.text;
    if (wrong == NULL)
        wrong = check_rules();
    snprintf(said, FORK_TEXT_MAX, "%s", wrong != NULL ? wrong : "well");
}

static void train_alone(void)
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""};
    bool ok = dtrain_init(&world, NULL, &err) == 0;

    for (int i = 0; ok && i < TYPES; i++)
        ok = train(world, types[i].type, &ways[0], expected[i], &err) == 0;
    tap_ok(ok, "one process on CPUs %s", err.text);
    tap_ok(dtrain_finalize(world, &err) == 0, "ends %s", err.text);
}

#define ROW(title, nodes, tasks, tp, pp)                                                                     \
    .row = {title, {nodes, tasks, tp, pp, 1}, ENOUGH_MS, body, .words = {"well"}, .backend = &nccl_double}

static const struct nccl_row rows[] = {
    {ROW("one rank", 1, 1, 1, 1)},
    {ROW("tp 2", 1, 2, 2, 1)},
    {ROW("pp 2", 2, 1, 1, 2)},
    {ROW("dp 4", 1, 4, 1, 1)},
    {ROW("tp 2, pp 2, dp 2", 2, 4, 2, 2)},
};

int main(void)
{
    nccl_double_load();
    train_alone();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].row.layout.nodes * rows[i].row.layout.tasks <= TRAIN_RANKS)
            tap_ok(nccl_double_check(&rows[i]), "%s: the losses of one process", rows[i].row.name);
    }
    return tap_done();
}
