/*
 * error.h - filling a struct dtrain_error. The report is the return value:
 *     return error_set(err, "...");
 */
#ifndef TRAIN_ERROR_H
#define TRAIN_ERROR_H

#include "dtrain.h"

/* Always returns -1. err may be NULL. */
int error_set(struct dtrain_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "cannot allocate N bytes for WHAT". Always returns -1. */
int error_memory(struct dtrain_error *err, size_t bytes, const char *what);

#endif
