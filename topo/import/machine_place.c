#include "machine_place.h"

#include <string.h>

int dt_machine_place_read(struct dt_machine_place *place, const char *text, struct dtrain_error *err)
{
    if (text == NULL)
        return 0;
    if (strlen(text) >= sizeof(place->text))
        return dt_error_set(err, "place '%s' has more than %zu bytes", text, sizeof(place->text) - 1);
    strcpy(place->text, text);
    return 0;
}

/* Parts that two places have in common from the host bridge on; *is_same: all. */
static uint32_t count_common(const char *a, const char *b, bool *is_same)
{
    uint32_t parts = 0;

    for (;;) {
        size_t length = strcspn(a, "/");

        *is_same = length == strcspn(b, "/") && strncmp(a, b, length) == 0;
        if (!*is_same || length == 0)
            return parts;
        parts++;
        a += length;
        b += length;
        if (*a == '\0' || *b == '\0') {
            *is_same = *a == *b;
            return parts;
        }
        a++;
        b++;
    }
}

enum dt_path dt_machine_place_path(struct dt_machine_spot a, struct dt_machine_spot b)
{
    bool is_same;
    uint32_t common = count_common(a.place->text, b.place->text, &is_same);

    if (common > 1)
        return is_same ? DT_PATH_SWITCH : DT_PATH_SWITCHES;
    if (common == 1)
        return DT_PATH_BRIDGE;
    if (a.numa == b.numa)
        return DT_PATH_NUMA;
    return a.socket == b.socket ? DT_PATH_SOCKET : DT_PATH_SYSTEM;
}
