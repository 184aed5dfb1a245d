#include "visible.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/parse.h"

static bool is_entry(const char *text, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:/";

    return length > 0 && length <= DT_VISIBLE_ENTRY_MAX && strspn(text, allowed) >= length;
}

static bool has_entry(const struct dt_visible *visible, const char *entry)
{
    for (uint32_t i = 0; i < visible->count; i++)
        if (strcmp(visible->entries[i], entry) == 0)
            return true;
    return false;
}

static int add_entry(struct dt_visible *visible, const char *text, size_t length, const char *variable,
                     struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char *entry = visible->entries[visible->count];

    if (!is_entry(text, length))
        return dt_error_set(
            err, "%s: '%s' does not begin with a device: expected indices or UUIDs joined by commas",
            variable, dt_parse_shown(shown, text));
    memcpy(entry, text, length);
    entry[length] = '\0';
    if (has_entry(visible, entry))
        return dt_error_set(err, "%s: device %s stands in the list twice: expected each once", variable,
                            entry);
    visible->count++;
    return 0;
}

int dt_visible_parse(struct dt_visible *visible, const char *text, const char *variable,
                     struct dtrain_error *err)
{
    visible->count = 0;
    if (strnlen(text, DT_VISIBLE_TEXT_MAX) == DT_VISIBLE_TEXT_MAX)
        return dt_error_set(err, "%s has more than %u bytes: expected at most that many", variable,
                            DT_VISIBLE_TEXT_MAX - 1);
    if (*text == '\0' || strcmp(text, "NoDevFiles") == 0)
        return 0;
    for (;;) {
        size_t length = strcspn(text, ",");

        if (visible->count == DT_VISIBLE_ENTRIES_MAX)
            return dt_error_set(err, "%s has more than %u devices: expected at most that many", variable,
                                DT_VISIBLE_ENTRIES_MAX);
        if (add_entry(visible, text, length, variable, err))
            return -1;
        if (text[length] == '\0')
            return 0;
        text += length + 1;
    }
}

/* The order of the entries: own first, then the rest. */
static int order_entries(uint32_t order[DT_VISIBLE_ENTRIES_MAX], const struct dt_visible *visible,
                         const uint32_t *own, uint32_t own_count, struct dtrain_error *err)
{
    bool taken[DT_VISIBLE_ENTRIES_MAX] = {false};
    uint32_t used = 0;

    for (uint32_t i = 0; own != NULL && i < own_count; i++) {
        if (own[i] >= visible->count || taken[own[i]])
            return dt_error_set(err,
                                "device %u of local rank %u is %s: expected each of 0 to %u at most once",
                                own[i], i, own[i] >= visible->count ? "not in the list" : "another's too",
                                visible->count ? visible->count - 1 : 0);
        taken[own[i]] = true;
        order[used++] = own[i];
    }
    for (uint32_t i = 0; i < visible->count; i++)
        if (!taken[i])
            order[used++] = i;
    return 0;
}

int dt_visible_format(char text[DT_VISIBLE_TEXT_MAX], const struct dt_visible *visible, const uint32_t *own,
                      uint32_t own_count, struct dtrain_error *err)
{
    uint32_t order[DT_VISIBLE_ENTRIES_MAX];
    size_t used = 0;

    if (order_entries(order, visible, own, own_count, err))
        return -1;
    text[0] = '\0';
    for (uint32_t i = 0; i < visible->count; i++) {
        int n = snprintf(text + used, DT_VISIBLE_TEXT_MAX - used, "%s%s", i ? "," : "",
                         visible->entries[order[i]]);

        if (n < 0 || (size_t)n >= DT_VISIBLE_TEXT_MAX - used)
            return dt_error_set(err, "the list of %u devices is longer than %u bytes", visible->count,
                                DT_VISIBLE_TEXT_MAX - 1);
        used += (size_t)n;
    }
    return 0;
}
