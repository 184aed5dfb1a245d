/* fake_error.c - NCCL's version, results and last error; counts; faults. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_comm.h"
#include "fake_group.h"

#define TEXT_MAX 512
#define VERSION_LEAST 21800 /* of what the table does not name */

struct fake_nccl_counts fake_counts;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last_error[TEXT_MAX];

static const struct {
    const char *function;
    int since;
} newer[] = {
    {"ncclCommInitRankScalable", 22300}, {"ncclCommShrink", 22703},
    {"ncclCommRevoke", 22807},           {"ncclCommWindowRegister", 22703},
    {"ncclCommWindowDeregister", 22703}, {"ncclAlltoAll", 22803},
    {"ncclGather", 22803},               {"ncclScatter", 22803},
    {"ncclCommRegister", 21901},         {"ncclCommDeregister", 21901},
    {"ncclMemAlloc", 21901},             {"ncclMemFree", 21901},
    {"ncclGroupSimulateEnd", 22203},
};

void fake_count(int *count)
{
    pthread_mutex_lock(&lock);
    ++*count;
    pthread_mutex_unlock(&lock);
}

static int version(void)
{
    return fake_env_int("FAKE_NCCL_VERSION", NCCL_VERSION_CODE);
}

static ncclResult_t check_version(const char *function)
{
    for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
        if (strcmp(newer[i].function, function) == 0 && version() < newer[i].since)
            return fake_break(ncclInternalError, "%s is not in NCCL %d: it came with %d", function, version(),
                              newer[i].since);
    return ncclSuccess;
}

ncclResult_t fake_enter(const char *function, struct fake_fault *fault)
{
    struct fake_fault found = fake_fault_take(function);
    ncclResult_t result = check_version(function);

    if (result != ncclSuccess)
        return result;
    if (found.kind == FAKE_FAULT_RESULT)
        return fake_fail((ncclResult_t)found.result, "%s: fault on demand", function);
    if (fault != NULL)
        *fault = found;
    else if (found.kind != FAKE_FAULT_NONE)
        return fake_break(ncclInvalidUsage, "%s cannot be told to fail in this way", function);
    return ncclSuccess;
}

static ncclResult_t fail(ncclResult_t result, const char *text)
{
    pthread_mutex_lock(&lock);
    snprintf(last_error, sizeof(last_error), "%s", text);
    pthread_mutex_unlock(&lock);
    fake_group_note(result);
    return result;
}

ncclResult_t fake_fail(ncclResult_t result, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return fail(result, text);
}

ncclResult_t fake_break(ncclResult_t result, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fake_violation("%s", text);
    return fail(result, text);
}

int fake_nccl_fail(const char *text)
{
    return fake_fault_add(text) ? 0 : -1;
}

ncclResult_t ncclGetVersion(int *out)
{
    ncclResult_t result = fake_enter("ncclGetVersion", NULL);

    if (result != ncclSuccess)
        return result;
    if (out == NULL)
        return fake_fail(ncclInvalidArgument, "ncclGetVersion: the version is NULL");
    *out = version();
    return ncclSuccess;
}

const char *ncclGetLastError(ncclComm_t comm)
{
    static _Thread_local char text[TEXT_MAX];

    (void)comm;
    pthread_mutex_lock(&lock);
    memcpy(text, last_error, sizeof(text));
    pthread_mutex_unlock(&lock);
    return text;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        [ncclSystemError] = "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        [ncclInternalError] = "internal error - please report this issue to the NCCL developers",
        [ncclInvalidArgument] = "invalid argument (run with NCCL_DEBUG=WARN for details)",
        [ncclInvalidUsage] = "invalid usage (run with NCCL_DEBUG=WARN for details)",
        [ncclRemoteError] = "remote process exited or there was a network error",
        [ncclInProgress] = "NCCL operation in progress",
    };

    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}
