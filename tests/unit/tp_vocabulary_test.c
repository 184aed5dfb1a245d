/* An embedding and a cross-entropy over a split vocabulary, against one process with all of it. */
#include "dtrain_tp.h"

#include <math.h>
#include <stdlib.h>

#include "host_double.h"
#include "noise.h"
#include "runtime/math_value.h"
#include "runtime/type.h"
#include "tap.h"

#define TIMEOUT_MS 60000

static bool wrong(struct rank *r, const char *what, size_t i, double got, double want)
{
    snprintf(r->err.text, sizeof(r->err.text), "%s %zu is %.17g, expected %.17g", what, i, got, want);
    return false;
}

static bool is_near(double got, double want, double tolerance)
{
    return isfinite(got) && fabs(got - want) <= tolerance * fmax(1, fabs(want));
}

static double tolerance_of(enum dtrain_type type)
{
    return type == DTRAIN_FLOAT64 ? 1e-12 : type == DTRAIN_FLOAT32 ? 2e-6 : 2e-2;
}

static void *make(enum dtrain_type type, size_t n)
{
    return calloc(n + 1, dtrain_type_size(type));
}

/* ---- Embedding ------------------------------------------------------------ */

struct embedding_case {
    size_t vocabulary, rows, n;
    enum dtrain_tp_policy policy;
    enum dtrain_type type, table_type;
    bool is_sequence;
};

static const struct embedding_case embeddings[] = {
    {257, 40, 3, DTRAIN_TP_PADDED, DTRAIN_FLOAT64, DTRAIN_FLOAT64, false},
    {257, 40, 3, DTRAIN_TP_UNEVEN, DTRAIN_FLOAT32, DTRAIN_FLOAT32, true},
    {5, 13, 4, DTRAIN_TP_PADDED, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, true},
    {3, 2, 1, DTRAIN_TP_UNEVEN, DTRAIN_BFLOAT16, DTRAIN_BFLOAT16, true},
};

/* Small multiples of 1/8: exact in bfloat16, also their sums. */
static double eighth(uint64_t key)
{
    return floor(8 * noise(key)) / 8;
}

static bool embeds(struct rank *r)
{
    const struct embedding_case *it = r->argument;
    size_t n = it->n;
    struct dtrain_tp tp = {r->comm, r->streams[0], r->streams[1], it->type, it->is_sequence};
    struct dtrain_tp_shard shard, mine = {0, it->rows, it->rows};
    int32_t *tokens = calloc(it->rows, sizeof(*tokens));
    void *whole = make(it->type, it->rows * n), *own = make(it->type, it->rows * n), *table;
    struct dtrain_tp_embedding embedding;
    bool ok = true;

    dtrain_tp_shard(it->vocabulary, r->size, r->rank, 1, it->policy, &shard, NULL);
    if (it->is_sequence)
        dtrain_tp_shard(it->rows, r->size, r->rank, 1, DTRAIN_TP_UNEVEN, &mine, NULL);
    table = make(it->table_type, shard.count * n);
    for (size_t i = 0; i < it->rows; i++)
        tokens[i] = (int32_t)(noise_bits(i) % it->vocabulary);
    for (size_t i = 0; i < shard.count * n; i++)
        dt_math_store(table, it->table_type, i, eighth(shard.first * n + i));
    embedding = (struct dtrain_tp_embedding){shard, it->rows, n, tokens, table, it->table_type};

    ok = dtrain_tp_embedding_forward(&tp, &embedding, whole, own, &r->err) == 0 &&
         dtrain_stream_synchronize(r->streams[0], &r->err) == 0;
    for (size_t i = 0; ok && i < mine.count * n; i++) {
        size_t row = mine.first + i / n;
        double want = eighth((size_t)tokens[row] * n + i % n), got = dt_math_load(own, it->type, i);

        ok = got == want || wrong(r, "embedding", i, got, want);
    }

    memset(table, 0, shard.count * n * dtrain_type_size(it->table_type));
    for (size_t i = 0; i < mine.count * n; i++)
        dt_math_store(own, it->type, i, eighth(1000 + mine.first * n + i));
    ok = ok && dtrain_tp_embedding_backward(&tp, &embedding, own, whole, &r->err) == 0 &&
         dtrain_stream_synchronize(r->streams[0], &r->err) == 0;
    for (size_t i = 0; ok && i < shard.count * n; i++) {
        double want = 0, got = dt_math_load(table, it->table_type, i);

        for (size_t row = 0; row < it->rows; row++)
            want += (size_t)tokens[row] == shard.first + i / n ? eighth(1000 + row * n + i % n) : 0;
        ok = got == want || wrong(r, "gradient", i, got, want);
    }
    free(table);
    free(own);
    free(whole);
    free(tokens);
    return ok;
}

/* ---- Cross-entropy -------------------------------------------------------- */

struct loss_case {
    const char *name;
    size_t vocabulary, rows;
    enum dtrain_tp_policy policy;
    enum dtrain_type type;
    double factor, smoothing; /* logits are noise times the factor */
    bool has_ignored;
};

