#include "emulate_shared.h"

#include <stdlib.h>
#include <string.h>

#include "emulate.h"
#include "emulate_block.h"

enum { VARIABLES_MAX = 64 };

/* Memory of its own for each, so that AddressSanitizer sees where it ends. */
static struct variable {
    const void *key;
    void *memory;
    size_t size;
} variables[VARIABLES_MAX];
static int count;
static size_t used;

void emulate_shared_open(size_t bytes)
{
    used = bytes;
}

void emulate_shared_reset(void)
{
    for (int i = 0; i < count; i++)
        memset(variables[i].memory, 0xff, variables[i].size);
}

void emulate_shared_close(void)
{
    for (int i = 0; i < count; i++)
        free(variables[i].memory);
    count = 0;
}

static void *add(const char *name, const void *key, size_t size, size_t align)
{
    struct variable *variable = &variables[count];

    used += size;
    if (used > EMULATE_SHARED_MAX)
        emulate_block_fail("%s makes it %zu bytes of shared memory: %d is the most", name, used,
                           EMULATE_SHARED_MAX);
    if (count == VARIABLES_MAX || posix_memalign(&variable->memory, align < 16 ? 16 : align, size) != 0)
        abort();
    variable->key = key;
    variable->size = size;
    count++;
    return memset(variable->memory, 0xff, size);
}

void *emulate_shared_find(const char *name, const void *key, size_t size, size_t align)
{
    for (int i = 0; i < count; i++) {
        if (variables[i].key == key)
            return variables[i].memory;
    }
    return add(name, key, size, align);
}
