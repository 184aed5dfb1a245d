/* operation.h - the names of operations, for messages. */
#ifndef DT_RUNTIME_OPERATION_H
#define DT_RUNTIME_OPERATION_H

#include "runtime/backend.h"

/* "all_reduce"; "?" for a value that is none. */
const char *dt_operation_kind_name(enum dt_operation_kind kind);
/* The same; "send" and "recv" for a transfer of one. */
const char *dt_operation_name(const struct dt_operation *operation);

#endif
