/* math_value.h - one element of any floating-point type, as a double and back. */
#ifndef DT_RUNTIME_MATH_VALUE_H
#define DT_RUNTIME_MATH_VALUE_H

#include "runtime/host_half.h"
#include "runtime/math.h"

static inline double dt_math_load(const void *x, enum dtrain_type type, size_t i)
{
    if (type == DTRAIN_FLOAT64)
        return ((const double *)x)[i];
    if (type == DTRAIN_FLOAT32)
        return ((const float *)x)[i];
    return type == DTRAIN_BFLOAT16 ? dt_float_of_bf16(((const uint16_t *)x)[i])
                                   : dt_float_of_f16(((const uint16_t *)x)[i]);
}

/* Halves are rounded from float, as a device does. */
static inline void dt_math_store(void *x, enum dtrain_type type, size_t i, double value)
{
    if (type == DTRAIN_FLOAT64)
        ((double *)x)[i] = value;
    else if (type == DTRAIN_FLOAT32)
        ((float *)x)[i] = (float)value;
    else
        ((uint16_t *)x)[i] = type == DTRAIN_BFLOAT16 ? dt_bf16_of_float((float)value)
                                                     : dt_f16_of_float((float)value);
}

#endif
