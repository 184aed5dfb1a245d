#include "type.h"

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [DTRAIN_FLOAT32] = {"float32", 4}, [DTRAIN_BFLOAT16] = {"bfloat16", 2},
    [DTRAIN_FLOAT16] = {"float16", 2}, [DTRAIN_FLOAT64] = {"float64", 8},
    [DTRAIN_INT32] = {"int32", 4},     [DTRAIN_INT64] = {"int64", 8},
    [DTRAIN_INT8] = {"int8", 1},
};

static const char *const ops[] = {
    [DTRAIN_SUM] = "sum",
    [DTRAIN_AVG] = "avg",
    [DTRAIN_MAX] = "max",
    [DTRAIN_MIN] = "min",
};

/* An enum that came from a caller or from a wire can hold any value. */
static bool type_is_valid(enum dtrain_type type)
{
    return (size_t)type < sizeof(types) / sizeof(types[0]);
}

bool dt_op_is_valid(enum dtrain_op op)
{
    return (size_t)op < sizeof(ops) / sizeof(ops[0]);
}

size_t dtrain_type_size(enum dtrain_type type)
{
    return type_is_valid(type) ? types[type].size : 0;
}

const char *dt_type_name(enum dtrain_type type)
{
    return type_is_valid(type) ? types[type].name : "?";
}

const char *dt_op_name(enum dtrain_op op)
{
    return dt_op_is_valid(op) ? ops[op] : "?";
}
