#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "ps.h"
#include "runtime/type.h"

#define BYTES_MAX ((size_t)PTRDIFF_MAX / 64) /* of all parameters: no offset or sum overflows */

bool dt_ps_type_is_float(enum dtrain_type type)
{
    return type == DTRAIN_FLOAT32 || type == DTRAIN_FLOAT64 || type == DTRAIN_BFLOAT16 ||
           type == DTRAIN_FLOAT16;
}

static int check_type(size_t index, const struct dtrain_ps_parameter *p, const char *field,
                      enum dtrain_type type, struct dtrain_error *err)
{
    if (dt_ps_type_is_float(type))
        return 0;
    return dt_error_set(err,
                        "dtrain_ps_create: parameter %zu (%s): %s is %s (%d): expected float32, float64, "
                        "bfloat16 or float16",
                        index, p->name, field, dt_type_name(type), (int)type);
}

static int check_buffer(size_t index, const struct dtrain_ps_parameter *p, const char *field,
                        const void *buffer, enum dtrain_type type, struct dtrain_error *err)
{
    if ((uintptr_t)buffer % dtrain_type_size(type) == 0)
        return 0;
    return dt_error_set(err,
                        "dtrain_ps_create: parameter %zu (%s): %s is at %p: %s must be aligned to %zu bytes",
                        index, p->name, field, buffer, dt_type_name(type), dtrain_type_size(type));
}

/* left: bytes that may still come. */
static int check_parameter(size_t index, const struct dtrain_ps_parameter *p, size_t *left,
                           struct dtrain_error *err)
{
    if (p->name == NULL || p->name[0] == '\0')
        return dt_error_set(err, "dtrain_ps_create: parameter %zu has no name: errors need one", index);
    if (check_type(index, p, "type", p->type, err) < 0 ||
        check_type(index, p, "gradient_type", p->gradient_type, err) < 0 ||
        check_buffer(index, p, "value", p->value, p->type, err) < 0 ||
        check_buffer(index, p, "gradient", p->gradient, p->gradient_type, err) < 0)
        return -1;
    if (p->count > *left / sizeof(double))
        return dt_error_set(err,
                            "dtrain_ps_create: parameter %zu (%s): count is %zu: more than memory can hold",
                            index, p->name, p->count);
    *left -= p->count * sizeof(double);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct dtrain_ps_parameter *parameters, size_t n, struct dtrain_error *err)
{
    const char **names = malloc(n * sizeof(*names));
    int rc = 0;

    if (names == NULL)
        return dt_error_memory(err, n * sizeof(*names), "the parameters' names");
    for (size_t i = 0; i < n; i++)
        names[i] = parameters[i].name;
    qsort(names, n, sizeof(*names), compare_names);
    for (size_t i = 1; i < n && rc == 0; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = dt_error_set(err, "dtrain_ps_create: two parameters are called %s: register each once",
                              names[i]);
    free(names);
    return rc;
}

static int check_factor(const char *name, double value, double least, double end, struct dtrain_error *err)
{
    if (value >= least && value < end)
        return 0;
    return dt_error_set(err, "dtrain_ps_create: %s is %g: expected %g or more, less than %g", name, value,
                        least, end);
}

static int check_options(const struct dtrain_ps_options *o, struct dtrain_error *err)
{
    if (o->staleness < DTRAIN_PS_UNBOUNDED)
        return dt_error_set(err, "dtrain_ps_create: staleness is %d: expected 0 or more, or %d (unbounded)",
                            o->staleness, DTRAIN_PS_UNBOUNDED);
    if (o->rule != DTRAIN_PS_SGD && o->rule != DTRAIN_PS_ADAMW && o->rule != DTRAIN_PS_USER)
        return dt_error_set(err, "dtrain_ps_create: rule is %d: there is none such", (int)o->rule);
    if (o->rule == DTRAIN_PS_USER && o->update == NULL)
        return dt_error_set(err, "dtrain_ps_create: rule DTRAIN_PS_USER needs update, which is NULL");
    if (o->servers != NULL && o->server_count == 0)
        return dt_error_set(err,
                            "dtrain_ps_create: servers is given but server_count is 0: there is no server");
    if (check_factor("lr", o->lr, 0, HUGE_VAL, err) < 0 ||
        check_factor("decay", o->decay, 0, HUGE_VAL, err) < 0 ||
        check_factor("momentum", o->momentum, 0, 1, err) < 0 ||
        check_factor("beta1", o->beta1, 0, 1, err) < 0 || check_factor("beta2", o->beta2, 0, 1, err) < 0)
        return -1;
    return check_factor("epsilon", o->epsilon, 0, HUGE_VAL, err);
}

int dt_ps_check(const struct dtrain_ps_parameter *parameters, size_t n,
                const struct dtrain_ps_options *options, struct dtrain_error *err)
{
    size_t left = BYTES_MAX, count = 0;

    if (parameters == NULL || n == 0)
        return dt_error_set(err, "dtrain_ps_create: there are no parameters (%s)",
                            n == 0 ? "n is 0" : "parameters is NULL");
    for (size_t i = 0; i < n; i++) {
        if (check_parameter(i, &parameters[i], &left, err) < 0)
            return -1;
        count += parameters[i].count;
    }
    if (count == 0)
        return dt_error_set(err, "dtrain_ps_create: all %zu parameters have a count of 0", n);
    if (check_names(parameters, n, err) < 0)
        return -1;
    return check_options(options, err);
}
