/*
 * fuzz.h - what a harness gives to libFuzzer or to driver.c. A harness hands
 * hostile bytes to one reader; what the reader accepts must hold its promises.
 */
#ifndef DT_TESTS_FUZZ_H
#define DT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char dt_fuzz_name[];
extern const char *const dt_fuzz_seeds[]; /* ends with NULL */
extern unsigned long dt_fuzz_accepted;    /* inputs that the reader took */

/* Always 0; a broken promise aborts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A copy with a NUL behind it, of exactly that size, so that a sanitizer sees a read past it. */
char *dt_fuzz_text(const uint8_t *data, size_t n);

/* Aborts with the text when the promise does not hold. */
void dt_fuzz_require(bool holds, const char *promise);

#endif
