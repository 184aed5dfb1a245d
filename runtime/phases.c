#include "phases.h"

#include <stdio.h>

#include "deadline.h"

static double since_ms(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / 1e6;
}

void dt_phases_start(struct dt_phases *phases)
{
    *phases = (struct dt_phases){.start_ns = dt_now_ns()};
    phases->last_ns = phases->start_ns;
}

void dt_phases_end(struct dt_phases *phases, const char *name)
{
    int64_t now_ns = dt_now_ns();

    if (phases->n < DT_PHASES_MAX) {
        snprintf(phases->items[phases->n].name, DT_PHASE_NAME_MAX, "%s", name);
        phases->items[phases->n++].ms = since_ms(phases->last_ns, now_ns);
    }
    phases->last_ns = now_ns;
}

char *dt_phases_text(const struct dt_phases *phases, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "up in %.1f ms", since_ms(phases->start_ns, phases->last_ns));

    for (unsigned i = 0; i < phases->n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s %s %.1f", i == 0 ? ":" : ",",
                                 phases->items[i].name, phases->items[i].ms);
    return text;
}