static const struct loss_case losses[] = {
    {"257 tokens", 257, 6, DTRAIN_TP_PADDED, DTRAIN_FLOAT64, 3, 0, false},
    {"uneven shards", 257, 6, DTRAIN_TP_UNEVEN, DTRAIN_FLOAT64, 3, 0, false},
    {"Megatron#7464: label smoothing", 257, 6, DTRAIN_TP_PADDED, DTRAIN_FLOAT64, 3, 0.1, false},
    {"all of it smoothing", 12, 4, DTRAIN_TP_UNEVEN, DTRAIN_FLOAT64, 2, 1, false},
    {"logits x 1000", 64, 5, DTRAIN_TP_PADDED, DTRAIN_FLOAT64, 1000, 0.1, false},
    {"logits x 1000 in float32", 64, 5, DTRAIN_TP_PADDED, DTRAIN_FLOAT32, 1000, 0, false},
    {"ignored labels", 33, 7, DTRAIN_TP_PADDED, DTRAIN_FLOAT64, 3, 0.2, true},
    {"float32", 257, 6, DTRAIN_TP_PADDED, DTRAIN_FLOAT32, 3, 0.1, true},
    {"bfloat16", 257, 6, DTRAIN_TP_PADDED, DTRAIN_BFLOAT16, 3, 0.1, true},
    {"fewer tokens than ranks", 3, 4, DTRAIN_TP_UNEVEN, DTRAIN_FLOAT64, 3, 0.1, false},
};

#define SCALE 0.25

static double logit_at(const struct loss_case *it, size_t row, size_t token)
{
    double rounded = 0;

    dt_math_store(&rounded, it->type, 0, it->factor * noise(row << 20 | token));
    return dt_math_load(&rounded, it->type, 0);
}

static int32_t label_at(const struct loss_case *it, size_t row)
{
    return it->has_ignored && row % 3 == 1 ? -100 : (int32_t)(noise_bits(row + 77) % it->vocabulary);
}

/* log sum of exponentials, and the loss, of the whole row; moved: which logit is changed, and by how much. */
static double reference(const struct loss_case *it, size_t row, size_t moved, double by, double *log_sum)
{
    double maximum = -INFINITY, sum = 0, total = 0, target = 0;

    for (size_t i = 0; i < it->vocabulary; i++)
        maximum = fmax(maximum, logit_at(it, row, i) + (i == moved ? by : 0));
    for (size_t i = 0; i < it->vocabulary; i++) {
        double difference = logit_at(it, row, i) + (i == moved ? by : 0) - maximum;

        sum += exp(difference);
        total += difference;
        target += (int32_t)i == label_at(it, row) ? difference : 0;
    }
    *log_sum = maximum + log(sum);
    if (label_at(it, row) < 0)
        return 0;
    return log(sum) - (1 - it->smoothing) * target - it->smoothing / (double)it->vocabulary * total;
}

static bool check_row(struct rank *r, const struct loss_case *it, const struct dtrain_tp_loss *loss,
                      size_t row)
{
    double log_sum, want = reference(it, row, SIZE_MAX, 0, &log_sum), tolerance = tolerance_of(it->type);
    double got = dt_math_load(loss->losses, dtrain_tp_loss_type(it->type), row), e = it->smoothing;
    bool ok = is_near(got, want, it->type == DTRAIN_BFLOAT16 ? 1e-5 : tolerance) ||
              wrong(r, "loss", row, got, want);

    for (size_t i = 0; ok && i < loss->columns; i++) {
        size_t token = loss->shard.first + i;
        bool is_counted = label_at(it, row) >= 0 && i < loss->shard.count;
        double p = is_counted ? exp(logit_at(it, row, token) - log_sum) : 0;

        want = SCALE * (p - ((int32_t)token == label_at(it, row) ? 1 - e : 0) - e / (double)it->vocabulary);
        want = is_counted ? want : 0;
        got = dt_math_load(loss->logits, it->type, row * loss->columns + i);
        ok = is_near(got, want, tolerance) || wrong(r, "gradient", row * loss->columns + i, got, want);
    }
    return ok;
}

/* The gradient as the slope of the loss, of some logits of this rank. */
static bool check_slope(struct rank *r, const struct loss_case *it, const struct dtrain_tp_loss *loss,
                        size_t row)
{
    const double by = 1e-5;
    double unused;

    for (size_t i = 0; i < loss->shard.count; i += 1 + loss->shard.count / 5) {
        size_t token = loss->shard.first + i;
        double slope = SCALE *
                       (reference(it, row, token, by, &unused) - reference(it, row, token, -by, &unused)) /
                       (2 * by);
        double got = dt_math_load(loss->logits, it->type, row * loss->columns + i);

        if (!is_near(got, slope, 1e-8))
            return wrong(r, "slope", row * loss->columns + i, got, slope);
    }
    return true;
}

