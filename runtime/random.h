/* random.h - bytes that nobody can guess, for tokens and names. */
#ifndef DT_RUNTIME_RANDOM_H
#define DT_RUNTIME_RANDOM_H

#include <stddef.h>

#include "core/error.h"

/* Fills size bytes from the kernel's generator. */
int dt_random_fill(void *bytes, size_t size, struct dtrain_error *err);

#endif
