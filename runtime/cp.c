#include "cp.h"

#include "core/error.h"
#include "dtrain_tp.h"

struct dt_lane dt_cp_lane(const struct dtrain_cp *cp)
{
    return (struct dt_lane){cp->comm, cp->stream, cp->compute};
}

int dt_cp_check(const struct dtrain_cp *cp, const char *function, struct dtrain_error *err)
{
    struct dt_lane lane;
    struct dtrain_cp_tokens tokens;

    if (cp == NULL)
        return dt_error_set(err, "%s: cp is NULL", function);
    lane = dt_cp_lane(cp);
    if (dt_lane_check(&lane, function, cp->type, err) != 0)
        return -1;
    return dtrain_cp_tokens(cp->tokens, dtrain_comm_size(cp->comm), dtrain_comm_rank(cp->comm), cp->layout,
                            &tokens, err);
}

int dtrain_cp_finish(const struct dtrain_cp *cp, struct dtrain_error *err)
{
    struct dt_lane lane;

    if (dt_cp_check(cp, "dtrain_cp_finish", err) != 0)
        return -1;
    lane = dt_cp_lane(cp);
    return dt_lane_finish(&lane, err);
}

size_t dt_cp_tokens_of(const struct dtrain_cp *cp, int rank)
{
    struct dtrain_cp_tokens tokens = {0};

    dtrain_cp_tokens(cp->tokens, dtrain_comm_size(cp->comm), rank, cp->layout, &tokens, NULL);
    return tokens.count;
}

/* ---- Workspace ---------------------------------------------------------------- */

static size_t most_tokens(const struct dtrain_cp *cp)
{
    size_t most = 0;

    for (int i = 0; i < dtrain_comm_size(cp->comm); i++) {
        size_t tokens = dt_cp_tokens_of(cp, i);

        most = tokens > most ? tokens : most;
    }
    return most;
}

static size_t lse_size(const struct dtrain_cp *cp)
{
    return dtrain_type_size(cp->sum_type == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32);
}

/* Two blocks on their way; and the parts of out and lse, or two blocks of gradients and the parts. */
static size_t workspace_bytes(const struct dtrain_cp *cp)
{
    size_t most = most_tokens(cp), sum = dtrain_type_size(cp->sum_type), element = dtrain_type_size(cp->type);
    size_t pair =
        dt_lane_aligned(most * cp->k_width * element) + dt_lane_aligned(most * cp->v_width * element);
    size_t sums = dt_lane_aligned(most * cp->k_width * sum) + dt_lane_aligned(most * cp->v_width * sum);
    size_t forward =
        dt_lane_aligned(most * cp->rows * cp->n * sum) + dt_lane_aligned(most * cp->rows * lse_size(cp));
    size_t backward = 3 * sums + dt_lane_aligned(most * cp->q_width * sum);

    return 2 * pair + (forward > backward ? forward : backward);
}

static int check_sizes(const struct dtrain_cp *cp, const char *function, struct dtrain_error *err)
{
    struct dt_lane lane = dt_cp_lane(cp);
    size_t widths, bytes;

    if (cp->layout == DTRAIN_CP_ZIGZAG && !cp->is_causal)
        return dt_error_set(err,
                            "%s: layout is DTRAIN_CP_ZIGZAG without is_causal: it balances a causal mask; "
                            "use DTRAIN_CP_CONTIGUOUS",
                            function);
    if (dt_lane_check(&lane, function, cp->sum_type, err) != 0)
        return -1;
    if (__builtin_mul_overflow(cp->rows, cp->n, &widths) ||
        __builtin_add_overflow(widths, cp->q_width, &widths) ||
        __builtin_add_overflow(widths, cp->k_width, &widths) ||
        __builtin_add_overflow(widths, cp->v_width, &widths) ||
        __builtin_add_overflow(widths, cp->rows, &widths))
        widths = SIZE_MAX;
    /* More than all of the workspace, so that none of its sums overflows. */
    return dt_lane_bytes(cp->tokens + 1, widths, 8, DTRAIN_FLOAT64, "a sequence", &bytes, err);
}

int dtrain_cp_workspace(const struct dtrain_cp *cp, size_t *bytes, struct dtrain_error *err)
{
    if (dt_cp_check(cp, "dtrain_cp_workspace", err) != 0)
        return -1;
    if (bytes == NULL)
        return dt_error_set(err, "dtrain_cp_workspace: bytes is NULL");
    if (check_sizes(cp, "dtrain_cp_workspace", err) != 0)
        return -1;
    *bytes = workspace_bytes(cp);
    return 0;
}

/* ---- A call ------------------------------------------------------------------- */

int dt_cp_call_begin(struct dt_cp_call *call, const struct dtrain_cp *cp, const char *function,
                     void *workspace, struct dtrain_error *err)
{
    if (dt_cp_check(cp, function, err) != 0 || check_sizes(cp, function, err) != 0 ||
        dt_lane_check_buffer(function, "workspace", workspace, workspace_bytes(cp), err) != 0)
        return -1;
    *call = (struct dt_cp_call){.cp = cp,
                                .lane = dt_cp_lane(cp),
                                .size = dtrain_comm_size(cp->comm),
                                .rank = dtrain_comm_rank(cp->comm),
                                .most = most_tokens(cp),
                                .workspace = workspace};
    call->own = dt_cp_tokens_of(cp, call->rank);
    return 0;
}

void *dt_cp_call_take(struct dt_cp_call *call, size_t width, enum dtrain_type type)
{
    char *taken = call->workspace;

    call->workspace += dt_lane_aligned(call->most * width * dtrain_type_size(type));
    return taken;
}

struct dt_cp_pair dt_cp_call_take_pair(struct dt_cp_call *call, enum dtrain_type type)
{
    char *k = dt_cp_call_take(call, call->cp->k_width, type);

    return (struct dt_cp_pair){k, dt_cp_call_take(call, call->cp->v_width, type)};
}

int dt_cp_pass(const struct dt_cp_call *call, const struct dt_cp_pair *from, int sent,
               const struct dt_cp_pair *to, int received, enum dtrain_type type, struct dtrain_error *err)
{
    const struct dtrain_cp *cp = call->cp;
    size_t out = dt_cp_tokens_of(cp, sent), in = dt_cp_tokens_of(cp, received);
    int next = (call->rank + 1) % call->size, before = (call->rank + call->size - 1) % call->size;
    const struct dtrain_transfer transfers[] = {
        {true, next, type, out * cp->k_width, from->k},
        {true, next, type, out * cp->v_width, from->v},
        {false, before, type, in * cp->k_width, to->k},
        {false, before, type, in * cp->v_width, to->v},
    };

    return dtrain_transfer(cp->comm, transfers, 4, cp->stream, err);
}

struct dtrain_cp_block dt_cp_block_of(const struct dt_cp_call *call, int owner, const struct dt_cp_pair *keys)
{
    const struct dtrain_cp *cp = call->cp;
    struct dtrain_cp_block block = {.owner = owner, .mask = DTRAIN_CP_EMPTY};

    dtrain_cp_block(cp->tokens, call->size, cp->layout, cp->is_causal, call->rank, owner, &block, NULL);
    block.k = dt_cp_at(keys->k, block.key_first, cp->k_width, cp->type);
    block.v = dt_cp_at(keys->v, block.key_first, cp->v_width, cp->type);
    return block;
}
