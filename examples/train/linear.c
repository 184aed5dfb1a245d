#include "linear.h"

/* What the library's callbacks work on: all T rows. */
struct task {
    const struct region *region;
    const struct linear *linear;
    const void *x;
    void *y, *dx;
    const void *dy;
    size_t bias_rows; /* of dy, that the bias was added to */
    const void *bias_dy;
};

void region_allocate(struct region *region, struct memory *memory)
{
    size_t count = region->shape->rows * region->shape->hidden;

    if (!region->grid->moves.is_sequence)
        return;
    region->whole = memory_values(memory, count);
    region->dwhole = memory_values(memory, count);
}

static struct compute *compute_of(const struct task *task)
{
    return task->region->grid->compute;
}

static void *row_of(const struct task *task, const void *x, size_t row, size_t width)
{
    return compute_at(x, compute_of(task)->type, row * width);
}

static int product(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    const struct task *task = context;
    const struct linear *l = task->linear;
    struct compute *c = compute_of(task);
    struct matmul shape = {l->is_turned ? MATMUL_NT : MATMUL_NN, count, l->out, l->in, false};

    (void)err;
    c->ops->matmul(c, &shape, row_of(task, task->y, first, l->out), row_of(task, task->x, first, l->in),
                   model_weight(l->model, l->weight));
    return 0;
}

static int input_gradient(void *context, size_t first, size_t count, struct dtrain_error *err)
{
    const struct task *task = context;
    const struct linear *l = task->linear;
    struct compute *c = compute_of(task);
    struct matmul shape = {l->is_turned ? MATMUL_NN : MATMUL_NT, count, l->in, l->out, false};

    (void)err;
    c->ops->matmul(c, &shape, row_of(task, task->dx, first, l->in), row_of(task, task->dy, first, l->out),
                   model_weight(l->model, l->weight));
    return 0;
}

static int bias_gradient(const struct task *task, struct dtrain_error *err)
{
    const struct linear *l = task->linear;
    struct compute *c = compute_of(task);
    void *gradient;

    if (l->bias == LINEAR_NO_BIAS)
        return 0;
    if (model_gradient(l->model, l->bias, &gradient, err) != 0)
        return -1;
    c->ops->bias_gradient(c, gradient, task->bias_dy, task->bias_rows, l->out);
    return 0;
}

static int weight_gradient_now(const struct task *task, struct dtrain_error *err)
{
    const struct linear *l = task->linear;
    struct compute *c = compute_of(task);
    size_t rows = task->region->shape->rows;
    struct matmul straight = {MATMUL_TN, l->in, l->out, rows, true};
    struct matmul turned = {MATMUL_TN, l->out, l->in, rows, true};
    void *gradient;

    if (bias_gradient(task, err) != 0 || model_gradient(l->model, l->weight, &gradient, err) != 0)
        return -1;
    if (l->is_turned)
        c->ops->matmul(c, &turned, gradient, task->dy, task->x);
    else
        c->ops->matmul(c, &straight, gradient, task->x, task->dy);
    return 0;
}

static int weight_gradient(void *context, struct dtrain_error *err)
{
    const struct task *task = context;

    return task->region->splits_backward ? 0 : weight_gradient_now(task, err);
}

static struct dtrain_tp_linear moves_of(struct task *task)
{
    return (struct dtrain_tp_linear){
        .rows = task->region->shape->rows,
        .product = product,
        .input_gradient = input_gradient,
        .weight_gradient = weight_gradient,
        .context = task,
    };
}

static const struct dtrain_tp *tp_of(const struct region *region)
{
    return &region->grid->moves;
}

/* The buffer of all rows; without sequence parallel the own ones are all. */
static void *whole_or(void *whole, const void *own)
{
    return whole != NULL ? whole : (void *)own;
}

static void add_bias(const struct region *region, const struct linear *l, void *y, size_t rows)
{
    struct compute *c = region->grid->compute;

    if (l->bias != LINEAR_NO_BIAS)
        c->ops->bias_add(c, y, model_weight(l->model, l->bias), rows, l->out);
}

int linear_column_forward(const struct region *region, const struct linear *linear, void *y, const void *x,
                          struct dtrain_error *err)
{
    struct task task = {.region = region, .linear = linear, .x = whole_or(region->whole, x), .y = y};
    struct dtrain_tp_linear moves = moves_of(&task);

    if (dtrain_tp_column_forward(tp_of(region), &moves, x, (void *)task.x, linear->in, err) != 0)
        return -1;
    add_bias(region, linear, y, region->shape->rows);
    return 0;
}

static struct task column_task(const struct region *region, const struct linear *linear, void *dx,
                               const void *x, const void *dy)
{
    return (struct task){
        .region = region,
        .linear = linear,
        .x = whole_or(region->whole, x),
        .dx = dx == NULL ? NULL : whole_or(region->dwhole, dx),
        .dy = dy,
        .bias_dy = dy,
        .bias_rows = region->shape->rows,
    };
}

int linear_column_backward(const struct region *region, const struct linear *linear, void *dx, const void *x,
                           const void *dy, struct dtrain_error *err)
{
    struct task task = column_task(region, linear, dx, x, dy);
    struct dtrain_tp_linear moves = moves_of(&task);

    return dtrain_tp_column_backward(tp_of(region), &moves, x, (void *)task.x, task.dx, dx, linear->in, err);
}

int linear_column_weights(const struct region *region, const struct linear *linear, const void *x,
                          const void *dy, struct dtrain_error *err)
{
    struct task task = column_task(region, linear, NULL, x, dy);

    if (region->whole != NULL &&
        (dtrain_tp_f_forward(tp_of(region), x, region->whole, region->shape->rows, linear->in, err) != 0 ||
         dtrain_tp_finish(tp_of(region), err) != 0))
        return -1;
    return weight_gradient_now(&task, err);
}

int linear_row_forward(const struct region *region, const struct linear *linear, void *y, const void *x,
                       struct dtrain_error *err)
{
    struct task task = {.region = region, .linear = linear, .x = x, .y = whole_or(region->whole, y)};
    struct dtrain_tp_linear moves = moves_of(&task);

    if (dtrain_tp_row_forward(tp_of(region), &moves, 1, task.y, y, linear->out, err) != 0)
        return -1;
    add_bias(region, linear, y, region->shape->own.count);
    return 0;
}

static struct task row_task(const struct region *region, const struct linear *linear, void *dx, const void *x,
                            const void *dy)
{
    return (struct task){
        .region = region,
        .linear = linear,
        .x = x,
        .dx = dx,
        .dy = whole_or(region->whole, dy),
        .bias_dy = dy,
        .bias_rows = region->shape->own.count,
    };
}

int linear_row_backward(const struct region *region, const struct linear *linear, void *dx, const void *x,
                        const void *dy, struct dtrain_error *err)
{
    struct task task = row_task(region, linear, dx, x, dy);
    struct dtrain_tp_linear moves = moves_of(&task);

    return dtrain_tp_row_backward(tp_of(region), &moves, dy, (void *)task.dy, linear->out, err);
}

int linear_row_weights(const struct region *region, const struct linear *linear, const void *x,
                       const void *dy, struct dtrain_error *err)
{
    struct task task = row_task(region, linear, NULL, x, dy);

    if (region->whole != NULL &&
        (dtrain_tp_g_backward(tp_of(region), dy, region->whole, region->shape->rows, linear->out, err) != 0 ||
         dtrain_tp_finish(tp_of(region), err) != 0))
        return -1;
    return weight_gradient_now(&task, err);
}
