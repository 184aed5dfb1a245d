#define _GNU_SOURCE /* CPU sets of any size */
#include "allowed.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"

#define CPUS_MAX 8192 /* as the kernel's own bound */
#define CORES_MAX 65535u
#define TYPE_MAX 64

/* One mask in base 16, its last digit the first CPUs. */
static int parse_mask(hwloc_bitmap_t cpus, const char *text, size_t length, struct dtrain_error *err)
{
    static const char digits[] = "0123456789abcdef";
    char shown[DT_PARSE_SHOWN_MAX + 4];
    const char *start = length > 2 && strncasecmp(text, "0x", 2) == 0 ? text + 2 : text;
    const char *end = text + length;

    if (start == end || (end - start) * 4 > CPUS_MAX)
        return dt_error_set(err, "SLURM_CPU_BIND_LIST: '%s' does not begin with a mask of at most %u CPUs",
                            dt_parse_shown(shown, text), CPUS_MAX);
    for (const char *c = end; c > start; c--) {
        const char *digit = strchr(digits, c[-1] | 0x20);

        if (digit == NULL || c[-1] == '\0')
            return dt_error_set(err, "SLURM_CPU_BIND_LIST: '%s' does not begin with a mask: expected 0x...",
                                dt_parse_shown(shown, text));
        for (unsigned bit = 0; bit < 4; bit++)
            if ((digit - digits) >> bit & 1)
                hwloc_bitmap_set(cpus, (unsigned)(end - c) * 4 + bit);
    }
    return 0;
}

int dt_allowed_parse_masks(hwloc_bitmap_t cpus, const char *text, struct dtrain_error *err)
{
    for (;;) {
        size_t length = strcspn(text, ",");

        if (parse_mask(cpus, text, length, err))
            return -1;
        if (text[length] == '\0')
            return 0;
        text += length + 1;
    }
}

static int load_own(hwloc_bitmap_t cpus, struct dtrain_error *err)
{
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);

    if (set == NULL)
        return dt_error_memory(err, size, "the task's CPUs");
    if (sched_getaffinity(0, size, set) != 0) {
        CPU_FREE(set);
        return dt_error_set(err, "the task's CPUs cannot be read: %s", strerror(errno));
    }
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        if (CPU_ISSET_S(cpu, size, set))
            hwloc_bitmap_set(cpus, cpu);
    CPU_FREE(set);
    return 0;
}

/* How Slurm bound the tasks; "" or none: not at all. */
static void load_type(char type[TYPE_MAX], spank_t spank)
{
    if (spank_getenv(spank, "SLURM_CPU_BIND_TYPE", type, TYPE_MAX) != ESPANK_SUCCESS)
        type[0] = '\0';
}

static bool are_masks(spank_t spank)
{
    char type[TYPE_MAX];

    load_type(type, spank);
    return strncmp(type, "mask_cpu", 8) == 0;
}

bool dt_allowed_are_whole(spank_t spank)
{
    char type[TYPE_MAX];

    load_type(type, spank);
    return type[0] == '\0' || strcmp(type, "none") == 0 || are_masks(spank);
}

static int load_masks(hwloc_bitmap_t cpus, spank_t spank, struct dtrain_error *err)
{
    char *text = malloc(DT_ALLOWED_TEXT_MAX);
    spank_err_t rc;
    int result = -1;

    if (text == NULL)
        return dt_error_memory(err, DT_ALLOWED_TEXT_MAX, "SLURM_CPU_BIND_LIST");
    rc = spank_getenv(spank, "SLURM_CPU_BIND_LIST", text, (int)DT_ALLOWED_TEXT_MAX);
    if (rc != ESPANK_SUCCESS)
        dt_error_set(err, "SLURM_CPU_BIND_LIST cannot be read: %s", spank_strerror(rc));
    else
        result = dt_allowed_parse_masks(cpus, text, err);
    free(text);
    return result;
}

static int check_topology(hwloc_const_bitmap_t cpus, const struct dt_topo *topo, struct dtrain_error *err)
{
    int cpu = hwloc_bitmap_first(cpus);

    while (cpu >= 0 && hwloc_bitmap_isset(topo->cpus, (unsigned)cpu))
        cpu = hwloc_bitmap_next(cpus, cpu);
    if (cpu < 0)
        return 0;
    return dt_error_set(err,
                        "Slurm allows CPU %d, which the topology of %s has not: is it another machine's?",
                        cpu, topo->source);
}

int dt_allowed_load(hwloc_bitmap_t cpus, const struct dt_topo *topo, spank_t spank,
                    struct dtrain_error *err)
{
    hwloc_bitmap_zero(cpus);
    if (are_masks(spank) ? load_masks(cpus, spank, err) : load_own(cpus, err))
        return -1;
    return check_topology(cpus, topo, err);
}

uint32_t dt_allowed_count_cores(const char *text)
{
    uint32_t count = 0;

    while (text != NULL && *text != '\0') {
        char item[32];
        size_t length = strcspn(text, ",");
        uint32_t first, last;
        char *dash;

        if (length == 0 || length >= sizeof(item))
            return 0;
        memcpy(item, text, length);
        item[length] = '\0';
        dash = strchr(item, '-');
        if (dash != NULL)
            *dash = '\0';
        if (dt_parse_u32(&first, item, 0, CORES_MAX, "cores", NULL) ||
            dt_parse_u32(&last, dash ? dash + 1 : item, first, CORES_MAX, "cores", NULL))
            return 0;
        count += last - first + 1;
        text += length + (text[length] != '\0');
    }
    return count;
}

bool dt_allowed_are_own(hwloc_const_bitmap_t cpus, const struct dt_topo *topo, spank_t spank)
{
    char *text = NULL;
    uint32_t owned, allowed = 0;

    if (spank_get_item(spank, S_JOB_ALLOC_CORES, &text) != ESPANK_SUCCESS)
        return true;
    owned = dt_allowed_count_cores(text);
    for (uint32_t i = 0; i < topo->core_count; i++)
        allowed += hwloc_bitmap_intersects(topo->cores[i], cpus) ? 1 : 0;
    return owned == 0 || allowed <= owned;
}
