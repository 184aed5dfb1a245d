/* A process that is alone needs nobody to meet. */
#include "boot.h"

#include <stdio.h>

static bool single_is_available(uint32_t task_count, char *why, size_t size)
{
    if (task_count == 1)
        return true;
    snprintf(why, size, "only for a step of one task");
    return false;
}

static int single_open(void **state, struct dt_boot_facts *facts, struct dtrain_error *err)
{
    (void)err;
    *state = NULL;
    *facts = (struct dt_boot_facts){.task_count = 1, .local_size = 1, .node_count = 1};
    return 0;
}

static void single_close(void *state)
{
    (void)state;
}

const struct dt_boot dt_boot_single = {
    .name = "single",
    .is_available = single_is_available,
    .open = single_open,
    .close = single_close,
};
