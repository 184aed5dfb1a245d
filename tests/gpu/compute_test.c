/* examples/train's operations on a GPU beside those on a CPU: each one, forward and backward, in every type.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "gpu.h"
#include "tests/unit/tap.h"
#include "tests/unit/train_ops.h"

static const struct type_row {
    enum dtrain_type type;
    const char *name;
    double tolerance;
} types[] = {
    {DTRAIN_FLOAT64, "float64", 1e-10},
    {DTRAIN_FLOAT32, "float32", 1e-4},
    {DTRAIN_BFLOAT16, "bfloat16", 2e-2},
};
static const struct type_row *row_type; /* of the row that runs; its process has it from here */

/* Fewer than a warp, more than a block, and what divides by nothing. */
static const struct ops_dims sizes[] = {
    {.rows = 5, .width = 8, .depth = 3, .attention = {1, 4, 1, 2}},
    {.rows = 9, .width = 301, .depth = 37, .attention = {2, 17, 2, 4}},
    {.rows = 3, .width = 600, .depth = 33, .attention = {1, 270, 1, 4}},
    {.rows = 67, .width = 301, .depth = 129, .attention = {3, 37, 2, 16}},
    {.rows = 300, .width = 1024, .depth = 256, .attention = {2, 300, 3, 64}},
};

/* From the build tree: beside this test there is none. */
static int open_gpu(struct compute *c, struct dtrain_world *world, enum dtrain_type type,
                    struct dtrain_error *err)
{
    const char *folder = getenv("DT_BUILDDIR");
    compute_open_function *open = NULL;
    char path[4096];
    void *module;

    *c = (struct compute){.world = world, .type = type, .main = compute_main_type(type)};
    snprintf(path, sizeof(path), "%s/%s", folder != NULL ? folder : ".", gpu_kind.compute);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module != NULL)
        *(void **)&open = dlsym(module, COMPUTE_MODULE_SYMBOL);
    if (open != NULL)
        return open(c, err);
    snprintf(err->text, sizeof(err->text), "%s", dlerror());
    return -1;
}

/* Runs one direction on both; the distance, or infinity. */
static double distance(struct compute *gpu, struct compute *cpu, const struct ops_row *row,
                       const struct ops_dims *dims, bool is_backward)
{
    struct ops_size size = row->size(dims);
    size_t n = is_backward ? size.inputs : size.outputs;
    double *in = calloc(size.inputs, sizeof(*in)), *dout = calloc(size.outputs, sizeof(*dout));
    double *got = calloc(n, sizeof(*got)), *want = calloc(n, sizeof(*want)), worst = INFINITY;
    int rc;

    ops_random(in, size.inputs, 1);
    ops_random(dout, size.outputs, 2);
    if (is_backward)
        rc = row->backward(gpu, dims, in, dout, got) | row->backward(cpu, dims, in, dout, want);
    else
        rc = row->forward(gpu, dims, in, got) | row->forward(cpu, dims, in, want);
    /* Sums are as long as the sizes: their errors are measured against the largest value. */
    if (rc == 0) {
        double largest = 1;

        for (size_t i = 0; i < n; i++)
            largest = fmax(largest, fabs(want[i]));
        worst = 0;
        for (size_t i = 0; i < n; i++)
            worst = isnan(got[i]) ? INFINITY : fmax(worst, fabs(got[i] - want[i]) / largest);
    }
    free(in);
    free(dout);
    free(got);
    free(want);
    return worst;
}

static void try_type(struct compute *gpu, struct compute *cpu, double tolerance, char said[FORK_TEXT_MAX])
{
    for (size_t i = 0; i < ops_count * 2 && said[0] == '\0'; i++) {
        const struct ops_row *row = &ops_rows[i / 2];
        bool is_backward = i % 2 == 1;

        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]) && said[0] == '\0'; k++) {
            double worst;

            if (sizes[k].rows * sizes[k].width > gpu_kind.most)
                continue;
            worst =
                is_backward && row->backward == NULL ? 0 : distance(gpu, cpu, row, &sizes[k], is_backward);

            if (!(worst <= tolerance))
                snprintf(said, FORK_TEXT_MAX, "%s%s, size %zu: %g apart; %.300s", row->name,
                         is_backward ? " backward" : "", k, worst, gpu->failure.text);
        }
    }
}

static void body(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *device = NULL, *host = NULL;
    struct compute gpu = {.ops = NULL}, *cpu = NULL;
    struct dtrain_error err = {""};
    int rc = fork_init(&device, step, rank, NULL, NULL, &err);

    said[0] = '\0';
    if (rc == 0)
        rc = dtrain_init(&host, NULL, &err); /* beside this test lies no module: the host's */
    if (rc == 0)
        rc = open_gpu(&gpu, device, row_type->type, &err);
    if (rc == 0)
        rc = compute_open(&cpu, host, row_type->type, &err);
    if (rc == 0)
        try_type(&gpu, cpu, row_type->tolerance, said);
    compute_close(cpu);
    if (gpu.ops != NULL)
        gpu.ops->close(&gpu);
    if (said[0] == '\0')
        snprintf(said, FORK_TEXT_MAX, "%s", rc == 0 ? "well" : err.text);
    dtrain_finalize(host, NULL);
    dtrain_finalize(device, NULL);
}

int main(void)
{
    const char *order;
    char why[256];

    if (gpu_count(why, sizeof(why)) == 0)
        return gpu_skip(why);
    for (size_t k = 0; (order = gpu_order(k)) != NULL; k++) {
        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
            row_type = &types[i];
            tap_ok(gpu_run("operations", (struct fork_layout){1, 1, 1, 1, 1}, body),
                   "%s: each operation is the CPU's%s", types[i].name, order);
        }
    }
    return tap_done();
}
