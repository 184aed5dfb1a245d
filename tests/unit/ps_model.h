/*
 * ps_model.h - what training with parameter servers must compute, element by
 * element and in order, for tests to compare bit by bit. Numbers are doubles that
 * are rounded to the state's type after each operation, which for float32 is the
 * same as to compute in it.
 */
#ifndef DT_TESTS_PS_MODEL_H
#define DT_TESTS_PS_MODEL_H

#include "dtrain_ps.h"

#define PS_PARAMETERS 4
#define PS_ELEMENTS_MAX 600

/* The parameters of all tests; two of them need more than a block, one is empty. */
struct ps_model {
    struct dtrain_ps_options options; /* with all defaults filled */
    enum dtrain_type type, gradient_type;
    double weight[PS_ELEMENTS_MAX], first[PS_ELEMENTS_MAX], second[PS_ELEMENTS_MAX];
};

extern const size_t ps_counts[PS_PARAMETERS];
size_t ps_element(size_t parameter, size_t i); /* number among all */
size_t ps_elements(void);

void ps_model_init(struct ps_model *model, const struct dtrain_ps_options *options, enum dtrain_type type,
                   enum dtrain_type gradient_type);

/* What is pulled of an element. */
double ps_model_value(const struct ps_model *model, size_t element);

/* A worker's gradient of an element at a step, where it sees this value. */
double ps_gradient(const struct ps_model *model, int worker, uint64_t step, size_t element, double value);

/* An update of an element with n gradients, in order. */
void ps_model_update(struct ps_model *model, size_t element, const double *gradients, int n, uint64_t number);

/* The rate of the tests that have one. */
double ps_rate(void *context, uint64_t number);
/* The user's rule of the tests: w = w / 2 + g, which does not commute. On the host's memory, waits. */
int ps_user_rule(void *context, const struct dtrain_ps_update *update, struct dtrain_error *err);

/* A worker's or server's side: parameters with memory. */
struct ps_side {
    double values[PS_PARAMETERS][PS_ELEMENTS_MAX]; /* of any type */
    double gradients[PS_PARAMETERS][PS_ELEMENTS_MAX];
    struct dtrain_ps_parameter parameters[PS_PARAMETERS];
};
void ps_side_init(struct ps_side *side, const struct ps_model *model);
/* The gradients of a step, from the values that are there. */
void ps_side_compute(struct ps_side *side, const struct ps_model *model, int worker, uint64_t step);
/* The first element whose value has not the model's bits; -1: none. */
long ps_side_compare(const struct ps_side *side, const struct ps_model *model);

#endif
