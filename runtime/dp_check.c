#include "core/error.h"
#include "dp.h"
#include "runtime/type.h"

#define FLAGS (DTRAIN_PARAMETER_TP_SHARD | DTRAIN_PARAMETER_EXPERT | DTRAIN_PARAMETER_UNCOUNTED)
#define BYTES_MAX ((size_t)PTRDIFF_MAX / 16) /* of all parameters: no offset or sum overflows */

bool dt_dp_type_is_float(enum dtrain_type type)
{
    return type == DTRAIN_FLOAT32 || type == DTRAIN_FLOAT64 || type == DTRAIN_BFLOAT16 ||
           type == DTRAIN_FLOAT16;
}

static int check_options(const struct dtrain_dp_options *options, struct dtrain_error *err)
{
    if (options->zero_stage < 0 || options->zero_stage > 2)
        return dt_error_set(err, "dtrain_dp_create: zero_stage is %d: expected 0, 1 or 2",
                            options->zero_stage);
    if (options->zero_stage > 0 && !options->holds_storage)
        return dt_error_set(
            err, "dtrain_dp_create: zero_stage %d needs holds_storage: shards are parts of buckets",
            options->zero_stage);
    return 0;
}

static int check_type(size_t index, const struct dtrain_parameter *p, const char *field,
                      enum dtrain_type type, struct dtrain_error *err)
{
    if (dt_dp_type_is_float(type))
        return 0;
    return dt_error_set(err,
                        "dtrain_dp_create: parameter %zu (%s): %s is %s (%d): expected float32, float64, "
                        "bfloat16 or float16",
                        index, p->name, field, dt_type_name(type), (int)type);
}

static int check_buffer(size_t index, const struct dtrain_parameter *p, const char *field, const void *buffer,
                        enum dtrain_type type, bool is_held, struct dtrain_error *err)
{
    if (is_held && buffer != NULL)
        return dt_error_set(
            err,
            "dtrain_dp_create: parameter %zu (%s): %s is %p: with holds_storage it is NULL, and "
            "dp says where it lies",
            index, p->name, field, buffer);
    if (!is_held && buffer == NULL && p->count > 0)
        return dt_error_set(err,
                            "dtrain_dp_create: parameter %zu (%s): %s is NULL: give its address, or set "
                            "holds_storage",
                            index, p->name, field);
    if ((uintptr_t)buffer % dtrain_type_size(type) != 0)
        return dt_error_set(
            err, "dtrain_dp_create: parameter %zu (%s): %s is at %p: %s must be aligned to %zu bytes", index,
            p->name, field, buffer, dt_type_name(type), dtrain_type_size(type));
    return 0;
}

/* left: bytes that may still come. */
static int check_size(size_t index, const struct dtrain_parameter *p, size_t *left, struct dtrain_error *err)
{
    size_t widest = sizeof(double), room = *left / widest;

    if (p->count >= room || room - p->count < DT_DP_ALIGNMENT)
        return dt_error_set(err,
                            "dtrain_dp_create: parameter %zu (%s): count is %zu: more than memory can hold",
                            index, p->name, p->count);
    *left -= (p->count + DT_DP_ALIGNMENT) * widest;
    return 0;
}

static int check_parameter(size_t index, const struct dtrain_parameter *p,
                           const struct dtrain_dp_options *options, size_t *left, struct dtrain_error *err)
{
    bool is_cast = options->reduce_in_float32 && dtrain_type_size(p->gradient_type) == 2;

    if (p->name == NULL || p->name[0] == '\0')
        return dt_error_set(err, "dtrain_dp_create: parameter %zu has no name: errors need one", index);
    if (check_type(index, p, "type", p->type, err) < 0 ||
        check_type(index, p, "gradient_type", p->gradient_type, err) < 0 ||
        check_size(index, p, left, err) < 0 ||
        check_buffer(index, p, "value", p->value, p->type, options->holds_storage, err) < 0 ||
        check_buffer(index, p, "gradient", p->gradient, p->gradient_type, options->holds_storage, err) < 0)
        return -1;
    if ((p->flags & ~(unsigned)FLAGS) != 0)
        return dt_error_set(err,
                            "dtrain_dp_create: parameter %zu (%s): flags 0x%x have bits that are not known",
                            index, p->name, p->flags);
    if (p->group < 0)
        return dt_error_set(err, "dtrain_dp_create: parameter %zu (%s): group is %d: expected 0 or more",
                            index, p->name, p->group);
    if (options->holds_storage && is_cast)
        return dt_error_set(
            err,
            "dtrain_dp_create: parameter %zu (%s): reduce_in_float32 with holds_storage needs "
            "gradient_type float32, not %s",
            index, p->name, dt_type_name(p->gradient_type));
    return 0;
}

int dt_dp_check_registered(const struct dtrain_parameter *parameters, size_t n,
                           const struct dtrain_dp_options *options, struct dtrain_error *err)
{
    size_t left = BYTES_MAX;

    if (parameters == NULL && n > 0)
        return dt_error_set(err, "dtrain_dp_create: parameters is NULL but n is %zu", n);
    if (check_options(options, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (check_parameter(i, &parameters[i], options, &left, err) < 0)
            return -1;
    return 0;
}

int dt_dp_check_alive(const struct dtrain_dp *dp, struct dtrain_error *err)
{
    return dp->has_failed ? dt_error_set(err, "%s", dp->failure.text) : 0;
}

int dt_dp_check_index(const struct dtrain_dp *dp, const char *function, size_t index,
                      struct dtrain_error *err)
{
    if (index < dp->n)
        return 0;
    return dt_error_set(err, "%s: index is %zu: %zu parameters were registered", function, index, dp->n);
}
