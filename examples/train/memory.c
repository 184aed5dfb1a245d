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
    if (block != NULL && count <= SIZE_MAX / size)
        start = memory->compute->alloc(count * size);
    if (start == NULL) {
        free(block);
        memory->failed = true;
        return NULL;
    }
    *block = (struct memory_block){memory->blocks, start};
    memory->blocks = block;
    return start;
}

float *memory_floats(struct memory *memory, size_t count)
{
    return allocate(memory, count, sizeof(float));
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
        memory->compute->release(block->start);
        free(block);
    }
    *memory = (struct memory){0};
}
