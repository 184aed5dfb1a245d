/* phases.h - how long each step of the bring-up took, for the log. */
#ifndef DT_RUNTIME_PHASES_H
#define DT_RUNTIME_PHASES_H

#include <stddef.h>
#include <stdint.h>

#define DT_PHASES_MAX 12
#define DT_PHASE_NAME_MAX 32

struct dt_phases {
    int64_t start_ns, last_ns;
    unsigned n;
    struct {
        char name[DT_PHASE_NAME_MAX];
        double ms;
    } items[DT_PHASES_MAX];
};

void dt_phases_start(struct dt_phases *phases);
/* The time since the last call belongs to this phase. */
void dt_phases_end(struct dt_phases *phases, const char *name);
/* "up in 93.1 ms: plan 0.2, PMIx init 60.1, ..." Returns text. */
char *dt_phases_text(const struct dt_phases *phases, char *text, size_t size);

#endif
