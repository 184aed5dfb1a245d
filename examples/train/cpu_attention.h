/* cpu_attention.h - causal attention, one head of one sequence at a time; part of cpu_TYPE.c, see cpu.h. */

/* Where one head of one sequence lies. */
struct head {
    size_t seq, size;
    size_t stride;     /* between rows of qkv */
    size_t out_stride; /* between rows of the output */
    size_t qkv;        /* offset of the query; key and value follow at size and 2 size */
    size_t out;
    size_t square; /* offset of the [S, S] probabilities */
};

static struct head head_at(const struct attention *shape, size_t sequence, size_t head)
{
    size_t width = shape->heads * shape->head_size;
    size_t row = sequence * shape->seq;

    return (struct head){
        .seq = shape->seq,
        .size = shape->head_size,
        .stride = 3 * width,
        .out_stride = width,
        .qkv = row * 3 * width + head * 3 * shape->head_size,
        .out = row * width + head * shape->head_size,
        .square = (sequence * shape->heads + head) * shape->seq * shape->seq,
    };
}

static double head_scale(const struct head *h)
{
    return 1 / sqrt((double)h->size);
}

static wide largest(const real *x, size_t n)
{
    wide top = -(wide)INFINITY;

    for (size_t i = 0; i < n; i++)
        top = load(x[i]) > top ? load(x[i]) : top; /* fmax() would be a call */
    return top;
}

/*
 * x[S, S] = softmax of each row up to the diagonal, 0 after it. The type's exponentials() and shares() do it
 * in two steps: the sum of e^(x - top), and what of it is whose.
 */
static void causal_softmax(real *x, size_t seq)
{
    for (size_t r = 0; r < seq; r++, x += seq) {
        wide top = largest(x, r + 1);

        shares(x, top, exponentials(x, top, r + 1), r + 1);
        memset(x + r + 1, 0, (seq - r - 1) * sizeof(*x));
    }
}

/* d = p (d - sum(d p)) in each row: the gradient through the softmax. */
static void softmax_backward(real *d, const real *p, size_t seq)
{
    for (size_t r = 0; r < seq; r++, d += seq, p += seq) {
        wide dot = 0;

#pragma omp simd reduction(+ : dot)
        for (size_t i = 0; i <= r; i++)
            dot += load(d[i]) * load(p[i]);
#pragma omp simd
        for (size_t i = 0; i < seq; i++)
            d[i] = store(load(p[i]) * (load(d[i]) - dot));
    }
}

static void head_forward(struct compute *c, const struct head *h, real *out, real *probabilities,
                         const real *qkv)
{
    const real *query = qkv + h->qkv, *key = query + h->size, *value = key + h->size;
    real *p = probabilities + h->square;
    struct strided scores = {MATMUL_NT, h->seq, h->seq, h->size, head_scale(h), h->stride, h->stride, h->seq};
    struct strided mix = {MATMUL_NN, h->seq, h->size, h->seq, 1, h->seq, h->stride, h->out_stride};

    product(c, &scores, p, query, key);
    causal_softmax(p, h->seq);
    product(c, &mix, out + h->out, p, value);
}

static void attention_forward(struct compute *c, const struct attention *shape, void *out,
                              void *probabilities, const void *qkv)
{
    for (size_t sequence = 0; sequence < shape->sequences; sequence++) {
        for (size_t i = 0; i < shape->heads; i++) {
            struct head h = head_at(shape, sequence, i);

            head_forward(c, &h, out, probabilities, qkv);
        }
    }
}

static void head_backward(struct compute *c, const struct head *h, real *dqkv, real *scratch,
                          const real *dout, const real *qkv, const real *probabilities)
{
    const real *query = qkv + h->qkv, *key = query + h->size, *value = key + h->size;
    real *dquery = dqkv + h->qkv, *dkey = dquery + h->size, *dvalue = dkey + h->size;
    const real *p = probabilities + h->square, *d = dout + h->out;
    struct strided to_value = {MATMUL_TN, h->seq, h->size, h->seq, 1, h->seq, h->out_stride, h->stride};
    struct strided to_scores = {MATMUL_NT, h->seq, h->seq, h->size, 1, h->out_stride, h->stride, h->seq};
    struct strided to_query = {MATMUL_NN,     h->seq, h->size,   h->seq,
                               head_scale(h), h->seq, h->stride, h->stride};
    struct strided to_key = {MATMUL_TN, h->seq, h->size, h->seq, head_scale(h), h->seq, h->stride, h->stride};

    product(c, &to_value, dvalue, p, d);
    product(c, &to_scores, scratch, d, value);
    softmax_backward(scratch, p, h->seq);
    product(c, &to_query, dquery, scratch, key);
    product(c, &to_key, dkey, scratch, query);
}

static void attention_backward(struct compute *c, const struct attention *shape, void *dqkv, void *scratch,
                               const void *dout, const void *qkv, const void *probabilities)
{
    real *squares = scratch;

    for (size_t sequence = 0; sequence < shape->sequences; sequence++) {
        for (size_t i = 0; i < shape->heads; i++) {
            struct head h = head_at(shape, sequence, i);

            head_backward(c, &h, dqkv, squares + h.square, dout, qkv, probabilities);
        }
    }
}
