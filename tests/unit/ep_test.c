/*
 * Tokens to experts and back on 1 to 8 ranks, forward and backward, against experts that are all at hand,
 * whose gradients are checked against the slopes of the loss.
 */
#include "dtrain_ep.h"

#include <math.h>
#include <stdlib.h>

#include "host_double.h"
#include "noise.h"
#include "runtime/math_value.h"
#include "runtime/type.h"
#include "tap.h"

#define TIMEOUT_MS 60000
#define N 3
#define TOKENS_MAX 9
#define TOP_K_MAX 3
#define SLOTS_MAX (TOKENS_MAX * TOP_K_MAX)
#define RANKS_MAX 8
#define ROWS_MAX (RANKS_MAX * SLOTS_MAX)

enum routing { RANDOM, ONE_EXPERT, SOME_NONE, NO_TOKENS };

struct ep_case {
    const char *name;
    int experts, top_k;
    size_t capacity;
    enum routing routing;
    bool has_compute;
    enum dtrain_type type;
    double tolerance;
};

static const struct ep_case cases[] = {
    {"one expert a rank at most", 8, 1, 0, RANDOM, false, DTRAIN_FLOAT64, 1e-12},
    {"several experts a rank", 24, 2, 0, RANDOM, true, DTRAIN_FLOAT64, 1e-12},
    {"experts that do not divide", 5, 3, 0, RANDOM, false, DTRAIN_FLOAT64, 1e-12},
    {"fewer experts than ranks", 2, 2, 0, RANDOM, true, DTRAIN_FLOAT64, 1e-12},
    {"all to one expert", 6, 2, 0, ONE_EXPERT, false, DTRAIN_FLOAT64, 1e-12},
    {"some to none", 6, 2, 0, SOME_NONE, true, DTRAIN_FLOAT64, 1e-12},
    {"no tokens", 6, 2, 0, NO_TOKENS, false, DTRAIN_FLOAT64, 1e-12},
    {"a capacity", 3, 2, 2, RANDOM, false, DTRAIN_FLOAT64, 1e-12},
    {"a capacity of one expert", 6, 1, 1, ONE_EXPERT, true, DTRAIN_FLOAT64, 1e-12},
    {"float32", 6, 2, 0, RANDOM, false, DTRAIN_FLOAT32, 1e-5},
    {"bfloat16", 6, 2, 0, RANDOM, true, DTRAIN_BFLOAT16, 5e-2},
};

/* ---- Experts and one process with all of them ---------------------------------- */

/* y_i = tanh(a x_i + b) x_(i+1) */
static double expert(size_t e, const double *x, size_t i)
{
    return tanh(noise(100 + e) * x[i] + noise(200 + e)) * x[(i + 1) % N];
}

static void expert_backward(size_t e, const double *x, const double *dy, double *dx)
{
    for (size_t i = 0; i < N; i++)
        dx[i] = 0;
    for (size_t i = 0; i < N; i++) {
        double t = tanh(noise(100 + e) * x[i] + noise(200 + e));

        dx[i] += dy[i] * (1 - t * t) * noise(100 + e) * x[(i + 1) % N];
        dx[(i + 1) % N] += dy[i] * t;
    }
}

/* One rank's tokens, as doubles, and the router's choice. */
struct tokens {
    size_t count;
    int top_k;
    int32_t experts[SLOTS_MAX];
    bool is_kept[SLOTS_MAX];
    double x[TOKENS_MAX * N], dout[TOKENS_MAX * N], out[TOKENS_MAX * N], dx[TOKENS_MAX * N];
    float weights[SLOTS_MAX];
    double dweights[SLOTS_MAX];
};

static int32_t choice(const struct ep_case *it, uint64_t key)
{
    if (it->routing == ONE_EXPERT)
        return it->experts - 1;
    if (it->routing == SOME_NONE && noise_bits(key + 5) % 3 == 0)
        return -1 - (int32_t)(key % 4);
    return (int32_t)(noise_bits(key) % (uint64_t)it->experts);
}

