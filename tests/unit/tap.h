/*
 * tap.h - the Test Anything Protocol for unit tests. A test is a main() that
 * calls tap_ok() and friends and returns tap_done().
 */
#ifndef DT_TESTS_TAP_H
#define DT_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count;
static int tap_failures;

static inline bool __attribute__((format(printf, 2, 3))) tap_ok(bool ok, const char *name, ...)
{
    va_list args;

    tap_count++;
    tap_failures += !ok;
    printf("%sok %d - ", ok ? "" : "not ", tap_count);
    va_start(args, name);
    vprintf(name, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    return ok;
}

static inline void __attribute__((unused)) tap_skip(const char *name, const char *why)
{
    tap_count++;
    printf("ok %d - %s # SKIP %s\n", tap_count, name, why);
    fflush(stdout);
}

/* text holds words; otherwise the text is shown. words "" is always held. */
static inline bool __attribute__((unused)) tap_holds(const char *text, const char *words, const char *name)
{
    bool ok = tap_ok(strstr(text, words) != NULL, "%s", name);

    if (!ok)
        printf("# expected \"%s\" in: %s\n", words, text);
    return ok;
}

static inline int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failures ? 1 : 0;
}

#endif
