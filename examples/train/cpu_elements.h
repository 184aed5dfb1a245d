/* cpu_elements.h - operations on one element after another; part of cpu_TYPE.c, see cpu.h. */

static void add(struct compute *c, void *y, const void *x, size_t n)
{
    real *to = y;
    const real *from = x;

    (void)c;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        to[i] = store(load(to[i]) + load(from[i]));
}

static void cast(struct compute *c, void *to, const void *from, size_t n)
{
    real *y = to;
    const wide *x = from;

    (void)c;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = store(x[i]);
}

static void sum(struct compute *c, double *to, const void *x, size_t n)
{
    const wide *values = x;
    double total = 0;

    (void)c;
    for (size_t i = 0; i < n; i++)
        total += (double)values[i];
    *to += total;
}

static void matmul(struct compute *c, const struct matmul *shape, void *to, const void *a, const void *b)
{
    struct strided s = {
        .form = shape->form,
        .m = shape->m,
        .n = shape->n,
        .k = shape->k,
        .alpha = 1,
        .lda = shape->form == MATMUL_TN ? shape->m : shape->k,
        .ldb = shape->form == MATMUL_NT ? shape->k : shape->n,
        .ldc = shape->n,
    };

    if (shape->accumulate)
        product_add(c, &s, to, a, b);
    else
        product(c, &s, to, a, b);
}

static void bias_add(struct compute *c, void *x, const void *bias, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        add(c, (real *)x + r * n, bias, n);
}

/* d[n] (main) += x[n] */
static void gather_row(wide *d, const real *x, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        d[i] += load(x[i]);
}

static void bias_gradient(struct compute *c, void *dbias, const void *dx, size_t rows, size_t n)
{
    (void)c;
    for (size_t r = 0; r < rows; r++)
        gather_row(dbias, (const real *)dx + r * n, n);
}

static const wide gelu_scale = (wide)0.79788456080286535588; /* sqrt(2 / pi) */
static const wide gelu_cubic = (wide)0.044715;

/* (1 + tanh(y)) / 2, as the logistic function of 2 y. */
static inline wide gelu_gate(wide x)
{
    return 1 / (1 + exponential(-2 * gelu_scale * (x + gelu_cubic * x * x * x)));
}

static void gelu_forward(struct compute *c, void *out, const void *x, size_t n)
{
    real *to = out;
    const real *from = x;

    (void)c;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        wide value = load(from[i]);

        to[i] = store(value * gelu_gate(value));
    }
}

static void gelu_backward(struct compute *c, void *dx, const void *dout, const void *x, size_t n)
{
    real *to = dx;
    const real *d = dout, *from = x;

    (void)c;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        wide value = load(from[i]), gate = gelu_gate(value);
        wide inner = gelu_scale * (1 + 3 * gelu_cubic * value * value);

        to[i] = store(load(d[i]) * (gate + 2 * value * gate * (1 - gate) * inner));
    }
}
