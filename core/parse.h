/*
 * parse.h - numbers and words from text that may be hostile. Every function
 * consumes its whole input, refuses what it does not understand, and names
 * `what` (for instance "--dtrain-tp") and the value in its error.
 */
#ifndef DT_CORE_PARSE_H
#define DT_CORE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

/* A value printed in an error is cut to this many bytes, control characters replaced by '?'. */
#define DT_PARSE_SHOWN_MAX 64

/* '0' to '9', whatever the locale. */
static inline bool dt_parse_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Decimal digits only (no sign, no blank, no 0x), min <= *value <= max. text may be NULL (refused). */
int dt_parse_u64(uint64_t *value, const char *text, uint64_t min, uint64_t max, const char *what,
                 struct dtrain_error *err);
int dt_parse_u32(uint32_t *value, const char *text, uint32_t min, uint32_t max, const char *what,
                 struct dtrain_error *err);

/* Seconds with an optional fraction ("0.5", "120") to milliseconds, 1 ms .. 2^31-1 ms. */
int dt_parse_seconds_ms(int *value_ms, const char *text, const char *what,
                        struct dtrain_error *err);

/* text equals one of n words: its index in *index; else the error lists the words. */
int dt_parse_word(unsigned *index, const char *text, const char *const *words, unsigned n,
                  const char *what, struct dtrain_error *err);

/* Cuts any of blanks off both ends, in place. Returns the first byte that is left. */
char *dt_parse_trim(char *text, const char *blanks);

/* A copy of text fit for an error message: at most DT_PARSE_SHOWN_MAX bytes, printable. Returns buf. */
char *dt_parse_shown(char buf[DT_PARSE_SHOWN_MAX + 4], const char *text);

/*
 * Slurm's task counts: "2(x3),1" is 2,2,2,1. *counts gets exactly *n entries,
 * malloc'd, the caller frees. Refuses more than max_n entries, a count over
 * max_count, a repeat of 0, blanks, and anything malformed or empty.
 */
int dt_parse_task_counts(uint32_t **counts, uint32_t *n, const char *text, uint32_t max_n,
                         uint32_t max_count, const char *what, struct dtrain_error *err);

#endif
