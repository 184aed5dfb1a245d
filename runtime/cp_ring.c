#include "core/error.h"
#include "cp.h"
#include "runtime/math.h"

static int owner_at(const struct dt_cp_call *call, int step)
{
    return (call->rank + call->size - step) % call->size;
}

static int check_attention(const struct dtrain_cp_attention *attention, bool is_backward,
                           const char *function, struct dtrain_error *err)
{
    if (attention != NULL && (is_backward ? attention->backward != NULL : attention->forward != NULL))
        return 0;
    return dt_error_set(err, "%s: attention or its %s is NULL", function,
                        is_backward ? "backward" : "forward");
}

/* k and v, the own ones, of [own tokens, width] each. */
static int check_pair(const struct dt_cp_call *call, const char *function, const char *k_name,
                      const char *v_name, const void *k, const void *v, enum dtrain_type type,
                      struct dtrain_error *err)
{
    size_t row = call->own * dtrain_type_size(type);

    if (dt_lane_check_buffer(function, k_name, k, row * call->cp->k_width, err) != 0)
        return -1;
    return dt_lane_check_buffer(function, v_name, v, row * call->cp->v_width, err);
}

/* The next step's block goes on its way; the place that it comes to was read by the step before. */
static int prefetch(const struct dt_cp_call *call, int step, const struct dt_cp_pair *here,
                    const struct dt_cp_pair *there, struct dtrain_error *err)
{
    if (step + 1 == call->size)
        return 0;
    if (dt_lane_start(&call->lane, err) != 0)
        return -1;
    return dt_cp_pass(call, here, owner_at(call, step), there, owner_at(call, step + 1), call->cp->type, err);
}

/* ---- Forward -------------------------------------------------------------------- */

struct forward {
    struct dt_cp_call call;
    const struct dtrain_cp_attention *attention;
    void *out, *lse;
    void *part, *part_lse;
};

