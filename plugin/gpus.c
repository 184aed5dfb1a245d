#include "gpus.h"

#include <string.h>

#include "core/parse.h"

/* "gpu", "gpu:4", "gpu:a100:4" behind an optional "gres:" or "gres/". */
static uint32_t count_item(const char *item)
{
    uint32_t count = 1;
    const char *last;

    if (strncmp(item, "gres:", 5) == 0 || strncmp(item, "gres/", 5) == 0)
        item += 5;
    if (strncmp(item, "gpu", 3) != 0 || (item[3] != '\0' && strchr(":/=", item[3]) == NULL))
        return 0;
    last = strpbrk(item, ":=");
    while (last != NULL && strpbrk(last + 1, ":=") != NULL)
        last = strpbrk(last + 1, ":=");
    if (last != NULL && last[1] >= '0' && last[1] <= '9' &&
        dt_parse_u32(&count, last + 1, 0, DT_GPUS_MAX, "GPUs", NULL))
        return 0;
    return count;
}

uint32_t dt_gpus_count(const char *text)
{
    char item[DT_GPUS_ITEM_MAX];
    uint32_t count = 0;

    while (text != NULL && *text) {
        size_t length = strcspn(text, ",");

        if (length >= sizeof(item))
            return 0;
        memcpy(item, text, length);
        item[length] = '\0';
        count += count_item(item);
        text += length + (text[length] == ',');
    }
    return count > DT_GPUS_MAX ? 0 : count;
}

uint32_t dt_gpus_per_node(const char *per_node, const char *per_step, uint32_t node_count)
{
    uint32_t all = dt_gpus_count(per_step);

    if (dt_gpus_count(per_node))
        return dt_gpus_count(per_node);
    return all >= node_count && node_count ? all - (node_count - 1) : 0;
}
