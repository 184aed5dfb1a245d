#include "memory.h"

#include <stdlib.h>

#include "error.h"

struct memory_block {
    struct memory_block *next;
    void *start;
};

static void *allocate(struct memory *memory, size_t count, size_t size)
{
    struct memory_block *block = malloc(sizeof(*block));
    void *start = NULL;

    memory->bytes += count * size;
    if (block == NULL || count > SIZE_MAX / size ||
        dtrain_memory_alloc(memory->compute->world, count * size, &start, NULL) != 0) {
        free(block);
        memory->failed = true;
        return NULL;
    }
    *block = (struct memory_block){memory->blocks, start};
    memory->blocks = block;
    return start;
}

void *memory_values(struct memory *memory, size_t count)
{
    return allocate(memory, count, dtrain_type_size(memory->compute->type));
}

void *memory_mains(struct memory *memory, size_t count)
{
    return allocate(memory, count, dtrain_type_size(memory->compute->main));
}

double *memory_doubles(struct memory *memory, size_t count)
{
    return allocate(memory, count, sizeof(double));
}

int32_t *memory_integers(struct memory *memory, size_t count)
{
    return allocate(memory, count, sizeof(int32_t));
}

int memory_check(const struct memory *memory, struct dtrain_error *err)
{
    if (memory->failed)
        return error_memory(err, memory->bytes, "the model: use smaller sizes or more ranks");
    return 0;
}

void memory_clear(struct memory *memory)
{
    while (memory->blocks != NULL) {
        struct memory_block *block = memory->blocks;

        memory->blocks = block->next;
        dtrain_memory_free(memory->compute->world, block->start);
        free(block);
    }
    *memory = (struct memory){0};
}