static double rounded(enum dtrain_type type, double value)
{
    double x = 0;

    dt_math_store(&x, type, 0, value);
    return dt_math_load(&x, type, 0);
}

static void route(struct tokens *t, const struct ep_case *it, int rank)
{
    size_t kept[32] = {0};

    *t = (struct tokens){.top_k = it->top_k,
                         .count = it->routing == NO_TOKENS ? 0 : (size_t)(rank * 5 + 3) % 7};
    for (size_t i = 0; i < t->count * N; i++) {
        t->x[i] = rounded(it->type, noise((uint64_t)rank << 16 | i));
        t->dout[i] = rounded(it->type, noise((uint64_t)rank << 16 | i | 1 << 12));
    }
    for (size_t i = 0; i < t->count * (size_t)it->top_k; i++) {
        t->experts[i] = choice(it, (uint64_t)rank << 8 | i);
        t->weights[i] = (float)(noise(900 + i) / 2 + 1);
        t->is_kept[i] = t->experts[i] >= 0 && (it->capacity == 0 || kept[t->experts[i]]++ < it->capacity);
    }
}

/* loss = sum of out * dout of one token; what one rank's experts would do with all of them. */
static double token_loss(const struct tokens *t, size_t token)
{
    double loss = 0;

    for (size_t k = 0; k < (size_t)t->top_k; k++) {
        size_t slot = token * (size_t)t->top_k + k;

        for (size_t i = 0; i < N && t->is_kept[slot]; i++)
            loss += (double)t->weights[slot] * expert((size_t)t->experts[slot], &t->x[token * N], i) *
                    t->dout[token * N + i];
    }
    return loss;
}

static void add_slot(struct tokens *t, size_t slot)
{
    size_t row = slot / (size_t)t->top_k * N, e = (size_t)t->experts[slot];
    double weight = (double)t->weights[slot], dy[N], dx[N];

    for (size_t i = 0; i < N; i++) {
        double y = expert(e, &t->x[row], i);

        t->out[row + i] += weight * y;
        t->dweights[slot] += y * t->dout[row + i];
        dy[i] = weight * t->dout[row + i];
    }
    expert_backward(e, &t->x[row], dy, dx);
    for (size_t i = 0; i < N; i++)
        t->dx[row + i] += dx[i];
}

static void reference(struct tokens *t)
{
    for (size_t slot = 0; slot < t->count * (size_t)t->top_k; slot++) {
        if (t->is_kept[slot])
            add_slot(t, slot);
    }
}

static void test_reference(void)
{
    struct tokens *t = malloc(sizeof(*t));
    const double by = 1e-6;
    bool ok = true;

    route(t, &cases[7], 1);
    reference(t);
    for (size_t i = 0; i < t->count * N; i++) {
        double before = t->x[i], up, down;

        t->x[i] = before + by;
        up = token_loss(t, i / N);
        t->x[i] = before - by;
        down = token_loss(t, i / N);
        t->x[i] = before;
        ok = ok && fabs((up - down) / (2 * by) - t->dx[i]) < 1e-8;
    }
    for (size_t i = 0; i < t->count * (size_t)t->top_k; i++) {
        float before = t->weights[i];
        double up, down;

        t->weights[i] = before + 0.5f; /* the loss is linear in it */
        up = token_loss(t, i / (size_t)t->top_k);
        t->weights[i] = before - 0.5f;
        down = token_loss(t, i / (size_t)t->top_k);
        t->weights[i] = before;
        ok = ok && fabs(up - down - t->dweights[i]) < 1e-6;
    }
    tap_ok(ok, "one process: gradients are slopes");
    free(t);
}

/* ---- Many ranks ------------------------------------------------------------- */

/* A rank's buffers, of the case's type in the space of doubles. */
struct buffers {
    struct tokens t;
    int32_t experts[SLOTS_MAX];
    double x[TOKENS_MAX * N], out[TOKENS_MAX * N], dout[TOKENS_MAX * N], dx[TOKENS_MAX * N];
    double rows[ROWS_MAX * N], results[ROWS_MAX * N], returned[SLOTS_MAX * N], drows[ROWS_MAX * N];
    double dresults[ROWS_MAX * N];
    float dweights[SLOTS_MAX];
};

