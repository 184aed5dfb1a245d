/* type.h - element types and reductions by name, for messages and for checks. */
#ifndef DT_RUNTIME_TYPE_H
#define DT_RUNTIME_TYPE_H

#include "dtrain.h"

/* "float32", "sum"; "?" for a value that is none. */
const char *dt_type_name(enum dtrain_type type);
const char *dt_op_name(enum dtrain_op op);

bool dt_op_is_valid(enum dtrain_op op);

#endif
