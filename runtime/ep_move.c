#include "core/error.h"
#include "ep.h"
#include "runtime/math.h"

static int begin(struct dtrain_ep *ep, const char *function, struct dtrain_error *err)
{
    if (ep == NULL)
        return dt_error_set(err, "%s: ep is NULL", function);
    return dt_lane_start(&ep->lane, err);
}

static size_t row_bytes(const struct dtrain_ep *ep)
{
    return ep->options.n * dtrain_type_size(ep->options.type);
}

static int check_buffer(const struct dtrain_ep *ep, const char *function, const char *name,
                        const void *buffer, size_t rows, struct dtrain_error *err)
{
    return dt_lane_check_buffer(function, name, buffer, rows * row_bytes(ep), err);
}

/* ---- Rows between ranks ---------------------------------------------------------- */

static void add_transfer(struct dtrain_ep *ep, size_t *n, bool is_send, int peer, char *buf, size_t rows)
{
    if (rows > 0)
        ep->transfers[(*n)++] =
            (struct dtrain_transfer){is_send, peer, ep->options.type, rows * ep->options.n, buf};
}

/*
 * The lines, by expert, with the ranks of the experts; the rows, by own expert and in each by rank, with all
 * ranks. Between two ranks the experts are in order on both sides. Rows without elements do not travel.
 */
static int exchange(struct dtrain_ep *ep, char *lines, char *rows, bool is_dispatch, struct dtrain_error *err)
{
    size_t n = 0, bytes = row_bytes(ep);

    for (int rank = 0; rank < ep->size && bytes > 0; rank++) {
        struct dtrain_tp_shard theirs = dt_ep_shard_of(ep, rank);

        for (size_t expert = theirs.first; expert < theirs.first + theirs.count; expert++) {
            size_t count = dt_ep_sent(ep, ep->rank, expert);

            add_transfer(ep, &n, is_dispatch, rank, lines, count);
            lines += count * bytes;
        }
    }
    for (size_t expert = ep->own.first; expert < ep->own.first + ep->own.count && bytes > 0; expert++) {
        for (int rank = 0; rank < ep->size; rank++) {
            size_t count = dt_ep_sent(ep, rank, expert);

            add_transfer(ep, &n, !is_dispatch, rank, rows, count);
            rows += count * bytes;
        }
    }
    return dtrain_transfer(ep->options.comm, ep->transfers, n, ep->options.stream, err);
}

/* ---- Rows of tokens and lines ----------------------------------------------------- */

/* lines[i] = weight[i] * x[token of i], or x[token of i] += weight[i] * lines[i] */
static int move_lines(const struct dtrain_ep *ep, enum dt_math_kind kind, void *to, const void *from,
                      const float *weights, struct dtrain_error *err)
{
    struct dt_math math = {.kind = kind};

    math.rows = (struct dt_math_rows){.to = to,
                                      .from = from,
                                      .type = ep->options.type,
                                      .index = ep->tokens,
                                      .weight = weights,
                                      .rows = ep->line_count,
                                      .n = ep->options.n};
    return ep->line_count == 0 || ep->options.n == 0 ? 0 : dt_math_enqueue(&math, ep->options.stream, err);
}

static int fill(const struct dtrain_ep *ep, void *x, enum dtrain_type type, size_t n,
                struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_FILL, .fill = {.x = x, .type = type, .n = n}};

    return n == 0 ? 0 : dt_math_enqueue(&math, ep->options.stream, err);
}

/* x[tokens, n] = sum of its lines, times their weights where there are some. */
static int sum_lines(const struct dtrain_ep *ep, void *x, const void *lines, const float *weights,
                     struct dtrain_error *err)
{
    if (fill(ep, x, ep->options.type, ep->token_count * ep->options.n, err) != 0)
        return -1;
    return move_lines(ep, DT_MATH_SCATTER_ROWS, x, lines, weights, err);
}

/* The weights of the lines, from those of the slots. */
static int sort_weights(const struct dtrain_ep *ep, const float *weights, struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_GATHER_ROWS};

    math.rows = (struct dt_math_rows){.to = ep->weights,
                                      .from = weights,
                                      .type = DTRAIN_FLOAT32,
                                      .index = ep->slots,
                                      .rows = ep->line_count,
                                      .n = 1};
    return ep->line_count == 0 ? 0 : dt_math_enqueue(&math, ep->options.stream, err);
}

