#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void dt_log(const struct dt_log *log, enum dt_log_level level, const char *fmt, ...)
{
    char line[DT_LOG_LINE_MAX];
    va_list args;

    if (log == NULL || log->write == NULL || level > log->level)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    log->write(log->context, level, line);
}

int dt_log_level_parse(enum dt_log_level *level, const char *text, struct dtrain_error *err)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum dt_log_level)i;
            return 0;
        }
    }
    return dt_error_set(err, "log level '%.32s' is not known: use error, warn, info or debug", text);
}