static enum dtrain_type lse_type(const struct dtrain_cp *cp)
{
    return cp->sum_type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

static int merge(const struct forward *f, const struct dtrain_cp_block *block, struct dtrain_error *err)
{
    const struct dtrain_cp *cp = f->call.cp;
    struct dt_math math = {.kind = DT_MATH_SOFTMAX_MERGE};

    math.softmax_merge = (struct dt_math_softmax_merge){
        .out = dt_cp_at(f->out, block->query_first, cp->rows * cp->n, cp->sum_type),
        .lse = dt_cp_at(f->lse, block->query_first, cp->rows, lse_type(cp)),
        .add = f->part,
        .add_lse = f->part_lse,
        .type = cp->sum_type,
        .rows = block->query_count * cp->rows,
        .n = cp->n,
    };
    return dt_math_enqueue(&math, dt_lane_math(&f->call.lane), err);
}

/* The own block comes first and has all queries: it is what the others are added to. */
static int attend(const struct forward *f, int step, const struct dt_cp_pair *keys, struct dtrain_error *err)
{
    struct dtrain_cp_block block = dt_cp_block_of(&f->call, owner_at(&f->call, step), keys);
    const struct dtrain_cp_attention *attention = f->attention;

    if (block.mask == DTRAIN_CP_EMPTY)
        return 0;
    if (step == 0)
        return attention->forward(attention->context, &block, f->out, f->lse, err);
    if (attention->forward(attention->context, &block, f->part, f->part_lse, err) != 0)
        return -1;
    return merge(f, &block, err);
}

static int run_forward(struct forward *f, struct dt_cp_pair here, struct dtrain_error *err)
{
    struct dt_cp_call *call = &f->call;
    struct dt_cp_pair places[2] = {dt_cp_call_take_pair(call, call->cp->type),
                                   dt_cp_call_take_pair(call, call->cp->type)};

    f->part = dt_cp_call_take(call, call->cp->rows * call->cp->n, call->cp->sum_type);
    f->part_lse = dt_cp_call_take(call, call->cp->rows, lse_type(call->cp));
    for (int step = 0; step < call->size; step++) {
        if ((step > 0 && dt_lane_finish(&call->lane, err) != 0) ||
            prefetch(call, step, &here, &places[step % 2], err) != 0 || attend(f, step, &here, err) != 0)
            return -1;
        here = places[step % 2];
    }
    return dt_lane_finish(&call->lane, err);
}

int dtrain_cp_forward(const struct dtrain_cp *cp, const struct dtrain_cp_attention *attention, const void *k,
                      const void *v, void *out, void *lse, void *workspace, struct dtrain_error *err)
{
    static const char function[] = "dtrain_cp_forward";
    struct forward f = {.attention = attention, .out = out, .lse = lse};
    size_t rows;

    if (check_attention(attention, false, function, err) != 0 ||
        dt_cp_call_begin(&f.call, cp, function, workspace, err) != 0 ||
        check_pair(&f.call, function, "k", "v", k, v, cp->type, err) != 0)
        return -1;
    rows = f.call.own * cp->rows;
    if (dt_lane_check_buffer(function, "out", out, rows * cp->n * dtrain_type_size(cp->sum_type), err) != 0 ||
        dt_lane_check_buffer(function, "lse", lse, rows * dtrain_type_size(lse_type(cp)), err) != 0)
        return -1;
    return run_forward(&f, (struct dt_cp_pair){(char *)k, (char *)v}, err);
}

/* ---- Backward ------------------------------------------------------------------- */

struct backward {
    struct dt_cp_call call;
    const struct dtrain_cp_attention *attention;
    void *dq, *part_dq;
    struct dt_cp_pair home; /* of the own keys' gradients */
    struct dt_cp_pair part;
    struct dt_cp_pair sums[2]; /* step i's block's gradients so far are in i % 2 */
};

static int add(const struct backward *b, void *to, const void *from, size_t n, struct dtrain_error *err)
{
    enum dtrain_type type = b->call.cp->sum_type;
    struct dt_math math = {.kind = DT_MATH_SCALE};

    math.scale = (struct dt_math_scale){.to = to,
                                        .from = from,
                                        .to_type = type,
                                        .from_type = type,
                                        .n = n,
                                        .by = {.factor = 1},
                                        .accumulate = true};
    return n == 0 ? 0 : dt_math_enqueue(&math, dt_lane_math(&b->call.lane), err);
}

static int add_parts(const struct backward *b, const struct dtrain_cp_block *block,
                     const struct dt_cp_pair *sum, struct dtrain_error *err)
{
    const struct dtrain_cp *cp = b->call.cp;

    if (add(b, dt_cp_at(b->dq, block->query_first, cp->q_width, cp->sum_type), b->part_dq,
            block->query_count * cp->q_width, err) != 0 ||
        add(b, dt_cp_at(sum->k, block->key_first, cp->k_width, cp->sum_type), b->part.k,
            block->key_count * cp->k_width, err) != 0)
        return -1;
    return add(b, dt_cp_at(sum->v, block->key_first, cp->v_width, cp->sum_type), b->part.v,
               block->key_count * cp->v_width, err);
}

/* The own block has all queries and all keys: its gradients are what the others are added to. */
static int attend_backward(const struct backward *b, int step, const struct dtrain_cp_block *block,
                           const struct dt_cp_pair *sum, struct dtrain_error *err)
{
    const struct dtrain_cp_attention *attention = b->attention;
    bool is_own = step == 0;

    if (block->mask == DTRAIN_CP_EMPTY)
        return 0;
    return attention->backward(attention->context, block, is_own ? b->dq : b->part_dq,
                               is_own ? sum->k : b->part.k, is_own ? sum->v : b->part.v, err);
}

/*
 * While a step's attention computes, the next block comes, and so do the gradients that the ranks before
 * added to this step's block. Then this rank's part is added, and they go on; the last step sends them home.
 * The second finish is for the CPU, which else would write the parts while they are still read.
 */
static int step_backward(const struct backward *b, int step, const struct dt_cp_pair *here,
                         const struct dt_cp_pair *there, struct dtrain_error *err)
{
    const struct dt_cp_call *call = &b->call;
    bool is_last = step + 1 == call->size;
    const struct dt_cp_pair *sum = call->size == 1 ? &b->home : &b->sums[step % 2];
    const struct dt_cp_pair *next = is_last ? &b->home : &b->sums[(step + 1) % 2];
    struct dtrain_cp_block block = dt_cp_block_of(call, owner_at(call, step), here);

    if (prefetch(call, step, here, there, err) != 0 || attend_backward(b, step, &block, sum, err) != 0 ||
        dt_lane_finish(&call->lane, err) != 0)
        return -1;
    if (step > 0 && (add_parts(b, &block, sum, err) != 0 || dt_lane_finish(&call->lane, err) != 0))
        return -1;
    if (call->size == 1)
        return 0;
    if (dt_lane_start(&call->lane, err) != 0)
        return -1;
    return dt_cp_pass(call, sum, owner_at(call, step), next, owner_at(call, step + 1), call->cp->sum_type,
                      err);
}

static int run_backward(struct backward *b, struct dt_cp_pair here, struct dtrain_error *err)
{
    struct dt_cp_call *call = &b->call;
    struct dt_cp_pair places[2] = {dt_cp_call_take_pair(call, call->cp->type),
                                   dt_cp_call_take_pair(call, call->cp->type)};

    b->part = dt_cp_call_take_pair(call, call->cp->sum_type);
    b->sums[0] = dt_cp_call_take_pair(call, call->cp->sum_type);
    b->sums[1] = dt_cp_call_take_pair(call, call->cp->sum_type);
    b->part_dq = dt_cp_call_take(call, call->cp->q_width, call->cp->sum_type);
    for (int step = 0; step < call->size; step++) {
        if (step_backward(b, step, &here, &places[step % 2], err) != 0)
            return -1;
        here = places[step % 2];
    }
    return dt_lane_finish(&call->lane, err);
}

int dtrain_cp_backward(const struct dtrain_cp *cp, const struct dtrain_cp_attention *attention, const void *k,
                       const void *v, void *dq, void *dk, void *dv, void *workspace, struct dtrain_error *err)
{
    static const char function[] = "dtrain_cp_backward";
    struct backward b = {.attention = attention, .dq = dq, .home = {dk, dv}};

    if (check_attention(attention, true, function, err) != 0 ||
        dt_cp_call_begin(&b.call, cp, function, workspace, err) != 0 ||
        check_pair(&b.call, function, "k", "v", k, v, cp->type, err) != 0 ||
        check_pair(&b.call, function, "dk", "dv", dk, dv, cp->sum_type, err) != 0 ||
        dt_lane_check_buffer(function, "dq", dq, b.call.own * cp->q_width * dtrain_type_size(cp->sum_type),
                             err) != 0)
        return -1;
    return run_backward(&b, (struct dt_cp_pair){(char *)k, (char *)v}, err);
}
