/*
 * boot.h - where the processes of a step first meet: each learns its place,
 * publishes one card and reads a few of the others'. One const table for each
 * way, in an array in order of preference (boot.c).
 */
#ifndef DT_RUNTIME_BOOT_H
#define DT_RUNTIME_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "runtime/deadline.h"

#define DT_BOOT_HOST_MAX 256
#define DT_BOOT_CARD_MAX 8192 /* bytes of one card */
#define DT_FENCE_PATIENCE_MS 3000 /* that a fence is waited for, at most */

/* What the launcher says, whatever the plan does. */
struct dt_boot_facts {
    uint32_t task;       /* Slurm's global task id */
    uint32_t task_count; /* of the step */
    uint32_t local_rank, local_size;
    uint32_t node_count;
    char host[DT_BOOT_HOST_MAX]; /* "": not known, then not checked */
};

struct dt_boot_counts {
    unsigned puts, commits, fences, gets;
    unsigned facts; /* read from what the process has already */
};

struct dt_boot {
    const char *name;
    /* Whether this process can use it in a step of so many tasks; else why not. */
    bool (*is_available)(uint32_t task_count, char *why, size_t size);

    int (*open)(void **state, struct dt_boot_facts *facts, struct dtrain_error *err);
    void (*close)(void *state); /* NULL allowed */

    /* The rest is NULL where there are worlds of one only. publish: once. The card is copied. */
    int (*publish)(void *state, const void *card, size_t size, struct dtrain_error *err);

    /* Waits until all tasks published. *is_late: the deadline passed first, which is no failure here. */
    int (*fence)(void *state, const struct dt_deadline *deadline, bool *is_late, struct dtrain_error *err);

    /*
     * The card of a task, also when the fence was late: *size bytes, at most DT_BOOT_CARD_MAX. *is_late: the
     * deadline passed first, which is no failure here; the question stands, and the next call for this task
     * waits for its answer.
     */
    int (*get)(void *state, uint32_t task, void *card, size_t *size, const struct dt_deadline *deadline,
               bool *is_late, struct dtrain_error *err);

    void (*count)(const void *state, struct dt_boot_counts *counts);
};

/* The first that is available; NULL with the reasons of all. */
const struct dt_boot *dt_boot_choose(uint32_t task_count, struct dtrain_error *err);

extern const struct dt_boot dt_boot_single; /* a world of one */
extern const struct dt_boot dt_boot_pmix;   /* boot_pmix.c; boot_no_pmix.c in a build without PMIx */

#endif
