/*
 * fake_fault.c - faults on demand: FAKE_NCCL_FAIL holds
 * "function:invocation:what[@rank=R]", several separated by ';'. invocation
 * counts from 1, '*' is each one. what: a result by name or number
 * (ncclSystemError, cudaErrorMemoryAllocation), "async-RESULT", "hang",
 * "never" or "stuck".
 */
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define FAULTS_MAX 64
#define NAME_MAX_ 48

struct fault {
    char function[NAME_MAX_];
    int invocation; /* 0: each one */
    int rank;       /* -1: all */
    int seen;
    struct fake_fault fault;
};

static struct {
    pthread_mutex_t lock;
    bool is_read; /* the environment */
    struct fault faults[FAULTS_MAX];
    int count;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *name;
    int value;
} results[] = {
    {"ncclUnhandledCudaError", ncclUnhandledCudaError},
    {"ncclSystemError", ncclSystemError},
    {"ncclInternalError", ncclInternalError},
    {"ncclInvalidArgument", ncclInvalidArgument},
    {"ncclInvalidUsage", ncclInvalidUsage},
    {"ncclRemoteError", ncclRemoteError},
    {"ncclInProgress", ncclInProgress},
    {"cudaErrorInvalidValue", cudaErrorInvalidValue},
    {"cudaErrorMemoryAllocation", cudaErrorMemoryAllocation},
    {"cudaErrorInitializationError", cudaErrorInitializationError},
    {"cudaErrorNoDevice", cudaErrorNoDevice},
    {"cudaErrorInvalidDevice", cudaErrorInvalidDevice},
    {"cudaErrorInvalidResourceHandle", cudaErrorInvalidResourceHandle},
    {"cudaErrorNotReady", cudaErrorNotReady},
    {"cudaErrorIllegalAddress", cudaErrorIllegalAddress},
    {"cudaErrorLaunchFailure", cudaErrorLaunchFailure},
    {"cudaErrorNotSupported", cudaErrorNotSupported},
    {"cudaErrorECCUncorrectable", cudaErrorECCUncorrectable},
    {"cudaErrorUnknown", cudaErrorUnknown},
};

static bool read_result(const char *text, int *result)
{
    char *end;

    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        if (strcmp(text, results[i].name) == 0) {
            *result = results[i].value;
            return true;
        }
    *result = (int)strtol(text, &end, 10);
    return end != text && *end == '\0' && *result > 0;
}

static bool read_what(const char *text, struct fake_fault *fault)
{
    static const char async[] = "async-";

    fault->kind = strcmp(text, "hang") == 0    ? FAKE_FAULT_HANG
                  : strcmp(text, "never") == 0 ? FAKE_FAULT_NEVER
                  : strcmp(text, "stuck") == 0 ? FAKE_FAULT_STUCK
                                               : FAKE_FAULT_NONE;
    if (fault->kind != FAKE_FAULT_NONE)
        return true;
    fault->kind = FAKE_FAULT_RESULT;
    if (strncmp(text, async, sizeof(async) - 1) == 0) {
        fault->kind = FAKE_FAULT_ASYNC;
        text += sizeof(async) - 1;
    }
    return read_result(text, &fault->result);
}

static bool read_fault(char *text, struct fault *fault)
{
    char *rest = text, *rank = strchr(text, '@'), *function, *invocation, *what, *end;

    *fault = (struct fault){.rank = -1};
    if (rank != NULL) {
        *rank = '\0';
        if (strncmp(rank + 1, "rank=", 5) != 0)
            return false;
        fault->rank = (int)strtol(rank + 6, &end, 10);
        if (end == rank + 6 || *end != '\0')
            return false;
    }
    function = strsep(&rest, ":");
    invocation = strsep(&rest, ":");
    what = rest;
    if (invocation == NULL || what == NULL || strlen(function) >= sizeof(fault->function))
        return false;
    strcpy(fault->function, function);
    if (strcmp(invocation, "*") != 0) {
        fault->invocation = (int)strtol(invocation, &end, 10);
        if (*end != '\0' || fault->invocation < 1)
            return false;
    }
    return read_what(what, &fault->fault);
}

static bool add_locked(const char *text)
{
    struct fault new[FAULTS_MAX];
    char *copy = strdup(text), *rest = copy, *one;
    int count = 0;
    bool ok = copy != NULL;

    while (ok && (one = strsep(&rest, ";")) != NULL) {
        if (*one == '\0')
            continue;
        ok = table.count + count < FAULTS_MAX && read_fault(one, &new[count]);
        count += ok;
    }
    free(copy);
    if (!ok)
        return false;
    memcpy(table.faults + table.count, new, sizeof(new[0]) * (size_t)count);
    table.count += count;
    return true;
}

static void read_environment(void)
{
    const char *text = getenv("FAKE_NCCL_FAIL");

    if (table.is_read)
        return;
    table.is_read = true;
    if (text != NULL && !add_locked(text))
        fake_violation("FAKE_NCCL_FAIL=%s cannot be read: expected function:n:what[@rank=R];...", text);
}

bool fake_fault_add(const char *text)
{
    bool ok;

    pthread_mutex_lock(&table.lock);
    read_environment();
    ok = add_locked(text);
    pthread_mutex_unlock(&table.lock);
    return ok;
}

struct fake_fault fake_fault_take(const char *function)
{
    struct fake_fault found = {FAKE_FAULT_NONE, 0};

    pthread_mutex_lock(&table.lock);
    read_environment();
    for (int i = 0; i < table.count; i++) {
        struct fault *fault = &table.faults[i];

        if (strcmp(fault->function, function) != 0 || (fault->rank >= 0 && fault->rank != fake_rank()))
            continue;
        fault->seen++;
        if (found.kind == FAKE_FAULT_NONE && (fault->invocation == 0 || fault->invocation == fault->seen))
            found = fault->fault;
    }
    pthread_mutex_unlock(&table.lock);
    return found;
}
