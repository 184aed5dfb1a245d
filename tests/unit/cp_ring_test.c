/*
 * Attention over a ring, forward and backward, and tokens to heads and back, against one process with the
 * whole sequence, whose gradients are checked against the slopes of the loss.
 */
#include "dtrain_cp.h"

#include <math.h>
#include <stdlib.h>

#include "dtrain_tp.h"
#include "host_double.h"
#include "noise.h"
#include "runtime/math_value.h"
#include "runtime/type.h"
#include "tap.h"

#define TIMEOUT_MS 60000
#define HEADS 2
#define DEPTH 3 /* of queries and keys */
#define OUT 2   /* of values */
#define TOKENS_MAX 16
#define Q_WIDTH (HEADS * DEPTH)
#define V_WIDTH (HEADS * OUT)

/* The sequence, or what one rank has of it; doubles, whatever moves between ranks. */
struct arrays {
    double q[TOKENS_MAX * Q_WIDTH], k[TOKENS_MAX * Q_WIDTH], v[TOKENS_MAX * V_WIDTH];
    double out[TOKENS_MAX * V_WIDTH], lse[TOKENS_MAX * HEADS], dout[TOKENS_MAX * V_WIDTH];
    double dq[TOKENS_MAX * Q_WIDTH], dk[TOKENS_MAX * Q_WIDTH], dv[TOKENS_MAX * V_WIDTH];
};

/* ---- One block of attention --------------------------------------------------- */

/* What the callbacks see. */
struct attention {
    const struct arrays *own;
    const struct dtrain_cp *cp;
};

/* Query i and key j of the block: its score, or -infinity where the mask hides it. */
static double score(const struct attention *a, const struct dtrain_cp_block *block, size_t i, size_t j,
                    size_t head)
{
    double sum = 0;

    if (block->mask == DTRAIN_CP_CAUSAL && j > i)
        return -INFINITY;
    for (size_t d = 0; d < DEPTH; d++)
        sum += a->own->q[(block->query_first + i) * Q_WIDTH + head * DEPTH + d] *
               dt_math_load(block->k, a->cp->type, j * Q_WIDTH + head * DEPTH + d);
    return sum;
}

/* The test's stand-in for a device: what is queued before the attention has run. */
static int await(const struct attention *a, struct dtrain_error *err)
{
    return a->cp->compute != NULL ? dtrain_stream_synchronize(a->cp->compute, err) : 0;
}

static enum dtrain_type lse_type(const struct dtrain_cp *cp)
{
    return cp->sum_type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

static void forward_row(const struct attention *a, const struct dtrain_cp_block *block, size_t i, size_t head,
                        void *out, void *lse)
{
    double maximum = -INFINITY, sum = 0, values[OUT] = {0};

    for (size_t j = 0; j < block->key_count; j++)
        maximum = fmax(maximum, score(a, block, i, j, head));
    for (size_t j = 0; j < block->key_count; j++) {
        double e = exp(score(a, block, i, j, head) - maximum);

        sum += e;
        for (size_t d = 0; d < OUT; d++)
            values[d] += e * dt_math_load(block->v, a->cp->type, j * V_WIDTH + head * OUT + d);
    }
    for (size_t d = 0; d < OUT; d++)
        dt_math_store(out, a->cp->sum_type, i * V_WIDTH + head * OUT + d, values[d] / sum);
    dt_math_store(lse, lse_type(a->cp), i * HEADS + head, maximum + log(sum));
}

static int attend(void *context, const struct dtrain_cp_block *block, void *out, void *lse,
                  struct dtrain_error *err)
{
    const struct attention *a = context;

