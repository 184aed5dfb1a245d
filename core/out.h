/*
 * out.h - buffered text to a sink, fast enough for a plan of a million ranks.
 * The first failed write is remembered; later calls do nothing.
 */
#ifndef DT_CORE_OUT_H
#define DT_CORE_OUT_H

#include <stdint.h>

#include "error.h"

#define DT_OUT_BUFFER 65536

struct dt_out {
    /* Writes all n bytes: 0, or -1 with errno. */
    int (*write)(void *context, const char *text, size_t n);
    void *context;
    int failed; /* errno of the first failed write, 0: none */
    size_t used;
    char buffer[DT_OUT_BUFFER];
};

void dt_out_init(struct dt_out *out, int (*write)(void *, const char *, size_t), void *context);
void dt_out_text(struct dt_out *out, const char *text);
void dt_out_u64(struct dt_out *out, uint64_t value);
void dt_out_printf(struct dt_out *out, const char *fmt, ...) DT_PRINTF(2, 3);
/* A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void dt_out_json(struct dt_out *out, const char *text);
/* Writes what is buffered; -1 with the reason when any write failed. */
int dt_out_flush(struct dt_out *out, struct dtrain_error *err);

#endif
