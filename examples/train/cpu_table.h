/* cpu_table.h - the table of a type's operations; the end of cpu_TYPE.c, see cpu.h. */

const struct compute_ops CPU_OPS = {
    .close = cpu_close,
    .zero = cpu_zero,
    .add = add,
    .cast = cast,
    .sum = sum,
    .matmul = matmul,
    .bias_add = bias_add,
    .bias_gradient = bias_gradient,
    .norm_forward = norm_forward,
    .norm_backward = norm_backward,
    .gelu_forward = gelu_forward,
    .gelu_backward = gelu_backward,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
};
