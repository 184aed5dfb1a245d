/*
 * attention_cpu.h - causal attention of compute_cpu.c, one head of one sequence
 * at a time; compute.h says what the operations do.
 */
#ifndef TRAIN_ATTENTION_CPU_H
#define TRAIN_ATTENTION_CPU_H

#include "compute.h"

void attention_cpu_forward(const struct attention *shape, float *out, float *probabilities, const float *qkv);
void attention_cpu_backward(const struct attention *shape, float *dqkv, float *scratch, const float *dout,
                            const float *qkv, const float *probabilities);

#endif