static bool wrong(struct rank *r, const char *what, size_t i, double got, double want)
{
    snprintf(r->err.text, sizeof(r->err.text), "%s[%zu] is %.17g, expected %.17g", what, i, got, want);
    return false;
}

static bool agrees(struct rank *r, const char *what, const void *x, enum dtrain_type type, const double *want,
                   size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        double got = dt_math_load(x, type, i);

        if (!(fabs(got - want[i]) <= tolerance * fmax(1, fabs(want[i]))))
            return wrong(r, what, i, got, want[i]);
    }
    return true;
}

static void store(void *x, enum dtrain_type type, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dt_math_store(x, type, i, values[i]);
}

static bool await(struct rank *r, struct dtrain_ep *ep, bool has_compute)
{
    return dtrain_ep_finish(ep, &r->err) == 0 &&
           (!has_compute || dtrain_stream_synchronize(r->streams[1], &r->err) == 0);
}

/* The own experts on their rows, or back. */
static void run_experts(const struct dtrain_ep *ep, struct buffers *b, enum dtrain_type type,
                        bool is_backward)
{
    size_t row = 0;

    for (int own = 0; own < dtrain_ep_expert_count(ep); own++) {
        size_t e = (size_t)(dtrain_ep_first_expert(ep) + own);

        for (size_t left = dtrain_ep_expert_rows(ep, own); left > 0; left--, row++) {
            double x[N], dy[N], result[N];

            for (size_t i = 0; i < N; i++) {
                x[i] = dt_math_load(b->rows, type, row * N + i);
                dy[i] = is_backward ? dt_math_load(b->dresults, type, row * N + i) : 0;
            }
            for (size_t i = 0; i < N; i++)
                result[i] = expert(e, x, i);
            if (is_backward)
                expert_backward(e, x, dy, result);
            for (size_t i = 0; i < N; i++)
                dt_math_store(is_backward ? b->drows : b->results, type, row * N + i, result[i]);
        }
    }
}

/* The counts of all ranks' choices, made anew. */
static bool has_balance(struct rank *r, const struct dtrain_ep *ep, const struct ep_case *it)
{
    struct tokens *t = malloc(sizeof(*t));
    struct dtrain_ep_balance balance;
    int64_t routed[32] = {0}, total = 0, dropped = 0, most = 0;
    double shares[32], loss = 0;
    bool ok = true;

    for (int rank = 0; rank < r->size; rank++) {
        route(t, it, rank);
        for (size_t i = 0; i < t->count * (size_t)t->top_k; i++) {
            if (t->experts[i] < 0)
                continue;
            routed[t->experts[i]]++;
            total++;
            dropped += !t->is_kept[i];
        }
    }
    dtrain_ep_balance(ep, &balance);
    for (int e = 0; e < it->experts; e++) {
        ok = ok && balance.routed[e] == routed[e];
        most = routed[e] > most ? routed[e] : most;
        shares[e] = 1.0 / it->experts + (e == 0 ? 0.125 : 0);
        loss += total > 0 ? it->experts * shares[e] * (double)routed[e] / (double)total : 0;
    }
    ok = ok && balance.total == total && balance.dropped == dropped &&
         fabs(balance.imbalance - (total > 0 ? (double)(most * it->experts) / (double)total : 0)) < 1e-12 &&
         fabs(dtrain_ep_balance_loss(ep, shares) - loss) < 1e-12;
    free(t);
    return ok || wrong(r, "balance: total", 0, (double)balance.total, (double)total);
}