    if (await(a, err) != 0)
        return -1;
    for (size_t i = 0; i < block->query_count * HEADS; i++)
        forward_row(a, block, i / HEADS, i % HEADS, out, lse);
    return 0;
}

struct gradients {
    double dq[TOKENS_MAX * Q_WIDTH], dk[TOKENS_MAX * Q_WIDTH], dv[TOKENS_MAX * V_WIDTH];
};

/* ds = p (dp - sum of dout out), of one query and key. */
static void backward_pair(const struct attention *a, const struct dtrain_cp_block *block, size_t i, size_t j,
                          size_t head, struct gradients *g)
{
    size_t row = block->query_first + i;
    double p = exp(score(a, block, i, j, head) - a->own->lse[row * HEADS + head]), dp = 0, delta = 0;

    for (size_t d = 0; d < OUT; d++) {
        double dout = a->own->dout[row * V_WIDTH + head * OUT + d];

        dp += dout * dt_math_load(block->v, a->cp->type, j * V_WIDTH + head * OUT + d);
        delta += dout * a->own->out[row * V_WIDTH + head * OUT + d];
        g->dv[j * V_WIDTH + head * OUT + d] += p * dout;
    }
    for (size_t d = 0; d < DEPTH; d++) {
        size_t at = head * DEPTH + d;

        g->dq[i * Q_WIDTH + at] += p * (dp - delta) * dt_math_load(block->k, a->cp->type, j * Q_WIDTH + at);
        g->dk[j * Q_WIDTH + at] += p * (dp - delta) * a->own->q[row * Q_WIDTH + at];
    }
}

static void store(void *x, enum dtrain_type type, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dt_math_store(x, type, i, values[i]);
}

static int attend_backward(void *context, const struct dtrain_cp_block *block, void *dq, void *dk, void *dv,
                           struct dtrain_error *err)
{
    const struct attention *a = context;
    struct gradients g = {{0}, {0}, {0}};

