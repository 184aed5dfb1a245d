#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "error.h"

static const struct compute_ops *ops_of(enum dtrain_type type)
{
    if (type == DTRAIN_FLOAT64)
        return &cpu_float64_ops;
    return type == DTRAIN_BFLOAT16 ? &cpu_bfloat16_ops : &cpu_float32_ops;
}

int compute_cpu_open(struct compute *c, struct dtrain_error *err)
{
    c->state = calloc(1, sizeof(struct cpu_state));
    if (c->state == NULL)
        return error_memory(err, sizeof(struct cpu_state), "the compute device");
    /* The ranks of a node share its cores: a pool of threads in each would fight over them. */
    openblas_set_num_threads(1);
    c->ops = ops_of(c->type);
    return 0;
}

void cpu_close(struct compute *c)
{
    struct cpu_state *state = c->state;

    free(state->scratch);
    free(state);
}

float *cpu_scratch(struct compute *c, size_t floats)
{
    struct cpu_state *state = c->state;

    if (floats <= state->floats)
        return state->scratch;
    free(state->scratch);
    state->scratch = malloc(floats * sizeof(float));
    state->floats = state->scratch == NULL ? 0 : floats;
    if (state->scratch == NULL)
        compute_fail(c, "cannot allocate %zu bytes for a product of bfloat16 matrices",
                     floats * sizeof(float));
    return state->scratch;
}

void cpu_zero(struct compute *c, void *x, size_t bytes)
{
    (void)c;
    memset(x, 0, bytes);
}

ptrdiff_t cpu_held_row(const struct vocabulary *held, int32_t token)
{
    size_t row = (size_t)token - held->first;

    return (size_t)token >= held->first && row < held->real ? (ptrdiff_t)row : -1;
}