static bool run(struct rank *r, struct dtrain_ep *ep, const struct ep_case *it, struct buffers *b)
{
    struct tokens *t = &b->t;
    enum dtrain_type type = it->type;
    size_t elements = t->count * N;

    if (dtrain_ep_plan(ep, b->experts, t->count, &r->err) != 0 || !has_balance(r, ep, it) ||
        dtrain_ep_dispatch(ep, b->x, b->rows, dtrain_ep_rows(ep), &r->err) != 0 ||
        !await(r, ep, it->has_compute))
        return false;
    run_experts(ep, b, type, false);
    if (dtrain_ep_combine(ep, b->results, t->weights, b->returned, b->out, &r->err) != 0 ||
        !await(r, ep, it->has_compute) || !agrees(r, "out", b->out, type, t->out, elements, it->tolerance) ||
        dtrain_ep_combine_backward(ep, b->dout, t->weights, b->returned, b->dresults, b->dweights, &r->err) !=
            0 ||
        !await(r, ep, it->has_compute))
        return false;
    run_experts(ep, b, type, true);
    return dtrain_ep_dispatch_backward(ep, b->drows, b->dx, &r->err) == 0 && await(r, ep, it->has_compute) &&
           agrees(r, "dx", b->dx, type, t->dx, elements, it->tolerance) &&
           agrees(r, "dweights", b->dweights, DTRAIN_FLOAT32, t->dweights, t->count * (size_t)it->top_k,
                  fmax(it->tolerance, 1e-6));
}

static struct dtrain_ep_options options_of(struct rank *r, const struct ep_case *it)
{
    return (struct dtrain_ep_options){.comm = r->comm,
                                      .stream = r->streams[0],
                                      .compute = it->has_compute ? r->streams[1] : NULL,
                                      .type = it->type,
                                      .experts = it->experts,
                                      .top_k = it->top_k,
                                      .n = N,
                                      .tokens_max = TOKENS_MAX,
                                      .capacity = it->capacity};
}

/* Twice with one handle: a plan leaves nothing behind. */
static bool routes(struct rank *r)
{
    const struct ep_case *it = r->argument;
    struct dtrain_ep_options options = options_of(r, it);
    struct buffers *b = malloc(sizeof(*b));
    struct dtrain_ep *ep = NULL;
    size_t bytes;
    bool ok = dtrain_ep_workspace(&options, &bytes, &r->err) == 0;

    options.workspace = malloc(bytes); /* of exactly this size: a sanitizer sees what is past it */
    ok = ok && dtrain_ep_create(&ep, &options, &r->err) == 0 && dtrain_ep_rows(ep) == 0;
    for (int i = 0; ok && i < 2; i++) {
        memset(b, 0xff, sizeof(*b));
        route(&b->t, it, r->rank);
        reference(&b->t);
        memcpy(b->experts, b->t.experts, sizeof(b->experts));
        store(b->x, it->type, b->t.x, b->t.count * N);
        store(b->dout, it->type, b->t.dout, b->t.count * N);
        ok = run(r, ep, it, b);
    }
    dtrain_ep_destroy(ep);
    free(options.workspace);
    free(b);
    return ok;
}

/* ---- Failures ----------------------------------------------------------------- */