static bool loses(struct rank *r)
{
    const struct loss_case *it = r->argument;
    struct dtrain_tp tp = {r->comm, r->streams[0], NULL, it->type, r->rank % 2 == 0};
    struct dtrain_tp_loss loss = {
        .vocabulary = it->vocabulary, .rows = it->rows, .scale = SCALE, .smoothing = it->smoothing};
    int32_t *labels = calloc(it->rows, sizeof(*labels));
    bool ok;

    dtrain_tp_shard(it->vocabulary, r->size, r->rank, 1, it->policy, &loss.shard, NULL);
    loss.columns = loss.shard.padded;
    loss.logits = make(it->type, loss.rows * loss.columns);
    loss.losses = make(dtrain_tp_loss_type(it->type), loss.rows);
    loss.workspace = malloc(dtrain_tp_loss_workspace(loss.rows, it->type));
    loss.labels = labels;
    for (size_t row = 0; row < it->rows; row++) {
        labels[row] = label_at(it, row);
        for (size_t i = 0; i < loss.columns; i++) /* the padding is nothing's logit */
            dt_math_store(loss.logits, it->type, row * loss.columns + i,
                          i < loss.shard.count ? logit_at(it, row, loss.shard.first + i) : 1e30);
    }
    ok = dtrain_tp_loss(&tp, &loss, &r->err) == 0 && dtrain_tp_finish(&tp, &r->err) == 0;
    for (size_t row = 0; ok && row < it->rows; row++) {
        ok = check_row(r, it, &loss, row);
        if (ok && it->type == DTRAIN_FLOAT64 && it->factor < 10)
            ok = check_slope(r, it, &loss, row);
    }
    free(loss.workspace);
    free(loss.losses);
    free(loss.logits);
    free(labels);
    return ok;
}

/* ---- Bad calls ------------------------------------------------------------ */

struct bad {
    const char *words;
    struct dtrain_tp_loss loss;
};

static char some[64];
#define GOOD .shard = {0, 2, 2}, .vocabulary = 2, .rows = 1, .columns = 2
#define ALL .logits = some, .labels = (int32_t *)some, .losses = some, .workspace = some

static const struct bad bads[] = {
    {"columns is 1 but the shard has 2 tokens",
     {.shard = {0, 2, 2}, .vocabulary = 2, .rows = 1, .columns = 1, ALL}},
    {"vocabulary is 0", {.shard = {0, 0, 0}, .vocabulary = 0, .rows = 1, .columns = 2, ALL}},
    {"smoothing is 1.5: expected 0 to 1", {GOOD, ALL, .smoothing = 1.5}},
    {"smoothing is nan", {GOOD, ALL, .smoothing = NAN}},
    {"logits is NULL: expected a buffer of 8 bytes",
     {GOOD, .labels = (int32_t *)some, .losses = some, .workspace = some}},
    {"labels is NULL", {GOOD, .logits = some, .losses = some, .workspace = some}},
    {"losses is NULL", {GOOD, .logits = some, .labels = (int32_t *)some, .workspace = some}},
    {"workspace is NULL: expected a buffer of 16 bytes",
     {GOOD, .logits = some, .labels = (int32_t *)some, .losses = some}},
    {"more than memory can hold",
     {.shard = {0, 2, 2}, .vocabulary = 2, .rows = SIZE_MAX / 4, .columns = 2, ALL}},
};

static bool refuses(struct rank *r)
{
    struct dtrain_tp tp = {r->comm, r->streams[0], NULL, DTRAIN_FLOAT32, false};
    struct dtrain_tp_embedding embedding = {{0, 2, 2}, 1, 2, (int32_t *)some, NULL, DTRAIN_FLOAT32};
    struct dtrain_error err = {""};

    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
        tap_ok(dtrain_tp_loss(&tp, &bads[i].loss, &err) == -1, "refused: %s", bads[i].words);
        tap_holds(err.text, bads[i].words, "  in these words");
    }
    tap_ok(dtrain_tp_embedding_forward(&tp, &embedding, some, some, &err) == -1, "no table");
    tap_holds(err.text, "dtrain_tp_embedding_forward: table is NULL: expected a buffer of 16 bytes",
              "  in these words");
    embedding.table = some;
    embedding.table_type = DTRAIN_INT8;
    tap_ok(dtrain_tp_embedding_backward(&tp, &embedding, some, some, &err) == -1, "a table of bytes");
    tap_holds(err.text, "type is int8", "  in these words");
    return true;
}

int main(void)
{
    for (int size = 1; size <= 8; size++) {
        for (size_t i = 0; i < sizeof(embeddings) / sizeof(embeddings[0]); i++)
            tap_ok(double_run(size, ALL_LOCAL, TIMEOUT_MS, embeds, (void *)&embeddings[i]) == 0,
                   "an embedding of %zu tokens in %s, gradients in %s, on %d ranks", embeddings[i].vocabulary,
                   dt_type_name(embeddings[i].type), dt_type_name(embeddings[i].table_type), size);
        for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
            tap_ok(double_run(size, i % PLACEMENT_COUNT, TIMEOUT_MS, loses, (void *)&losses[i]) == 0,
                   "cross-entropy on %d ranks: %s", size, losses[i].name);
    }
    tap_ok(double_run(1, ALL_LOCAL, TIMEOUT_MS, refuses, NULL) == 0, "bad calls");
    return tap_done();
}