static int find_weight_gradients(const struct dtrain_ep *ep, float *dweights, const void *dout,
                                 const void *returned, struct dtrain_error *err)
{
    struct dt_math math = {.kind = DT_MATH_DOT_ROWS};

    math.dot_rows = (struct dt_math_dot_rows){.dots = dweights,
                                              .a = dout,
                                              .b = returned,
                                              .type = ep->options.type,
                                              .to_index = ep->slots,
                                              .a_index = ep->tokens,
                                              .rows = ep->line_count,
                                              .n = ep->options.n};
    if (fill(ep, dweights, DTRAIN_FLOAT32, ep->token_count * (size_t)ep->options.top_k, err) != 0)
        return -1;
    return ep->line_count == 0 ? 0 : dt_math_enqueue(&math, ep->options.stream, err);
}

/* ---- The calls -------------------------------------------------------------------- */

int dtrain_ep_dispatch(struct dtrain_ep *ep, const void *x, void *rows, size_t room, struct dtrain_error *err)
{
    static const char function[] = "dtrain_ep_dispatch";

    if (begin(ep, function, err) != 0)
        return -1;
    if (room < ep->row_count)
        return dt_error_set(err,
                            "%s: %zu rows come to this rank but the buffer has room for %zu: make it larger",
                            function, ep->row_count, room);
    if (check_buffer(ep, function, "x", x, ep->token_count, err) != 0 ||
        check_buffer(ep, function, "rows", rows, ep->row_count, err) != 0 ||
        move_lines(ep, DT_MATH_GATHER_ROWS, ep->lines, x, NULL, err) != 0)
        return -1;
    return exchange(ep, ep->lines, rows, true, err);
}

int dtrain_ep_dispatch_backward(struct dtrain_ep *ep, const void *drows, void *dx, struct dtrain_error *err)
{
    static const char function[] = "dtrain_ep_dispatch_backward";

    if (begin(ep, function, err) != 0 ||
        check_buffer(ep, function, "drows", drows, ep->row_count, err) != 0 ||
        check_buffer(ep, function, "dx", dx, ep->token_count, err) != 0 ||
        exchange(ep, ep->lines, (char *)drows, false, err) != 0)
        return -1;
    return sum_lines(ep, dx, ep->lines, NULL, err);
}

static int check_weights(const struct dtrain_ep *ep, const char *function, const char *name,
                         const float *weights, struct dtrain_error *err)
{
    size_t slots = ep->token_count * (size_t)ep->options.top_k;

    return dt_lane_check_buffer(function, name, weights, slots * sizeof(*weights), err);
}

int dtrain_ep_combine(struct dtrain_ep *ep, const void *rows, const float *weights, void *returned, void *out,
                      struct dtrain_error *err)
{
    static const char function[] = "dtrain_ep_combine";

    if (begin(ep, function, err) != 0 || check_buffer(ep, function, "rows", rows, ep->row_count, err) != 0 ||
        check_weights(ep, function, "weights", weights, err) != 0 ||
        check_buffer(ep, function, "returned", returned, ep->line_count, err) != 0 ||
        check_buffer(ep, function, "out", out, ep->token_count, err) != 0 ||
        exchange(ep, returned, (char *)rows, false, err) != 0 || sort_weights(ep, weights, err) != 0)
        return -1;
    return sum_lines(ep, out, returned, ep->weights, err);
}

int dtrain_ep_combine_backward(struct dtrain_ep *ep, const void *dout, const float *weights,
                               const void *returned, void *drows, float *dweights, struct dtrain_error *err)
{
    static const char function[] = "dtrain_ep_combine_backward";

    if (begin(ep, function, err) != 0 ||
        check_buffer(ep, function, "dout", dout, ep->token_count, err) != 0 ||
        check_weights(ep, function, "weights", weights, err) != 0 ||
        check_buffer(ep, function, "returned", returned, ep->line_count, err) != 0 ||
        check_buffer(ep, function, "drows", drows, ep->row_count, err) != 0 ||
        check_weights(ep, function, "dweights", dweights, err) != 0 || sort_weights(ep, weights, err) != 0 ||
        move_lines(ep, DT_MATH_GATHER_ROWS, ep->lines, dout, ep->weights, err) != 0 ||
        exchange(ep, ep->lines, drows, true, err) != 0)
        return -1;
    return find_weight_gradients(ep, dweights, dout, returned, err);
}