/* Rank 1 has an expert that does not exist, then too many tokens: all ranks learn it, and can plan again. */
static bool plans_fail_together(struct rank *r)
{
    struct ep_case it = {"", 4, 1, 0, RANDOM, false, DTRAIN_FLOAT32, 0};
    struct dtrain_ep_options options = options_of(r, &it);
    int32_t experts[TOKENS_MAX + 1] = {0};
    struct dtrain_ep *ep = NULL;
    float x[2 * N] = {1, 2, 3, 4, 5, 6}, rows[16 * N];
    size_t bytes, rows_first;
    bool ok = dtrain_ep_workspace(&options, &bytes, &r->err) == 0;
    const char *words = r->rank == 1 ? "dtrain_ep_plan: token 1 has expert 4: expected one below 4"
                                     : "dtrain_ep_plan: rank 1 of the group cannot plan";

    options.workspace = malloc(bytes);
    ok = ok && dtrain_ep_create(&ep, &options, &r->err) == 0;
    experts[1] = r->rank == 1 ? 4 : 0;
    ok = ok && dtrain_ep_plan(ep, experts, 2, &r->err) == -1 && strstr(r->err.text, words) != NULL &&
         dtrain_ep_rows(ep) == 0;
    experts[1] = 0;
    words = r->rank == 1 ? "dtrain_ep_plan: tokens is 10 but tokens_max is 9" : words;
    ok = ok && dtrain_ep_plan(ep, experts, r->rank == 1 ? TOKENS_MAX + 1 : 2, &r->err) == -1 &&
         strstr(r->err.text, words) != NULL;
    ok = ok && dtrain_ep_plan(ep, experts, 2, &r->err) == 0;
    rows_first = ok ? dtrain_ep_rows(ep) : 0;
    ok = ok && rows_first == (r->rank == 0 ? 2 * (size_t)r->size : 0);
    if (ok && r->rank == 0) /* too little room: nothing has moved, and the next call is right */
        ok = dtrain_ep_dispatch(ep, x, rows, 5, &r->err) == -1 &&
             strstr(r->err.text, "6 rows come to this rank but the buffer has room for 5") != NULL;
    ok = ok && dtrain_ep_dispatch(ep, x, rows, 16, &r->err) == 0 && dtrain_ep_finish(ep, &r->err) == 0;
    dtrain_ep_destroy(ep);
    free(options.workspace);
    return ok;
}

struct bad {
    const char *words;
    struct ep_case it;
    size_t tokens_max;
    bool has_workspace;
};

static const struct bad bads[] = {
    {"experts is 0, top_k is 1: expected 1 or more",
     {"", 0, 1, 0, RANDOM, false, DTRAIN_FLOAT32, 0},
     4,
     true},
    {"experts is 4, top_k is 0", {"", 4, 0, 0, RANDOM, false, DTRAIN_FLOAT32, 0}, 4, true},
    {"type is int32", {"", 4, 1, 0, RANDOM, false, DTRAIN_INT32, 0}, 4, true},
    {"tokens_max is 2147483647 with top_k 2: expected a product below 2^31",
     {"", 4, 2, 0, RANDOM, false, DTRAIN_FLOAT32, 0},
     INT32_MAX,
     true},
    {"dtrain_ep_create: workspace is NULL: expected a buffer of",
     {"", 4, 1, 0, RANDOM, false, DTRAIN_FLOAT32, 0},
     4,
     false},
};

static bool refuses(struct rank *r)
{
    struct dtrain_ep *ep = NULL;
    char memory[8192];

    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
        struct dtrain_ep_options options = options_of(r, &bads[i].it);
        struct dtrain_error err = {""};

        options.tokens_max = bads[i].tokens_max;
        options.workspace = bads[i].has_workspace ? memory : NULL;
        tap_ok(dtrain_ep_create(&ep, &options, &err) == -1 && ep == NULL, "refused: %s", bads[i].words);
        tap_holds(err.text, bads[i].words, "  in these words");
    }
    tap_ok(dtrain_ep_create(&ep, NULL, &r->err) == -1, "no options");
    tap_holds(r->err.text, "dtrain_ep_create: options is NULL", "  in these words");
    tap_ok(dtrain_ep_dispatch(NULL, NULL, NULL, 0, &r->err) == -1, "no handle");
    tap_holds(r->err.text, "dtrain_ep_dispatch: ep is NULL", "  in these words");
    dtrain_ep_destroy(NULL);
    return true;
}

int main(void)
{
    test_reference();
    for (int size = 1; size <= RANKS_MAX; size++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            tap_ok(double_run(size, i % PLACEMENT_COUNT, TIMEOUT_MS, routes, (void *)&cases[i]) == 0,
                   "%d experts on %d ranks, %d for each token: %s", cases[i].experts, size, cases[i].top_k,
                   cases[i].name);
    }
    tap_ok(double_run(3, ALL_LOCAL, TIMEOUT_MS, plans_fail_together, NULL) == 0,
           "a plan that fails on one rank fails on all, and the next one works");
    tap_ok(double_run(1, ALL_LOCAL, TIMEOUT_MS, refuses, NULL) == 0, "bad calls");
    return tap_done();
}
