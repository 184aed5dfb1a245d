/*
 * memory.h - device memory that is released together. Allocate all, then check
 * once; a failed allocation gives NULL, which is not used before the check.
 */
#ifndef TRAIN_MEMORY_H
#define TRAIN_MEMORY_H

#include "compute.h"

struct memory_block;

struct memory {
    struct compute *compute;
    struct memory_block *blocks;
    size_t bytes; /* asked for so far */
    bool failed;
};

void *memory_values(struct memory *memory, size_t count); /* of the run's type */
void *memory_mains(struct memory *memory, size_t count);  /* of its main type */
double *memory_doubles(struct memory *memory, size_t count);
int32_t *memory_integers(struct memory *memory, size_t count);

/* -1 when an allocation failed since the start. */
int memory_check(const struct memory *memory, struct dtrain_error *err);

void memory_clear(struct memory *memory);

#endif
