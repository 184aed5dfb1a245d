/*
 * log.h - one line at a time to one sink, chosen by whoever owns the log:
 * stderr in the library and the tools, Slurm's log in the plugin.
 */
#ifndef DT_CORE_LOG_H
#define DT_CORE_LOG_H

#include "error.h"

enum dt_log_level { DT_LOG_ERROR, DT_LOG_WARN, DT_LOG_INFO, DT_LOG_DEBUG };

#define DT_LOG_LINE_MAX 2048

struct dt_log {
    enum dt_log_level level; /* lines above it are dropped */
    /* line: no newline, NUL-terminated, valid during the call only. */
    void (*write)(void *context, enum dt_log_level level, const char *line);
    void *context;
};

/* log may be NULL. */
void dt_log(const struct dt_log *log, enum dt_log_level level, const char *fmt, ...)
    DT_PRINTF(3, 4);

/* "error", "warn", "info" or "debug" (the values of DTRAIN_LOG). */
int dt_log_level_parse(enum dt_log_level *level, const char *text, struct dtrain_error *err);

#endif