    if (await(a, err) != 0)
        return -1;
    for (size_t i = 0; i < block->query_count; i++) {
        for (size_t j = 0; j < block->key_count * HEADS; j++)
            backward_pair(a, block, i, j / HEADS, j % HEADS, &g);
    }
    store(dq, a->cp->sum_type, g.dq, block->query_count * Q_WIDTH);
    store(dk, a->cp->sum_type, g.dk, block->key_count * Q_WIDTH);
    store(dv, a->cp->sum_type, g.dv, block->key_count * V_WIDTH);
    return 0;
}

/* ---- One process ------------------------------------------------------------ */

static const struct dtrain_cp plain = {.type = DTRAIN_FLOAT64, .sum_type = DTRAIN_FLOAT64};

static void fill(struct arrays *all, size_t tokens, double factor)
{
    noise_fill(all->q, tokens * Q_WIDTH, 1);
    noise_fill(all->k, tokens * Q_WIDTH, 2);
    noise_fill(all->v, tokens * V_WIDTH, 3);
    noise_fill(all->dout, tokens * V_WIDTH, 4);
    for (size_t i = 0; i < tokens * Q_WIDTH; i++)
        all->q[i] *= factor;
}

/* loss = sum of out * dout */
static double loss_of(struct arrays *all, size_t tokens, bool is_causal)
{
    struct attention a = {.own = all, .cp = &plain};
    struct dtrain_cp_block block = {
        0, is_causal ? DTRAIN_CP_CAUSAL : DTRAIN_CP_FULL, 0, tokens, 0, tokens, all->k, all->v};
    double loss = 0;

    attend(&a, &block, all->out, all->lse, NULL);
    for (size_t i = 0; i < tokens * V_WIDTH; i++)
        loss += all->out[i] * all->dout[i];
    return loss;
}

static void reference(struct arrays *all, size_t tokens, bool is_causal)
{
    struct attention a = {.own = all, .cp = &plain};
    struct dtrain_cp_block block = {
        0, is_causal ? DTRAIN_CP_CAUSAL : DTRAIN_CP_FULL, 0, tokens, 0, tokens, all->k, all->v};

    loss_of(all, tokens, is_causal);
    attend_backward(&a, &block, all->dq, all->dk, all->dv, NULL);
}

static bool has_slopes(struct arrays *all, double *x, const double *dx, size_t n, size_t tokens,
                       bool is_causal)
{
    const double by = 1e-6;

    for (size_t i = 0; i < n; i++) {
        double before = x[i], up, down;

        x[i] = before + by;
        up = loss_of(all, tokens, is_causal);
        x[i] = before - by;
        down = loss_of(all, tokens, is_causal);
        x[i] = before;
        if (fabs((up - down) / (2 * by) - dx[i]) > 1e-8)
            return false;
    }
    return true;
}

static void test_reference(bool is_causal)
{
    struct arrays *all = calloc(1, sizeof(*all));

    fill(all, 7, 1);
    reference(all, 7, is_causal);
    tap_ok(has_slopes(all, all->q, all->dq, 7 * Q_WIDTH, 7, is_causal) &&
               has_slopes(all, all->k, all->dk, 7 * Q_WIDTH, 7, is_causal) &&
               has_slopes(all, all->v, all->dv, 7 * V_WIDTH, 7, is_causal),
           "one process%s: gradients are slopes", is_causal ? ", causal" : "");
    free(all);
}

/* ---- Many ranks ------------------------------------------------------------- */

struct ring_case {
    const char *name;
    size_t tokens;
    enum dtrain_cp_layout layout;
    bool is_causal, has_compute;
    enum dtrain_type type, sum_type;
    double factor, tolerance;
};

static const struct ring_case rings[] = {
    {"all keys", 16, DTRAIN_CP_CONTIGUOUS, false, false, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1, 1e-12},
    {"all keys, uneven", 13, DTRAIN_CP_CONTIGUOUS, false, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1, 1e-12},
    {"causal", 16, DTRAIN_CP_CONTIGUOUS, true, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1, 1e-12},
    {"causal, uneven", 13, DTRAIN_CP_CONTIGUOUS, true, false, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1, 1e-12},
    {"zigzag", 16, DTRAIN_CP_ZIGZAG, true, false, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1, 1e-12},
    {"zigzag, uneven", 13, DTRAIN_CP_ZIGZAG, true, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1, 1e-12},
    {"zigzag, fewer tokens than runs", 3, DTRAIN_CP_ZIGZAG, true, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1,
     1e-12},
    {"fewer tokens than ranks", 2, DTRAIN_CP_CONTIGUOUS, false, false, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1,
     1e-12},
    {"scores x 1000", 16, DTRAIN_CP_ZIGZAG, true, false, DTRAIN_FLOAT64, DTRAIN_FLOAT64, 1000, 1e-9},
    {"float32", 16, DTRAIN_CP_ZIGZAG, true, false, DTRAIN_FLOAT32, DTRAIN_FLOAT32, 1, 2e-6},
    {"bfloat16, sums in float32", 16, DTRAIN_CP_ZIGZAG, true, true, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, 1, 2e-2},
};

/* What of the whole this rank holds, row by row. */
static void take(double *own, const double *whole, size_t width, const struct dtrain_cp_tokens *tokens)
{
    for (int i = 0; i < tokens->runs; i++) {
        memcpy(own, whole + tokens->run[i].first * width, tokens->run[i].count * width * sizeof(double));
        own += tokens->run[i].count * width;
    }
}

static void take_all(struct arrays *own, const struct arrays *whole, const struct dtrain_cp_tokens *tokens)
{
    take(own->q, whole->q, Q_WIDTH, tokens);
    take(own->k, whole->k, Q_WIDTH, tokens);
    take(own->v, whole->v, V_WIDTH, tokens);
    take(own->dout, whole->dout, V_WIDTH, tokens);
}

/* x[n] of type, in place, as doubles and back. */
static void widen(double *x, enum dtrain_type type, size_t n)
{
    double values[TOKENS_MAX * Q_WIDTH];

    for (size_t i = 0; i < n; i++)
        values[i] = dt_math_load(x, type, i);
    memcpy(x, values, n * sizeof(*x));
}

static bool agrees(struct rank *r, const char *name, const double *own, const double *whole, size_t width,
                   const struct dtrain_cp_tokens *tokens, double tolerance)
{
    double want[TOKENS_MAX * Q_WIDTH];

    take(want, whole, width, tokens);
    for (size_t i = 0; i < tokens->count * width; i++) {
        if (!(fabs(own[i] - want[i]) <= tolerance * fmax(1, fabs(want[i])))) {
            snprintf(r->err.text, sizeof(r->err.text), "%s[%zu] is %.17g, expected %.17g", name, i, own[i],
                     want[i]);
            return false;
        }
    }
    return true;
}

/* Runs both ways; the arrays of own end as doubles. */
static bool run(struct rank *r, const struct dtrain_cp *cp, struct arrays *own, size_t tokens,
                void *workspace)
{
    struct attention a = {.own = own, .cp = cp};
    struct dtrain_cp_attention attention = {attend, attend_backward, &a};
    struct arrays *moved = calloc(1, sizeof(*moved));
    bool ok;

    store(moved->k, cp->type, own->k, tokens * Q_WIDTH);
    store(moved->v, cp->type, own->v, tokens * V_WIDTH);
    ok = dtrain_cp_forward(cp, &attention, moved->k, moved->v, own->out, own->lse, workspace, &r->err) == 0 &&
         (cp->compute == NULL || dtrain_stream_synchronize(cp->compute, &r->err) == 0);
    widen(own->out, cp->sum_type, tokens * V_WIDTH);
    widen(own->lse, lse_type(cp), tokens * HEADS);
    ok = ok &&
         dtrain_cp_backward(cp, &attention, moved->k, moved->v, own->dq, own->dk, own->dv, workspace,
                            &r->err) == 0 &&
         (cp->compute == NULL || dtrain_stream_synchronize(cp->compute, &r->err) == 0);
    widen(own->dq, cp->sum_type, tokens * Q_WIDTH);
    widen(own->dk, cp->sum_type, tokens * Q_WIDTH);
    widen(own->dv, cp->sum_type, tokens * V_WIDTH);
    free(moved);
    return ok;
}

static struct dtrain_cp cp_of(struct rank *r, const struct ring_case *it)
{
    return (struct dtrain_cp){.comm = r->comm,
                              .stream = r->streams[0],
                              .compute = it->has_compute ? r->streams[1] : NULL,
                              .type = it->type,
                              .sum_type = it->sum_type,
                              .layout = it->layout,
                              .is_causal = it->is_causal,
                              .tokens = it->tokens,
                              .q_width = Q_WIDTH,
                              .k_width = Q_WIDTH,
                              .v_width = V_WIDTH,
                              .rows = HEADS,
                              .n = OUT};
}

static bool attends(struct rank *r)
{
    const struct ring_case *it = r->argument;
    struct dtrain_cp cp = cp_of(r, it);
    struct dtrain_cp_tokens tokens;
    struct arrays *whole = calloc(1, sizeof(*whole)), *own = calloc(1, sizeof(*own));
    void *workspace = NULL;
    size_t bytes;
    bool ok = dtrain_cp_tokens(it->tokens, r->size, r->rank, it->layout, &tokens, &r->err) == 0 &&
              dtrain_cp_workspace(&cp, &bytes, &r->err) == 0;

    if (ok) {
        workspace = malloc(bytes); /* of exactly this size: a sanitizer sees what is past it */
        fill(whole, it->tokens, it->factor);
        reference(whole, it->tokens, it->is_causal);
        take_all(own, whole, &tokens);
    }
    ok = ok && run(r, &cp, own, tokens.count, workspace) &&
         agrees(r, "out", own->out, whole->out, V_WIDTH, &tokens, it->tolerance) &&
         agrees(r, "lse", own->lse, whole->lse, HEADS, &tokens, it->tolerance) &&
         agrees(r, "dq", own->dq, whole->dq, Q_WIDTH, &tokens, it->tolerance) &&
         agrees(r, "dk", own->dk, whole->dk, Q_WIDTH, &tokens, it->tolerance) &&
         agrees(r, "dv", own->dv, whole->dv, V_WIDTH, &tokens, it->tolerance);
    free(workspace);
    free(own);
    free(whole);
    return ok;
}

/* ---- Tokens to heads -------------------------------------------------------- */

struct heads_case {
    size_t tokens, heads, n;
    enum dtrain_cp_layout layout;
};

static const struct heads_case exchanges[] = {
    {16, 4, 3, DTRAIN_CP_CONTIGUOUS}, {13, 5, 2, DTRAIN_CP_CONTIGUOUS}, {13, 5, 2, DTRAIN_CP_ZIGZAG},
    {3, 2, 1, DTRAIN_CP_ZIGZAG},      {0, 4, 1, DTRAIN_CP_CONTIGUOUS},
};

/* Element i of token t, head h. */
static float element(const struct heads_case *it, size_t t, size_t h, size_t i)
{
    return (float)((t * it->heads + h) * it->n + i + 1);
}

static bool is_by_tokens(const struct heads_case *it, const struct dtrain_cp_tokens *tokens, float *x,
                         bool is_check)
{
    size_t at = 0;

    for (int run = 0; run < tokens->runs; run++) {
        for (size_t t = 0; t < tokens->run[run].count; t++) {
            for (size_t i = 0; i < it->heads * it->n; i++, at++) {
                float want = element(it, tokens->run[run].first + t, i / it->n, i % it->n);

                if (!is_check)
                    x[at] = want;
                else if (x[at] != want)
                    return false;
            }
        }
    }
    return true;
}

static bool is_by_heads(const struct heads_case *it, const struct dtrain_tp_shard *heads, const float *x)
{
    for (size_t i = 0; i < it->tokens * heads->count * it->n; i++) {
        size_t t = i / (heads->count * it->n), h = i / it->n % heads->count;

        if (x[i] != element(it, t, heads->first + h, i % it->n))
            return false;
    }
    return true;
}

static bool exchanges_heads(struct rank *r)
{
    const struct heads_case *it = r->argument;
    struct dtrain_cp cp = {.comm = r->comm,
                           .stream = r->streams[0],
                           .type = DTRAIN_FLOAT32,
                           .layout = it->layout,
                           .tokens = it->tokens};
    size_t all = it->tokens * it->heads * it->n;
    float *by_tokens = calloc(all + 1, sizeof(float)), *by_heads = calloc(all + 1, sizeof(float));
    float *workspace = calloc(all + 1, sizeof(float));
    struct dtrain_cp_tokens tokens;
    struct dtrain_tp_shard heads;
    bool ok = dtrain_cp_tokens(it->tokens, r->size, r->rank, it->layout, &tokens, &r->err) == 0 &&
              dtrain_tp_shard(it->heads, r->size, r->rank, 1, DTRAIN_TP_UNEVEN, &heads, &r->err) == 0;

    is_by_tokens(it, &tokens, by_tokens, false);
    ok = ok && dtrain_cp_to_heads(&cp, it->heads, it->n, by_tokens, by_heads, workspace, &r->err) == 0 &&
         dtrain_cp_finish(&cp, &r->err) == 0 && is_by_heads(it, &heads, by_heads);
    memset(by_tokens, 0, all * sizeof(float));
    ok = ok && dtrain_cp_to_tokens(&cp, it->heads, it->n, by_heads, by_tokens, workspace, &r->err) == 0 &&
         dtrain_cp_finish(&cp, &r->err) == 0 && is_by_tokens(it, &tokens, by_tokens, true);
    free(workspace);
    free(by_heads);
    free(by_tokens);
    return ok;
}

/* ---- Bad calls -------------------------------------------------------------- */

static const struct dtrain_cp_attention no_attention;

struct bad {
    const char *words;
    struct ring_case it;
    size_t q_width;
    bool has_attention, has_workspace, has_k;
};

#define CASE(layout, is_causal, type, sum_type)                                                              \
    {                                                                                                        \
        "", 4, layout, is_causal, false, type, sum_type, 1, 0                                                \
    }
static const struct bad bads[] = {
    {"dtrain_cp_forward: layout is DTRAIN_CP_ZIGZAG without is_causal",
     CASE(DTRAIN_CP_ZIGZAG, false, DTRAIN_FLOAT64, DTRAIN_FLOAT64), 6, true, true, true},
    {"layout 7 is not known", CASE((enum dtrain_cp_layout)7, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64), 6, true,
     true, true},
    {"dtrain_cp_forward: type is int64", CASE(DTRAIN_CP_ZIGZAG, true, DTRAIN_INT64, DTRAIN_FLOAT64), 6, true,
     true, true},
    {"dtrain_cp_forward: type is int8", CASE(DTRAIN_CP_ZIGZAG, true, DTRAIN_FLOAT64, DTRAIN_INT8), 6, true,
     true, true},
    {"dtrain_cp_forward: attention or its forward is NULL",
     CASE(DTRAIN_CP_ZIGZAG, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64), 6, false, true, true},
    {"dtrain_cp_forward: workspace is NULL: expected a buffer of",
     CASE(DTRAIN_CP_ZIGZAG, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64), 6, true, false, true},
    {"dtrain_cp_forward: k is NULL: expected a buffer of 192 bytes",
     CASE(DTRAIN_CP_ZIGZAG, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64), 6, true, true, false},
    {"more than memory can hold", CASE(DTRAIN_CP_ZIGZAG, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64), SIZE_MAX / 2,
     true, true, true},
};

static void refuse(struct rank *r, const struct bad *bad, char *memory)
{
    struct dtrain_cp cp = cp_of(r, &bad->it);
    struct dtrain_cp_attention attention = {attend, attend_backward, NULL};
    struct dtrain_error err = {""};

    cp.q_width = bad->q_width;
    tap_ok(dtrain_cp_forward(&cp, bad->has_attention ? &attention : &no_attention, bad->has_k ? memory : NULL,
                             memory, memory, memory, bad->has_workspace ? memory : NULL, &err) == -1,
           "refused: %s", bad->words);
    tap_holds(err.text, bad->words, "  in these words");
}

static int fails(void *context, const struct dtrain_cp_block *block, void *out, void *lse,
                 struct dtrain_error *err)
{
    (void)context;
    (void)out;
    (void)lse;
    snprintf(err->text, sizeof(err->text), "no attention of %zu tokens", block->query_count);
    return -1;
}

static bool refuses(struct rank *r)
{
    char *memory = calloc(1, 1 << 16);
    struct ring_case good = CASE(DTRAIN_CP_ZIGZAG, true, DTRAIN_FLOAT64, DTRAIN_FLOAT64);
    struct dtrain_cp cp = cp_of(r, &good);
    struct dtrain_cp_attention attention = {.forward = fails};

    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++)
        refuse(r, &bads[i], memory);
    tap_ok(dtrain_cp_forward(&cp, &attention, memory, memory, memory, memory, memory, &r->err) == -1,
           "an attention that fails");
    tap_holds(r->err.text, "no attention of 4 tokens", "  says why");
    tap_ok(dtrain_cp_backward(&cp, &attention, memory, memory, memory, memory, memory, memory, &r->err) == -1,
           "no backward");
    tap_holds(r->err.text, "dtrain_cp_backward: attention or its backward is NULL", "  in these words");
    tap_ok(dtrain_cp_to_heads(&cp, 2, 1, memory, NULL, memory, &r->err) == -1, "no place for the heads");
    tap_holds(r->err.text, "dtrain_cp_to_heads: by_heads is NULL", "  in these words");
    tap_ok(dtrain_cp_workspace(NULL, &(size_t){0}, &r->err) == -1, "no cp");
    tap_holds(r->err.text, "dtrain_cp_workspace: cp is NULL", "  in these words");
    free(memory);
    return true;
}

int main(void)
{
    test_reference(false);
    test_reference(true);
    for (int size = 1; size <= 5; size++) {
        for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++)
            tap_ok(double_run(size, i % PLACEMENT_COUNT, TIMEOUT_MS, attends, (void *)&rings[i]) == 0,
                   "attention of %zu tokens over %d ranks: %s", rings[i].tokens, size, rings[i].name);
        for (size_t i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++)
            tap_ok(double_run(size, i % PLACEMENT_COUNT, TIMEOUT_MS, exchanges_heads,
                              (void *)&exchanges[i]) == 0,
                   "%zu tokens of %zu heads over %d ranks, layout %d, and back", exchanges[i].tokens,
                   exchanges[i].heads, size, (int)exchanges[i].layout);
    }
    tap_ok(double_run(1, ALL_LOCAL, TIMEOUT_MS, refuses, NULL) == 0, "bad calls");
    return tap_done();
}
