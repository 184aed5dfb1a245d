/* fake_report.c - broken contracts: a line each, a count, and the process's status. */
#include "fake.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic int violations;

int fake_env_int(const char *name, int otherwise)
{
    const char *text = getenv(name);
    char *end;
    long value;

    if (text == NULL || *text == '\0')
        return otherwise;
    errno = 0;
    value = strtol(text, &end, 10);
    if (*end == '\0' && errno == 0 && value >= -1000000000L && value <= 1000000000L)
        return (int)value;
    fprintf(stderr, "fake nccl: %s=%s is no number, %d is used\n", name, text, otherwise);
    return otherwise;
}

int fake_rank(void)
{
    return fake_env_int("FAKE_NCCL_RANK", fake_env_int("RANK", fake_env_int("SLURM_PROCID", -1)));
}

int64_t fake_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void fake_pause_us(long us)
{
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

void fake_violation(const char *fmt, ...)
{
    char text[1024], line[1100];
    va_list args;
    int length;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    length = snprintf(line, sizeof(line), "fake nccl: VIOLATION rank %d: %s\n", fake_rank(), text);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        perror("fake nccl: stderr");
    atomic_fetch_add(&violations, 1);
}

int fake_violation_count(void)
{
    return atomic_load(&violations);
}

void fake_report_end(void)
{
    const char *mode = getenv("FAKE_NCCL_VIOLATIONS");

    if (fake_violation_count() == 0 || (mode != NULL && strcmp(mode, "report") == 0))
        return;
    fflush(NULL);
    _exit(FAKE_EXIT_STATUS);
}
