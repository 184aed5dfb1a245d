/*
 * error.h - filling a struct dtrain_error. The report is the return value:
 *     return dt_error_set(err, "...");
 */
#ifndef DT_CORE_ERROR_H
#define DT_CORE_ERROR_H

#include "dtrain.h"

#define DT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Always returns -1. err may be NULL. Text past DTRAIN_ERROR_MAX ends in "...". */
int dt_error_set(struct dtrain_error *err, const char *fmt, ...) DT_PRINTF(2, 3);

/* Puts "prefix: " in front of what err holds already. Always returns -1. */
int dt_error_prefix(struct dtrain_error *err, const char *fmt, ...) DT_PRINTF(2, 3);

/* "cannot allocate N bytes for WHAT". Always returns -1. */
int dt_error_memory(struct dtrain_error *err, size_t bytes, const char *what);

#endif
